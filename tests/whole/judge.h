/*
 * judge - holds a history against the rules, as it happens and at rest.
 *
 * It is told what reached the disk, what was asked and answered, and what the
 * cloud has come to after each call, and keeps a view of its own, by other code
 * than the server's.  The first rule that is broken is kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/backend.h"

struct judge;
struct quota_sums;
struct sim_cloud;

struct judge *judge_new(void);
void judge_free(struct judge *j);

/* What a broken rule comes to. */
enum judge_class {
	JUDGE_HELD,            /* none was broken */
	JUDGE_LOST,            /* a machine that nobody knows of */
	JUDGE_DOUBLED,         /* two where there is to be one */
	JUDGE_WRONGLY_DELETED, /* something was destroyed that was wanted */
	JUDGE_QUOTA,           /* what is counted is not what there is */
	JUDGE_STUCK,           /* something does not come to its end */
	JUDGE_OTHER,
	JUDGE_CLASSES, /* how many there are */
};

extern const char *const judge_class_names[JUDGE_CLASSES]; /* "lost" */

/* The first rule that was broken, and how; NULL: none. */
const char *judge_verdict(const struct judge *j);
enum judge_class judge_class(const struct judge *j);

/* Note a broken rule; later ones are not kept. */
void judge_broken(struct judge *j, enum judge_class class, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A row came to the disk: durable from now on, answered or not.  Checked at
 * every revision: quota is the sum of the allocations and within its limits
 * (3), an instance has its allocation and its server from the first to the last
 * (1, 2, 3), links are one to one (2), states move as they may, ids and names
 * stay, what is in use is not gone (6), nothing destructive is begun that was
 * not asked for (4), no secret is in clear (11). */
void judge_row(struct judge *j, const struct row *row, int64_t wall);

/* The newest revision that it was told of. */
uint64_t judge_revision(const struct judge *j);

/* A call of Muster's to the cloud has run, whether it will be answered or not.
 * SINCE is the newest durable revision when the call was handed over to be run:
 * it may rest on anything that held from then on.  Checked each time: every
 * machine that carries our tag has an intent that was durable before (1), no two
 * are the same server's (1), none that was wanted is gone (4, 8, 9), nothing
 * that is not ours was touched (9). */
void judge_called(struct judge *j, struct sim_cloud *cloud, uint64_t since,
		  int64_t wall);

/* Before the test itself does something to the cloud (drift, strays), and
 * after: what comes of it is nobody's fault. */
void judge_meddled(struct judge *j, struct sim_cloud *cloud);

/* This is a secret that users give: it is in no row, answer or event. */
void judge_secret(struct judge *j, const char *text);

/* The clock says WALL, and is about to be set: what was begun by then and is
 * not on the disk yet went by it. */
void judge_clock(struct judge *j, int64_t wall);

/* Little of the past is kept: keys of requests are forgotten, streams end. */
void judge_forgets(struct judge *j);

/* A request.  What it writes carries "op-REQUEST" in its description, where it
 * can say one; a repeated one has the number of the first. */
struct verdict_ask {
	long request;                             /* -1: it writes none */
	const char *method, *target, *body, *key; /* key: or NULL */
	uint64_t started; /* the newest durable revision when it was asked */
	bool repeats;     /* it was asked before, with the same key */
	int status;
	const char *reply;
	size_t len;
};

/* It is made now: what it wants may be done from now on.  The answer is the
 * number to tell of its end with. */
unsigned judge_asked(struct judge *j, const struct verdict_ask *a);

/* The request ASKED was answered.  What was acknowledged is on the disk (12) and
 * stays; what was refused has changed nothing; errors are data (10); what is
 * read held at a revision between asking and answer. */
void judge_answered(struct judge *j, unsigned asked,
		    const struct verdict_ask *a);

/* A stream of KIND (all of it, unfiltered) is begun: anew when AFTER is 0, or
 * taken up after that revision; and an event of it.  ID is NULL or "" when the
 * event has none. */
void judge_stream(struct judge *j, unsigned stream, const char *kind,
		  uint64_t from);
void judge_event(struct judge *j, unsigned stream, const char *event,
		 const char *id, const char *data, size_t len);

/* The server was lost, with all that was under way. */
void judge_crashed(struct judge *j);

/* The server's own sums are those of the allocations.  Ask when nothing waits
 * to become durable. */
void judge_sums(struct judge *j, const struct quota_sums *sums);

/* All is at rest on a cloud that is well.  The cloud's truth is the store's:
 * a machine for each instance as it is wanted and none besides (but what the
 * test put there and policy leaves), nothing transient, nothing past its
 * deadline, deletions over, streams complete. */
void judge_rest(struct judge *j, struct sim_cloud *cloud, int64_t wall);
