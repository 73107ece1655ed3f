#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "base/mem.h"

#define DEPTH_MOST 16
#define FIXED      (FIELD_READ_ONLY | FIELD_IMMUTABLE | FIELD_SECRET)

/* Where we are in the document: links from the leaf up to the root. */
struct place {
	const struct place *up;
	const char *name; /* NULL: item I of a list */
	size_t i;
	unsigned fixed; /* of the flags of what field_settle() takes over */
};

struct decode {
	enum field_mode mode;
	struct violations *v;
};

void violations_init(struct violations *v, struct arena *a)
{
	v->arena = a;
	v->n = 0;
	v->immutable = false;
}

static void keep(struct violations *v, const char *pointer, const char *fmt,
		 va_list ap) PRINTF(3, 0);

static void keep(struct violations *v, const char *pointer, const char *fmt,
		 va_list ap)
{
	char message[256];

	if (v->n++ >= VIOLATIONS_MOST)
		return;
	vsnprintf(message, sizeof(message), fmt, ap);
	v->list[v->n - 1] = (struct violation){arena_strdup(v->arena, pointer),
					       arena_strdup(v->arena, message)};
	v->immutable = false;
}

void violations_add(struct violations *v, const char *pointer, const char *fmt,
		    ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep(v, pointer, fmt, ap);
	va_end(ap);
}

int violations_err(const struct violations *v, struct err *err)
{
	struct violations *copy;

	err_at(err, v->immutable ? ERR_IMMUTABLE : ERR_INVALID,
	       v->list[0].pointer, "%s %s",
	       v->list[0].pointer[0] ? v->list[0].pointer : "the body",
	       v->list[0].message);
	if (v->n > 1)
		err_set(err, err->code, "%zu things are wrong with the request",
			v->n);
	copy = arena_alloc(v->arena, sizeof(*copy));
	*copy = *v;
	err->violations = copy;
	return -1;
}

/* A name in a JSON pointer: "~" and "/" are escaped. */
static void add_step(struct buf *b, const char *name)
{
	for (; *name; name++) {
		if (*name == '~')
			buf_adds(b, "~0");
		else if (*name == '/')
			buf_adds(b, "~1");
		else
			buf_addc(b, *name);
	}
}

static void add_pointer(struct buf *b, const struct place *p)
{
	if (!p)
		return;
	add_pointer(b, p->up);
	buf_addc(b, '/');
	if (p->name)
		add_step(b, p->name);
	else
		buf_addi(b, (int64_t)p->i);
}

static void wrong(struct decode *d, const struct place *p, const char *fmt, ...)
	PRINTF(3, 4);

static void wrong(struct decode *d, const struct place *p, const char *fmt, ...)
{
	struct buf pointer = BUF_INIT(512);
	va_list ap;

	add_pointer(&pointer, p);
	va_start(ap, fmt);
	keep(d->v, buf_str(&pointer), fmt, ap);
	va_end(ap);
	buf_release(&pointer);
}

static bool is_type(struct decode *d, const struct place *p,
		    const struct node *n, enum node_type type, const char *word)
{
	if (node_type(n) == type)
		return true;
	wrong(d, p, "must be %s, not %s", word, node_type_name(n));
	return false;
}

static void decode_string(const struct field *f, const struct node *n,
			  const struct place *p, void *at, struct decode *d)
{
	size_t len, most = f->max ? (size_t)f->max : FIELD_STRING_MOST;
	const char *s;

	if (!is_type(d, p, n, NODE_STRING, "a string"))
		return;
	s = node_string(n, &len);
	/* What we stored ourselves was checked by the rules of its day. */
	if (d->mode != FIELD_STORED) {
		if (len < (size_t)f->min || len > most) {
			wrong(d, p, "must have %zu to %zu bytes",
			      (size_t)f->min, most);
			return;
		}
		if (f->format && !f->format->check(s, len)) {
			wrong(d, p, "%s", f->format->words);
			return;
		}
	}
	*(const char **)at = s;
}

static void decode_int(const struct field *f, const struct node *n,
		       const struct place *p, void *at, struct decode *d)
{
	int64_t i;

	if (!is_type(d, p, n, NODE_INT, "an integer"))
		return;
	i = node_int(n);
	if (i == FIELD_NONE) {
		wrong(d, p, "is out of range");
		return;
	}
	if (d->mode != FIELD_STORED && (f->min || f->max) &&
	    (i < f->min || i > f->max)) {
		wrong(d, p, "must be from %lld to %lld", (long long)f->min,
		      (long long)f->max);
		return;
	}
	*(int64_t *)at = i;
}

static void decode_time(const struct node *n, const struct place *p, void *at,
			struct decode *d)
{
	int64_t ms = 0;
	const char *s;
	size_t len;

	if (!is_type(d, p, n, NODE_STRING, "a time in RFC 3339"))
		return;
	s = node_string(n, &len);
	/* 1970 itself is how an absent time is kept. */
	if (clock_parse(s, len, &ms) == 0 && ms)
		*(int64_t *)at = ms;
	else
		wrong(d, p, "must be a time like 2026-01-31T12:00:00Z");
}

static void decode_enum(const struct field *f, const struct node *n,
			const struct place *p, void *at, struct decode *d)
{
	struct buf list = BUF_INIT(256);
	const char *s;

	if (!is_type(d, p, n, NODE_STRING, "a string"))
		return;
	s = node_string(n, NULL);
	for (int i = 1; f->names[i]; i++)
		if (strcmp(f->names[i], s) == 0) {
			*(int *)at = i;
			return;
		}
	for (int i = 1; f->names[i]; i++)
		buf_addf(&list, "%s%s", i > 1 ? ", " : "", f->names[i]);
	wrong(d, p, "must be one of %s", buf_str(&list));
	buf_release(&list);
}

static void decode_raw(const struct field *f, const struct node *n,
		       const struct place *p, void *at, struct decode *d)
{
	size_t most = f->max ? (size_t)f->max : 65536;
	struct buf text = BUF_INIT(d->mode == FIELD_STORED ? SIZE_MAX : most);

	if (is_type(d, p, n, NODE_OBJECT, "an object")) {
		json_write(n, false, &text);
		if (buf_ok(&text))
			*(const char **)at =
				arena_memdup(d->v->arena, text.data, text.len);
		else
			wrong(d, p, "must have at most %zu bytes", text.max);
	}
	buf_release(&text);
}

static void decode_tag(struct decode *d, const struct place *p, const char *key,
		       const struct node *n, struct field_tag *tag)
{
	bool stored = d->mode == FIELD_STORED;
	size_t len;

	if (!stored && !format_tag.check(key, strlen(key)))
		wrong(d, p, "a tag's key %s", format_tag.words);
	if (!is_type(d, p, n, NODE_STRING, "a string"))
		return;
	tag->key = key;
	tag->value = node_string(n, &len);
	if (!stored && (len > 256 || !format_text.check(tag->value, len)))
		wrong(d, p,
		      "must have at most 256 bytes and no control "
		      "characters");
}

static void decode_tags(const struct node *n, const struct place *p, void *at,
			struct decode *d)
{
	struct items *tags = at;
	struct node_walk w;
	const struct node *value;
	const char *key;
	struct field_tag *t;

	if (!is_type(d, p, n, NODE_OBJECT, "an object of strings"))
		return;
	if (d->mode != FIELD_STORED && node_count(n) > FIELD_TAGS_MOST) {
		wrong(d, p, "must have at most %d tags", FIELD_TAGS_MOST);
		return;
	}
	t = tags->at = arena_alloc(d->v->arena,
				   node_count(n) * sizeof(struct field_tag));
	w = node_walk(n);
	while ((value = node_walk_next(&w, &key))) {
		struct place here = {p, key, 0, 0};

		decode_tag(d, &here, key, value, &t[tags->n]);
		if (t[tags->n].key)
			tags->n++;
	}
}

static void decode_object(const struct field *fields, const struct node *n,
			  const struct place *p, void *out, struct decode *d);
static void decode_value(const struct field *f, const struct node *n,
			 const struct place *p, void *at, struct decode *d);

static void decode_list(const struct field *f, const struct node *n,
			const struct place *p, void *at, struct decode *d)
{
	size_t most = f->max ? (size_t)f->max : FIELD_LIST_MOST;
	struct field item = *f;
	struct items *items = at;

	if (!is_type(d, p, n, NODE_ARRAY, "an array"))
		return;
	if (d->mode != FIELD_STORED &&
	    (node_count(n) > most || node_count(n) < (size_t)f->min)) {
		wrong(d, p, "must have %zu to %zu items", (size_t)f->min, most);
		return;
	}
	item.type = f->item;
	item.min = item.max = 0;
	items->n = node_count(n);
	items->at = arena_alloc(d->v->arena, items->n * f->size);
	for (size_t i = 0; i < items->n; i++) {
		struct place here = {p, NULL, i, 0};

		decode_value(&item, node_at(n, i), &here,
			     (char *)items->at + i * f->size, d);
	}
}

static void decode_value(const struct field *f, const struct node *n,
			 const struct place *p, void *at, struct decode *d)
{
	switch (f->type) {
	case FIELD_STRING:
		decode_string(f, n, p, at, d);
		break;
	case FIELD_INT:
		decode_int(f, n, p, at, d);
		break;
	case FIELD_BOOL:
		if (is_type(d, p, n, NODE_BOOL, "true or false"))
			*(bool *)at = node_bool(n);
		break;
	case FIELD_TIME:
		decode_time(n, p, at, d);
		break;
	case FIELD_ENUM:
		decode_enum(f, n, p, at, d);
		break;
	case FIELD_RAW:
		decode_raw(f, n, p, at, d);
		break;
	case FIELD_TAGS:
		decode_tags(n, p, at, d);
		break;
	case FIELD_LIST:
		decode_list(f, n, p, at, d);
		break;
	case FIELD_OBJECT:
		decode_object(f->fields, n, p, at, d);
		break;
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
}

/* A default is JSON written in a table of ours; that it is valid is tested. */
static void set_fallback(const struct field *f, const struct place *p, void *at,
			 struct decode *d)
{
	struct node *n;
	struct err err;

	n = json_parse(f->fallback, strlen(f->fallback), d->v->arena, &err);
	if (n)
		decode_value(f, n, p, at, d);
}

static void decode_absent(const struct field *f, const struct place *p,
			  void *at, struct decode *d)
{
	/* What field_settle() takes over from the version before is neither
	 * missing nor to be filled in here. */
	bool kept = d->mode == FIELD_UPDATE && p->fixed;
	bool ours = d->mode == FIELD_STORED || p->fixed & FIELD_READ_ONLY;

	if (f->type == FIELD_INT)
		*(int64_t *)at = f->flags & FIELD_SPARSE ? 0 : FIELD_NONE;
	if (f->fallback && d->mode != FIELD_STORED && !kept)
		set_fallback(f, p, at, d);
	else if (f->flags & FIELD_REQUIRED && !ours && !kept)
		wrong(d, p, "is required");
	else if (f->type == FIELD_OBJECT)
		decode_object(f->fields, NULL, p, at, d);
}

static void find_unknown(const struct field *fields, const struct node *n,
			 const struct place *p, struct decode *d)
{
	struct node_walk w = node_walk(n);
	const char *key;

	while (node_walk_next(&w, &key)) {
		struct field_walk rows = field_walk(fields);
		const struct field *f;
		struct place here = {p, key, 0, 0};

		while ((f = field_walk_next(&rows, NULL)))
			if (strcmp(f->name, key) == 0)
				break;
		if (!f)
			wrong(d, &here, "is not a field");
	}
}

static unsigned depth_of(const struct place *p)
{
	unsigned n = 0;

	for (; p; p = p->up)
		n++;
	return n;
}

/* N may be NULL: an object that is absent. */
static void decode_object(const struct field *fields, const struct node *n,
			  const struct place *p, void *out, struct decode *d)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset, known = 0;

	if (n && !is_type(d, p, n, NODE_OBJECT, "an object"))
		return;
	if (depth_of(p) > DEPTH_MOST) {
		wrong(d, p, "is nested too deeply");
		return;
	}
	while ((f = field_walk_next(&w, &offset))) {
		const struct node *value = n ? node_get(n, f->name) : NULL;
		struct place here = {p, f->name, 0,
				     (f->flags & FIXED) | (p ? p->fixed : 0)};

		known += value != NULL;
		if (value && node_type(value) == NODE_NULL)
			value = NULL;
		if (!value)
			decode_absent(f, &here, (char *)out + offset, d);
		else if (d->mode == FIELD_CREATE && f->flags & FIELD_READ_ONLY)
			wrong(d, &here, "is read-only");
		else
			decode_value(f, value, &here, (char *)out + offset, d);
	}
	if (n && known < node_count(n))
		find_unknown(fields, n, p, d);
}

void field_decode(const struct field *fields, const struct node *n,
		  enum field_mode mode, void *out, struct violations *v)
{
	struct decode d = {mode, v};

	decode_object(fields, n, NULL, out, &d);
}
