/* machine_draft - an instance and its server while they are written anew; what
 * the files of machine_record share. */
#pragma once

#include "reconcile/machine_record.h"
#include "store/tx.h"

struct draft {
	struct tx *tx;
	const struct machine_record *record;
	struct arena *arena;
	int64_t now;
	struct instance i;
	struct server s;
	struct machine_view v; /* of these two */
	int was;               /* the state that the instance had */
	bool has_server;
	bool changed;  /* there is something to write */
	bool finished; /* the documents are gone */
	struct err *err;
	bool failed; /* with ERR */
};

/* An event of the instance. */
#define TELL(d, reason, ...)                                                   \
	tx_event((d)->tx, &instance_kind, (d)->i.meta.id, (reason), __VA_ARGS__)

/* What a call came to (outcome), and what the planner wants written (moves). */
void draft_outcome(struct draft *d, const struct machine_call *c);
void draft_move(struct draft *d, const struct machine_step *step);

/* When and how the machine was seen, when that call has done so. */
void draft_observed(struct draft *d, const struct machine_call *c);

/* Whether the guest of M, the machine as it was seen, is up; and that one has
 * taken too long. */
void draft_ready(struct draft *d, const struct machine *m);
void draft_late_guest(struct draft *d);

/* A launch that did not come to a machine. */
void draft_refused(struct draft *d, const struct machine_call *c);

/* Candidate N, flavor F, was not to be had. */
void draft_offering_refused(struct draft *d, size_t n, const char *why);

/* The machine is gone: so are its attachments. */
void draft_release_volumes(struct draft *d);

/* Volume ID is this instance's, at DEVICE ("": not known yet); NULL: it is
 * nobody's. */
void draft_volume(struct draft *d, const char *id, const char *device);

/* What it uses is what it got: at most what was charged. */
void draft_narrow(struct draft *d);

/* The documents go: server, allocation, instance. */
void draft_finish(struct draft *d);

/* The reason CODE and WHY, with nothing else set. */
struct reason draft_reason(struct draft *d, enum err_code code,
			   const char *why);

void draft_write(struct draft *d, const struct kind *k, void *object);
void draft_delete(struct draft *d, const struct kind *k, const char *id);

/* It now waits for what the reason says: told, when it is parked. */
void draft_park(struct draft *d, struct reason r);

/* The time at which a transient state of the server is given up. */
int64_t draft_deadline(const struct draft *d, int state);
