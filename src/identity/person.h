/*
 * person - who an issuer's token stands for: users, and groups named in it.
 *
 * A user is theirs when its issuer and subject are the token's; or when it has
 * no subject yet, its e-mail address is the token's and the issuer says that
 * it has verified it.  Such a user is bound: it remembers issuer and subject
 * from then on, and its address no longer matters.  One person may be a user
 * in several organizations, and has the rights of all that are active.
 *
 * A group that has "NAME/GROUP" among its external groups, NAME being the
 * issuer's, holds everyone whose token names GROUP; but nobody who is a
 * suspended or pending user of the group's organization.
 *
 * Loop thread only.
 */
#pragma once

#include "identity/access.h"

struct oidc_person;
struct persons;

struct persons *persons_new(struct store *s);

/* After the store is closed: what is being bound is dropped. */
void persons_free(struct persons *all);

/* Fill RET.  0, or 1: they are being bound, ask again; or -1. */
int person_resolve(struct persons *all, const struct oidc_person *p,
		   struct arena *arena, struct principal *ret,
		   struct err *err) MUST_CHECK;
