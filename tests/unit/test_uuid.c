#include "base/uuid.h"

#include "base/attr.h"
#include "base/digest.h"
#include "test.h"

#define SPACE_DNS "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
#define SPACE_URL "6ba7b811-9dad-11d1-80b4-00c04fd430c8"

/* RFC 9562 A.4, and Python's uuid.uuid5(). */
static void version_5_agrees_with_others(void)
{
	static const struct {
		const char *space, *name, *want;
	} t[] = {
		{SPACE_DNS, "www.example.com",
		 "2ed6657d-e927-568b-95e1-2665a8aea6a2"},
		{SPACE_DNS, "python.org",
		 "886313e1-3b8a-5372-9b90-0c9aee199e5d"},
		{SPACE_URL, "http://python.org/",
		 "4c565f0d-3f5a-5890-b41b-20cf47701c5e"},
		{SPACE_DNS, "", "4ebd0208-8328-5d69-8c44-ec50939c0967"},
		{SPACE_DNS, "m\xc3\xbcster",
		 "ca8e5629-3569-5d56-a516-d6e034f797b7"},
	};
	char got[UUID_LEN + 1];

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		uuid_v5(t[i].space, t[i].name, got);
		CHECK_STR(got, t[i].want);
	}
}

/* RFC 9562 A.6: the time 1645557742000 ms. */
static void version_7_begins_with_the_time(void)
{
	struct random_seeded r;
	char got[UUID_LEN + 1];

	random_seed(&r, 8);
	uuid_v7(1645557742000, 0xcc3, &r.base, got);
	CHECK(strncmp(got, "017f22e2-79b0-7cc3-", 19) == 0);
	CHECK(strchr("89ab", got[19]) != NULL);
	CHECK(uuid_valid(got, strlen(got)));
}

static void version_7_sorts_by_time(void)
{
	struct random_seeded r;
	char before[UUID_LEN + 1] = "", now[UUID_LEN + 1];
	int64_t ms = 1;

	random_seed(&r, 9);
	for (int i = 0; i < 5000; i++) {
		ms += 1 + (int64_t)random_below(&r.base, 60000000);
		uuid_v7(ms, 0, &r.base, now);
		CHECK(strcmp(before, now) < 0);
		CHECK(uuid_valid(now, UUID_LEN));
		memcpy(before, now, sizeof(now));
	}
}

static void version_7_differs_within_a_millisecond(void)
{
	static char seen[1000][UUID_LEN + 1];

	for (size_t i = 0; i < COUNT_OF(seen); i++) {
		uuid_v7(1700000000000, 7, &random_system, seen[i]);
		for (size_t j = 0; j < i; j++)
			CHECK(strcmp(seen[i], seen[j]) != 0);
	}
}

static void is_strict_about_the_text(void)
{
	static const char *const bad[] = {
		"",
		"6ba7b810-9dad-11d1-80b4-00c04fd430c",
		"6ba7b810-9dad-11d1-80b4-00c04fd430c88",
		"6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
		"6ba7b810-9dad-11d1-80b4-00c04fd430cg",
		"6ba7b8109dad-11d1-80b4-00c04fd430c8-",
		"6ba7b810_9dad-11d1-80b4-00c04fd430c8",
		"{6ba7b810-9dad-11d1-80b4-00c04fd430c}",
	};

	CHECK(uuid_valid(SPACE_DNS, UUID_LEN));
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(!uuid_valid(bad[i], strlen(bad[i])));
	CHECK(!uuid_valid(SPACE_DNS, UUID_LEN - 1));
}

/* FIPS 180's "abc". */
static void digests_agree_with_the_standard(void)
{
	unsigned char sum[DIGEST_SHA256_LEN];
	char hex[2 * DIGEST_SHA256_LEN + 1];

	digest_sha1("abc", 3, sum);
	digest_hex(sum, DIGEST_SHA1_LEN, hex);
	CHECK_STR(hex, "a9993e364706816aba3e25717850c26c9cd0d89d");
	digest_sha256("abc", 3, sum);
	digest_hex(sum, DIGEST_SHA256_LEN, hex);
	CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223"
		       "b00361a396177a9cb410ff61f20015ad");
	digest_sha256("", 0, sum);
	digest_hex(sum, 4, hex);
	CHECK_STR(hex, "e3b0c442");
}

int main(void)
{
	RUN(version_5_agrees_with_others);
	RUN(version_7_begins_with_the_time);
	RUN(version_7_sorts_by_time);
	RUN(version_7_differs_within_a_millisecond);
	RUN(is_strict_about_the_text);
	RUN(digests_agree_with_the_standard);
	return test_done();
}
