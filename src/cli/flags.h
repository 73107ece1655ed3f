/*
 * flags - command line options made from a noun's field table.
 *
 * "organizationId" gives --organization, which takes a name or an id, and
 * --organization-id, which takes an id; what is in "spec" needs no prefix;
 * deeper fields are joined ("rootDisk.sizeGiB": --root-disk-size-gib); lists
 * and tags are repeated in the singular (--tag, --security-group).  A flag
 * that would hide an option of the command gets the noun's name before it.
 * An item of a list of objects is "key=value,…", or its values alone, each
 * for the next field that can hold it: "ingress,tcp,22,10.0.0.0/8", "data:/srv".
 *
 * Given flags become a JSON merge patch: alone it is what an update sends, and
 * merged into nothing or into a file's document what a create sends.
 */
#pragma once

#include "base/json.h"
#include "cli/args.h"
#include "cli/failure.h"
#include "model/kind.h"

enum flag_role {
	FLAG_VALUE,
	FLAG_NAME,   /* a reference, by name or id */
	FLAG_NOT,    /* --no-public-ip */
	FLAG_REMOVE, /* --remove-tag KEY */
};

struct flag {
	const struct field *field;
	const char *path; /* "spec.flavorId" */
	enum flag_role role;
	bool narrows; /* it changes nothing, and tells names apart */
};

enum { FLAGS_MOST = 256 };

struct flags {
	const struct kind *kind;
	struct command_option *options; /* N of them and a zeroed row */
	struct flag *rows;              /* in parallel */
	size_t n;
};

/* The flags that a verb on K takes; TAKEN are the other options it has.  Lives
 * in A. */
void flags_make(struct flags *ret, const struct kind *k,
		enum command_fields which,
		const struct command_option *const *taken, struct arena *a);

/* How values that need the world are read. */
struct flags_world {
	struct arena *arena;
	int64_t now; /* wall time */

	/* The id of the KIND that is called TEXT. */
	int (*resolve)(void *ctx, const char *kind, const char *text,
		       const char **ret_id, struct failure *p);
	void *ctx;
};

/* The merge patch that the flags among ARGS make; an empty object when there
 * are none. */
int flags_patch(const struct flags *f, const struct args *args,
		const struct flags_world *w, struct node **ret,
		struct failure *p) MUST_CHECK;

/* The same as query words, each with a '&' before it. */
int flags_query(const struct flags *f, const struct args *args,
		const struct flags_world *w, struct buf *out,
		struct failure *p) MUST_CHECK;

/* The flag (without dashes) that sets what a violation points to, or NULL. */
const char *flags_of_pointer(const struct flags *f, const char *pointer);

/* " --organization my-organization": the flags that a create of K needs, its
 * name left out, for examples. */
const char *flags_required(const struct kind *k, struct arena *a);

/* The row whose state ?wait= waits for, and its path; NULL: there is none. */
const struct field *flags_state(const struct kind *k, struct arena *a,
				const char **ret_path);
