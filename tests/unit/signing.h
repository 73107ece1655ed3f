/* signing - keys and tokens made on the spot, as an issuer would. */
#pragma once

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"

#define SIGN_ROOM 32768

static inline void add_base64(struct buf *b, const void *p, size_t len)
{
	char *text = malloc(BASE64URL_TEXT(len) + 1);

	base64url_encode(p, len, text);
	buf_adds(b, text);
	free(text);
}

static inline void add_number(struct buf *b, const EVP_PKEY *key,
			      const char *name, const char *param, int width)
{
	unsigned char bytes[1024];
	BIGNUM *n = NULL;

	EVP_PKEY_get_bn_param(key, param, &n);
	if (width)
		BN_bn2binpad(n, bytes, width);
	else
		width = BN_bn2bin(n, bytes);
	buf_addf(b, ",\"%s\":\"", name);
	add_base64(b, bytes, (size_t)width);
	buf_addc(b, '"');
	BN_free(n);
}

/* The public half as a JWK; MORE is further members, with a comma before. */
static inline void add_jwk(struct buf *b, const EVP_PKEY *key, const char *kid,
			   const char *more)
{
	unsigned char raw[32];
	size_t len = sizeof(raw);

	buf_addf(b, "{\"kid\":\"%s\"%s", kid, more);
	if (EVP_PKEY_is_a(key, "RSA")) {
		buf_adds(b, ",\"kty\":\"RSA\"");
		add_number(b, key, "n", OSSL_PKEY_PARAM_RSA_N, 0);
		add_number(b, key, "e", OSSL_PKEY_PARAM_RSA_E, 0);
	} else if (EVP_PKEY_is_a(key, "EC")) {
		buf_adds(b, ",\"kty\":\"EC\",\"crv\":\"P-256\"");
		add_number(b, key, "x", OSSL_PKEY_PARAM_EC_PUB_X, 32);
		add_number(b, key, "y", OSSL_PKEY_PARAM_EC_PUB_Y, 32);
	} else {
		EVP_PKEY_get_raw_public_key(key, raw, &len);
		buf_adds(b, ",\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
		add_base64(b, raw, len);
		buf_addc(b, '"');
	}
	buf_addc(b, '}');
}

/* What signs a token. */
static inline size_t sign_bytes(EVP_PKEY *key, const struct buf *text,
				unsigned char out[1024])
{
	bool plain = EVP_PKEY_is_a(key, "ED25519");
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const unsigned char *der = out;
	const BIGNUM *r, *s;
	size_t len = 1024;
	ECDSA_SIG *sig;

	EVP_DigestSignInit(ctx, NULL, plain ? NULL : EVP_sha256(), NULL, key);
	EVP_DigestSign(ctx, out, &len, (const unsigned char *)text->data,
		       text->len);
	EVP_MD_CTX_free(ctx);
	if (!EVP_PKEY_is_a(key, "EC"))
		return len;
	sig = d2i_ECDSA_SIG(NULL, &der, (long)len);
	ECDSA_SIG_get0(sig, &r, &s);
	BN_bn2binpad(r, out, 32);
	BN_bn2binpad(s, out + 32, 32);
	ECDSA_SIG_free(sig);
	return 64;
}

/* A token; the result is the caller's to free. */
static inline char *sign_token(EVP_PKEY *key, const char *head,
			       const char *claims)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	unsigned char signature[1024];
	size_t len;

	add_base64(&b, head, strlen(head));
	buf_addc(&b, '.');
	add_base64(&b, claims, strlen(claims));
	len = sign_bytes(key, &b, signature);
	buf_addc(&b, '.');
	add_base64(&b, signature, len);
	return buf_take(&b, &len);
}
