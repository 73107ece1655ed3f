/* ssh_sign - key pairs that are made here, and what is signed with them. */
#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/ssh_wire.h"
#include "identity/ssh.h"

enum {
	SIGNATURE_LEN = 64,
	TYPE_USER = 1,
};

#define BUF_MOST    ((size_t)64 << 10)
#define CERT_SUFFIX "-cert-v01@openssh.com"

static const char *const extensions[] = {
	"permit-X11-forwarding",  "permit-agent-forwarding",
	"permit-port-forwarding", "permit-pty",
	"permit-user-rc",
};

void ssh_make(struct random *r, const char *comment, struct arena *a,
	      struct ssh_pair *ret)
{
	unsigned char seed[SSH_SEED_LEN], check[SSH_CHECK_LEN];

	random_fill(r, seed, sizeof(seed));
	random_fill(r, check, sizeof(check));
	ssh_pair_make(seed, check, comment, a, ret);
	OPENSSL_cleanse(seed, sizeof(seed));
}

/* The bytes between the lines that begin and end the file. */
static bool read_file(const char *text, struct arena *a, struct wire *ret)
{
	size_t begin = strlen(SSH_FILE_BEGIN), n = 0;
	const char *end = strstr(text, SSH_FILE_END);
	unsigned char *bytes;
	char *packed;
	long len;

	if (!end || strncmp(text, SSH_FILE_BEGIN, begin) != 0)
		return false;
	packed = arena_alloc(a, strlen(text) + 1);
	for (const char *p = text + begin; p < end; p++)
		if (*p != '\n')
			packed[n++] = *p;
	bytes = arena_alloc(a, BASE64_BYTES(n) + 1);
	len = base64_decode(packed, n, bytes);
	if (len < 0)
		return false;
	*ret = (struct wire){bytes, (size_t)len};
	return true;
}

static bool read_seed(const char *text, struct arena *a,
		      const unsigned char **ret_seed,
		      const unsigned char **ret_public)
{
	struct wire w, public, secret, pair;
	uint32_t n, check, again;

	if (!read_file(text, a, &w) || w.left < sizeof(SSH_FILE_MAGIC) ||
	    memcmp(w.at, SSH_FILE_MAGIC, sizeof(SSH_FILE_MAGIC)) != 0)
		return false;
	w.at += sizeof(SSH_FILE_MAGIC);
	w.left -= sizeof(SSH_FILE_MAGIC);
	for (int i = 0; i < 2; i++) /* no cipher, no way to make its key */
		if (!wire_is(&w, "none"))
			return false;
	if (!wire_is(&w, "") || !wire_u32(&w, &n) || n != 1 ||
	    !wire_string(&w, &public) || !wire_string(&w, &secret) || w.left)
		return false;
	if (!wire_u32(&secret, &check) || !wire_u32(&secret, &again) ||
	    check != again || !wire_is(&secret, SSH_ED25519_TYPE) ||
	    !wire_string(&secret, &public) || public.left != SSH_PUBLIC_LEN ||
	    !wire_string(&secret, &pair) ||
	    pair.left != SSH_SEED_LEN + SSH_PUBLIC_LEN)
		return false;
	*ret_seed = pair.at;
	*ret_public = public.at;
	return true;
}

/* "sk-ssh-ed25519@openssh.com" is certified as "sk-ssh-ed25519-cert-v01@…". */
static size_t stem(const char *name)
{
	return strcspn(name, "@");
}

/* Everything that is signed. */
static void add_certificate(struct buf *out, const struct ssh_wish *w,
			    struct random *r,
			    const unsigned char public[SSH_PUBLIC_LEN])
{
	struct wire key = {w->key->blob, w->key->len}, name;
	struct buf list = BUF_INIT(BUF_MOST), blob = BUF_INIT(BUF_MOST);
	const char *const *principals = w->principals.at;
	unsigned char nonce[32];
	bool named = wire_string(&key, &name);

	assert(named);
	(void)named;
	random_fill(r, nonce, sizeof(nonce));
	wire_add_u32(out, (uint32_t)(stem(w->key->name) + strlen(CERT_SUFFIX)));
	buf_add(out, w->key->name, stem(w->key->name));
	buf_adds(out, CERT_SUFFIX);
	wire_add(out, nonce, sizeof(nonce));
	buf_add(out, key.at, key.left); /* the key's own members */
	wire_add_u64(out, w->serial);
	wire_add_u32(out, TYPE_USER);
	wire_adds(out, w->key_id);
	for (size_t i = 0; i < w->principals.n; i++)
		wire_adds(&list, principals[i]);
	wire_add(out, list.data, list.len);
	wire_add_u64(out, w->after);
	wire_add_u64(out, w->before);
	wire_adds(out, ""); /* critical options */
	buf_clear(&list);
	for (size_t i = 0; i < COUNT_OF(extensions); i++) {
		wire_adds(&list, extensions[i]);
		wire_adds(&list, "");
	}
	wire_add(out, list.data, list.len);
	wire_adds(out, ""); /* reserved */
	ssh_add_public(&blob, public);
	wire_add(out, blob.data, blob.len);
	buf_release(&list);
	buf_release(&blob);
}

static void add_signature(struct buf *out,
			  const unsigned char seed[SSH_SEED_LEN])
{
	unsigned char signature[SIGNATURE_LEN];
	size_t len = sizeof(signature);
	EVP_PKEY *key = ssh_seed_open(seed);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (!ctx || EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) != 1 ||
	    EVP_DigestSign(ctx, signature, &len,
			   (const unsigned char *)out->data, out->len) != 1)
		abort();
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	wire_add_u32(out, (uint32_t)(4 + strlen(SSH_ED25519_TYPE) + 4 + len));
	wire_adds(out, SSH_ED25519_TYPE);
	wire_add(out, signature, len);
}

int ssh_certify(const struct ssh_wish *wish, const char *private_key,
		struct random *r, struct arena *a, const char **ret,
		struct err *err)
{
	struct buf b = BUF_INIT(BUF_MOST);
	const unsigned char *seed, *public;
	int rc = 0;

	assert(wish->principals.n); /* none would be: all */
	if (!read_seed(private_key, a, &seed, &public))
		return err_set(err, ERR_INTERNAL,
			       "the authority's private key cannot be read");
	add_certificate(&b, wish, r, public);
	add_signature(&b, seed);
	if (buf_ok(&b))
		*ret = ssh_line(arena_printf(a, "%.*s%s",
					     (int)stem(wish->key->name),
					     wish->key->name, CERT_SUFFIX),
				&b, wish->key->comment, a);
	else
		rc = err_set(err, ERR_TOO_LARGE,
			     "the certificate is too large");
	buf_release(&b);
	return rc;
}
