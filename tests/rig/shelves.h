/*
 * shelves - two nouns for the store's tests, with everything a store looks at:
 * references (single and in a list), tags, names unique within a field, an
 * indexed enum and a secret.
 */
#pragma once

#include "model/kind.h"

struct shelf {
	struct meta meta;
};

enum color { COLOR_NONE, COLOR_RED, COLOR_BLUE };

struct book {
	struct meta meta;
	const char *shelf_id;
	struct items also; /* const char *: ids of shelves */
	int color;
	const char *note;
};

extern const struct field shelf_fields[], book_fields[];
extern const struct kind shelf_kind, book_kind;
extern const struct kind *const shelves_kinds[];

/* A valid id from two small numbers. */
const char *shelves_id(char out[37], unsigned space, unsigned i);

/* What is not said is absent. */
struct shelf shelf_of(const char *id, const char *name);
struct book book_of(const char *id, const char *name, const char *shelf);
