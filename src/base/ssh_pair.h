/*
 * ssh_pair - a key pair of OpenSSH's (Ed25519) as the texts of its two files.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"

enum { SSH_SEED_LEN = 32, SSH_PUBLIC_LEN = 32, SSH_CHECK_LEN = 4 };

struct ssh_pair {
	const char *private_key; /* the text of OpenSSH's file, no passphrase */
	const char *public_line;
};

/* The pair that follows from SEED, which is all that is secret in it, in A.
 * CHECK is any four bytes: they are in the file twice.  COMMENT is a word, or
 * "". */
void ssh_pair_make(const unsigned char seed[SSH_SEED_LEN],
		   const unsigned char check[SSH_CHECK_LEN],
		   const char *comment, struct arena *a, struct ssh_pair *ret);

#define SSH_FILE_MAGIC   "openssh-key-v1" /* and its NUL */
#define SSH_FILE_BEGIN   "-----BEGIN OPENSSH PRIVATE KEY-----\n"
#define SSH_FILE_END     "-----END OPENSSH PRIVATE KEY-----\n"
#define SSH_ED25519_TYPE "ssh-ed25519"

/* For those who read and sign such files: the key of that seed, to be freed; a
 * public key as on the wire; a line of a public key or certificate. */
struct evp_pkey_st *ssh_seed_open(const unsigned char seed[SSH_SEED_LEN]);
void ssh_add_public(struct buf *out,
		    const unsigned char public[SSH_PUBLIC_LEN]);
const char *ssh_line(const char *type, const struct buf *blob,
		     const char *comment, struct arena *a);
