/* Digests, and how they are written down. */
#include <stdio.h>

#include "base/digest.h"
#include "test.h"

static const char *hex_of(const unsigned char *p, size_t n)
{
	static char out[1024];

	memset(out, '#', sizeof(out));
	digest_hex(p, n, out);
	return out;
}

static void every_byte_has_its_two_digits(void)
{
	unsigned char all[256];
	char want[2 * sizeof(all) + 1];

	for (unsigned i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	for (size_t from = 0; from < 8; from++) {
		for (size_t i = from; i < sizeof(all); i++)
			snprintf(want + 2 * (i - from), 3, "%02x", all[i]);
		CHECK_STR(hex_of(all + from, sizeof(all) - from), want);
	}
}

static void any_number_of_bytes_will_do(void)
{
	static const unsigned char some[] = {0xff, 0x00, 0x9a, 0xa9, 0xf0,
					     0x0f, 0x10, 0xef, 0xfe};
	static const char want[] = "ff009aa9f00f10effe";

	for (size_t n = 0; n <= sizeof(some); n++) {
		const char *got = hex_of(some, n);

		CHECK(strlen(got) == 2 * n && !strncmp(got, want, 2 * n));
		CHECK(got[2 * n + 1] == '#');
	}
}

static void sums_are_those_of_the_standard(void)
{
	unsigned char sum[DIGEST_SHA256_LEN];

	digest_sha256("abc", 3, sum);
	CHECK_STR(hex_of(sum, sizeof(sum)),
		  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20"
		  "015ad");
	digest_sha256_two("a", 1, "bc", 2, sum);
	CHECK_STR(hex_of(sum, 4), "ba7816bf");
	digest_sha1("abc", 3, sum);
	CHECK_STR(hex_of(sum, DIGEST_SHA1_LEN),
		  "a9993e364706816aba3e25717850c26c9cd0d89d");
}

int main(void)
{
	RUN(every_byte_has_its_two_digits);
	RUN(any_number_of_bytes_will_do);
	RUN(sums_are_those_of_the_standard);
	return test_done();
}
