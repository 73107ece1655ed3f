/* certs - certificates made on the spot, for tests of TLS. */
#pragma once

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire.h"

/* A key and the certificate for it, signed by another or by itself. */
struct cert {
	EVP_PKEY *key;
	X509 *x509;
};

static inline void cert_extend(X509 *x, int nid, const char *value)
{
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	X509_add_ext(x, e, -1);
	X509_EXTENSION_free(e);
}

static inline struct cert cert_make(const char *name, const struct cert *by,
				    bool ca)
{
	struct cert c = {EVP_EC_gen("P-256"), X509_new()};
	X509_NAME *subject = X509_get_subject_name(c.x509);

	X509_set_version(c.x509, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(c.x509), 1);
	X509_gmtime_adj(X509_getm_notBefore(c.x509), -60);
	X509_gmtime_adj(X509_getm_notAfter(c.x509), 3600);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(c.x509,
			     by ? X509_get_subject_name(by->x509) : subject);
	X509_set_pubkey(c.x509, c.key);
	cert_extend(c.x509, NID_basic_constraints, ca ? "CA:TRUE" : "CA:FALSE");
	cert_extend(c.x509, NID_subject_alt_name, "IP:127.0.0.1");
	X509_sign(c.x509, by ? by->key : c.key, EVP_sha256());
	return c;
}

static inline void cert_release(struct cert *c)
{
	EVP_PKEY_free(c->key);
	X509_free(c->x509);
}

/* As PEM files; either name may be NULL. */
static inline void cert_write(const struct cert *c, const char *cert_file,
			      const char *key_file)
{
	FILE *f;

	if (cert_file && (f = fopen(cert_file, "w"))) {
		PEM_write_X509(f, c->x509);
		fclose(f);
	}
	if (key_file && (f = fopen(key_file, "w"))) {
		PEM_write_PrivateKey(f, c->key, NULL, NULL, 0, NULL, NULL);
		fclose(f);
	}
}

/* Speak TLS on W; MINE is shown when asked for, unless NULL. */
static inline bool cert_connect(struct wire *w, int max_version,
				const struct cert *mine)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	static const unsigned char alpn[] = "\x08http/1.1";
	bool ok;

	/* Old versions need more than asking: they are off by default. */
	SSL_CTX_set_security_level(ctx, 0);
	SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(ctx, max_version);
	SSL_CTX_set_alpn_protos(ctx, alpn, sizeof(alpn) - 1);
	SSL_CTX_set_mode(ctx, SSL_MODE_AUTO_RETRY);
	if (mine) {
		SSL_CTX_use_certificate(ctx, mine->x509);
		SSL_CTX_use_PrivateKey(ctx, mine->key);
	}
	w->ssl = SSL_new(ctx);
	SSL_set_fd(w->ssl, w->fd);
	ok = SSL_connect(w->ssl) == 1;
	SSL_CTX_free(ctx);
	return ok;
}
