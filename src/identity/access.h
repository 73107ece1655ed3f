/*
 * access - who is calling, and what they may do where.
 *
 * A principal is a service account or a user with the rights that its groups
 * give it, each at the platform, in an organization or in a project.  What is
 * worked out is kept until anything about identities changes.
 *
 * Loop thread only.
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "identity/permission.h"
#include "model/kind.h"

struct access;
struct store;
struct tx;

struct grant {
	const char *organization, *project; /* both NULL: everywhere */
	struct rights rights;
};

struct principal {
	const char *id;   /* of the user or service account */
	const char *name; /* "serviceaccount:admin", as createdBy shows it */
	const char *token_id;
	struct owner scope; /* a token may be narrower than its owner */
	struct grant *grants;
	size_t n;
	const struct principal *as; /* acting for: both must be permitted */
};

struct access *access_new(struct store *s, const struct clock *clock);
void access_free(struct access *a);

/* Who HEADER, an Authorization header or NULL, is; kept until the store
 * changes, so use it in this turn, or access_copy() it. */
int access_check(struct access *a, const char *header,
		 const struct principal **ret, struct err *err) MUST_CHECK;

/* P acting for the user or service account ID, as far as both may. */
int access_impersonate(struct access *a, const struct principal *p,
		       const char *id, struct arena *arena,
		       const struct principal **ret,
		       struct err *err) MUST_CHECK;
const struct principal *access_copy(const struct principal *p,
				    struct arena *arena);

/* P may do VERB to a NOUN (see permission_noun()) that is O's. */
bool access_may(const struct principal *p, int noun, enum verb verb,
		struct owner o);

/* P may do it somewhere. */
bool access_may_anywhere(const struct principal *p, int noun, enum verb verb);

/* P holds all of R there: it may pass it on. */
bool access_holds(const struct principal *p, const struct rights *r,
		  struct owner o);

/* What the user or service account ID may do, into GRANTS (in ARENA). */
void access_grants(const struct store *s, const char *id, struct arena *arena,
		   struct principal *ret);

/* The one organization that everything P may do lies in; NULL: there are
 * several, or it may do something everywhere. */
const char *access_only_organization(const struct principal *p);
