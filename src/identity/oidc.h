/*
 * oidc - OpenID issuers: whose tokens are taken here, and their keys.
 *
 * An issuer's discovery document says where its keys are; both are fetched by
 * whoever makes this (conf.fetch), refreshed every ten minutes, and at once
 * when a token names a key that is not known, at most every five seconds.
 * While they cannot be fetched the last good ones stay.  What was verified is
 * remembered until it expires or the keys change.
 *
 * Nothing here waits: a caller whose keys are under way is told to ask again.
 * Loop thread only.
 */
#pragma once

#include "base/clock.h"
#include "base/err.h"
#include "base/field.h"
#include "identity/jwt.h"

struct oidc;

/* An issuer as the configuration has it. */
struct oidc_issuer {
	const char *name;           /* what groups call it: "corp" */
	const char *issuer;         /* its address, as its tokens have it */
	const char *audience;       /* NULL: the client id */
	const char *client_id;      /* for signing in; NULL: not here */
	const char *scopes;         /* to ask for when signing in */
	const char *groups_claim;   /* NULL: groups do not matter */
	const char *ca_file;        /* PEM; NULL: the system's */
	struct items organizations; /* of const char *: names or ids of those
				      * that it may vouch for; none: all */
};

/* The fields of a struct oidc_issuer. */
extern const struct field oidc_fields[];

/* ERR_INVALID when they cannot be used: a name twice, plain HTTP, … */
int oidc_validate(const struct oidc_issuer *issuers, size_t n,
		  struct err *err) MUST_CHECK;

/* A document to fetch. */
struct oidc_fetch {
	const char *url, *ca_file;
	size_t most; /* bytes */
};

struct oidc_conf {
	const struct oidc_issuer *issuers; /* they live as long as it */
	size_t n;
	const struct clock *clock;

	/* Get F, and say oidc_fetched() once, later. */
	void (*fetch)(void *ctx, struct oidc_fetch *f);

	/* An issuer's keys were fetched anew (KEYS of them), or could not be
	 * (ERR); told when that changes. */
	void (*tell)(void *ctx, const struct oidc_issuer *issuer, size_t keys,
		     const struct err *err);
	void *ctx;
};

struct oidc *oidc_new(const struct oidc_conf *conf);

/* What is being fetched must not be answered any more. */
void oidc_free(struct oidc *o);

/* Refresh what is due.  Call about every second, and once at the start. */
void oidc_tick(struct oidc *o);

/* F's document; or ERR, why there is none. */
void oidc_fetched(struct oidc_fetch *f, const char *body, size_t len,
		  const struct err *err);

/* Somebody, as an issuer vouches for them. */
struct oidc_person {
	const struct oidc_issuer *issuer;
	struct jwt_claims claims;
};

/* Who TOKEN, whose SHA-256 in hex is DIGEST, is for; until the next call.
 * 0, or 1: the keys are under way, ask again; or -1. */
int oidc_check(struct oidc *o, const char *token, const char *digest,
	       const struct oidc_person **ret, struct err *err) MUST_CHECK;

/* Every issuer, ended by NULL. */
const struct oidc_issuer *oidc_at(const struct oidc *o, size_t i);
