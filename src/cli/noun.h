/*
 * noun - the verbs that every kind has: list, get, create, update, delete and
 * watch, all driven by its field table.
 */
#pragma once

#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/resolve.h"

extern const struct command noun_verbs[];

/* Those that change nothing, for what the server alone writes. */
extern const struct command noun_reading_verbs[];

/* Those that K has besides, or NULL. */
const struct command *noun_own_verbs(const struct kind *k);

/* A verb under way: what was typed, and how its noun's flags read it. */
struct verb {
	struct cli *cli;
	const struct kind *kind;
	struct flags flags;
	struct args args;
	struct flags_world world;
	bool planning;       /* only to show what would be done */
	const char *what;    /* "create project" */
	const char *subject; /* the id of what is changed, or NULL */

	/* Ids that tell names apart ({"regionId": …}), from the flags and from
	 * the subject; NULL before the first name has to be looked up. */
	struct node *near;
	struct node *found; /* names that were looked up: "kind name" to id */
};

/* Read the arguments of the verb called NAME; -1 when they are wrong, which
 * has then been said. */
int noun_begin(struct verb *v, struct cli *c, int argc, char **argv) MUST_CHECK;

/* Say what went wrong; returns the exit status. */
int noun_fail(const struct verb *v, const struct failure *p);

/* What is called TEXT (a name or an id), narrowed by the flags that were
 * given. */
int noun_resolve(struct verb *v, const char *text, struct resolved *ret,
		 struct failure *p) MUST_CHECK;

/* The verbs' functions, a file each or two. */
int noun_list(struct cli *c, int argc, char **argv);
int noun_get(struct cli *c, int argc, char **argv);
int noun_create(struct cli *c, int argc, char **argv);
int noun_update(struct cli *c, int argc, char **argv);
int noun_delete(struct cli *c, int argc, char **argv);
int noun_watch(struct cli *c, int argc, char **argv);

/* What an update would do. */
int noun_plan(struct cli *c, int argc, char **argv);

/* "Created instance web-1 (id)." and where it can be reached, once it can. */
void noun_done(const struct verb *v, const struct node *doc, const char *done);

/* What came of the change whose reply is *DOC, when --wait was given; *DOC is
 * as it is then. */
struct progress_goal;
int noun_wait(struct verb *v, const struct progress_goal *goal,
	      struct node **doc, struct failure *p) MUST_CHECK;
