/*
 * judge - holds a history against the rules, as it happens and at rest.
 *
 * It is told what reached the disk, what was asked and answered, and what the
 * cloud has come to after each call, and keeps a view of its own, by other code
 * than the server's.  The first rule that is broken is kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/backend.h"

struct judge;
struct sim_cloud;

struct judge *judge_new(void);
void judge_free(struct judge *j);

/* The first rule that was broken, and how; NULL: none. */
const char *judge_verdict(const struct judge *j);

/* Note a broken rule; later ones are not kept. */
void judge_broken(struct judge *j, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A row came to the disk: durable from now on, answered or not.  Checked at
 * every revision: quota is the sum of the allocations and within its limits
 * (3), an instance has its allocation and its server from the first to the last
 * (1, 2, 3), links are one to one (2), states move as they may, ids and names
 * stay, what is in use is not gone (6), nothing destructive is begun that was
 * not asked for (4), no secret is in clear (11). */
void judge_row(struct judge *j, const struct row *row, int64_t wall);

/* A call of Muster's to the cloud has run, whether it will be answered or not.
 * Checked each time: every machine that carries our tag has an intent that was
 * durable before (1), no two are the same server's (1), none that was wanted is
 * gone (4, 8, 9), nothing that is not ours was touched (9). */
void judge_called(struct judge *j, struct sim_cloud *cloud, int64_t wall);

/* Before the test itself does something to the cloud (drift, strays), and
 * after: what comes of it is nobody's fault. */
void judge_meddled(struct judge *j, struct sim_cloud *cloud);

/* A request was answered with STATUS and BODY.  REQUEST tells it from others;
 * KEY is its idempotency key or NULL.  What was acknowledged is on the disk
 * (12) and stays; what was refused has changed nothing; errors are data (10);
 * a repeated request is done once. */
struct verdict_ask {
	long request;
	const char *method, *target, *body, *key;
	uint64_t started; /* the newest durable revision when it was asked */
	int status;
	const char *reply;
	size_t len;
};
void judge_answered(struct judge *j, const struct verdict_ask *a);

/* A stream of KIND (all of it, unfiltered) begun anew, taken up after revision
 * AFTER, and an event of it. */
void judge_stream(struct judge *j, unsigned stream, const char *kind,
		  uint64_t after);
void judge_event(struct judge *j, unsigned stream, const char *event,
		 const char *id, const char *data, size_t len);

/* The server was lost, with all that was under way. */
void judge_crashed(struct judge *j);

/* All is at rest on a cloud that is well.  The cloud's truth is the store's:
 * a machine for each instance as it is wanted and none besides (but what the
 * test put there and policy leaves), nothing transient, nothing past its
 * deadline, deletions over, streams complete. */
void judge_rest(struct judge *j, struct sim_cloud *cloud, int64_t wall);
