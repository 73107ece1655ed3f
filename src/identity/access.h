/*
 * access - who is calling, and what they may do where.
 *
 * A principal is a service account, a user, or a person who is a user in one or
 * more organizations, with the rights that their groups give, each at the
 * platform, in an organization or in a project.  What is worked out is kept
 * until anything about identities changes.
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
struct group;
struct mtls_rule;
struct oidc;
struct store;
struct tx;

struct grant {
	const char *organization, *project; /* both NULL: everywhere */
	struct rights rights;
};

struct principal {
	const char *id;         /* of the user or service account */
	const char *const *ids; /* of all the users that it is, id first */
	size_t n_ids;
	const char *name; /* "serviceaccount:admin", as createdBy shows it */
	const char *token_id; /* NULL: it came without one of ours */
	struct owner scope;   /* a token may be narrower than its owner */
	struct grant *grants; /* one a place, in an order of access.c's */
	size_t n;
	const struct principal *as; /* acting for: both must be permitted */
};

struct access_conf {
	struct store *store;
	const struct clock *clock;
	struct oidc *oidc;            /* whose tokens are taken; or NULL */
	const struct mtls_rule *mtls; /* whom certificates stand for */
	size_t n_mtls;
};

struct access *access_new(const struct access_conf *conf);

/* After the store is closed. */
void access_free(struct access *a);

/* What a caller brings. */
struct credentials {
	const char *header;      /* Authorization, or NULL */
	const char *tls_subject; /* of its verified certificate, or NULL */
	const char *act_as;      /* the user or service account, or NULL */
};

/* Who that is; kept until the store changes, so use it in this turn, or
 * access_copy() it.  Who acts for another may do what both may; who may not is
 * in RET, with ERR_FORBIDDEN.  0, or 1: it is not known yet, ask again; or
 * -1. */
int access_check(struct access *a, const struct credentials *brought,
		 const struct principal **ret, struct err *err) MUST_CHECK;
const struct principal *access_copy(const struct principal *p,
				    struct arena *arena);

/* P is the user or service account ID. */
bool access_is(const struct principal *p, const char *id);

/* P may do VERB to a NOUN (see permission_noun()) that is O's. */
bool access_may(const struct principal *p, int noun, enum verb verb,
		struct owner o);

/* P may do it somewhere. */
bool access_may_anywhere(const struct principal *p, int noun, enum verb verb);

/* P may do anything at all in the organization, or project, that O is. */
bool access_in(const struct principal *p, struct owner o);

/* P holds all of R there: it may pass it on. */
bool access_holds(const struct principal *p, const struct rights *r,
		  struct owner o);

/* What the user or service account ID may do, into GRANTS (in ARENA). */
void access_grants(const struct store *s, const char *id, struct arena *arena,
		   struct principal *ret);

/* Groups that have VALUE in their field PATH. */
struct group_query {
	const char *path, *value;
	bool (*counts)(void *ctx, const struct group *g); /* NULL: all do */
	void *ctx;
};

/* The same for the members of those groups. */
void access_groups(const struct store *s, const struct group_query *q,
		   struct arena *arena, struct principal *ret);

/* The one organization that everything P may do lies in; NULL: there are
 * several, or it may do something everywhere. */
const char *access_only_organization(const struct principal *p);
