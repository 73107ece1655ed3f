/*
 * command - a row of the command line: its name, what it takes, what it does.
 *
 * Help, manual pages and shell completion are all written from these tables
 * and from the nouns' field tables; nothing about a command is said twice.  A
 * table ends with a zeroed row.  Other rooms may bring tables of their own:
 * main() hands them all to the command line.
 *
 * In the texts of a noun's verbs {a}, {noun}, {nouns} and {required} stand for
 * "a", "project", "projects" and the flags that creating one needs.
 */
#pragma once

#include <stdbool.h>

struct cli;

enum {
	OPTION_MANY = 1 << 0,  /* may be given several times */
	OPTION_MAYBE = 1 << 1, /* "--wait" or "--wait=STATE" */
};

struct command_option {
	const char *name; /* "token-file" is --token-file */
	char letter;      /* 'o' is -o; 0: none */
	unsigned flags;
	const char *argument;       /* "FILE", "DIR", …; NULL: a switch */
	const char *doc;            /* a sentence */
	const char *const *choices; /* its words, ended by NULL; or NULL */
	const char *refers;         /* completed by the names of this kind */
};

struct command_example {
	const char *text; /* "List them all:" */
	const char *line; /* "muster project list" */
};

/* Which flags made from the fields of its noun a verb takes besides. */
enum command_fields {
	COMMAND_NO_FIELDS,
	COMMAND_FILTERS, /* those that lists are filtered by */
	COMMAND_NARROW,  /* what tells two of the same name apart */
	COMMAND_CREATE,  /* all that can be set */
	COMMAND_UPDATE,  /* all that can change */
};

struct command {
	const char *name;
	const char *summary; /* one line, no full stop */
	const char *usage;   /* what follows the name: "[SERVER]" */
	const char *help;    /* paragraphs, an empty line between */
	const struct command_example *examples;
	const struct command_option *options;
	const struct command *children; /* "list" of "context", or NULL */
	enum command_fields fields;
	const char *noun; /* what a first word that is no noun is about */
	bool passes_on;   /* what follows its first word is another program's */

	/* ARGV[0] is the command's name, the rest is as it was typed, but
	 * --help never comes here.  Returns the exit status. */
	int (*run)(struct cli *c, int argc, char **argv);
};

/* What the program exits with. */
enum {
	EXIT_OK = 0,
	EXIT_REFUSED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_FOUND = 3,
	EXIT_DENIED = 4,
	EXIT_CONFLICT = 5,
	EXIT_UNREACHABLE = 6,
	EXIT_UNAVAILABLE = 7,
};

/* The same for people, from 0 on, ended by NULL. */
extern const char *const command_exits[];

/* The row of that name in a table, or NULL. */
const struct command *command_find(const struct command *table,
				   const char *name);
