/*
 * JSON through the field tables.  The first byte picks the table, the mode and
 * how much memory there is; the rest is the document.
 *
 * What decodes without a violation encodes to a document that decodes to the
 * same bytes; so does its copy; nothing secret is in the public view; and as
 * its own successor it has nothing to settle.
 */

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "model/kind.h"
#include "sample.h"

struct table {
	const struct field *fields;
	size_t size;
};

static struct table pick(unsigned n)
{
	size_t count = 0;

	while (kinds[count])
		count++;
	n %= count + 1;
	if (n == count)
		return (struct table){sample_fields, sizeof(struct sample)};
	return (struct table){kinds[n]->fields, kinds[n]->size};
}

static struct buf encode(const struct table *t, const void *object,
			 enum field_view view)
{
	struct buf b = BUF_INIT((size_t)16 << 20);

	field_encode(t->fields, object, view, &b);
	MUST(buf_ok(&b));
	return b;
}

/* TEXT, which we wrote ourselves, as a struct. */
static void *reread(const struct table *t, const struct buf *text,
		    struct arena *a)
{
	struct violations bad;
	struct err err;
	struct node *n = json_parse(text->data, text->len, a, &err);
	void *object = arena_alloc(a, t->size);

	MUST(n);
	violations_init(&bad, a);
	field_decode(t->fields, n, FIELD_STORED, object, &bad);
	MUST(bad.n == 0);
	return object;
}

static void check_secrets(const struct field *fields, const void *object)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset))) {
		const void *at = (const char *)object + offset;

		if (f->flags & FIELD_SECRET)
			MUST(field_absent(f, at));
		else if (f->type == FIELD_OBJECT)
			check_secrets(f->fields, at);
	}
}

static void check_good(const struct table *t, const void *object,
		       struct arena *a)
{
	struct buf first = encode(t, object, FIELD_FULL), again;
	void *same = reread(t, &first, a);
	void *copy = field_copy(t->fields, t->size, object);
	struct violations bad;

	again = encode(t, same, FIELD_FULL);
	MUST_SAME(buf_str(&first), buf_str(&again));
	buf_release(&again);
	again = encode(t, copy, FIELD_FULL);
	MUST_SAME(buf_str(&first), buf_str(&again));
	buf_release(&again);
	MUST(!field_changed(t->fields, object, same));
	violations_init(&bad, a);
	field_settle(t->fields, copy, same, &bad);
	MUST(bad.n == 0);
	again = encode(t, object, FIELD_PUBLIC);
	check_secrets(t->fields, reread(t, &again, a));
	buf_release(&again);
	buf_release(&first);
	free(copy);
}

/* Each has words, and a pointer into the document. */
static void check_bad(const struct violations *bad)
{
	struct err err = {0};

	MUST(violations_err(bad, &err) < 0);
	MUST(err.code == ERR_INVALID && err.msg[0]);
	for (size_t i = 0; i < bad->n && i < VIOLATIONS_MOST; i++) {
		const char *pointer = bad->list[i].pointer;

		MUST(!*pointer || *pointer == '/');
		MUST(bad->list[i].message[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t rooms[] = {1 << 24, 1 << 24, 1 << 24, 1 << 16};
	struct violations bad;
	struct err err = {0};
	struct table t;
	struct arena a;
	struct node *n;

	if (!size)
		return 0;
	t = pick(data[0] / 12);
	arena_init(&a, rooms[data[0] / 3 % 4]);
	n = json_parse((const char *)data + 1, size - 1, &a, &err);
	MUST(n || err.code == ERR_INVALID || err.code == ERR_TOO_LARGE);
	if (n) {
		void *object = arena_alloc(&a, t.size);
		struct arena more;

		violations_init(&bad, &a);
		field_decode(t.fields, n, (enum field_mode)(data[0] % 3),
			     object, &bad);
		arena_init(&more, (size_t)64 << 20);
		if (bad.n)
			check_bad(&bad);
		else
			check_good(&t, object, &more);
		arena_release(&more);
	}
	arena_release(&a);
	return 0;
}
