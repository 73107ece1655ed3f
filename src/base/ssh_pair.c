#include "base/ssh_pair.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/ssh_wire.h"

enum { TEXT_COLUMNS = 70 };

#define BUF_MOST ((size_t)64 << 10)

EVP_PKEY *ssh_seed_open(const unsigned char seed[SSH_SEED_LEN])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
						     seed, SSH_SEED_LEN);

	if (!key)
		abort();
	return key;
}

void ssh_add_public(struct buf *out, const unsigned char public[SSH_PUBLIC_LEN])
{
	wire_adds(out, SSH_ED25519_TYPE);
	wire_add(out, public, SSH_PUBLIC_LEN);
}

const char *ssh_line(const char *type, const struct buf *blob,
		     const char *comment, struct arena *a)
{
	char *text = arena_alloc(a, BASE64_TEXT(blob->len) + 1);

	base64_encode((const unsigned char *)blob->data, blob->len, text);
	return arena_join(a, type, " ", text, *comment ? " " : "", comment,
			  NULL);
}

/* The part of the file that a passphrase would have hidden. */
static void add_secret(struct buf *out,
		       const unsigned char check[SSH_CHECK_LEN],
		       const unsigned char seed[SSH_SEED_LEN],
		       const unsigned char public[SSH_PUBLIC_LEN],
		       const char *comment)
{
	buf_add(out, check, SSH_CHECK_LEN);
	buf_add(out, check, SSH_CHECK_LEN);
	ssh_add_public(out, public);
	wire_add_u32(out, SSH_SEED_LEN + SSH_PUBLIC_LEN);
	buf_add(out, seed, SSH_SEED_LEN);
	buf_add(out, public, SSH_PUBLIC_LEN);
	wire_adds(out, comment);
	for (char pad = 1; out->len % 8; pad++)
		buf_addc(out, pad);
}

static void wipe(struct buf *b)
{
	OPENSSL_cleanse(b->data, b->len);
	buf_release(b);
}

static const char *file_of(const struct buf *public, const struct buf *secret,
			   struct arena *a)
{
	struct buf file = BUF_INIT(BUF_MOST), out = BUF_INIT(BUF_MOST);
	size_t len;
	char *text;
	const char *ret;

	buf_add(&file, SSH_FILE_MAGIC, sizeof(SSH_FILE_MAGIC));
	wire_adds(&file, "none"); /* cipher, */
	wire_adds(&file, "none"); /* how its key is made, */
	wire_adds(&file, "");     /* and with what */
	wire_add_u32(&file, 1);
	wire_add(&file, public->data, public->len);
	wire_add(&file, secret->data, secret->len);
	len = BASE64_TEXT(file.len);
	text = arena_alloc(a, len + 1);
	base64_encode((const unsigned char *)file.data, file.len, text);
	buf_adds(&out, SSH_FILE_BEGIN);
	for (size_t at = 0; at < len; at += TEXT_COLUMNS)
		buf_addf(&out, "%.*s\n", TEXT_COLUMNS, text + at);
	buf_adds(&out, SSH_FILE_END);
	assert(buf_ok(&out));
	ret = arena_memdup(a, out.data, out.len);
	wipe(&file);
	wipe(&out);
	return ret;
}

void ssh_pair_make(const unsigned char seed[SSH_SEED_LEN],
		   const unsigned char check[SSH_CHECK_LEN],
		   const char *comment, struct arena *a, struct ssh_pair *ret)
{
	unsigned char public[SSH_PUBLIC_LEN];
	struct buf blob = BUF_INIT(BUF_MOST), secret = BUF_INIT(BUF_MOST);
	size_t len = sizeof(public);
	EVP_PKEY *key = ssh_seed_open(seed);

	if (EVP_PKEY_get_raw_public_key(key, public, &len) != 1)
		abort();
	EVP_PKEY_free(key);
	ssh_add_public(&blob, public);
	add_secret(&secret, check, seed, public, comment);
	ret->private_key = file_of(&blob, &secret, a);
	ret->public_line = ssh_line(SSH_ED25519_TYPE, &blob, comment, a);
	buf_release(&blob);
	wipe(&secret);
}
