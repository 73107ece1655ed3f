/*
 * ssh - keys and certificates of OpenSSH's: read, made and signed.
 *
 * A public key is one line: type, base64 and perhaps a comment.  What the
 * base64 holds must be of that type, whole and of a size that is still good;
 * options before it, certificates and DSA are refused.  Keys made here are
 * Ed25519, and so is every authority that signs here.
 *
 * Pure but for randomness, which is given.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"
#include "base/random.h"
#include "base/ssh_pair.h"

enum ssh_type {
	SSH_ED25519 = 1,
	SSH_ECDSA_256,
	SSH_ECDSA_384,
	SSH_ECDSA_521,
	SSH_RSA,
	SSH_SK_ED25519, /* on a security key */
	SSH_SK_ECDSA,
};

struct ssh_public {
	enum ssh_type type;
	const char *name;          /* "ssh-ed25519" */
	const unsigned char *blob; /* as on the wire */
	size_t len;
	const char *comment; /* "" when there is none */
	const char *line;    /* the same again, blanks in order */
};

/* "SHA256:" and 43 letters. */
enum { SSH_FINGERPRINT_LEN = 50 };

/* LINE, one key; ERR_INVALID at POINTER ("" when it is not of a field). */
int ssh_public_parse(const char *line, const char *pointer, struct arena *a,
		     struct ssh_public *ret, struct err *err) MUST_CHECK;

void ssh_fingerprint(const struct ssh_public *k,
		     char out[SSH_FINGERPRINT_LEN + 1]);

/* A new Ed25519 key pair, in A; COMMENT is a word. */
void ssh_make(struct random *r, const char *comment, struct arena *a,
	      struct ssh_pair *ret);

/* What a certificate says. */
struct ssh_wish {
	const struct ssh_public *key; /* whom it is for */
	uint64_t serial;
	const char *key_id;      /* what sshd's log shows */
	struct items principals; /* of const char * */
	uint64_t after, before;  /* it holds: Unix seconds */
};

/* The certificate's line, for *-cert.pub, signed by the authority whose private
 * key ssh_make() made. */
int ssh_certify(const struct ssh_wish *wish, const char *private_key,
		struct random *r, struct arena *a, const char **ret,
		struct err *err) MUST_CHECK;
