/*
 * model - what really happened, read off the disk.
 *
 * Every row that reaches the disk is taken apart here, by other code than the
 * store's own.  The history it makes is the truth that answers, lists, watches
 * and the rules are held against.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "store/backend.h"

struct fact {
	uint64_t revision;
	char kind[32];
	char id[40];
	char *json; /* NULL: deleted */
	char name[64], within[40];
	bool dying; /* its deletion has begun */
	long op;    /* whose doing: the number in the description; -1: none */
	long prior; /* the fact about this object before, or -1 */
};

struct model {
	struct fact *facts;
	size_t n, room;
	uint64_t newest;
	char why[512]; /* the first rule that was broken; empty: none */
};

void model_release(struct model *m);

/* A row came to the disk. */
void model_row(struct model *m, const struct row *row);

/* Note a broken rule; the first is kept. */
void model_broken(struct model *m, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What held of the object at revision AT; NULL when it was not there. */
const struct fact *model_at(const struct model *m, uint64_t at,
			    const char *kind, const char *id);

/* Whether an object of this name was there at any revision from FROM to TO. */
bool model_named(const struct model *m, uint64_t from, uint64_t to,
		 const char *kind, const char *within, const char *name);

/* Whether anything of KIND was within ID at any revision from FROM to TO. */
bool model_used(const struct model *m, uint64_t from, uint64_t to,
		const char *kind, const char *id);

/* Whether the object was being deleted at any revision from FROM to TO. */
bool model_dying(const struct model *m, uint64_t from, uint64_t to,
		 const char *kind, const char *id);

/* How many facts are the doing of OP. */
size_t model_count(const struct model *m, long op);
