#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/random.h"
#include "test.h"

static void gives_zeroed_memory_for_any_type(void)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t size = 0; size < 300; size++) {
		unsigned char *p = arena_alloc(&a, size);

		CHECK((uintptr_t)p % 16 == 0);
		for (size_t i = 0; i < size; i++)
			CHECK(p[i] == 0);
		memset(p, 0xff, size);
	}
	arena_release(&a);
}

/* Pieces of all sizes, each filled with its own byte, looked at again when all
 * are there. */
static void pieces_do_not_overlap(void)
{
	enum { N = 400 };
	static unsigned char *piece[N];
	static size_t size[N];
	struct random_seeded r;
	struct arena a;

	random_seed(&r, 1);
	arena_init(&a, (size_t)16 << 20);
	for (int i = 0; i < N; i++) {
		size[i] = random_below(&r.base, i % 10 ? 200 : 20000);
		piece[i] = arena_try(&a, size[i]);
		if (!piece[i])
			abort();
		memset(piece[i], i, size[i]);
	}
	for (int i = 0; i < N; i++)
		for (size_t j = 0; j < size[i]; j++)
			if (piece[i][j] != (unsigned char)i) {
				CHECK(!"a piece was written over");
				break;
			}
	arena_release(&a);
}

static void refuses_past_its_ceiling(void)
{
	struct arena a;

	arena_init(&a, 1000);
	CHECK(arena_try(&a, 1001) == NULL);
	CHECK(arena_try(&a, SIZE_MAX) == NULL);
	CHECK(arena_try(&a, SIZE_MAX - 14) == NULL);
	CHECK(arena_try(&a, 900) != NULL);
	CHECK(arena_try(&a, 101) == NULL);
	CHECK(arena_try(&a, 60) != NULL);
	CHECK(a.used <= a.max);
	arena_release(&a);
	CHECK(a.used == 0);
}

static void is_as_good_as_new_after_clear(void)
{
	struct arena a;

	arena_init(&a, 100000);
	for (int round = 0; round < 50; round++) {
		CHECK(arena_try(&a, 500) != NULL);
		if (round % 3 == 0)
			CHECK(arena_try(&a, 60000) != NULL);
		if (round % 7 == 0)
			for (int i = 0; i < 100; i++)
				CHECK(arena_try(&a, 100) != NULL);
		arena_clear(&a);
		CHECK(a.used == 0);
	}
	CHECK(((char *)arena_alloc(&a, 1))[0] == 0);
	arena_release(&a);
	arena_release(&a);
}

/* Small pieces fill blocks, large ones have their own; MANY of both. */
static void take_some(struct arena *a, size_t many)
{
	for (size_t i = 0; i < many; i++) {
		char *p = arena_try(a, i % 5 == 4 ? 9000 : 700);

		CHECK(p != NULL);
		if (p)
			memset(p, 0xff, 700);
	}
}

static void is_as_it_was_after_rewinding(void)
{
	for (size_t before = 0; before < 20; before++)
		for (size_t after = 0; after < 40; after += 3) {
			struct arena a;
			struct arena_mark mark;
			const char *kept = NULL;
			size_t used;

			arena_init(&a, (size_t)1 << 20);
			take_some(&a, before);
			if (before)
				kept = arena_strdup(&a, "kept");
			used = a.used;
			mark = arena_mark(&a);
			take_some(&a, after);
			arena_rewind(&a, &mark);
			CHECK(a.used == used);
			take_some(&a, after);
			CHECK(!kept || strcmp(kept, "kept") == 0);
			arena_release(&a);
		}
}

static void copies_text(void)
{
	char text[] = "some text";
	struct arena a;
	char *s, *m;

	arena_init(&a, 4096);
	s = arena_strdup(&a, text);
	m = arena_memdup(&a, text, 4);
	text[0] = 'X';
	CHECK_STR(s, "some text");
	CHECK_STR(m, "some");
	CHECK_STR(arena_memdup(&a, NULL, 0), "");
	CHECK_STR(arena_printf(&a, "%s-%03d", "web", 7), "web-007");
	CHECK_STR(arena_printf(&a, "%s", ""), "");
	arena_release(&a);
}

int main(void)
{
	RUN(gives_zeroed_memory_for_any_type);
	RUN(pieces_do_not_overlap);
	RUN(refuses_past_its_ceiling);
	RUN(is_as_good_as_new_after_clear);
	RUN(is_as_it_was_after_rewinding);
	RUN(copies_text);
	return test_done();
}
