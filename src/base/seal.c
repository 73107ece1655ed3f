#include "base/seal.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/mem.h"

#define PREFIX    "sealed:"
#define HEAD_LEN  (sizeof(PREFIX) - 1 + SEAL_ID_LEN + 1)
#define NONCE_LEN 12
#define TAG_LEN   16
#define KEY_TEXT  BASE64URL_TEXT(SEAL_KEY_LEN)

struct keyring {
	size_t n;
	struct {
		char id[SEAL_ID_LEN + 1];
		unsigned char key[SEAL_KEY_LEN];
	} keys[SEAL_KEYS_MOST];
};

#define PAGE     ((size_t)4096)
#define RING_LEN ((sizeof(struct keyring) + PAGE - 1) / PAGE * PAGE)

/* Pages of its own; locking them may be beyond what a process is allowed. */
struct keyring *keyring_new(void)
{
	struct keyring *k = aligned_alloc(PAGE, RING_LEN);

	if (!k)
		abort();
	memset(k, 0, RING_LEN);
	(void)madvise(k, RING_LEN, MADV_DONTDUMP);
	(void)mlock(k, RING_LEN);
	return k;
}

void keyring_free(struct keyring *k)
{
	if (!k)
		return;
	explicit_bzero(k, RING_LEN);
	(void)munlock(k, RING_LEN);
	(void)madvise(k, RING_LEN, MADV_DODUMP);
	free(k);
}

static void set_id(struct keyring *k, size_t i)
{
	unsigned char sum[DIGEST_SHA256_LEN];

	digest_sha256(k->keys[i].key, SEAL_KEY_LEN, sum);
	digest_hex(sum, SEAL_ID_LEN / 2, k->keys[i].id);
}

static bool is_there(const struct keyring *k, const char *id)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->keys[i].id, id) == 0)
			return true;
	return false;
}

/* Both alphabets are read. */
static char url_letter(char c)
{
	if (c == '+')
		return '-';
	if (c == '/')
		return '_';
	return c;
}

/* A word of the text into the next place, which is wiped if it is no key. */
static int add_key(struct keyring *k, const char *word, size_t len,
		   struct err *err)
{
	char text[KEY_TEXT];
	long n = -1;

	while (len && word[len - 1] == '=')
		len--;
	if (k->n == SEAL_KEYS_MOST)
		return err_set(err, ERR_INVALID, "there are more than %d keys",
			       SEAL_KEYS_MOST);
	if (len == KEY_TEXT) {
		for (size_t i = 0; i < len; i++)
			text[i] = url_letter(word[i]);
		n = base64url_decode(text, len, k->keys[k->n].key);
	}
	explicit_bzero(text, sizeof(text));
	if (n != SEAL_KEY_LEN) {
		explicit_bzero(&k->keys[k->n], sizeof(k->keys[k->n]));
		return err_set(err, ERR_INVALID,
			       "key %zu is not base64 of %d bytes", k->n + 1,
			       SEAL_KEY_LEN);
	}
	set_id(k, k->n);
	if (is_there(k, k->keys[k->n].id))
		return err_set(err, ERR_INVALID, "the key %s is there twice",
			       k->keys[k->n].id);
	k->n++;
	return 0;
}

int keyring_read(struct keyring *k, const char *text, size_t len,
		 struct err *err)
{
	const char *end = text + len;

	while (text < end) {
		size_t word;

		if (*text == '#') {
			while (text < end && *text != '\n')
				text++;
			continue;
		}
		if (strchr(" \t\r\n,", *text)) {
			text++;
			continue;
		}
		word = 0;
		while (text + word < end && !strchr(" \t\r\n,#", text[word]))
			word++;
		if (add_key(k, text, word, err) < 0)
			return -1;
		text += word;
	}
	return k->n ? 0 : err_set(err, ERR_INVALID, "there is no key");
}

void keyring_renew(struct keyring *k, struct random *r)
{
	assert(k->n < SEAL_KEYS_MOST);
	memmove(&k->keys[1], &k->keys[0], k->n * sizeof(k->keys[0]));
	random_fill(r, k->keys[0].key, SEAL_KEY_LEN);
	set_id(k, 0);
	k->n++;
}

void keyring_remove(struct keyring *k, size_t i)
{
	assert(i < k->n);
	k->n--;
	memmove(&k->keys[i], &k->keys[i + 1], (k->n - i) * sizeof(k->keys[0]));
	explicit_bzero(&k->keys[k->n], sizeof(k->keys[0]));
}

size_t keyring_count(const struct keyring *k)
{
	return k->n;
}

const char *keyring_id(const struct keyring *k, size_t i)
{
	return k->keys[i].id;
}

void keyring_write(const struct keyring *k, struct buf *out)
{
	char text[KEY_TEXT + 1];

	for (size_t i = 0; i < k->n; i++) {
		base64url_encode(k->keys[i].key, SEAL_KEY_LEN, text);
		buf_addf(out, "%s # %s\n", text, k->keys[i].id);
	}
	explicit_bzero(text, sizeof(text));
}

bool seal_is(const char *text, size_t len, char id[SEAL_ID_LEN + 1])
{
	size_t least = HEAD_LEN + BASE64URL_TEXT(NONCE_LEN + TAG_LEN);

	if (len < least || memcmp(text, PREFIX, sizeof(PREFIX) - 1) != 0 ||
	    text[HEAD_LEN - 1] != ':')
		return false;
	text += sizeof(PREFIX) - 1;
	for (size_t i = 0; i < SEAL_ID_LEN; i++)
		if (!strchr("0123456789abcdef", text[i]) || !text[i])
			return false;
	if (id) {
		memcpy(id, text, SEAL_ID_LEN);
		id[SEAL_ID_LEN] = '\0';
	}
	return true;
}

static void must(int ok)
{
	if (ok != 1)
		abort(); /* no memory, or no AES-GCM in this OpenSSL */
}

/* The id is part of what is bound, so that no other can be written there. */
static EVP_CIPHER_CTX *begin(const unsigned char *key,
			     const unsigned char *nonce, const char *id,
			     const char *place, int sealing)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	must(ctx != NULL);
	must(EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce,
			       sealing));
	must(EVP_CipherUpdate(ctx, NULL, &n, (const unsigned char *)id,
			      SEAL_ID_LEN));
	must(EVP_CipherUpdate(ctx, NULL, &n, (const unsigned char *)place,
			      (int)strlen(place)));
	return ctx;
}

void seal_close(const struct keyring *k, struct random *r, const char *place,
		const char *plain, size_t len, struct buf *out)
{
	size_t room = NONCE_LEN + len + TAG_LEN;
	auto_free unsigned char *raw = xmalloc(room);
	auto_free char *text = xmalloc(BASE64URL_TEXT(room) + 1);
	EVP_CIPHER_CTX *ctx;
	int n = 0, rest = 0;

	assert(k->n && len < INT32_MAX);
	random_fill(r, raw, NONCE_LEN);
	ctx = begin(k->keys[0].key, raw, k->keys[0].id, place, 1);
	must(EVP_CipherUpdate(ctx, raw + NONCE_LEN, &n,
			      (const unsigned char *)plain, (int)len));
	must(EVP_CipherFinal_ex(ctx, raw + NONCE_LEN + n, &rest));
	must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG_LEN,
				 raw + NONCE_LEN + len));
	EVP_CIPHER_CTX_free(ctx);
	base64url_encode(raw, room, text);
	buf_adds(out, PREFIX);
	buf_adds(out, k->keys[0].id);
	buf_addc(out, ':');
	buf_adds(out, text);
}

static const unsigned char *find_key(const struct keyring *k, const char *id)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->keys[i].id, id) == 0)
			return k->keys[i].key;
	return NULL;
}

static bool decrypt(const unsigned char *key, const char *id, const char *place,
		    unsigned char *raw, size_t len)
{
	size_t inner = len - NONCE_LEN - TAG_LEN;
	EVP_CIPHER_CTX *ctx = begin(key, raw, id, place, 0);
	int n = 0, rest = 0;
	bool ok;

	must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG_LEN,
				 raw + NONCE_LEN + inner));
	ok = EVP_CipherUpdate(ctx, raw + NONCE_LEN, &n, raw + NONCE_LEN,
			      (int)inner) == 1 &&
	     EVP_CipherFinal_ex(ctx, raw + NONCE_LEN + n, &rest) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return ok;
}

int seal_open(const struct keyring *k, const char *place, const char *text,
	      size_t len, struct buf *out, struct err *err)
{
	char id[SEAL_ID_LEN + 1];
	auto_free unsigned char *raw = NULL;
	const unsigned char *key;
	long n;
	bool ok;

	if (!seal_is(text, len, id))
		return err_set(err, ERR_INVALID, "it is not a sealed value");
	key = k ? find_key(k, id) : NULL;
	if (!key)
		return err_set(err, ERR_NOT_FOUND,
			       "the key %s, which it is sealed with, is not "
			       "there",
			       id);
	raw = xmalloc(BASE64URL_BYTES(len - HEAD_LEN) + 1);
	n = base64url_decode(text + HEAD_LEN, len - HEAD_LEN, raw);
	ok = n >= NONCE_LEN + TAG_LEN &&
	     decrypt(key, id, place, raw, (size_t)n);
	if (ok)
		buf_add(out, raw + NONCE_LEN, (size_t)n - NONCE_LEN - TAG_LEN);
	if (n > 0)
		explicit_bzero(raw, (size_t)n);
	return ok ? 0
		  : err_set(err, ERR_INVALID,
			    "it was changed after it was sealed, or belongs "
			    "elsewhere");
}
