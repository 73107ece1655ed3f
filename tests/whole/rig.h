/*
 * rig - the parts that a history is played on: the server and what it stands
 * on, each step of which is taken by hand.
 */
#pragma once

#include "ask.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/random.h"
#include "loop/pool.h"
#include "provider/sim_cloud.h"
#include "setting.h"
#include "store/memory.h"
#include "store/store.h"
#include "wire.h"

enum { MADE_MOST = 64, STREAMS = 3, CONFUSED_MOST = 16 };

#define RIG_EPOCH ((int64_t)1800000000000)

/* What a user asked, to ask it again. */
struct request {
	long op;
	char method[8], target[320], body[1400], key[40];
};

struct rig {
	struct clock clock; /* the server's; first */
	struct {
		struct clock base;
		const struct rig *rig;
	} cloud_clock; /* the cloud's own, which does not jump */
	int64_t wall;
	uint64_t mono;
	struct random_seeded chance; /* of the act that is played */
	struct random_seeded random; /* the server's own */
	struct setting setting;
	const struct start *start;
	bool loud;

	struct judge *judge;
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct quota_sums *sums;
	struct api *api;
	struct cascade *cascade;
	struct engine *engine;
	struct live *live;
	struct keyring *keys;
	char bearer[96];
	uint64_t wake, ticked;
	bool refuse; /* the next commit */

	struct sim_cloud *cloud;
	struct list jobs; /* of struct waiting */
	uint64_t since;   /* of the one that is made */
	struct made made[MADE_MOST];
	unsigned n_made;
	enum fate fate;
	struct list_spell list;
	char confused[CONFUSED_MOST][40]; /* machines in an unheard-of state */
	unsigned n_confused;
	uint64_t hold; /* how long the answer of the call just made is kept */
	unsigned until_doom; /* 1: the process dies after the next call */
	bool doomed;         /* it has, inside a job */

	struct list asks;
	bool answered; /* some are */
	long requests;
	struct request last;
	struct ask *streams[STREAMS];
	uint64_t seen[STREAMS]; /* where each can be taken up; 0: nowhere */
	bool begun[STREAMS];

	unsigned revisions, crashes, calls, launches;
	uint64_t digest; /* of all that happened */
};

/* Everything made for SETTING, the server running. */
void rig_open(struct rig *r, const struct setting *setting, uint64_t seed,
	      bool loud);
void rig_close(struct rig *r);

/* The same on a disk that may be empty. */
void rig_begin(struct rig *r, const struct setting *setting, struct disk *disk,
	       struct keyring *keys, const struct sim_options *options);

void rig_note(struct rig *r, const void *what, size_t len); /* it happened */
/* One of 0 … n-1, by the chance of the act that is played. */
uint64_t roll(struct rig *r, uint64_t n);
/* Say it, if somebody listens. */
void tell(struct rig *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The server is lost, and starts again on what is there. */
void rig_crash(struct rig *r);
/* A step that can be taken without time passing; false: there is none. */
bool rig_step(struct rig *r);

/* Time passes until something is due, or MOST milliseconds. */
void rig_wait(struct rig *r, uint64_t most);

/* The next call is made; the I-th of those that were is answered. */
void rig_call(struct rig *r);
void rig_answer(struct rig *r, unsigned i);

/* Work on things other than regions that is under way or has a time: none when
 * all is at rest. */
size_t rig_works(const struct rig *r);

/* Nothing is under way about this instance. */
bool rig_rests_on(const struct rig *r, const char *instance);

/* Nothing is to be done, now or at any time, but to look at the region. */
bool rig_rests(const struct rig *r);
