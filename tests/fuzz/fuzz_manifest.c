/*
 * Manifests.  What is read has a kind and a name, and begins at a line that the
 * text has; so does whatever is pointed to in it, and going through its names
 * ends.  What is refused says so.
 */

#include "cli/manifest.h"
#include "fuzz/fuzz.h"

static void on_name(void *ctx, const struct kind *k, const char *name)
{
	size_t *n = ctx;

	MUST(k && name);
	++*n;
}

static int resolve(void *ctx, const struct kind *k, const char *name,
		   const char **ret_id, struct failure *p)
{
	(void)ctx;
	MUST(k && name && p);
	*ret_id = "0190c1b4-6a3e-7c52-9d0f-3b1a5e8f2c47";
	return 0;
}

static size_t count_lines(const char *text)
{
	size_t n = 1;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void check_doc(const struct manifest_doc *d, const char *text,
		      struct arena *a)
{
	static const char *const pointers[] = {
		"", "/name", "/spec/rules/0/port", "/spec//x", "/a/b/c/d/e"};
	const struct manifest_world w = {a, resolve, NULL};
	struct failure p = {0};
	struct node *n = NULL;
	size_t lines = count_lines(text), names = 0;

	MUST(d->kind && d->name && d->node);
	MUST(d->line >= 1 && d->line <= lines);
	for (size_t i = 0; i < COUNT_OF(pointers); i++) {
		size_t line = manifest_line(d, pointers[i]);

		MUST(line >= d->line && line <= lines);
	}
	manifest_references(d, a, on_name, &names);
	if (manifest_translate(d, &w, &n, &p) == 0)
		MUST(n && node_type(n) == NODE_OBJECT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest m = {0};
	struct failure p = {0};
	struct arena a;
	const char *text;

	arena_init(&a, (size_t)256 << 20);
	text = arena_memdup(&a, (const char *)data, size);
	if (manifest_parse(&a, "f", text, &m, &p) < 0)
		MUST(p.err.code != ERR_NONE && p.err.msg[0]);
	for (size_t i = 0; i < m.n; i++)
		check_doc(&m.docs[i], text, &a);
	arena_release(&a);
	return 0;
}
