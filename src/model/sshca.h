/*
 * sshca - an SSH certificate authority: whoever holds its certificate may log in
 * to the instances that trust it.
 *
 * A public key that was brought, or a key pair that the server made, holds and
 * signs with.
 */
#pragma once

#include "model/kind.h"

struct sshca {
	struct meta meta; /* first, as in every noun */
	const char *organization_id, *project_id;
	struct {
		const char *public_key; /* one line of OpenSSH; NULL at first
					 * when it is made here */
		int64_t max_seconds;    /* that a certificate holds */
	} spec;
	const char *private_key; /* secret, PEM; NULL: it is held elsewhere */
	struct {
		const char *fingerprint; /* "SHA256:…" */
		bool signs;              /* the server holds its key */
	} status;
};

extern const struct kind sshca_kind;
