#include "base/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/utf8.h"

#define DEPTH_MOST 64

struct reader {
	yaml_parser_t parser;
	struct arena *arena;
	struct err *err;
};

static struct node *fail(struct reader *r, const yaml_mark_t *where,
			 const char *why)
{
	err_set(r->err, ERR_INVALID, "not valid YAML: line %zu, column %zu: %s",
		where->line + 1, where->column + 1, why);
	return NULL;
}

static struct node *too_large(struct reader *r)
{
	err_set(r->err, ERR_TOO_LARGE,
		"the YAML has too many parts to be read");
	return NULL;
}

static bool next(struct reader *r, yaml_event_t *e)
{
	if (yaml_parser_parse(&r->parser, e))
		return true;
	fail(r, &r->parser.problem_mark,
	     r->parser.problem ? r->parser.problem : "cannot be read");
	return false;
}

static bool is_one_of(const char *s, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(s, *words) == 0)
			return true;
	return false;
}

static struct node *made(struct reader *r, struct node *n)
{
	return n ? n : too_large(r);
}

static struct node *number_or_text(struct reader *r, const yaml_event_t *e)
{
	const char *s = (const char *)e->data.scalar.value;
	bool digits = s[strspn(s, "+-.0123456789eE")] == '\0';
	char *end;
	long long i;
	double d;

	errno = 0;
	i = strtoll(s, &end, 10);
	if (digits && !*end && errno)
		return fail(r, &e->start_mark, "an integer too large");
	if (digits && !*end && end != s)
		return made(r, node_new_int(r->arena, i));
	d = strtod(s, &end);
	if (!digits || *end || end == s)
		return made(r, node_new_string(r->arena, s, strlen(s)));
	if (!isfinite(d))
		return fail(r, &e->start_mark, "a number too large");
	return made(r, node_new_real(r->arena, d));
}

static struct node *scalar(struct reader *r, const yaml_event_t *e)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", 0};
	static const char *const trues[] = {"true", "True", "TRUE", 0};
	static const char *const falses[] = {"false", "False", "FALSE", 0};
	const char *s = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;

	if (strlen(s) != len)
		return fail(r, &e->start_mark, "a NUL in a scalar");
	if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return made(r, node_new_string(r->arena, s, len));
	if (is_one_of(s, nulls))
		return made(r, node_new_null(r->arena));
	if (is_one_of(s, trues) || is_one_of(s, falses))
		return made(r, node_new_bool(r->arena, is_one_of(s, trues)));
	return number_or_text(r, e);
}

static struct node *value(struct reader *r, yaml_event_t *e, unsigned depth);

static struct node *sequence(struct reader *r, unsigned depth)
{
	struct node *array = node_new_array(r->arena);

	for (;;) {
		struct node *n;
		yaml_event_t e;

		if (!array)
			return too_large(r);
		if (!next(r, &e))
			return NULL;
		if (e.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&e);
			return array;
		}
		n = value(r, &e, depth + 1);
		if (!n)
			return NULL;
		if (!node_append(r->arena, array, n))
			return too_large(r);
	}
}

static const char *key_text(struct reader *r, const yaml_event_t *key,
			    const struct node *object)
{
	const char *name = (const char *)key->data.scalar.value;

	if (key->type != YAML_SCALAR_EVENT)
		fail(r, &key->start_mark, "a key must be a string");
	else if (key->data.scalar.anchor || key->data.scalar.tag)
		fail(r, &key->start_mark, "anchors and tags are not accepted");
	else if (strlen(name) != key->data.scalar.length)
		fail(r, &key->start_mark, "a NUL in a key");
	else if (node_get(object, name))
		fail(r, &key->start_mark, "the key comes twice");
	else
		return name;
	return NULL;
}

static bool member(struct reader *r, const yaml_event_t *key,
		   struct node *object, unsigned depth)
{
	const char *name = key_text(r, key, object);
	struct node *n;
	yaml_event_t e;

	if (!name || !next(r, &e))
		return false;
	n = value(r, &e, depth + 1);
	if (!n)
		return false;
	if (node_set(r->arena, object, name, n))
		return true;
	too_large(r);
	return false;
}

static struct node *mapping(struct reader *r, unsigned depth)
{
	struct node *object = node_new_object(r->arena);

	for (;;) {
		yaml_event_t e;
		bool ended, ok;

		if (!object)
			return too_large(r);
		if (!next(r, &e))
			return NULL;
		ended = e.type == YAML_MAPPING_END_EVENT;
		ok = ended || member(r, &e, object, depth);
		yaml_event_delete(&e);
		if (!ok)
			return NULL;
		if (ended)
			return object;
	}
}

/* An anchor or a tag on E, or that it is an alias: what we do not take. */
static bool is_marked(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor || e->data.scalar.tag;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor ||
		       e->data.sequence_start.tag;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor ||
		       e->data.mapping_start.tag;
	default:
		return false;
	}
}

/* The value that begins with *E, which is used up. */
static struct node *value(struct reader *r, yaml_event_t *e, unsigned depth)
{
	yaml_event_type_t type = e->type;
	struct node *n = NULL;

	if (depth > DEPTH_MOST)
		fail(r, &e->start_mark, "nested too deeply");
	else if (is_marked(e))
		fail(r, &e->start_mark,
		     "anchors, aliases and tags are not accepted");
	else if (type == YAML_SCALAR_EVENT)
		n = scalar(r, e);
	else if (type == YAML_SEQUENCE_START_EVENT)
		n = sequence(r, depth);
	else if (type == YAML_MAPPING_START_EVENT)
		n = mapping(r, depth);
	else
		fail(r, &e->start_mark, "a value is missing");
	yaml_event_delete(e);
	return n;
}

/* Skip events of the stream's frame up to the one wanted. */
static bool expect(struct reader *r, yaml_event_type_t type, const char *why)
{
	yaml_event_t e;
	bool ok;

	if (!next(r, &e))
		return false;
	ok = e.type == type;
	if (!ok)
		fail(r, &e.start_mark, why);
	yaml_event_delete(&e);
	return ok;
}

static struct node *document(struct reader *r)
{
	struct node *n;
	yaml_event_t e;

	if (!expect(r, YAML_STREAM_START_EVENT, "not a stream") ||
	    !expect(r, YAML_DOCUMENT_START_EVENT, "no document") ||
	    !next(r, &e))
		return NULL;
	n = value(r, &e, 0);
	if (!n || !expect(r, YAML_DOCUMENT_END_EVENT, "text after the end") ||
	    !expect(r, YAML_STREAM_END_EVENT, "more than one document"))
		return NULL;
	return n;
}

struct node *yaml_parse(const char *text, size_t len, struct arena *a,
			struct err *err)
{
	struct reader r = {.arena = a, .err = err};
	size_t max = a->max;
	struct node *n;

	if (!yaml_parser_initialize(&r.parser))
		abort();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text,
				     len);
	a->max = a->used + (max - a->used) / 2; /* as json_parse() does */
	n = document(&r);
	a->max = max;
	yaml_parser_delete(&r.parser);
	return n;
}

/* Printable, and no end of a line, in the YAML of any reader. */
static bool is_printable(uint32_t c)
{
	return (c >= ' ' && c < 0x7f) || (c >= 0xa0 && c < 0x2028) ||
	       (c > 0x2029 && c < 0xd800) ||
	       (c >= 0xe000 && c < 0xfffe && c != 0xfeff) || c >= 0x10000;
}

static bool all_printable(const char *s, size_t len)
{
	uint32_t c = 0;
	size_t n;

	for (; len; s += n, len -= n) {
		n = utf8_take(s, len, &c);
		if (!n || !is_printable(c))
			return false;
	}
	return true;
}

/* Anything but the plainest text: what would be read as something else, and
 * what could be, where it stands. */
static bool needs_quotes(const char *s, size_t len)
{
	struct arena a;
	struct err err;
	struct node *n;
	bool plain;

	if (!all_printable(s, len) || s[0] == '-' || s[0] == '?' ||
	    strcspn(s, "#:{}[],&*!|>'\"%@`") != len ||
	    strncmp(s, "...", 3) == 0)
		return true;
	arena_init(&a, 65536);
	n = yaml_parse(s, len, &a, &err);
	plain = n && node_type(n) == NODE_STRING &&
		strcmp(node_string(n, NULL), s) == 0;
	arena_release(&a);
	return !plain;
}

/* In double quotes, which JSON's are but for more that must be escaped. */
static void write_quoted(struct buf *out, const char *s, size_t len)
{
	uint32_t c = 0;
	size_t n;

	buf_addc(out, '"');
	for (; len; s += n, len -= n) {
		n = utf8_take(s, len, &c);
		if (!n) {
			n = 1;
			c = 0xfffd;
		}
		if (c == '"' || c == '\\')
			buf_addf(out, "\\%c", (char)c);
		else if (c == '\n')
			buf_adds(out, "\\n");
		else if (!is_printable(c) || c == 0xfffd)
			buf_addf(out, "\\u%04x", (unsigned)c);
		else
			buf_add(out, s, n);
	}
	buf_addc(out, '"');
}

static void write_text(struct buf *out, const char *s, size_t len)
{
	if (needs_quotes(s, len))
		write_quoted(out, s, len);
	else
		buf_add(out, s, len);
}

static void pad(struct buf *out, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		buf_adds(out, "  ");
}

static void write_value(const struct node *n, unsigned depth, bool in_list,
			struct buf *out);

static void write_scalar(const struct node *n, struct buf *out)
{
	if (node_type(n) == NODE_STRING) {
		size_t len;
		const char *s = node_string(n, &len);

		write_text(out, s, len);
	} else {
		json_write(n, false, out);
	}
}

/* Past 1024 characters a reader no longer looks for the colon after a key; a
 * long one is announced. */
static void write_key(const char *key, unsigned depth, struct buf *out)
{
	size_t len = strlen(key);

	if (len <= 128) {
		write_text(out, key, len);
		return;
	}
	buf_adds(out, "? ");
	write_text(out, key, len);
	buf_addc(out, '\n');
	pad(out, depth);
}

static void write_members(const struct node *n, unsigned depth, bool in_list,
			  struct buf *out)
{
	struct node_walk w = node_walk(n);
	const struct node *v;
	const char *key;
	bool first = true;

	while ((v = node_walk_next(&w, &key))) {
		bool nested = (node_type(v) == NODE_OBJECT ||
			       node_type(v) == NODE_ARRAY) &&
			      node_count(v);

		if (!first || !in_list)
			pad(out, depth);
		first = false;
		write_key(key, depth, out);
		buf_adds(out, nested ? ":\n" : ": ");
		write_value(v, depth + 1, false, out);
	}
}

static void write_value(const struct node *n, unsigned depth, bool in_list,
			struct buf *out)
{
	enum node_type type = node_type(n);

	if ((type == NODE_OBJECT || type == NODE_ARRAY) && !node_count(n)) {
		buf_adds(out, type == NODE_OBJECT ? "{}\n" : "[]\n");
	} else if (type == NODE_OBJECT) {
		write_members(n, depth, in_list, out);
	} else if (type == NODE_ARRAY) {
		for (size_t i = 0; i < node_count(n); i++) {
			if (i || !in_list)
				pad(out, depth);
			buf_adds(out, "- ");
			write_value(node_at(n, i), depth + 1, true, out);
		}
	} else {
		write_scalar(n, out);
		buf_addc(out, '\n');
	}
}

void yaml_write(const struct node *n, struct buf *out)
{
	write_value(n, 0, false, out);
}
