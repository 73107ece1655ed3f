/*
 * recipe - guest images that are made on this machine.
 *
 * A recipe is a shell script of share/images, which says what it is given and
 * how it tells what it does; they are all in the program.  It is run in a
 * folder that goes away with it, and nothing that a user types becomes a part
 * of a command.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

/* A file of share/images. */
struct recipe_file {
	const char *path;
	const char *bytes;
	size_t len;
};

extern const struct recipe_file recipe_files[]; /* ended by a zeroed row */
extern const char *const recipe_names[];        /* "tiny", …; ended by NULL */

struct recipe {
	const char *name; /* one of recipe_names */
	const char *to;   /* the file that is made, or made anew */
	void (*step)(void *ctx, const char *words); /* as it happens */
	void *ctx;
	struct buf *log; /* gets the end of what programs said, if it fails */
};

struct recipe_made {
	int64_t bytes;
	char sha256[65];
	struct node *spec; /* of the image: architecture, os, user, … */
};

/* Blocks for as long as it takes; Ctrl-C ends the program when everything is
 * as it was before.  What is at r->to is there as a whole or not at all. */
int recipe_make(const struct recipe *r, struct arena *a,
		struct recipe_made *ret, struct err *err) MUST_CHECK;
