/* wire - the way to the cloud and back, and what goes wrong on it. */
#pragma once

#include <stdint.h>

#include "base/list.h"

struct job;

/* What becomes of the next call to the cloud. */
enum fate {
	FATE_NONE,
	FATE_UNSENT, /* it never arrives: nothing is done, and no answer */
	FATE_LOST,   /* it is done, and its answer lost */
	FATE_TWICE,  /* it is done twice */
	FATE_LATE,   /* it is done, and answered much later than others */
};

/* What becomes of lists. */
enum list_fate {
	LIST_WHOLE,
	LIST_FAILS,  /* it cannot be had */
	LIST_SHORT,  /* one machine is left out, and nobody says so */
	LIST_TWICE,  /* one is in it twice */
	LIST_HIDDEN, /* most are left out, and not found either */
	LIST_FATES,
};

struct list_spell {
	enum list_fate fate;
	unsigned left;  /* for so many lists */
	uint64_t until; /* LIST_HIDDEN: until then */
	unsigned seed;
	int64_t began; /* the last whole one */
};

/* A call that is to be made, and the newest revision when that was said. */
struct waiting {
	struct list link;
	struct job *job;
	uint64_t since;
};

/* A call that was made, and is to be answered at that time. */
struct made {
	struct job *job;
	uint64_t due;
};
