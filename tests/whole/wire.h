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
