/*
 * job - what takes longer than a call may: it goes on in a thread of its own,
 * and calls ask how far it is.
 *
 * A job is known by what it is for; there is at most one for each.  One that
 * failed is kept until somebody asks, so that its failure is told once.  Any
 * thread may call.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct jobs;

/* What a job sees of itself. */
struct job {
	const char *about;
	void *ctx;
	atomic_bool stop;            /* end soon, with whatever error */
	_Atomic(const char *) stage; /* a word for what is done now; constant */
	_Atomic uint64_t done, total; /* of that; total 0: not known */
};

struct job_plan {
	int (*run)(struct job *j, struct err *err); /* in a thread */
	void (*drop)(void *ctx); /* once it has ended; or NULL */
	void *ctx;
};

enum job_state { JOB_NONE, JOB_RUNS, JOB_FAILED };

/* MOST run at a time; others wait for their turn. */
struct jobs *jobs_new(unsigned most);
/* Stops them, and waits until they have ended.  NULL is fine. */
void jobs_free(struct jobs *s);

/* Begin, unless there is one already: then PLAN is dropped. */
void jobs_begin(struct jobs *s, const char *about, const struct job_plan *plan);

/* JOB_RUNS with a few words for it in WORD, such as "downloading 40 %"; or
 * JOB_FAILED with its error, once. */
enum job_state jobs_ask(struct jobs *s, const char *about, char *word,
			size_t room, struct err *err);

/* The stage of the one that runs, or waits for its turn; NULL: there is none. */
const char *jobs_stage(struct jobs *s, const char *about);

/* There is none when this returns. */
void jobs_stop(struct jobs *s, const char *about);
