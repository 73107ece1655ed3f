/*
 * reconciler - the engine on this machine: its workers, its timer, its numbers.
 *
 * Loop thread only.
 */
#pragma once

#include <stddef.h>

struct buf;
struct live;
struct loop;
struct reconciler;
struct store;

struct reconciler_conf {
	struct loop *loop;
	struct store *store;
	const char *data; /* the folder: providers keep theirs below it */
	size_t workers;
};

struct reconciler *reconciler_new(const struct reconciler_conf *conf);

/* Waits for the calls under way, and runs the loop for their answers: before
 * anything is freed that the loop may have something for.  NULL is fine. */
void reconciler_free(struct reconciler *r);

/* In Prometheus' words. */
void reconciler_metrics(const struct reconciler *r, struct buf *out);

/* How the API asks machines; valid as long as the reconciler. */
const struct live *reconciler_live(const struct reconciler *r);
