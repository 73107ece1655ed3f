/*
 * failure - what went wrong with a command, for the one who typed it.
 *
 * A command's functions take one last, as those below take an err, and return
 * -1 when it is filled.  It begins with the err that base and http fill in; a
 * refusal of the server adds its status, words, violations and request id.
 * All it points to lives in the command's arena.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "cli/table.h"

struct flags;

struct failure {
	struct err err;
	bool usage;             /* the command line was wrong */
	int status;             /* HTTP's; 0: no answer came */
	const char *detail;     /* NULL: err.msg says it all */
	const char *request_id; /* or NULL */
	const char *hint;       /* what to do, or NULL: told by the code */
	const struct node *violations, *plan; /* or NULL */
};

/* A wrong command line; returns -1. */
int failure_usage(struct failure *p, const char *fmt, ...) PRINTF(2, 3);

/* Fill P from a refusal; BODY is its parsed JSON, or NULL when it had none.
 * Returns -1. */
int failure_read(struct failure *p, int status, const char *request_id,
		 const struct node *body, struct arena *a);

/* What the program exits with. */
int failure_exit(const struct failure *p);

/* What is known about the command that failed. */
struct failure_view {
	const char *what; /* "create project", or NULL */
	const struct flags
		*flags;     /* to name the flag of a violation; or NULL */
	const char *server; /* or NULL when none was asked */
	bool has_token;
	const char *again; /* the command line that allows it, or NULL */
	struct style style;
};

void failure_write(const struct failure *p, const struct failure_view *v,
		   struct buf *out);
