#include "base/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

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

static struct node *plain_number(struct reader *r, const char *s, size_t len,
				 bool *ret_is)
{
	char *end;
	long long i;
	double d;

	*ret_is = false;
	if (!len || !strchr("+-.0123456789", s[0]) ||
	    strspn(s, "+-.0123456789eE") != len)
		return NULL;
	errno = 0;
	i = strtoll(s, &end, 10);
	if (!*end && !errno) {
		*ret_is = true;
		return node_new_int(r->arena, i);
	}
	errno = 0;
	d = strtod(s, &end);
	if (*end || errno || !isfinite(d))
		return NULL;
	*ret_is = true;
	return node_new_real(r->arena, d);
}

static struct node *scalar(struct reader *r, const yaml_event_t *e)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL", 0};
	static const char *const trues[] = {"true", "True", "TRUE", 0};
	static const char *const falses[] = {"false", "False", "FALSE", 0};
	const char *s = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	struct node *n = NULL;
	bool is_number = false;

	if (e->data.scalar.anchor)
		return fail(r, &e->start_mark, "anchors are not accepted");
	if (e->data.scalar.tag)
		return fail(r, &e->start_mark, "tags are not accepted");
	if (strlen(s) != len)
		return fail(r, &e->start_mark, "a NUL in a scalar");
	if (e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
		if (is_one_of(s, nulls))
			n = node_new_null(r->arena);
		else if (is_one_of(s, trues) || is_one_of(s, falses))
			n = node_new_bool(r->arena, is_one_of(s, trues));
		else
			n = plain_number(r, s, len, &is_number);
	}
	if (!n && !is_number)
		n = node_new_string(r->arena, s, len);
	return n ? n : too_large(r);
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

static bool member(struct reader *r, yaml_event_t *key, struct node *object,
		   unsigned depth)
{
	const char *name = NULL;
	struct node *n;
	yaml_event_t e;

	if (key->type != YAML_SCALAR_EVENT)
		fail(r, &key->start_mark, "a key must be a string");
	else if (key->data.scalar.anchor || key->data.scalar.tag)
		fail(r, &key->start_mark, "anchors and tags are not accepted");
	else if (node_get(object, (const char *)key->data.scalar.value))
		fail(r, &key->start_mark, "the key comes twice");
	else
		name = arena_strdup(r->arena,
				    (const char *)key->data.scalar.value);
	yaml_event_delete(key);
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

		if (!object)
			return too_large(r);
		if (!next(r, &e))
			return NULL;
		if (e.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&e);
			return object;
		}
		if (!member(r, &e, object, depth))
			return NULL;
	}
}

/* The value that begins with *E, which is used up. */
static struct node *value(struct reader *r, yaml_event_t *e, unsigned depth)
{
	bool anchored = (e->type == YAML_MAPPING_START_EVENT &&
			 e->data.mapping_start.anchor) ||
			(e->type == YAML_SEQUENCE_START_EVENT &&
			 e->data.sequence_start.anchor);
	yaml_event_type_t type = e->type;
	struct node *n = NULL;

	if (depth > DEPTH_MOST)
		fail(r, &e->start_mark, "nested too deeply");
	else if (anchored || type == YAML_ALIAS_EVENT)
		fail(r, &e->start_mark, "anchors and aliases are not accepted");
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
	struct node *n;

	if (!yaml_parser_initialize(&r.parser))
		abort();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text,
				     len);
	n = document(&r);
	yaml_parser_delete(&r.parser);
	return n;
}

static bool needs_quotes(const char *s, size_t len)
{
	struct arena a;
	struct err err;
	struct node *n;
	bool plain;

	if (strcspn(s, "\n#:{}[],&*!|>'\"%@`") != len || s[0] == '-' ||
	    s[0] == '?' || s[0] == ' ' || (len && s[len - 1] == ' '))
		return true;
	arena_init(&a, 65536);
	n = yaml_parse(s, len, &a, &err);
	plain = n && node_type(n) == NODE_STRING;
	arena_release(&a);
	return !plain;
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
	size_t len;
	const char *s;

	if (node_type(n) == NODE_STRING) {
		s = node_string(n, &len);
		if (!needs_quotes(s, len)) {
			buf_add(out, s, len);
			return;
		}
	}
	/* A JSON scalar is a YAML scalar. */
	json_write(n, false, out);
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
		if (needs_quotes(key, strlen(key)))
			json_add_string(out, key, strlen(key));
		else
			buf_adds(out, key);
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
