/*
 * settings - the servers one works with, kept in a file.
 *
 * $XDG_CONFIG_HOME/muster/config.yaml, or ~/.config/muster/config.yaml: a list
 * of contexts, each a server with its token, and the name of the one in use.
 * The file holds tokens: it is written with mode 0600, whole or not at all.
 * Everything read lives in the arena given.
 */
#pragma once

#include "base/field.h"

#define SETTINGS_SERVER "http://127.0.0.1:7070" /* when nothing says more */

struct context {
	const char *name, *server, *token, *ca_file; /* NULL: not said */

	/* Of a token that an OpenID issuer gave; NULL or 0: it did not. */
	const char *issuer, *client_id, *audience, *refresh_token;
	int64_t expires_at;
};

struct settings {
	const char *current;
	struct items contexts; /* of struct context */
};

/* NULL when there is no home to keep it in. */
const char *settings_path(struct arena *a);

/* Empty settings when there is no file. */
int settings_load(struct arena *a, struct settings *ret,
		  struct err *err) MUST_CHECK;
int settings_save(const struct settings *s, struct arena *a,
		  struct err *err) MUST_CHECK;

/* Nobody else changes them until settings_unlock(); -1 when there is no place
 * for that. */
int settings_lock(struct arena *a);
void settings_unlock(int lock);

/* NULL when there is none of that name. */
struct context *settings_find(const struct settings *s, const char *name);

/* Add C, or replace the one of its name. */
void settings_put(struct settings *s, const struct context *c, struct arena *a);

/* False when there was none. */
bool settings_drop(struct settings *s, const char *name);

/* Which server to talk to, and as whom: what GIVEN says (its name chooses the
 * context), else the environment, else the context, else the local server.  A
 * token belongs to its server: the context's is not sent to another one. */
int settings_target(const struct context *given, struct arena *a,
		    struct context *ret, struct err *err) MUST_CHECK;

/* The server is on this machine. */
bool settings_is_local(const char *server);

/* All of a file, or of standard input for "-"; at most 16 MiB. */
int settings_read_file(const char *path, struct arena *a, const char **ret,
		       size_t *ret_len, struct err *err) MUST_CHECK;
