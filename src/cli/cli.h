/*
 * cli - one run of the command line: its streams, settings and connection.
 *
 * Made by cli_main(), handed to the command that was named, gone at the end;
 * everything made on the way lives in its arena.  One thread.
 */
#pragma once

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/failure.h"
#include "cli/settings.h"
#include "cli/table.h"

struct kind;
struct clock;
struct random;
struct client;

enum output {
	OUTPUT_DEFAULT, /* what suits the command best */
	OUTPUT_TABLE,
	OUTPUT_WIDE,
	OUTPUT_JSON,
	OUTPUT_YAML,
	OUTPUT_NAME,
};

struct cli {
	FILE *in, *out, *err;
	struct style style, err_style; /* of out and of err */
	bool ask;                      /* someone is there to answer */
	struct arena arena;
	const struct clock *clock;
	struct random *random;

	const struct command *const *tables; /* ended by NULL */
	const struct command *command;       /* under way, */
	const struct kind *kind;             /* and what it is about, or NULL */
	const char *path;                    /* "project create" */
	int argc; /* what was typed, "muster" first */
	char **argv;

	/* The options that every command takes. */
	struct context given; /* NULL where nothing was given */
	enum output output;
	const char *act_as; /* whom to act for, or NULL */
	bool quiet;
	uint64_t timeout_ms; /* 0: none was given */

	struct context target; /* once cli_target() has been called */
	bool has_target;
	struct client *client; /* made by the first request */
	struct map names;      /* ids of things to their names */
};

/* TABLES is what the command line knows, ended by NULL; returns the exit
 * status. */
int cli_main(const struct command *const *tables, int argc, char **argv);

/* The same with everything set up in C, for tests. */
int cli_run(struct cli *c, int argc, char **argv);
void cli_init(struct cli *c, const struct command *const *tables);
void cli_release(struct cli *c);

/* The client's own commands, and the options that every command takes. */
extern const struct command cli_commands[];
extern const struct command_option cli_options[];

/* Read a command's arguments by its OPTIONS (or NULL) and the common ones;
 * then see that there are between LEAST and MOST words.  -1 when they are
 * wrong, which has then been said. */
int cli_parse(struct cli *c, const struct command_option *options, int argc,
	      char **argv, struct args *ret) MUST_CHECK;
int cli_words(struct cli *c, const struct args *args, size_t least,
	      size_t most) MUST_CHECK;

/* Take over the common options among ARGS. */
int cli_take(struct cli *c, const struct args *args,
	     struct failure *p) MUST_CHECK;

/* The server to talk to, settled once. */
int cli_target(struct cli *c, struct failure *p) MUST_CHECK;

/* Say what was wrong with the command line and where help is; returns
 * EXIT_USAGE. */
int cli_usage(struct cli *c, const char *fmt, ...) PRINTF(2, 3);

/* Say what went wrong with WHAT ("create project"); returns what to exit
 * with.  FLAGS may be NULL. */
int cli_fail(struct cli *c, const struct failure *p, const char *what,
	     const struct flags *flags);

/* The command line that was typed, with ALLOW allowed: to be typed again. */
const char *cli_again(struct cli *c, const char *allow);

/* A remark on standard error, unless --quiet. */
void cli_say(const struct cli *c, const char *fmt, ...) PRINTF(2, 3);

/* B to standard output; it is released. */
void cli_print(const struct cli *c, struct buf *b);

/* TEMPLATE with {a}, {noun}, {nouns} and {required} filled in for K. */
const char *cli_expand(struct arena *a, const char *template,
		       const struct kind *k);
