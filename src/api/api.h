/*
 * api - HTTP in, store out.
 *
 * Every request becomes a call: routed by the table in routes.c, its caller
 * known, its query words and content types checked, then handed to its
 * handler.  Nothing here knows whether a real server or the simulator brought
 * it.  Loop thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/random.h"
#include "http/exchange.h"

struct api;
struct live;
struct loop;
struct node;
struct quota_sums;
struct store;
struct violations;

struct api_conf {
	struct store *store;
	struct quota_sums *sums; /* kept beside that store */
	const struct clock *clock;
	struct random *random;
	const char *version;
	struct oidc *oidc;            /* issuers, or NULL */
	const struct mtls_rule *mtls; /* whom certificates stand for */
	size_t n_mtls;
	unsigned requests_per_second; /* a caller; 0: no limit */
	size_t pending_most; /* changes that may wait to be written: 4096 */
	size_t streams_most; /* watches and long polls at a time: 16384 */

	/* Consoles are relayed here; NULL: they are not. */
	struct loop *loop;
	size_t consoles_most, consoles_each; /* in all, and of one caller */
	uint64_t console_ticket_ms;          /* to connect */
	uint64_t console_idle_ms, console_ms;

	/* Asks providers; or NULL.  Not used any more when the API is freed. */
	const struct live *live;

	/* Adds to V whatever is wrong with a region's provider, options and
	 * credentials (either may be NULL), by their pointers in a region; may
	 * itself be NULL. */
	void (*check_region)(const char *provider, const struct node *options,
			     const struct node *credentials,
			     struct violations *v);

	/* More lines for /metrics; may be NULL. */
	void (*metrics)(void *ctx, struct buf *out);
	void *ctx;
};

struct api *api_new(const struct api_conf *conf);

/* After the store is closed. */
void api_free(struct api *api);

/* The server's handler; CTX is the struct api. */
void api_handle(void *ctx, struct exchange *x);

/* The body of an answer that the HTTP layer gives by itself. */
void api_refuse(void *ctx, int status, const char *why, struct buf *body,
		const char **ret_type);

/* Not ready from now on: /readyz says so, long polls end, and calls whose
 * callers are not known yet. */
void api_drain(struct api *api);
