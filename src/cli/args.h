/*
 * args - a command's arguments, read by its tables of options.
 *
 * "--name value", "--name=value", "-o json", "-ojson"; switches of one letter
 * may be put together; "--" ends the options, "-" is a word.  Options and words
 * may be mixed.  No option is known by a part of its name, so that a new one
 * never changes what an old script means.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/command.h"

struct arg {
	const struct command_option *option; /* in the table that has it */
	const char *value;                   /* NULL: none was given */
};

struct args {
	struct arg *given; /* in the order they came */
	size_t n;
	const char **words; /* what is no option */
	size_t n_words;
};

/* TABLES ends with NULL; an earlier table hides a later one's option of the
 * same name.  ARGV[0] is passed over.  ERR_INVALID says what is wrong. */
int args_parse(const struct command_option *const *tables, int argc,
	       char **argv, struct arena *a, struct args *ret,
	       struct err *err) MUST_CHECK;

/* The same up to the first word, whose index (or ARGC) is returned; -1 when
 * something is wrong. */
int args_parse_head(const struct command_option *const *tables, int argc,
		    char **argv, struct arena *a, struct args *ret,
		    struct err *err) MUST_CHECK;

/* The last value given for an option, "" for one given without; NULL when it
 * was not given. */
const char *args_value(const struct args *args, const char *name);
bool args_has(const struct args *args, const char *name);

/* "--help" or "-h" is there, before any "--". */
bool args_want_help(int argc, char **argv);
