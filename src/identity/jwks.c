/* jwks - an issuer's keys, and signatures held against them. */
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "identity/jwt.h"

/* Larger ones would be slow to check, and nobody has them. */
#define RSA_BITS_LEAST 2048
#define RSA_BITS_MOST  8192

#define TREE_MOST   ((size_t)8 << 20)
#define NUMBER_MOST ((size_t)RSA_BITS_MOST / 8 + 1)

struct key {
	char *kid;             /* NULL: it has none */
	const char *algorithm; /* the one that it is for */
	EVP_PKEY *key;
};

struct jwks {
	size_t n;
	struct key keys[JWT_KEYS_MOST];
};

static const char *text_of(const struct node *object, const char *name)
{
	const struct node *n = node_get(object, name);

	return n && node_type(n) == NODE_STRING ? node_string(n, NULL) : NULL;
}

/* The bytes of a member; 0 when there are none, or more than fit. */
static size_t bytes_of(const struct node *jwk, const char *name,
		       unsigned char out[NUMBER_MOST])
{
	const char *text = text_of(jwk, name);
	size_t len = text ? strlen(text) : 0;
	long n;

	if (!len || BASE64URL_BYTES(len) > NUMBER_MOST)
		return 0;
	n = base64url_decode(text, len, out);
	return n > 0 ? (size_t)n : 0;
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY_CTX *check = NULL;
	EVP_PKEY *key = NULL;

	if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1)
		abort(); /* no memory */
	(void)EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params);
	if (key) {
		check = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
		if (!check)
			abort(); /* no memory */
	}
	/* A point off its curve, a modulus that is not the product of two large
	 * primes, … */
	if (key && EVP_PKEY_public_check_quick(check) != 1) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	EVP_PKEY_CTX_free(check);
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return key;
}

static EVP_PKEY *rsa_key(const struct node *jwk)
{
	unsigned char n[NUMBER_MOST], e[NUMBER_MOST];
	size_t n_len = bytes_of(jwk, "n", n), e_len = bytes_of(jwk, "e", e);
	OSSL_PARAM_BLD *build;
	EVP_PKEY *key = NULL;
	BIGNUM *bn, *be;

	/* An exponent is odd, above one and, for speed, not huge. */
	if (!n_len || !e_len || e_len > 8 || !(e[e_len - 1] & 1))
		return NULL;
	build = OSSL_PARAM_BLD_new();
	bn = BN_bin2bn(n, (int)n_len, NULL);
	be = BN_bin2bn(e, (int)e_len, NULL);
	if (!build || !bn || !be ||
	    !OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, bn) ||
	    !OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, be))
		abort(); /* no memory */
	if (BN_num_bits(bn) >= RSA_BITS_LEAST &&
	    BN_num_bits(bn) <= RSA_BITS_MOST && BN_is_odd(bn) && !BN_is_one(be))
		key = from_params("RSA", build);
	OSSL_PARAM_BLD_free(build);
	BN_free(bn);
	BN_free(be);
	return key;
}

static EVP_PKEY *ec_key(const struct node *jwk)
{
	unsigned char x[NUMBER_MOST], y[NUMBER_MOST], point[65] = {4};
	OSSL_PARAM_BLD *build;
	EVP_PKEY *key;

	if (bytes_of(jwk, "x", x) != 32 || bytes_of(jwk, "y", y) != 32)
		return NULL;
	memcpy(point + 1, x, 32);
	memcpy(point + 33, y, 32);
	build = OSSL_PARAM_BLD_new();
	if (!build ||
	    !OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME,
					     "prime256v1", 0) ||
	    !OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY,
					      point, sizeof(point)))
		abort(); /* no memory */
	key = from_params("EC", build);
	OSSL_PARAM_BLD_free(build);
	return key;
}

static EVP_PKEY *ed_key(const struct node *jwk)
{
	unsigned char x[NUMBER_MOST];

	if (bytes_of(jwk, "x", x) != 32)
		return NULL;
	return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x, 32);
}

/* The kinds of key that there are, and what each is for. */
static const struct {
	const char *kty, *crv, *algorithm;
	EVP_PKEY *(*make)(const struct node *jwk);
} kinds_of_key[] = {
	{"RSA", NULL, "RS256", rsa_key},
	{"EC", "P-256", "ES256", ec_key},
	{"OKP", "Ed25519", "EdDSA", ed_key},
};

static bool same(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* Not said, or said to be for signatures. */
static bool is_for_signatures(const struct node *jwk)
{
	const struct node *use = node_get(jwk, "use");
	const struct node *ops = node_get(jwk, "key_ops");

	if (use && !same(text_of(jwk, "use"), "sig"))
		return false;
	if (!ops)
		return true;
	for (size_t i = 0; node_type(ops) == NODE_ARRAY && i < node_count(ops);
	     i++) {
		const struct node *n = node_at(ops, i);

		if (node_type(n) == NODE_STRING &&
		    strcmp(node_string(n, NULL), "verify") == 0)
			return true;
	}
	return false;
}

static void add_key(struct jwks *set, const struct node *jwk)
{
	const char *kid = text_of(jwk, "kid");
	struct key *k = &set->keys[set->n];

	if (!is_for_signatures(jwk))
		return;
	for (size_t i = 0; i < COUNT_OF(kinds_of_key); i++) {
		const char *algorithm = kinds_of_key[i].algorithm;

		if (!same(text_of(jwk, "kty"), kinds_of_key[i].kty) ||
		    (kinds_of_key[i].crv &&
		     !same(text_of(jwk, "crv"), kinds_of_key[i].crv)) ||
		    (node_get(jwk, "alg") &&
		     !same(text_of(jwk, "alg"), algorithm)))
			continue;
		k->key = kinds_of_key[i].make(jwk);
		if (!k->key)
			return;
		k->algorithm = algorithm;
		k->kid = kid ? xstrdup(kid) : NULL;
		set->n++;
		return;
	}
}

static const struct node *keys_of(const struct node *set, struct err *err)
{
	const struct node *keys = NULL;

	if (set && node_type(set) == NODE_OBJECT)
		keys = node_get(set, "keys");
	if (keys && node_type(keys) == NODE_ARRAY)
		return keys;
	err_set(err, ERR_INVALID, "this is not a set of keys");
	return NULL;
}

int jwks_parse(const char *text, size_t len, struct jwks **out, struct err *err)
{
	const struct node *keys = NULL;
	struct jwks *set = NULL;
	struct arena a;

	if (len > JWT_SET_MOST)
		return err_set(err, ERR_TOO_LARGE,
			       "the set of keys is larger than 256 KiB");
	arena_init(&a, TREE_MOST);
	ERR_set_mark();
	keys = keys_of(json_parse(text, len, &a, err), err);
	if (keys)
		set = xcalloc(1, sizeof(*set));
	for (size_t i = 0; keys && i < node_count(keys); i++)
		if (set->n < JWT_KEYS_MOST &&
		    node_type(node_at(keys, i)) == NODE_OBJECT)
			add_key(set, node_at(keys, i));
	ERR_pop_to_mark();
	arena_release(&a);
	if (!keys)
		return -1;
	if (!set->n) {
		jwks_free(set);
		return err_set(err, ERR_INVALID,
			       "the set has no key for RS256 (of 2048 bits or "
			       "more), ES256 or EdDSA");
	}
	*out = set;
	return 0;
}

void jwks_free(struct jwks *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n; i++) {
		EVP_PKEY_free(set->keys[i].key);
		free(set->keys[i].kid);
	}
	free(set);
}

size_t jwks_count(const struct jwks *set)
{
	return set->n;
}

/* Without a kid, the one key that fits, if it is the only one. */
static const struct key *find_key(const struct jwks *set, const struct jwt *t)
{
	const struct key *found = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const struct key *k = &set->keys[i];

		if (strcmp(k->algorithm, t->algorithm) != 0)
			continue;
		if (t->kid && same(k->kid, t->kid))
			return k;
		if (!t->kid && found)
			return NULL;
		if (!t->kid)
			found = k;
	}
	return found;
}

/* As OpenSSL wants it: two numbers in DER, rather than one after the other. */
static size_t as_der(const struct jwt *t, unsigned char out[80])
{
	ECDSA_SIG *sig;
	BIGNUM *r, *s;
	int len;

	if (t->signature_len != 64)
		return 0;
	sig = ECDSA_SIG_new();
	r = BN_bin2bn(t->signature, 32, NULL);
	s = BN_bin2bn(t->signature + 32, 32, NULL);
	if (!sig || !r || !s || !ECDSA_SIG_set0(sig, r, s))
		abort(); /* no memory */
	len = i2d_ECDSA_SIG(sig, &out);
	if (len <= 0)
		abort(); /* no memory */
	ECDSA_SIG_free(sig);
	return (size_t)len;
}

static bool holds(const struct jwt *t, const struct key *k)
{
	bool ed = strcmp(k->algorithm, "EdDSA") == 0;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const unsigned char *signature = t->signature;
	size_t len = t->signature_len;
	unsigned char der[80];
	bool good;

	if (!ctx)
		abort(); /* no memory */
	if (strcmp(k->algorithm, "ES256") == 0) {
		len = as_der(t, der);
		signature = der;
	}
	good = len &&
	       EVP_DigestVerifyInit(ctx, NULL, ed ? NULL : EVP_sha256(), NULL,
				    k->key) == 1 &&
	       EVP_DigestVerify(ctx, signature, len,
				(const unsigned char *)t->text, t->len) == 1;
	EVP_MD_CTX_free(ctx);
	return good;
}

static bool is_known(const char *algorithm)
{
	for (size_t i = 0; i < COUNT_OF(kinds_of_key); i++)
		if (strcmp(kinds_of_key[i].algorithm, algorithm) == 0)
			return true;
	return false;
}

/* A key of that name, whatever it is for. */
static bool has_kid(const struct jwks *set, const char *kid)
{
	for (size_t i = 0; kid && i < set->n; i++)
		if (same(set->keys[i].kid, kid))
			return true;
	return false;
}

int jwt_verify(const struct jwt *t, const struct jwks *set, struct err *err)
{
	const struct key *k;
	bool good;

	if (!is_known(t->algorithm))
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is refused: its algorithm is none of "
			       "RS256, ES256 and EdDSA");
	k = find_key(set, t);
	if (!k && has_kid(set, t->kid))
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is refused: its algorithm is not the "
			       "one that its key is for");
	if (!k)
		return err_set(err, ERR_NOT_FOUND,
			       "the token is refused: it is signed with a key "
			       "that its issuer does not publish");
	ERR_set_mark();
	good = holds(t, k);
	ERR_pop_to_mark();
	if (!good)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is refused: its signature is wrong");
	return 0;
}
