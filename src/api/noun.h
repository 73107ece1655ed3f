/*
 * noun - the kinds that the API has, and what is special about each.
 *
 * A new noun is a row in nouns[] and its own rules; the routes, their schemas
 * and their documentation follow from the tables.
 */
#pragma once

#include "api/call.h"

struct tx;

/* A kind and what is special about it in the API. */
struct noun {
	const struct kind *kind;

	/* Called in the transaction before OBJECT is written: what the table
	 * of fields cannot say.  Any may be NULL.  OLD is as it was. */
	int (*create)(struct call *c, struct tx *tx, void *object,
		      struct err *err);
	bool cascades; /* what is its is deleted with it: see cascade.h */
	bool permits;  /* create() asks for the permission itself */
	int (*update)(struct call *c, struct tx *tx, const void *old,
		      void *object, struct err *err);
	int (*remove)(struct call *c, struct tx *tx, const void *old,
		      struct err *err);

	/* Called after a new OBJECT was written: what refers to it. */
	int (*written)(struct call *c, struct tx *tx, const void *object,
		       struct err *err);

	/* More query words that its updates take, and reading one of it; ended
	 * by NULL, or NULL. */
	const char *const *words, *const *read_words;
};

extern const struct noun nouns[];
extern const size_t n_nouns;

/* By "projects"; NULL when there is none. */
const struct noun *noun_find(const char *plural);
