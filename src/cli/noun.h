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

/* A verb under way: what was typed, and how its noun's flags read it. */
struct verb {
	struct cli *cli;
	const struct kind *kind;
	struct flags flags;
	struct args args;
	struct flags_world world;
	const char *what; /* "create project" */
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
