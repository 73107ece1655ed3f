/*
 * tape - a history as it is going to be: a setting, and acts one after the
 * other.
 *
 * An act has all that it needs.  It names things by small numbers that always
 * mean something (one of those that are there, modulo how many), and whatever
 * is left to chance inside it comes from its own seed.  So any act can be left
 * out and the others still be played: a long history that breaks a rule is made
 * a short one by leaving out what it does not need (shrink.h), and is written
 * as a few lines of text that play it again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum act_kind {
	/* Users, through the API. */
	ACT_CREATE = 1, /* an instance; often the name of one that is there */
	ACT_POWER,      /* on or off, by verb or by patch */
	ACT_REBOOT,
	ACT_RESIZE,
	ACT_REBUILD,
	ACT_PATCH, /* tags, pause, volumes, groups, protection, expiry */
	ACT_DELETE,
	ACT_REPEAT,  /* the last request once more, as after a lost answer */
	ACT_NETWORK, /* other things come and go: networks, groups, volumes, */
	ACT_PROJECT, /* whole projects, with all that is in them */
	ACT_QUOTA,   /* a limit is changed */
	ACT_READ,    /* get, list, at=, wait=, plan= */
	ACT_WATCH,   /* a stream is begun, left, or taken up again */
	ACT_OPERATE, /* a region's options, orphan policy, accept, pause */

	/* The system goes on: so many steps, in an order by chance. */
	ACT_RUN,
	ACT_PASS, /* until nothing can happen but by time, then some of it */

	/* What goes wrong. */
	ACT_CRASH,   /* at a boundary that its number names: see whole.h */
	ACT_REFUSE,  /* the next commit is refused by the disk */
	ACT_CLOCK,   /* the wall clock jumps */
	ACT_WEATHER, /* the cloud behaves otherwise from now on */
	ACT_LATE,    /* an answer of the cloud comes late, or twice, or never */
	ACT_LIST,    /* the next lists are partial, stale or fail */
	ACT_DRIFT,   /* something happens to a machine that nobody asked for */
	ACT_STRAY,  /* the cloud has a machine of ours, or of others, besides */
	ACT_VANISH, /* most machines are not shown for a time */
	ACT_KINDS,
};

struct act {
	enum act_kind kind;
	uint32_t who;  /* which object, user or stream */
	uint32_t what; /* which variant */
	uint32_t seed; /* of the chance inside */
};

enum { TAPE_MOST = 256 };

struct tape {
	uint64_t seed;    /* that it was made from; 0: by hand */
	uint32_t setting; /* which cloud, log, limits, policy: a row */
	uint32_t n;
	struct act acts[TAPE_MOST];
};

/* The history of SEED. */
void tape_make(struct tape *t, uint64_t seed);

/* As text, a line an act: "crash 2 1 77". */
void tape_write(const struct tape *t, FILE *to);
int tape_read(struct tape *t, FILE *from, struct err *err) MUST_CHECK;

extern const char *const act_names[ACT_KINDS];
