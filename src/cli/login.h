/*
 * login - what "muster ssh" has found out, and OpenSSH run with it.
 *
 * No shell is asked: everything is an argument of its own, or in a file.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"

struct login {
	const char *id, *name; /* of the instance */
	const char *user, *address;
	int64_t port;
	bool published;          /* by the provider, elsewhere */
	const char *host_key;    /* a public line; NULL: not known */
	const char *key;         /* a file; NULL: whatever ssh has */
	const char *certificate; /* a file, or NULL */
	const char *until;       /* it holds; or NULL */
	const char *known;       /* the file with the host key, or NULL */
	bool stays;              /* the files are for a configuration */
	const char *folder;      /* where they are */
};

/* Fit for a line of a configuration, and not to be taken for an option. */
bool login_is_plain(const char *s);

/* One line of OpenSSH's: a type and base64. */
bool login_is_key_line(const char *s);

/* A folder for the files, for us alone. */
int login_make_folder(struct login *l, struct arena *a,
		      struct err *err) MUST_CHECK;

/* A new key pair there, by ssh-keygen. */
int login_make_key(struct login *l, struct arena *a,
		   struct err *err) MUST_CHECK;

/* TEXT, with a line break after it, for us alone to read. */
int login_write(const char *path, const char *text, struct err *err) MUST_CHECK;

/* The host key, where ssh looks for it. */
int login_write_known(struct login *l, struct arena *a,
		      struct err *err) MUST_CHECK;

/* Run ssh, with the words of ARGS after the first as the command; *RET is what
 * it exits with. */
int login_run(const struct login *l, const struct args *args, struct arena *a,
	      int *ret, struct err *err) MUST_CHECK;

/* A block for ~/.ssh/config. */
void login_add_config(const struct login *l, struct buf *out);

/* The files go, unless they stay. */
void login_release(struct login *l);
