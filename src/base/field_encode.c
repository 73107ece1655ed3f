#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "base/field_seal.h"

/* What is left out, and what is done to secrets on the way. */
struct encoding {
	enum field_view view;
	const struct field_seal *seal; /* NULL: nothing */
	char path[FIELD_PATH_MOST];    /* of the object, kept for sealing */
	size_t path_len;
};

static void encode_object(struct encoding *e, const struct field *fields,
			  const void *object, struct buf *out);
static void encode_value(struct encoding *e, const struct field *f,
			 const void *at, struct buf *out);

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

static void encode_list(struct encoding *e, const struct field *f,
			const struct items *items, struct buf *out)
{
	struct field item = *f;
	size_t len = e->path_len;

	item.type = f->item;
	buf_addc(out, '[');
	for (size_t i = 0; i < items->n; i++) {
		if (i)
			buf_addc(out, ',');
		if (e->seal)
			e->path_len = field_path_index(e->path, len, i);
		encode_value(e, &item, (const char *)items->at + i * f->size,
			     out);
	}
	e->path_len = len;
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

static void encode_value(struct encoding *e, const struct field *f,
			 const void *at, struct buf *out)
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
		encode_list(e, f, at, out);
		break;
	case FIELD_OBJECT:
		encode_object(e, f->fields, at, out);
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

/* The text of a secret is in OUT only once it is sealed. */
static void encode_sealed(struct encoding *e, const struct field *f,
			  const void *at, struct buf *out)
{
	const struct field_seal *seal = e->seal;
	struct buf plain = BUF_INIT(out->max);

	e->seal = NULL;
	encode_value(e, f, at, &plain);
	e->seal = seal;
	buf_addc(out, '"');
	if (buf_ok(&plain))
		seal->fn(seal->ctx, e->path, buf_str(&plain), plain.len, out);
	else
		out->full = true;
	buf_addc(out, '"');
	if (plain.data)
		explicit_bzero(plain.data, plain.room);
	buf_release(&plain);
}

static void encode_member(struct encoding *e, const struct field *f,
			  const void *at, struct buf *out)
{
	size_t len = e->path_len;

	if (!e->seal) {
		encode_value(e, f, at, out);
		return;
	}
	e->path_len = field_path_add(e->path, len, f->name);
	if (f->flags & FIELD_SECRET)
		encode_sealed(e, f, at, out);
	else
		encode_value(e, f, at, out);
	e->path_len = len;
}

static void encode_object(struct encoding *e, const struct field *fields,
			  const void *object, struct buf *out)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;
	char before = '{';

	while ((f = field_walk_next(&w, &offset))) {
		const void *at = (const char *)object + offset;

		if (!is_written(f, at, e->view))
			continue;
		buf_addc(out, before);
		before = ',';
		buf_addc(out, '"');
		buf_adds(out, f->name);
		buf_add(out, "\":", 2);
		encode_member(e, f, at, out);
	}
	if (before == '{')
		buf_addc(out, '{');
	buf_addc(out, '}');
}

void field_encode(const struct field *fields, const void *object,
		  enum field_view view, struct buf *out)
{
	struct encoding e;

	e.view = view;
	e.seal = NULL;
	e.path_len = 0;
	encode_object(&e, fields, object, out);
}

void field_encode_sealed(const struct field *fields, const void *object,
			 const struct field_seal *seal, struct buf *out)
{
	struct encoding e = {.view = FIELD_FULL, .seal = seal};

	encode_object(&e, fields, object, out);
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
		encode_value(&(struct encoding){.view = FIELD_PUBLIC}, f, at,
			     out);
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
