/*
 * json - JSON text to a tree and back.
 *
 * Strict: one value, no duplicate keys, valid UTF-8, integers within 64 bits.
 * A tree lives in the arena it was parsed into and is never freed by piece;
 * the arena's ceiling bounds what a small text can blow up to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct node; /* one JSON value */

enum node_type {
	NODE_NULL,
	NODE_BOOL,
	NODE_INT,
	NODE_REAL,
	NODE_STRING,
	NODE_ARRAY,
	NODE_OBJECT,
};

/* NULL with ERR_INVALID (where and why) or ERR_TOO_LARGE: the tree may take half
 * of what the arena has left, so that there is room to work with it. */
struct node *json_parse(const char *text, size_t len, struct arena *a,
			struct err *err) MUST_CHECK;

enum node_type node_type(const struct node *n);

/* What the type is called in a message: "a string". */
const char *node_type_name(const struct node *n);

bool node_bool(const struct node *n);
int64_t node_int(const struct node *n);
double node_real(const struct node *n);
const char *node_string(const struct node *n, size_t *ret_len);

/* Members of an array, or of an object in the order they were written. */
size_t node_count(const struct node *n);
struct node *node_at(const struct node *n, size_t i);
struct node *node_get(const struct node *n, const char *key);

struct node_walk {
	const struct node *object;
	size_t next;
};

struct node_walk node_walk(const struct node *object);

/* The next member's value, its key in *ret_key; NULL at the end. */
struct node *node_walk_next(struct node_walk *w, const char **ret_key);

/* The string at a path of keys ("status.state"), or NULL. */
const char *node_text(const struct node *n, const char *path);

/* Building, all in the arena; NULL when its ceiling is reached. */
struct node *node_new_object(struct arena *a);
struct node *node_new_array(struct arena *a);
struct node *node_new_string(struct arena *a, const char *s, size_t len);
struct node *node_new_int(struct arena *a, int64_t i);
struct node *node_new_real(struct arena *a, double d);
struct node *node_new_bool(struct arena *a, bool b);
struct node *node_new_null(struct arena *a);

/* Set or append; false when the ceiling is reached or VALUE is NULL. */
bool node_set(struct arena *a, struct node *object, const char *key,
	      struct node *value);
bool node_append(struct arena *a, struct node *array, struct node *value);
void node_unset(struct arena *a, struct node *object, const char *key);

/* RFC 7396: TARGET with PATCH merged into it.  TARGET may be NULL, and may be
 * changed on the way.  NULL when the arena's ceiling is reached. */
struct node *node_merge(struct arena *a, struct node *target,
			const struct node *patch);

/* Compact, or indented by two. */
void json_write(const struct node *n, bool indent, struct buf *out);

/* S as a JSON string, quotes and escapes included.  A byte that is not UTF-8
 * becomes U+FFFD: what we write can always be read. */
void json_add_string(struct buf *out, const char *s, size_t len);
