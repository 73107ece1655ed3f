/*
 * quota - use against limits, decided in the transaction that uses.
 *
 * The sums over allocations are kept beside the store, over everything that is
 * written, durable or not; a failed batch takes its share back out.  They are
 * never stored, so they cannot drift: quota_differences() adds everything up
 * again and finds none.
 *
 * Loop thread only.
 */
#pragma once

#include "base/err.h"
#include "model/quota.h"

struct quota_sums;
struct store;
struct tx;

struct quota_use {
	int64_t committed, reserved;
};

struct quota_sums *quota_sums_new(void);
void quota_sums_free(struct quota_sums *q);

/* For the store's configuration; CTX is the sums. */
void quota_observe(void *ctx, const struct kind *k, const void *object, int by);

/* How much of KIND is used by an organization or project. */
struct quota_use quota_used(const struct quota_sums *q, const char *scope,
			    const char *kind);

/* Write ALLOCATION, whose object it is the only one of, unless it would pass
 * a limit: ERR_QUOTA says which, by how much, and what is in use.  Its id is
 * set from the object's. */
int quota_charge(struct quota_sums *q, struct tx *tx,
		 struct allocation *allocation, struct err *err) MUST_CHECK;

/* No limit in NEW (NULL: the quota is to go) is below what is used. */
int quota_check_limits(struct quota_sums *q, struct tx *tx,
		       const struct quota *old, const struct quota *new,
		       struct err *err) MUST_CHECK;

/* No organization that the default of NEW holds for uses more than it. */
int quota_check_default(struct quota_sums *q, struct tx *tx,
			const struct quotakind *new,
			struct err *err) MUST_CHECK;

/* The limit of KIND that holds for a scope; FIELD_NONE: there is none. */
int64_t quota_limit_now(const struct store *s, const char *organization,
			const char *project, const char *kind);

/* The id of the one allocation of an object, of the one quota of a scope. */
void quota_allocation_id(const char *organization, const char *object,
			 char out[37]);
void quota_id(const char *scope, char out[37]);

/* Add up every allocation anew and tell each difference; how many. */
size_t quota_differences(const struct quota_sums *q, const struct store *s,
			 struct buf *out);

/* Tell each organization and project that uses more than its limit, each
 * allocation of an object that is not there or is another's, and each object
 * that has none and should; how many. */
size_t quota_breaches(const struct quota_sums *q, const struct store *s,
		      struct buf *out);
