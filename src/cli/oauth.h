/*
 * oauth - signing in at an OpenID issuer: the device flow (RFC 8628), or a code
 * by way of a browser on this machine (RFC 8252, with PKCE).
 *
 * The server says which issuers there are; what the issuer gives is kept in the
 * context and renewed when it is about to expire.  All is in the cli's arena.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"

/* An issuer as the server tells of it. */
struct oauth_issuer {
	const char *name, *issuer, *client_id, *audience, *scopes;
};

/* Where an issuer answers; NULL: it does not. */
struct oauth_places {
	const char *token, *device, *authorization, *revocation;
};

/* The one of that name among those of the server. */
int oauth_find(struct cli *c, const char *name, struct oauth_issuer *ret,
	       struct failure *p) MUST_CHECK;
int oauth_discover(struct cli *c, const char *issuer, struct oauth_places *ret,
		   struct failure *p) MUST_CHECK;

/* Sign in; what comes of it goes into the cli's target. */
int oauth_device(struct cli *c, const struct oauth_issuer *i,
		 const struct oauth_places *at, struct failure *p) MUST_CHECK;
int oauth_browser(struct cli *c, const struct oauth_issuer *i,
		  const struct oauth_places *at, struct failure *p) MUST_CHECK;

/* Have a new token in the target, and in its context, when the old one is
 * about to expire and the issuer gives another. */
int oauth_renew(struct cli *c, struct failure *p) MUST_CHECK;

/* Tell the issuer that a context's tokens are done with; it may not listen. */
void oauth_revoke(struct cli *c, const struct context *context);

/* POST the form at URL (a run of "&name=value"), or GET it when it is NULL; the
 * answer's JSON, which may be NULL, and its status. */
struct oauth_answer {
	struct node *body;
	int status;
};

int oauth_call(struct cli *c, const char *url, const char *form,
	       struct oauth_answer *ret, struct failure *p) MUST_CHECK;

/* Take the tokens in REPLY into the target.  NONCE is what the id token must
 * have, or NULL. */
int oauth_take(struct cli *c, const struct oauth_issuer *i,
	       const struct node *reply, const char *nonce,
	       struct failure *p) MUST_CHECK;

/* What an issuer says against it: "error_description", or "error". */
int oauth_refused(struct cli *c, const struct oauth_answer *answer,
		  const char *what, struct failure *p);
