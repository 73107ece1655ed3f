#include "base/buf.h"

#include <stdlib.h>

#include "base/random.h"
#include "test.h"

static void is_an_empty_string_at_first(void)
{
	struct buf b = BUF_INIT(10);
	size_t len = 1;
	char *taken;

	CHECK_STR(buf_str(&b), "");
	CHECK(buf_ok(&b));
	taken = buf_take(&b, &len);
	CHECK_STR(taken, "");
	CHECK(len == 0);
	free(taken);
	buf_clear(&b);
	buf_release(&b);
	buf_release(&b);
}

static void appends_of_every_kind(void)
{
	struct buf b = BUF_INIT(1000);

	buf_adds(&b, "a");
	buf_addc(&b, 'b');
	buf_add(&b, "c\0d", 3);
	buf_addi(&b, -12);
	buf_addf(&b, "[%5.2f]", 1.5);
	CHECK(b.len == 1 + 1 + 3 + 3 + 7);
	CHECK(memcmp(b.data, "abc\0d-12[ 1.50]", b.len + 1) == 0);
	buf_release(&b);
}

static void writes_integers_as_printf_does(void)
{
	static const int64_t edges[] = {
		0,
		1,
		-1,
		9,
		10,
		-10,
		INT32_MAX,
		INT32_MIN,
		INT64_MAX,
		INT64_MIN,
		INT64_MAX - 1,
		INT64_MIN + 1,
	};
	struct buf b = BUF_INIT(100);
	struct random_seeded r;
	char want[32];

	random_seed(&r, 2);
	for (size_t i = 0; i < 10000; i++) {
		int64_t x;

		random_fill(&r.base, &x, sizeof(x));
		x >>= (int)random_below(&r.base, 64);
		if (i < COUNT_OF(edges))
			x = edges[i];
		snprintf(want, sizeof(want), "%lld", (long long)x);
		buf_clear(&b);
		buf_addi(&b, x);
		CHECK_STR(buf_str(&b), want);
	}
	buf_release(&b);
}

static void stops_at_its_ceiling_and_remembers(void)
{
	struct buf b = BUF_INIT(8);

	buf_adds(&b, "12345678");
	CHECK(buf_ok(&b));
	buf_addc(&b, '9');
	CHECK(!buf_ok(&b));
	CHECK_STR(buf_str(&b), "12345678");
	buf_eat(&b, 4);
	buf_addc(&b, '9');
	CHECK_STR(buf_str(&b), "5678");
	CHECK(!buf_ok(&b));
	buf_clear(&b);
	CHECK(buf_ok(&b));
	buf_addf(&b, "%s", "123456789");
	CHECK(!buf_ok(&b) && b.len == 0);
	buf_release(&b);
	CHECK(b.max == 8 && buf_ok(&b));
}

/* A full buf takes nothing more, not even what would fit: half a document
 * must never look like a whole one. */
static void takes_nothing_once_full(void)
{
	struct buf b = BUF_INIT(4);

	buf_adds(&b, "12");
	buf_adds(&b, "345");
	buf_adds(&b, "3");
	CHECK_STR(buf_str(&b), "12");
	buf_release(&b);
}

static void reserves_room_to_write_into(void)
{
	struct buf b = BUF_INIT(100000);
	char *p = buf_reserve(&b, 70000);

	CHECK(p != NULL);
	memset(p, 'x', 70000);
	buf_grew(&b, 69999);
	CHECK(b.len == 69999 && b.data[69999] == '\0');
	CHECK(buf_reserve(&b, 30002) == NULL);
	CHECK(!buf_ok(&b));
	buf_release(&b);
}

/* buf_eat() once wrote through the NULL of a buf that had never grown. */
static void eats_nothing_from_nothing(void)
{
	struct buf b = BUF_INIT(10);

	buf_eat(&b, 0);
	CHECK_STR(buf_str(&b), "");
	buf_release(&b);
}

/* Random appends and bites, against an array. */
static void agrees_with_an_array(void)
{
	static char want[4096];
	size_t len = 0;
	struct buf b = BUF_INIT(sizeof(want));
	struct random_seeded r;

	random_seed(&r, 3);
	for (int turn = 0; turn < 20000; turn++) {
		size_t n = random_below(&r.base, 300);

		if (random_below(&r.base, 2) && len + n <= sizeof(want)) {
			random_fill(&r.base, want + len, n);
			buf_add(&b, want + len, n);
			len += n;
		} else {
			n = random_below(&r.base, len + 1);
			buf_eat(&b, n);
			memmove(want, want + n, len - n);
			len -= n;
		}
		CHECK(b.len == len);
		CHECK(!len || memcmp(b.data, want, len) == 0);
		CHECK(buf_str(&b)[len] == '\0');
	}
	CHECK(buf_ok(&b));
	buf_release(&b);
}

int main(void)
{
	RUN(is_an_empty_string_at_first);
	RUN(appends_of_every_kind);
	RUN(writes_integers_as_printf_does);
	RUN(stops_at_its_ceiling_and_remembers);
	RUN(takes_nothing_once_full);
	RUN(reserves_room_to_write_into);
	RUN(eats_nothing_from_nothing);
	RUN(agrees_with_an_array);
	return test_done();
}
