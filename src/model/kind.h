/*
 * kind - what all nouns have in common, and the list of them.
 *
 * A noun is a struct that begins with a struct meta, a table of its fields and
 * a struct kind that names it.  Adding one is adding these and a row to the
 * list in kind.c.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/field.h"

struct meta {
	const char *id;
	const char *name;
	const char *description;
	struct items tags;
	int64_t revision;   /* of the last change: the ETag */
	int64_t generation; /* counts changes of what is wanted */
	int64_t created_at, updated_at, deleted_at;
	const char *created_by, *updated_by;
};

extern const struct field meta_fields[];

/* The same for nouns without a name, or with one of another form. */
extern const struct field meta_unnamed_fields[];

/* The row that puts the common fields into a noun's table. */
#define META_FIELDS                                                            \
	{                                                                      \
		.type = FIELD_INCLUDE, .fields = meta_fields                   \
	}

#define META_UNNAMED_FIELDS                                                    \
	{                                                                      \
		.type = FIELD_INCLUDE, .fields = meta_unnamed_fields           \
	}

/* Turn a document of one schema version into one of the next.  Secret fields
 * are found by today's table: one that has moved is still sealed here. */
typedef struct node *kind_upgrade(struct node *doc, struct arena *a,
				  struct err *err);

struct kind {
	const char *name;   /* "project" */
	const char *plural; /* "projects": its path in the API */
	const char *title;  /* "Project" */
	const char *doc;    /* a sentence or two */
	bool internal;      /* kept like the others, but not in the API */
	bool read_only;     /* the server's to write: others read it */
	bool open;          /* those without an owner are everyone's to read */
	bool backed;        /* a provider has it, too: a deletion is begun by
			     * setting deletedAt, and ended by its controller */
	size_t size;        /* of its struct */
	size_t organization_at, project_at; /* of its owner's ids in that,
					     * const char *; 0: it has none */
	const struct field *fields;

	/* Names are unique among those that agree in this field (a field of
	 * the top level), or in the other one when that is absent; NULL: among
	 * all of the kind. */
	const char *unique_within, *unique_else;

	unsigned version;              /* of its documents; 1 at first */
	kind_upgrade *const *upgrades; /* [v - 1] turns v into v + 1 */
};

enum { KINDS_MOST = 64 };

/* Whose an object is.  An organization and a project are their own. */
struct owner {
	const char *organization, *project; /* ids, or NULL */
};

struct owner kind_owner(const struct kind *k, const void *object);

/* Every noun, ended by NULL. */
extern const struct kind *const kinds[];

/* By "project" or "projects"; NULL when there is none. */
const struct kind *kind_find(const char *name);

/* Its place in the list, for tables that have a row a kind. */
size_t kind_index(const struct kind *k);
