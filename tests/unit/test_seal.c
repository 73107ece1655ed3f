#include "base/seal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "test.h"

static const char one[] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
static const char two[] = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

static struct keyring *ring(const char *text)
{
	struct keyring *k = keyring_new();
	struct err err = {0};

	CHECK(keyring_read(k, text, strlen(text), &err) == 0);
	return k;
}

static struct buf close_at(const struct keyring *k, const char *place,
			   const char *plain)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	seal_close(k, &random_system, place, plain, strlen(plain), &b);
	return b;
}

/* What it opens to; "" when it does not. */
static const char *opened(const struct keyring *k, const char *place,
			  const char *text, size_t len, struct buf *out)
{
	struct err err = {0};

	buf_clear(out);
	if (seal_open(k, place, text, len, out, &err) < 0) {
		CHECK(err.msg[0] && !out->len);
		return "";
	}
	return buf_str(out);
}

static void what_is_sealed_opens_again(void)
{
	static const char *const texts[] = {"\"\"", "\"x\"",
					    "{\"password\":\"hunter2\"}"};
	struct keyring *k = ring(one);
	struct buf out = BUF_INIT(4096);

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct buf a = close_at(k, "kind/id/path", texts[i]);
		struct buf b = close_at(k, "kind/id/path", texts[i]);

		CHECK(seal_is(a.data, a.len, NULL));
		CHECK(!strstr(a.data, "hunter2"));
		CHECK(a.len == b.len && strcmp(a.data, b.data) != 0);
		CHECK_STR(opened(k, "kind/id/path", a.data, a.len, &out),
			  texts[i]);
		buf_release(&a);
		buf_release(&b);
	}
	buf_release(&out);
	keyring_free(k);
}

static void no_byte_can_be_changed(void)
{
	struct keyring *k = ring(one);
	struct buf out = BUF_INIT(4096);
	struct buf b = close_at(k, "place", "\"a secret of some length\"");

	for (size_t i = 0; i < b.len; i++) {
		char was = b.data[i];

		for (int bit = 0; bit < 8; bit++) {
			b.data[i] = (char)(was ^ (1 << bit));
			CHECK_STR(opened(k, "place", b.data, b.len, &out), "");
		}
		b.data[i] = was;
	}
	for (size_t len = 0; len < b.len; len++)
		CHECK_STR(opened(k, "place", b.data, len, &out), "");
	CHECK(opened(k, "place", b.data, b.len, &out)[0]);
	buf_release(&b);
	buf_release(&out);
	keyring_free(k);
}

static void it_opens_nowhere_else_and_with_no_other_key(void)
{
	struct keyring *k = ring(one), *other = ring(two);
	struct buf out = BUF_INIT(4096);
	struct buf b = close_at(k, "token/1/digest", "\"s\"");

	CHECK_STR(opened(k, "token/2/digest", b.data, b.len, &out), "");
	CHECK_STR(opened(k, "token/1/digests", b.data, b.len, &out), "");
	CHECK_STR(opened(k, "", b.data, b.len, &out), "");
	CHECK_STR(opened(other, "token/1/digest", b.data, b.len, &out), "");
	CHECK_STR(opened(NULL, "token/1/digest", b.data, b.len, &out), "");
	/* Nor when it is given the other key's name. */
	memcpy(b.data + 7, keyring_id(other, 0), SEAL_ID_LEN);
	CHECK_STR(opened(other, "token/1/digest", b.data, b.len, &out), "");
	buf_release(&b);
	buf_release(&out);
	keyring_free(k);
	keyring_free(other);
}

static void keys_change_and_the_old_still_open(void)
{
	struct keyring *k = ring(one);
	struct buf out = BUF_INIT(4096), file = BUF_INIT(4096);
	struct buf old = close_at(k, "p", "\"s\""), new;
	struct keyring *again = keyring_new();
	char id[SEAL_ID_LEN + 1];
	struct err err;

	keyring_renew(k, &random_system);
	CHECK(keyring_count(k) == 2);
	new = close_at(k, "p", "\"s\"");
	CHECK(new.len == old.len);
	CHECK(seal_is(new.data, new.len, id));
	CHECK_STR(id, keyring_id(k, 0));
	CHECK_STR(opened(k, "p", old.data, old.len, &out), "\"s\"");
	keyring_write(k, &file);
	CHECK(keyring_read(again, file.data, file.len, &err) == 0);
	CHECK_STR(opened(again, "p", old.data, old.len, &out), "\"s\"");
	CHECK_STR(opened(again, "p", new.data, new.len, &out), "\"s\"");
	keyring_remove(again, 1);
	CHECK_STR(opened(again, "p", old.data, old.len, &out), "");
	CHECK_STR(opened(again, "p", new.data, new.len, &out), "\"s\"");
	buf_release(&old);
	buf_release(&new);
	buf_release(&out);
	buf_release(&file);
	keyring_free(k);
	keyring_free(again);
}

static void only_keys_are_read_as_keys(void)
{
	static const char twice[] =
		"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=,"
		"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
	static const char *const bad[] = {
		"",
		"# nothing\n",
		"short",
		"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWZh",
		"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZW!=",
		twice,
	};
	char both[128];
	struct keyring *k;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err err = {0};

		k = keyring_new();
		CHECK(keyring_read(k, bad[i], strlen(bad[i]), &err) < 0);
		/* A message may be logged: it must not tell the key. */
		CHECK(!strstr(err.msg, "MDEy"));
		keyring_free(k);
	}
	snprintf(both, sizeof(both), "# mine\n%s, # new\n %s\n", two, one);
	k = ring(both);
	CHECK(keyring_count(k) == 2);
	keyring_free(k);
	keyring_free(NULL);
}

int main(void)
{
	RUN(what_is_sealed_opens_again);
	RUN(no_byte_can_be_changed);
	RUN(it_opens_nowhere_else_and_with_no_other_key);
	RUN(keys_change_and_the_old_still_open);
	RUN(only_keys_are_read_as_keys);
	return test_done();
}
