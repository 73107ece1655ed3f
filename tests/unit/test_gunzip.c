#include "base/gunzip.h"

#include <assert.h>
#include <stdint.h>

#include "base/attr.h"
#include "test.h"

/* What `printf hello | gzip -n` writes. */
static const unsigned char hello[] = {
	0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x03, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x86,
	0xa6, 0x10, 0x36, 0x05, 0x00, 0x00, 0x00,
};

static void what_was_packed_comes_out(void)
{
	struct buf out = BUF_INIT(100);

	buf_adds(&out, "oh, ");
	CHECK(gunzip(hello, sizeof(hello), &out) == 0);
	CHECK_STR(out.data, "oh, hello");
	buf_release(&out);
}

static void files_may_follow_each_other(void)
{
	unsigned char two[2 * sizeof(hello) + 3] = {0};
	struct buf out = BUF_INIT(100);

	memcpy(two, hello, sizeof(hello));
	memcpy(two + sizeof(hello), hello, sizeof(hello));
	CHECK(gunzip(two, sizeof(two) - 3, &out) == 0);
	CHECK_STR(out.data, "hellohello");
	buf_clear(&out);
	/* And zeroes. */
	CHECK(gunzip(two, sizeof(two), &out) == 0);
	CHECK_STR(out.data, "hellohello");
	buf_clear(&out);
	two[sizeof(two) - 1] = 'x';
	CHECK(gunzip(two, sizeof(two), &out) < 0);
	CHECK(buf_ok(&out));
	buf_release(&out);
}

static void each_byte_and_the_length_matter(void)
{
	/* But not when it was made and on what, and what fills up the last
	 * byte. */
	static const char may_differ[] = "\0\0\0\0\1\1\1\1\1\1"
					 "\0\0\0\0\0\0\1\0\0\0\0\0\0\0";

	static_assert(sizeof(may_differ) == sizeof(hello), "a byte for each");
	for (size_t i = 0; i < sizeof(hello); i++) {
		unsigned char bad[sizeof(hello)];
		struct buf out = BUF_INIT(100);

		memcpy(bad, hello, sizeof(hello));
		bad[i] ^= 0x80;
		CHECK((gunzip(bad, sizeof(bad), &out) == 0) == may_differ[i]);
		buf_clear(&out);
		CHECK(gunzip(hello, i, &out) < 0);
		buf_release(&out);
	}
}

static void no_more_is_unpacked_than_may_be(void)
{
	struct buf out = BUF_INIT(5);

	CHECK(gunzip(hello, sizeof(hello), &out) == 0);
	CHECK(buf_ok(&out));
	buf_release(&out);
	out = BUF_INIT(4);
	CHECK(gunzip(hello, sizeof(hello), &out) < 0);
	CHECK(!buf_ok(&out));
	buf_release(&out);
}

int main(void)
{
	RUN(what_was_packed_comes_out);
	RUN(files_may_follow_each_other);
	RUN(each_byte_and_the_length_matter);
	RUN(no_more_is_unpacked_than_may_be);
	return test_done();
}
