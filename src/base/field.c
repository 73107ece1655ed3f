#include "base/field.h"

#include <assert.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"

struct field_walk field_walk(const struct field *fields)
{
	return (struct field_walk){.stack = {fields}};
}

const struct field *field_walk_next(struct field_walk *w, size_t *ret_offset)
{
	for (;;) {
		const struct field *f = w->stack[w->depth]++;

		if (f->type == FIELD_END) {
			if (w->depth-- == 0)
				return NULL;
			continue;
		}
		if (f->type == FIELD_INCLUDE) {
			assert(w->depth + 1 < (int)COUNT_OF(w->stack));
			w->base[w->depth + 1] = w->base[w->depth] + f->offset;
			w->stack[++w->depth] = f->fields;
			continue;
		}
		if (ret_offset)
			*ret_offset = w->base[w->depth] + f->offset;
		return f;
	}
}

static const void *at(const void *object, size_t offset)
{
	return object ? (const char *)object + offset : NULL;
}

const struct field *field_find(const struct field *fields, const char *path,
			       const void *object, const void **ret_at)
{
	size_t len = (size_t)(strchrnul(path, '.') - path), offset;
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, &offset)))
		if (*f->name == *path && strncmp(f->name, path, len) == 0 &&
		    !f->name[len])
			break;
	if (!f)
		return NULL;
	if (path[len] == '.') {
		if (f->type != FIELD_OBJECT)
			return NULL;
		return field_find(f->fields, path + len + 1, at(object, offset),
				  ret_at);
	}
	if (ret_at)
		*ret_at = at(object, offset);
	return f;
}

static bool object_absent(const struct field *fields, const void *object)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset)))
		if (!field_absent(f, at(object, offset)))
			return false;
	return true;
}

bool field_absent(const struct field *f, const void *at)
{
	switch (f->type) {
	case FIELD_STRING:
	case FIELD_RAW:
		return !*(const char *const *)at;
	case FIELD_INT:
		return *(const int64_t *)at ==
		       (f->flags & FIELD_SPARSE ? 0 : FIELD_NONE);
	case FIELD_TIME:
		return !*(const int64_t *)at;
	case FIELD_BOOL:
		return !*(const bool *)at;
	case FIELD_ENUM:
		return !*(const int *)at;
	case FIELD_TAGS:
	case FIELD_LIST:
		return !((const struct items *)at)->n;
	case FIELD_OBJECT:
		return object_absent(f->fields, at);
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
	return true;
}

const char *field_tag_get(const struct items *tags, const char *key)
{
	const struct field_tag *t = tags->at;

	for (size_t i = 0; i < tags->n; i++)
		if (strcmp(t[i].key, key) == 0)
			return t[i].value;
	return NULL;
}

static bool text_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool tags_equal(const struct items *a, const struct items *b)
{
	const struct field_tag *t = a->at;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!text_equal(field_tag_get(b, t[i].key), t[i].value))
			return false;
	return true;
}

static bool objects_equal(const struct field *fields, const void *a,
			  const void *b);
static bool equal(const struct field *f, const void *a, const void *b);

static bool lists_equal(const struct field *f, const struct items *a,
			const struct items *b)
{
	struct field item = *f;

	item.type = f->item;
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!equal(&item, at(a->at, i * f->size),
			   at(b->at, i * f->size)))
			return false;
	return true;
}

static bool equal(const struct field *f, const void *a, const void *b)
{
	switch (f->type) {
	case FIELD_STRING:
	case FIELD_RAW:
		return text_equal(*(const char *const *)a,
				  *(const char *const *)b);
	case FIELD_INT:
	case FIELD_TIME:
		return *(const int64_t *)a == *(const int64_t *)b;
	case FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case FIELD_ENUM:
		return *(const int *)a == *(const int *)b;
	case FIELD_TAGS:
		return tags_equal(a, b);
	case FIELD_LIST:
		return lists_equal(f, a, b);
	case FIELD_OBJECT:
		return objects_equal(f->fields, a, b);
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
	return true;
}

static bool objects_equal(const struct field *fields, const void *a,
			  const void *b)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset)))
		if (!equal(f, at(a, offset), at(b, offset)))
			return false;
	return true;
}

bool field_changed(const struct field *fields, const void *a, const void *b)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset))) {
		if (f->flags & FIELD_READ_ONLY)
			continue;
		if (f->type == FIELD_OBJECT
			    ? field_changed(f->fields, at(a, offset),
					    at(b, offset))
			    : !equal(f, at(a, offset), at(b, offset)))
			return true;
	}
	return false;
}

static size_t member_size(const struct field *f)
{
	switch (f->type) {
	case FIELD_STRING:
	case FIELD_RAW:
		return sizeof(const char *);
	case FIELD_INT:
	case FIELD_TIME:
		return sizeof(int64_t);
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_ENUM:
		return sizeof(int);
	case FIELD_TAGS:
	case FIELD_LIST:
		return sizeof(struct items);
	case FIELD_OBJECT: /* settled member by member */
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
	return 0;
}

/* Where the violations of a settled field are told. */
struct settle {
	struct violations *v;
	char path[128];
};

static void settle_object(const struct field *fields, const void *old,
			  void *new, struct settle *s, unsigned inherited);

/* A secret may change, what is fixed may be sent as it is.  Nobody was shown a
 * secret that is read-only: who sends one guesses. */
static bool may_be_sent(const struct field *f, const void *old, const void *new,
			unsigned flags)
{
	if (flags & FIELD_SECRET)
		return !(flags & FIELD_READ_ONLY);
	return equal(f, old, new);
}

static void settle_member(const struct field *f, const void *old, void *new,
			  struct settle *s, unsigned flags)
{
	size_t end = strlen(s->path);

	if (f->type != FIELD_OBJECT && field_absent(f, new)) {
		memcpy(new, old, member_size(f));
		return;
	}
	if (f->type != FIELD_OBJECT && may_be_sent(f, old, new, flags))
		return;
	if (end + 1 + strlen(f->name) >= sizeof(s->path))
		return;
	s->path[end] = '/';
	memcpy(s->path + end + 1, f->name, strlen(f->name) + 1);
	if (f->type == FIELD_OBJECT)
		settle_object(f->fields, old, new, s, flags);
	else
		violations_add(s->v, s->path,
			       flags & FIELD_READ_ONLY
				       ? "is read-only: leave it out, or send "
					 "it as it is"
				       : "cannot change after creation");
	s->path[end] = '\0';
}

static void settle_object(const struct field *fields, const void *old,
			  void *new, struct settle *s, unsigned inherited)
{
	const unsigned fixed = FIELD_READ_ONLY | FIELD_IMMUTABLE | FIELD_SECRET;
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset))) {
		unsigned flags = (f->flags & fixed) | inherited;

		if (flags || f->type == FIELD_OBJECT)
			settle_member(f, at(old, offset), (char *)new + offset,
				      s, flags);
	}
}

void field_settle(const struct field *fields, const void *old, void *new,
		  struct violations *v)
{
	struct settle s = {.v = v};
	bool clean = !v->n;

	settle_object(fields, old, new, &s, 0);
	v->immutable = clean && s.v->n;
}

/* A block that pieces are cut from; while base is NULL it only counts. */
struct block {
	char *base;
	size_t used;
};

static void *cut_bytes(struct block *b, size_t size)
{
	void *p = b->base ? b->base + b->used : NULL;

	b->used += size;
	return p;
}

/* A piece for a struct.  Texts lie close to each other: there are many. */
static void *cut(struct block *b, size_t size)
{
	b->used = (b->used + 7) & ~(size_t)7;
	return cut_bytes(b, size);
}

static void move_object(const struct field *fields, void *object,
			struct block *b);

static const char *move_text(const char *s, struct block *b)
{
	size_t len;
	char *copy;

	if (!s)
		return NULL;
	len = strlen(s) + 1;
	copy = cut_bytes(b, len);
	return copy ? memcpy(copy, s, len) : s;
}

static void move_member(const struct field *f, void *at, struct block *b);

static void move_items(const struct field *f, size_t size, struct items *items,
		       struct block *b)
{
	struct field item = *f;
	size_t bytes = items->n * size;
	char *old = items->at, *copy = cut(b, bytes);

	item.type = f->item;
	if (copy)
		items->at = bytes ? memcpy(copy, old, bytes) : NULL;
	for (size_t i = 0; i < items->n; i++)
		move_member(&item, (char *)items->at + i * size, b);
}

static const struct field tag_fields[] = {
	{"key", FIELD_STRING, .offset = offsetof(struct field_tag, key)},
	{"value", FIELD_STRING, .offset = offsetof(struct field_tag, value)},
	{0},
};

static const struct field tag_item = {
	.type = FIELD_LIST, .item = FIELD_OBJECT, .fields = tag_fields};

static void move_member(const struct field *f, void *at, struct block *b)
{
	const char **text = at;

	switch (f->type) {
	case FIELD_STRING:
	case FIELD_RAW:
		if (b->base)
			*text = move_text(*text, b);
		else
			move_text(*text, b);
		break;
	case FIELD_TAGS:
		move_items(&tag_item, sizeof(struct field_tag), at, b);
		break;
	case FIELD_LIST:
		move_items(f, f->size, at, b);
		break;
	case FIELD_OBJECT:
		move_object(f->fields, at, b);
		break;
	case FIELD_INT:
	case FIELD_TIME:
	case FIELD_BOOL:
	case FIELD_ENUM:
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
}

/* Have everything OBJECT points to copied into B, and pointed to there. */
static void move_object(const struct field *fields, void *object,
			struct block *b)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset)))
		move_member(f, (char *)object + offset, b);
}

size_t field_copy_size(const struct field *fields, size_t size,
		       const void *object)
{
	/* Counting changes nothing, so that it may be done on the original. */
	union {
		const void *read;
		void *write;
	} original = {object};
	struct block b = {0};

	cut(&b, size);
	move_object(fields, original.write, &b);
	return b.used;
}

void *field_copy_to(const struct field *fields, size_t size, const void *object,
		    void *to)
{
	struct block b = {.base = to};

	memcpy(cut(&b, size), object, size);
	move_object(fields, to, &b);
	return to;
}

void *field_copy(const struct field *fields, size_t size, const void *object)
{
	return field_copy_to(fields, size, object,
			     xmalloc(field_copy_size(fields, size, object)));
}
