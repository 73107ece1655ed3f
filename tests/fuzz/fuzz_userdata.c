/*
 * User data of any bytes.  Alone it comes out as it went in; with keys to be
 * put in it is refused, or becomes a message of two parts whose boundary is in
 * neither, and the same message every time.  What gzip has packed may be
 * nothing, too, and then the keys are alone.
 */

#include "base/base64.h"
#include "fuzz/fuzz.h"
#include "model/userdata.h"

static size_t count(const char *text, size_t len, const char *word, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i + n <= len; i++)
		found += memcmp(text + i, word, n) == 0;
	return found;
}

static void check_message(const char *out, size_t len, const uint8_t *data,
			  size_t size)
{
	static const char head[] = "Content-Type: multipart/mixed; boundary=\"";
	const char *boundary = out + sizeof(head) - 1;

	MUST(len > sizeof(head) + 64 &&
	     memcmp(out, head, sizeof(head) - 1) == 0);
	MUST(!memmem(data, size, boundary, 64));
	/* In the head, before each part, and at the end. */
	MUST(count(out, len, boundary, 64) == 4);
	MUST(memmem(out, len, "filename=\"muster\"", 17));
}

static bool is_nothing(const uint8_t *data, size_t size, const char *out,
		       size_t len)
{
	return userdata_format((const char *)data, size) == USERDATA_GZIP &&
	       len > 14 && memcmp(out, "#cloud-config\n", 14) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *keys[] = {"ssh-ed25519 AAAA joe"};
	struct userdata_extras none = {0}, some = {.keys = {keys, 1}};
	const char *out, *again;
	size_t len, len_again;
	struct err err = {0};
	struct arena a;
	char *text;

	arena_init(&a, (size_t)16 << 20);
	text = arena_alloc(&a, BASE64_TEXT(size) + 1);
	base64_encode(data, size, text);
	if (userdata_compose(text, &none, &a, &out, &len, &err) < 0) {
		MUST(size > USERDATA_MOST && err.code == ERR_INVALID);
	} else {
		MUST(len == size && (!len || memcmp(out, data, len) == 0));
	}
	if (userdata_compose(text, &some, &a, &out, &len, &err) < 0) {
		MUST(err.code == ERR_INVALID && err.msg[0]);
	} else {
		if (size && !is_nothing(data, size, out, len))
			check_message(out, len, data, size);
		MUST(userdata_compose(text, &some, &a, &again, &len_again,
				      &err) == 0);
		MUST(len == len_again && memcmp(out, again, len) == 0);
	}
	arena_release(&a);
	return 0;
}
