/*
 * RFC 7396.  Two documents with a NUL between them: target and patch.
 *
 * Merging does what the patch says and leaves alone what it does not name; a
 * second time it changes nothing; the patch itself stays as it was.
 */

#include "base/json.h"
#include "fuzz/fuzz.h"

static struct buf text_of(const struct node *n)
{
	struct buf b = BUF_INIT((size_t)32 << 20);

	json_write(n, false, &b);
	MUST(buf_ok(&b));
	return b;
}

static void must_equal(const struct node *a, const struct node *b)
{
	struct buf one = text_of(a), other = text_of(b);

	MUST_SAME(buf_str(&one), buf_str(&other));
	buf_release(&one);
	buf_release(&other);
}

static bool is_object(const struct node *n)
{
	return n && node_type(n) == NODE_OBJECT;
}

/* What the patch names is in RESULT as it says. */
static void check_named(const struct node *result, const struct node *patch)
{
	struct node_walk w;
	const struct node *value;
	const char *key;

	if (!is_object(patch)) {
		must_equal(result, patch);
		return;
	}
	MUST(is_object(result));
	w = node_walk(patch);
	while ((value = node_walk_next(&w, &key))) {
		const struct node *got = node_get(result, key);

		MUST((got == NULL) == (node_type(value) == NODE_NULL));
		if (got)
			check_named(got, value);
	}
}

/* What it does not name is in RESULT as it was in TARGET; and the other way
 * round: nothing came from nowhere. */
static void check_unnamed(const struct node *result, const struct node *target,
			  const struct node *patch)
{
	struct node_walk w;
	const struct node *value;
	const char *key;

	if (!is_object(patch))
		return;
	if (is_object(target)) {
		w = node_walk(target);
		while ((value = node_walk_next(&w, &key)))
			if (!node_get(patch, key))
				must_equal(node_get(result, key), value);
	}
	w = node_walk(result);
	while ((value = node_walk_next(&w, &key))) {
		const struct node *was =
			is_object(target) ? node_get(target, key) : NULL;
		const struct node *change = node_get(patch, key);

		MUST(was || change);
		if (change)
			check_unnamed(value, was, change);
	}
}

static void check(struct arena *a, const char *target, const struct node *patch)
{
	struct buf before = text_of(patch), after;
	struct err err;
	struct node *was = json_parse(target, strlen(target), a, &err);
	struct node *result = json_parse(target, strlen(target), a, &err);

	result = node_merge(a, result, patch);
	MUST(result);
	after = text_of(patch);
	MUST_SAME(buf_str(&before), buf_str(&after));
	buf_release(&after);
	check_named(result, patch);
	check_unnamed(result, was, patch);
	after = text_of(result);
	result = node_merge(a, result, patch);
	MUST(result);
	buf_release(&before);
	before = text_of(result);
	MUST_SAME(buf_str(&before), buf_str(&after));
	buf_release(&before);
	buf_release(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *split = size ? memchr(data, 0, size) : NULL;
	struct arena a;
	struct err err;
	struct node *target, *patch;

	if (!split)
		return 0;
	arena_init(&a, (size_t)64 << 20);
	target = json_parse((const char *)data, (size_t)(split - data), &a,
			    &err);
	patch = json_parse((const char *)split + 1,
			   size - (size_t)(split - data) - 1, &a, &err);
	if (target && patch)
		check(&a, (const char *)data, patch);
	arena_release(&a);
	return 0;
}
