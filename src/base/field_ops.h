/* field_ops - what is done with field tables; see field.h. */
#pragma once

#include "base/field.h"

void violations_init(struct violations *v, struct arena *a);
void violations_add(struct violations *v, const char *pointer, const char *fmt,
		    ...) PRINTF(3, 4);

/* ERR_INVALID or ERR_IMMUTABLE with all of them; the arena keeps a copy. */
int violations_err(const struct violations *v, struct err *err);

/* Fill the zeroed struct OUT from N.  Everything wrong is added to V. */
void field_decode(const struct field *fields, const struct node *n,
		  enum field_mode mode, void *out, struct violations *v);

/* Make NEW, decoded with FIELD_UPDATE, a successor of OLD: a read-only,
 * immutable or secret field that is absent is taken over, one that differs is
 * a violation (secrets may differ; one that is read-only may not be sent). */
void field_settle(const struct field *fields, const void *old, void *new,
		  struct violations *v);

/* True when a field that a user can set differs; read-only ones are passed
 * over. */
bool field_changed(const struct field *fields, const void *a, const void *b);

/* The JSON object, compact. */
void field_encode(const struct field *fields, const void *object,
		  enum field_view view, struct buf *out);

/* A copy with everything it points to, in one block to free(). */
void *field_copy(const struct field *fields, size_t size, const void *object);

/* The same at TO, which has room for so many bytes, where a pointer may be. */
size_t field_copy_size(const struct field *fields, size_t size,
		       const void *object);
void *field_copy_to(const struct field *fields, size_t size, const void *object,
		    void *to);

/* The row at a path ("spec.flavorId"), and where its member is in OBJECT
 * (both may be NULL); NULL when there is no such path. */
const struct field *field_find(const struct field *fields, const char *path,
			       const void *object, const void **ret_at);

/* The member at AT as plain text, for columns and filters; nothing when it is
 * absent. */
void field_text(const struct field *f, const void *at, struct buf *out);

/* The member at AT is what TEXT says. */
bool field_is(const struct field *f, const void *at, const char *text);

bool field_absent(const struct field *f, const void *at);

/* The value of a tag, or NULL. */
const char *field_tag_get(const struct items *tags, const char *key);

/* Every row, includes opened: start with a zeroed walk, end at NULL. */
struct field_walk {
	const struct field *stack[4];
	size_t base[4]; /* offset of the struct the rows belong to */
	int depth;
};

struct field_walk field_walk(const struct field *fields);
const struct field *field_walk_next(struct field_walk *w, size_t *ret_offset);
