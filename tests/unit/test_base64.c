#include "base/base64.h"

#include <stdint.h>

#include "base/attr.h"
#include "base/random.h"
#include "test.h"

/* RFC 4648, section 10. */
static const struct {
	const char *plain, *text;
} rfc[] = {
	{"", ""},
	{"f", "Zg=="},
	{"fo", "Zm8="},
	{"foo", "Zm9v"},
	{"foob", "Zm9vYg=="},
	{"fooba", "Zm9vYmE="},
	{"foobar", "Zm9vYmFy"},
};

static void the_examples_of_the_rfc_hold(void)
{
	char text[16];
	unsigned char plain[16];

	for (size_t i = 0; i < COUNT_OF(rfc); i++) {
		size_t len = strlen(rfc[i].plain);

		base64_encode((const unsigned char *)rfc[i].plain, len, text);
		CHECK_STR(text, rfc[i].text);
		CHECK(strlen(text) == BASE64_TEXT(len));
		CHECK(base64_decode(text, strlen(text), plain) == (long)len);
		CHECK(memcmp(plain, rfc[i].plain, len) == 0);
	}
}

/* The same without the padding, and with two other letters. */
static void the_other_alphabet_holds(void)
{
	static const char *const bad[] = {
		"Z", "Zh", "Zm9", "Zg==", "Zm+v", "Zm/v", "Zm9 ", "Zm9vY"};
	static const unsigned char high[] = {0xfb, 0xff};
	unsigned char out[16];
	char text[16];

	for (size_t i = 0; i < COUNT_OF(rfc); i++) {
		size_t len = strlen(rfc[i].plain);
		size_t n = strcspn(rfc[i].text, "=");

		base64url_encode((const unsigned char *)rfc[i].plain, len,
				 text);
		CHECK(strlen(text) == n && n == BASE64URL_TEXT(len));
		CHECK(memcmp(text, rfc[i].text, n) == 0);
		CHECK(base64url_decode(text, n, out) == (long)len);
		CHECK(BASE64URL_BYTES(n) == len);
	}
	base64url_encode(high, sizeof(high), text);
	CHECK_STR(text, "-_8");
	base64_encode(high, sizeof(high), text);
	CHECK_STR(text, "+/8=");
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(base64url_decode(bad[i], strlen(bad[i]), out) == -1);
}

static void each_value_has_one_text(void)
{
	static const char *const bad[] = {
		"Zg",   "Zg=",  "Zg===", "Zh==", "Zm9=",   "Z===",    "====",
		"=Zg=", "Zm-v", "Zm_v",  "Zm9 ", "Zm9v\n", "Zg==Zg=="};
	unsigned char out[16];

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		CHECK(base64_decode(bad[i], strlen(bad[i]), out) == -1);
		if (base64_decode(bad[i], strlen(bad[i]), out) != -1)
			printf("# %s\n", bad[i]);
	}
}

static void what_is_written_is_read(void)
{
	struct random_seeded r;
	unsigned char in[200], out[201];
	char text[BASE64_TEXT(200) + 1];

	random_seed(&r, 4);
	for (size_t len = 0; len <= sizeof(in); len++) {
		random_fill(&r.base, in, len);
		base64_encode(in, len, text);
		CHECK(base64_decode(text, strlen(text), out) == (long)len);
		CHECK(memcmp(in, out, len) == 0);
	}
}

int main(void)
{
	RUN(the_examples_of_the_rfc_hold);
	RUN(the_other_alphabet_holds);
	RUN(each_value_has_one_text);
	RUN(what_is_written_is_read);
	return test_done();
}
