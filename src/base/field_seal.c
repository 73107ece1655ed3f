#include "base/field_seal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"

struct opening {
	const struct field_open *open;
	struct arena *arena;
	char path[FIELD_PATH_MOST];
	size_t path_len;
};

size_t field_path_add(char path[FIELD_PATH_MOST], size_t len, const char *name)
{
	int n = snprintf(path + len, FIELD_PATH_MOST - len, "%s%s",
			 len ? "." : "", name);

	/* Tables are ours, and not so deep. */
	assert(n > 0 && (size_t)n < FIELD_PATH_MOST - len);
	return len + (size_t)n;
}

size_t field_path_index(char path[FIELD_PATH_MOST], size_t len, size_t i)
{
	int n = snprintf(path + len, FIELD_PATH_MOST - len, "[%zu]", i);

	assert(n > 0 && (size_t)n < FIELD_PATH_MOST - len);
	return len + (size_t)n;
}

static int open_object(struct opening *o, const struct field *fields,
		       struct node *n, struct err *err);

static int open_items(struct opening *o, const struct field *f,
		      const struct node *list, struct err *err)
{
	size_t len = o->path_len;

	for (size_t i = 0; i < node_count(list); i++) {
		o->path_len = field_path_index(o->path, len, i);
		if (open_object(o, f->fields, node_at(list, i), err) < 0)
			return -1;
	}
	return 0;
}

static int open_secret(struct opening *o, const struct field *f,
		       struct node *object, struct node *value, struct err *err)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct node *plain;
	int r = o->open->fn(o->open->ctx, o->path, value, &b, err);

	if (r == 0 && b.len) {
		plain = json_parse(b.data, b.len, o->arena, err);
		r = plain && node_set(o->arena, object, f->name, plain) ? 0
									: -1;
	}
	if (b.data)
		explicit_bzero(b.data, b.room);
	buf_release(&b);
	return r;
}

static int open_member(struct opening *o, const struct field *f,
		       struct node *object, struct err *err)
{
	struct node *value = node_get(object, f->name);
	size_t len = o->path_len;
	int r = 0;

	if (!value)
		return 0;
	o->path_len = field_path_add(o->path, len, f->name);
	if (f->flags & FIELD_SECRET)
		r = open_secret(o, f, object, value, err);
	else if (f->type == FIELD_OBJECT)
		r = open_object(o, f->fields, value, err);
	else if (f->type == FIELD_LIST && f->item == FIELD_OBJECT &&
		 node_type(value) == NODE_ARRAY)
		r = open_items(o, f, value, err);
	o->path_len = len;
	o->path[len] = '\0';
	return r;
}

static int open_object(struct opening *o, const struct field *fields,
		       struct node *n, struct err *err)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;

	if (node_type(n) != NODE_OBJECT)
		return 0;
	while ((f = field_walk_next(&w, NULL)))
		if (open_member(o, f, n, err) < 0)
			return -1;
	return 0;
}

int field_open_sealed(const struct field *fields, struct node *doc,
		      struct arena *a, const struct field_open *open,
		      struct err *err)
{
	struct opening o = {.open = open, .arena = a};

	return open_object(&o, fields, doc, err);
}
