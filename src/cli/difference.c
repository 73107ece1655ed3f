#include "cli/difference.h"

#include <string.h>

struct walking {
	struct arena *arena;
	difference_fn *fn;
	void *ctx;
};

static bool is_servers(const char *key)
{
	static const char *const keys[] = {
		"id",        "uid",       "revision",  "generation",
		"createdAt", "createdBy", "updatedAt", "updatedBy",
		"deletedAt", "status",
	};

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		if (strcmp(keys[i], key) == 0)
			return true;
	return false;
}

static bool is_empty(const struct node *n)
{
	enum node_type type = n ? node_type(n) : NODE_NULL;

	return type == NODE_NULL ||
	       ((type == NODE_ARRAY || type == NODE_OBJECT) && !node_count(n));
}

static bool same_text(const struct node *a, const struct node *b)
{
	struct buf x = BUF_INIT((size_t)16 << 20), y = x;
	bool same;

	json_write(a, false, &x);
	json_write(b, false, &y);
	same = x.len == y.len && memcmp(buf_str(&x), buf_str(&y), x.len) == 0;
	buf_release(&x);
	buf_release(&y);
	return same;
}

static void compare(const struct walking *w, const char *path,
		    const struct node *old, const struct node *new);

/* The members of A, against B's; when ONLY, those that B has not. */
static void members(const struct walking *w, const char *path,
		    const struct node *a, const struct node *b, bool only)
{
	struct node_walk walk = node_walk(a);
	const struct node *n, *other;
	const char *key, *here;

	while ((n = node_walk_next(&walk, &key))) {
		if (!*path && is_servers(key))
			continue;
		here = arena_printf(w->arena, "%s%s%s", path, *path ? "." : "",
				    key);
		other = b ? node_get(b, key) : NULL;
		if (!only)
			compare(w, here, n, other);
		else if (!other)
			compare(w, here, NULL, n);
	}
}

static bool is_object(const struct node *n)
{
	return n && node_type(n) == NODE_OBJECT;
}

static void compare(const struct walking *w, const char *path,
		    const struct node *old, const struct node *new)
{
	bool whole = !(is_object(old) || is_empty(old)) ||
		     !(is_object(new) || is_empty(new));

	if (is_empty(old) && is_empty(new))
		return;
	if (whole) {
		if (is_empty(old) || is_empty(new) || !same_text(old, new))
			w->fn(w->ctx, path, is_empty(old) ? NULL : old,
			      is_empty(new) ? NULL : new);
		return;
	}
	if (is_object(old))
		members(w, path, old, is_object(new) ? new : NULL, false);
	if (is_object(new))
		members(w, path, new, is_object(old) ? old : NULL, true);
}

void difference_walk(const struct node *old, const struct node *new,
		     struct arena *a, difference_fn *fn, void *ctx)
{
	struct walking w = {a, fn, ctx};

	compare(&w, "", old, new);
}
