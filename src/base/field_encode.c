#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"

static void encode_object(const struct field *fields, const void *object,
			  enum field_view view, struct buf *out);
static void encode_value(const struct field *f, const void *at,
			 enum field_view view, struct buf *out);

static void encode_tags(const struct items *tags, struct buf *out)
{
	const struct field_tag *t = tags->at;

	buf_addc(out, '{');
	for (size_t i = 0; i < tags->n; i++) {
		if (i)
			buf_addc(out, ',');
		json_add_string(out, t[i].key, strlen(t[i].key));
		buf_addc(out, ':');
		json_add_string(out, t[i].value, strlen(t[i].value));
	}
	buf_addc(out, '}');
}

static void encode_list(const struct field *f, const struct items *items,
			enum field_view view, struct buf *out)
{
	struct field item = *f;

	item.type = f->item;
	buf_addc(out, '[');
	for (size_t i = 0; i < items->n; i++) {
		if (i)
			buf_addc(out, ',');
		encode_value(&item, (const char *)items->at + i * f->size, view,
			     out);
	}
	buf_addc(out, ']');
}

static void encode_time(int64_t wall_ms, struct buf *out)
{
	char text[CLOCK_TEXT_LEN + 3];

	text[0] = '"';
	clock_format(wall_ms, text + 1);
	text[CLOCK_TEXT_LEN + 1] = '"';
	buf_add(out, text, CLOCK_TEXT_LEN + 2);
}

static void encode_value(const struct field *f, const void *at,
			 enum field_view view, struct buf *out)
{
	const char *text;

	switch (f->type) {
	case FIELD_STRING:
		text = *(const char *const *)at;
		json_add_string(out, text, strlen(text));
		break;
	case FIELD_RAW:
		buf_adds(out, *(const char *const *)at);
		break;
	case FIELD_INT:
		buf_addi(out, *(const int64_t *)at);
		break;
	case FIELD_BOOL:
		buf_adds(out, *(const bool *)at ? "true" : "false");
		break;
	case FIELD_TIME:
		encode_time(*(const int64_t *)at, out);
		break;
	case FIELD_ENUM:
		text = f->names[*(const int *)at];
		json_add_string(out, text, strlen(text));
		break;
	case FIELD_TAGS:
		encode_tags(at, out);
		break;
	case FIELD_LIST:
		encode_list(f, at, view, out);
		break;
	case FIELD_OBJECT:
		encode_object(f->fields, at, view, out);
		break;
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
}

static bool is_written(const struct field *f, const void *at,
		       enum field_view view)
{
	if (f->flags & FIELD_SECRET && view == FIELD_PUBLIC)
		return false;
	if (f->type == FIELD_BOOL || f->flags & FIELD_ALWAYS)
		return true;
	return !field_absent(f, at);
}

static void encode_object(const struct field *fields, const void *object,
			  enum field_view view, struct buf *out)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;
	char before = '{';

	while ((f = field_walk_next(&w, &offset))) {
		const void *at = (const char *)object + offset;

		if (!is_written(f, at, view))
			continue;
		buf_addc(out, before);
		before = ',';
		buf_addc(out, '"');
		buf_adds(out, f->name);
		buf_add(out, "\":", 2);
		encode_value(f, at, view, out);
	}
	if (before == '{')
		buf_addc(out, '{');
	buf_addc(out, '}');
}

void field_encode(const struct field *fields, const void *object,
		  enum field_view view, struct buf *out)
{
	encode_object(fields, object, view, out);
}

void field_text(const struct field *f, const void *at, struct buf *out)
{
	char time[CLOCK_TEXT_LEN + 1];

	if (f->type != FIELD_BOOL && field_absent(f, at))
		return;
	switch (f->type) {
	case FIELD_STRING:
	case FIELD_RAW:
		buf_adds(out, *(const char *const *)at);
		break;
	case FIELD_INT:
		buf_addi(out, *(const int64_t *)at);
		break;
	case FIELD_BOOL:
		buf_adds(out, *(const bool *)at ? "true" : "false");
		break;
	case FIELD_TIME:
		clock_format(*(const int64_t *)at, time);
		buf_adds(out, time);
		break;
	case FIELD_ENUM:
		buf_adds(out, f->names[*(const int *)at]);
		break;
	case FIELD_TAGS:
	case FIELD_LIST:
	case FIELD_OBJECT:
		encode_value(f, at, FIELD_PUBLIC, out);
		break;
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
}

bool field_is(const struct field *f, const void *at, const char *text)
{
	struct buf b = BUF_INIT((size_t)1 << 20);
	bool same;

	if (f->type == FIELD_STRING) {
		const char *have = *(const char *const *)at;

		return have && strcmp(have, text) == 0;
	}
	field_text(f, at, &b);
	same = strcmp(buf_str(&b), text) == 0;
	buf_release(&b);
	return same;
}
