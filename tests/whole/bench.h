/*
 * bench - a history for the judge, made by hand: rows, calls and answers, as
 * right or as wrong as a test wants them.
 *
 * It begins with an organization, a project, a region and a network that are
 * as they should be.
 */
#pragma once

#include "base/buf.h"
#include "judge.h"
#include "provider/sim_cloud.h"

#define ORGANIZATION "11111111-1111-4111-8111-111111111111"
#define PROJECT      "22222222-2222-4222-8222-222222222222"
#define REGION       "33333333-3333-4333-8333-333333333333"
#define NETWORK      "44444444-4444-4444-8444-444444444444"
#define FLAVOR       "55555555-5555-4555-8555-555555555555"
#define IMAGE        "66666666-6666-4666-8666-666666666666"
#define VOLUME       "77777777-7777-4777-8777-777777777777"

struct bench {
	struct judge *j;
	struct sim_cloud *cloud;
	struct buf row;
	uint64_t revision;      /* of the last row */
	char network[32];       /* the cloud's id of it */
	char machine[32];       /* of the machine that was launched last */
	const char *name, *uid; /* of the instance, */
	char id[37], server[37], token[37], allocation[37];
};

/* An instance and its server, as they are to be written. */
struct pair {
	const char *state, *provisioning, *power, *action, *launched, *deleted;
	const char *phase, *machine, *seen, *more; /* more: of its spec */
	const char *told; /* more: of its server's status */
	int generation, number, attempt;
	const char *description;
};

/* One that was just asked for; one that runs. */
extern const struct pair pair_new, pair_running;

void bench_open(struct bench *b);
void bench_close(struct bench *b);

/* Lines of the next row: a document without its revision, or NULL: deleted. */
void bench_put(struct bench *b, const char *kind, const char *id,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void bench_drop(struct bench *b, const char *kind, const char *id);

/* The row is on the disk. */
void bench_row(struct bench *b);

void bench_instance(struct bench *b, const struct pair *p);
void bench_server(struct bench *b, const struct pair *p);
void bench_allocation(struct bench *b, int vcpus);

/* Both in one row. */
void bench_pair(struct bench *b, const struct pair *p);

/* An instance that was asked for, with all that belongs to it; the same, with a
 * machine that runs. */
void bench_create(struct bench *b);
void bench_launch(struct bench *b);

/* What the cloud is asked; the judge is told. */
void bench_make(struct bench *b, const char *server, const char *installation,
		const char *token);
void bench_call(struct bench *b, enum sim_call call, const char *flavor);

/* The test has it make a machine with these tags; has something happen to the
 * last one. */
void bench_stray(struct bench *b, const char *server, const char *installation);
void bench_meddle(struct bench *b, const char *what);

/* From now on it is all about another instance. */
void bench_other(struct bench *b);

/* The token is that of another try. */
void bench_next_token(struct bench *b, int attempt);

/* The region does that about orphans, of which the last machine is one whose
 * time is over in so many milliseconds. */
void bench_region(struct bench *b, const char *policy, int64_t ms);

void bench_remove_network(struct bench *b);

/* Time passes. */
void bench_wait(int64_t ms);
int64_t bench_now(void);

/* It was found out, with these words, and what it comes to; nothing was. */
bool condemned(struct bench *b, enum judge_class class, const char *words);
bool acquitted(struct bench *b);
