/* judge_priv - what the judge's files know of each other. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "judge.h"
#include "judge_doc.h"

/* A machine, as it was when it was last looked at. */
struct sight {
	char id[32], server[40];
	char flavor[48], image[48];
	int64_t boots, created_at;
	uint64_t settings; /* a digest of what else there is */
	const char *state; /* one of the cloud's words */
	bool ours;         /* it carries our installation's id */
	bool made_by_test, meddled;
	bool gone, spot;
	unsigned round; /* in which it was seen */
};

/* A thing of the cloud's that is not a machine. */
struct holding_sight {
	char id[32], key[64]; /* "volume/ID" */
	bool meddled, gone, failed;
	unsigned round;
};

/* What all allocations of an organization or project come to. */
struct sum {
	struct text scope, kind;
	int64_t used;
	bool project, grew;
};

struct asking {
	struct verdict_ask ask;
	bool open;
};

/* What a request that says its number has done. */
struct deed {
	unsigned effects;
	bool refused;
	bool repeated; /* one try may be refused, and another done */
};

struct stream_view {
	char kind[32];
	size_t at;      /* facts before this were told, or need not be */
	unsigned told;  /* in the snapshot */
	uint64_t upto;  /* the revision of the last whole one */
	uint64_t began; /* the newest when it was begun */
	uint64_t newest,
		stale; /* of the snapshot: it is from one to the other */
	bool open, ready;
};

enum { SECRETS_MOST = 8, STREAMS_MOST = 16, TOUCHED_MOST = 1024 };

struct judge {
	char why[512];
	enum judge_class class;

	struct arena arena;
	struct map objects; /* by "kind/id" */
	struct object **lists[NOUNS];
	size_t n[NOUNS], room[NOUNS];
	struct fact **facts;
	size_t n_facts, room_facts;
	uint64_t newest;
	int64_t wall, wall_most, row_at;
	int64_t ahead_most; /* how much the clock was before the cloud's, */
	int64_t time_most;  /* and what time the store may have now */
	struct fact *touched[TOUCHED_MOST]; /* by the row that is judged */
	size_t n_touched;

	struct map memos;
	struct sight *sights;
	size_t n_sights, room_sights;
	struct holding_sight *holdings;
	size_t n_holdings, room_holdings;
	unsigned round;
	bool forgets; /* little of the past is kept */

	struct sum *sums;
	size_t n_sums, room_sums;
	struct asking *asks;
	size_t n_asks, room_asks;
	struct deed *deeds;
	size_t n_deeds;
	struct stream_view streams[STREAMS_MOST];
	const char *secrets[SECRETS_MOST];
	size_t n_secrets;
};
