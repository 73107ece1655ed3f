/*
 * fetch - gets the documents of OpenID issuers, on worker threads.
 *
 * Loop thread only; the calls themselves are made elsewhere.
 */
#pragma once

struct fetcher;
struct loop;
struct oidc_fetch;

struct fetcher *fetcher_new(struct loop *l);

/* Waits for what is under way, which is then answered to nobody. */
void fetcher_free(struct fetcher *f);

/* As oidc_conf has it; CTX is the fetcher. */
void fetcher_get(void *ctx, struct oidc_fetch *f);
