/* sim_priv - the simulated cloud from inside; for sim_*.c only. */
#pragma once

#include <stdio.h>

#include "base/list.h"
#include "base/map.h"
#include "base/random.h"
#include "base/sorted.h"
#include "provider/sim_cloud.h"

enum {
	SIM_ID_LEN = 23,
	SIM_USER_DATA_MOST = 65536, /* bytes */
	SIM_GONE_MOST = 100000,     /* machines that are gone and known */
};

/* Addresses that are handed out. */
struct sim_pool {
	uint32_t first, count, next, used;
	unsigned char *bits; /* NULL until one is asked for */
};

/* Something that may be due. */
struct sim_item {
	int64_t due;  /* 0: not */
	size_t place; /* in the heap, from 1; 0: it is not there */
	bool is_machine;
	char id[SIM_ID_LEN + 1];
};

struct sim_heap {
	struct sim_item **at;
	size_t n, room;
};

struct sim_tagset {
	struct sorted machines;
	char key[]; /* "muster/server=…" */
};

struct sim_holding {          /* a thing */
	struct sim_item item; /* first */
	struct sim_thing *doc;
	char *ours; /* "network/…" */
	struct sim_pool pool;
};

struct sim_journal {
	FILE *file; /* NULL: nothing is kept */
	char *path;
	size_t bytes, bytes_after; /* now, and when it was last written anew */
	bool broken;
};

struct sim_cloud {
	struct sim_options *options;
	const struct clock *clock;
	int64_t now;
	struct random_seeded chance;
	uint64_t sequence;
	struct map machines, tokens, things, ours, tagsets;
	struct sorted all_machines, all_things;
	struct sim_heap due;
	struct sim_pool inside, outside;
	size_t live;
	struct list gone; /* machines, in the order they went */
	size_t n_gone;
	int64_t *used;                        /* one for each row of capacity */
	uint64_t calls[SIM_CALLS], throttled; /* since it was opened */
	uint64_t wait_ms;                     /* of the last call */
	double calls_left;
	int64_t filled_at;
	struct sim_journal journal;
	void (*changed)(void *ctx, const char *id); /* NULL: nobody listens */
	void *listener;
};

/* ERR with the cloud's own word for it; returns -1. */
int sim_refuse(struct err *err, enum err_code code, const char *native,
	       const char *fmt, ...) PRINTF(4, 5);
bool sim_chance(struct sim_cloud *c, int64_t rate);
int64_t sim_delay(struct sim_cloud *c, int64_t ms);
void sim_next_id(struct sim_cloud *c, const char *prefix,
		 char out[SIM_ID_LEN + 1]);

/* The heap. */
void sim_heap_set(struct sim_heap *h, struct sim_item *i, int64_t due);
struct sim_item *sim_heap_pop(struct sim_heap *h, int64_t now);

/* Addresses: false when there is none left. */
void sim_pool_init(struct sim_pool *p, const char *prefix);
bool sim_pool_take(struct sim_pool *p, char out[16]);
void sim_pool_mark(struct sim_pool *p, const char *prefix);
void sim_pool_give(struct sim_pool *p, const char *address);

/* Things; documents are copied. */
struct sim_holding *sim_holding_new(struct sim_cloud *c,
				    const struct sim_thing *doc);
void sim_holding_free(struct sim_cloud *c, struct sim_holding *h);
void sim_holding_revise(struct sim_holding *h, const struct sim_thing *doc);
void sim_holding_due(struct sim_cloud *c, struct sim_holding *h);

/* The journal. */
int sim_journal_open(struct sim_cloud *c, const char *path, struct err *err);
void sim_journal_close(struct sim_cloud *c);

/* Write down what could not be written when it happened: until then nothing may
 * be told. */
int sim_journal_mend(struct sim_cloud *c, struct err *err);
int sim_journal_machine(struct sim_cloud *c, const struct sim_machine *m,
			struct err *err);
int sim_journal_thing(struct sim_cloud *c, const struct sim_thing *t,
		      struct err *err);
int sim_journal_gone(struct sim_cloud *c, const char *id, struct err *err);
