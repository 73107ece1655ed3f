#include "judge_glance.h"

#include <stdlib.h>
#include <string.h>

/* P is behind the opening quote; the answer is at the closing one. */
static const char *string_end(const char *p, const char *end)
{
	const char *hit = p;

	while ((hit = memchr(hit, '"', (size_t)(end - hit)))) {
		const char *q = hit;

		while (q > p && q[-1] == '\\')
			q--;
		if ((hit - q) % 2 == 0)
			return hit;
		hit++;
	}
	return end;
}

/* Behind the value that begins at P. */
static const char *value_end(const char *p, const char *end)
{
	int depth = 0;

	for (; p < end; p++) {
		switch (*p) {
		case '"':
			p = string_end(p + 1, end);
			if (depth == 0)
				return p < end ? p + 1 : end;
			break;
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (depth == 0)
				return p;
			if (--depth == 0)
				return p + 1;
			break;
		case ',':
			if (depth == 0)
				return p;
			break;
		default:
			break;
		}
	}
	return end;
}

static bool is_named(const struct glance_row *r, struct text name)
{
	return r->name[0] == name.at[0] &&
	       strncmp(r->name, name.at, name.len) == 0 && !r->name[name.len];
}

/* Documents are written in the order of their tables: begin where the last one
 * was found. */
static const struct glance_row *find(const struct glance_row *rows,
				     const struct glance_row *from,
				     struct text name)
{
	const struct glance_row *r;

	for (r = from; r->name; r++)
		if (is_named(r, name))
			return r;
	for (r = rows; r != from; r++)
		if (is_named(r, name))
			return r;
	return NULL;
}

static void take(const struct glance_row *r, struct text raw, void *out)
{
	char *to = (char *)out + r->offset;

	switch (r->type) {
	case GLANCE_TEXT:
		*(struct text *)(void *)to = glance_string(raw);
		break;
	case GLANCE_RAW:
		*(struct text *)(void *)to = raw;
		break;
	case GLANCE_INT:
		*(int64_t *)(void *)to = strtoll(raw.at, NULL, 10);
		break;
	case GLANCE_BOOL:
		*(bool *)to = raw.at[0] == 't';
		break;
	case GLANCE_OBJECT:
		break;
	}
}

/* The object that begins at P; behind it, or NULL when it is none. */
static const char *read_object(const struct glance_row *rows, const char *p,
			       const char *end, void *out)
{
	const struct glance_row *from = rows;

	if (p == end || *p != '{')
		return NULL;
	for (p++; p < end && *p == '"';) {
		struct text name = {p + 1, 0}, raw;
		const struct glance_row *r;

		p = string_end(p + 1, end);
		name.len = (size_t)(p - name.at);
		if (end - p < 2 || p[1] != ':')
			return NULL;
		raw.at = p + 2;
		r = find(rows, from, name);
		if (r && r->type == GLANCE_OBJECT)
			p = read_object(r->rows, raw.at, end, out);
		else
			p = value_end(raw.at, end);
		if (!p)
			return NULL;
		raw.len = (size_t)(p - raw.at);
		if (r) {
			take(r, raw, out);
			from = r + 1;
		}
		if (p < end && *p == ',')
			p++;
	}
	return p < end && *p == '}' ? p + 1 : NULL;
}

bool glance(const struct glance_row *rows, struct text json, void *out)
{
	const char *end;

	if (!json.len)
		return false;
	end = json.at + json.len;
	return read_object(rows, json.at, end, out) == end;
}

bool glance_next(struct text *list, struct text *ret)
{
	const char *end, *p = list->at, *stop;

	if (!list->len)
		return false;
	end = p + list->len;
	p++; /* the opening bracket, or a comma */
	if (p >= end - 1)
		return false;
	stop = value_end(p, end);
	*ret = (struct text){p, (size_t)(stop - p)};
	*list = (struct text){stop, (size_t)(end - stop)};
	return true;
}

struct text glance_string(struct text raw)
{
	if (raw.len < 2 || raw.at[0] != '"')
		return (struct text){0};
	return (struct text){raw.at + 1, raw.len - 2};
}
