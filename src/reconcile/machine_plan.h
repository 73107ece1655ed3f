/*
 * machine_plan - the one thing that is to be done next about an instance and
 * the machine behind it.
 *
 * Pure: everything it looks at is in the view, and it is asked anew whenever
 * anything changed.  What it answers is either a call to the provider, or a
 * step that only writes down, or to rest.  A call is made only on what is
 * durable; what writes down is decided once more inside the transaction.
 *
 * Nothing that destroys something a user may have is planned unless the
 * instance is being deleted or its change says so; a machine that never ran has
 * nothing to lose.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/flavor.h"
#include "model/server.h"
#include "provider/provider.h"

/* Machines that came to nothing before an operator is asked to look. */
enum { MACHINE_REFUSED_MOST = 3 };

/* How often a volume is asked to be let go before the machine goes anyway. */
enum { MACHINE_DETACH_MOST = 5 };

/* How long between two looks at a machine that is on its way, at most. */
#define MACHINE_POLL_MOST 15000

struct machine_view {
	const struct instance *i;
	const struct server *s;             /* NULL: there is none */
	const struct provider_facts *facts; /* NULL: it is not open */
	unsigned can;                       /* 1 << enum capability */
	bool region_paused;
	int64_t region_touched; /* when an operator last changed it */
	int64_t now;
	int64_t behind; /* what the clock is behind that, if it is */
	int64_t even; /* since when time has run so: what is older may be new */
	int64_t called_at; /* the latest that this try may have been; 0: never */
	int64_t look_at; /* it is to be seen once, not sooner; 0: it need not */
	const char *missing;      /* what a launch waits for, in words */
	unsigned volumes_ready;   /* bits: which of spec.volumes can be had */
	const char *volume_waits; /* what the others wait for, in words */
	const struct flavor *flavors[OFFERINGS_MOST]; /* of the offerings */
};

/* What it was seen to be may not be so any more. */
static inline bool view_unseen(const struct machine_view *v)
{
	return v->s->status.observed_at < v->look_at;
}

enum machine_do {
	MACHINE_REST, /* until `until`, or until something changes */

	/* Calls. */
	MACHINE_LAUNCH,
	MACHINE_FIND, /* by its tag */
	MACHINE_DESCRIBE,
	MACHINE_TERMINATE,
	MACHINE_STOP,
	MACHINE_START,
	MACHINE_REBOOT,
	MACHINE_RESIZE,
	MACHINE_REBUILD,
	MACHINE_GROW,
	MACHINE_TAG,
	MACHINE_ACCESS,
	MACHINE_ATTACH,
	MACHINE_DETACH,

	/* Writing down. */
	MACHINE_BEGIN_ACCESS, /* it may have been done from now on */
	MACHINE_BEGIN_TAG,
	MACHINE_CLAIM,   /* `volume` is to be attached to it, and to no other */
	MACHINE_EXPIRE,  /* begin its deletion */
	MACHINE_TRY,     /* another try, with `offering` */
	MACHINE_NEXT,    /* another server */
	MACHINE_GIVE_UP, /* the machine is to go: `code`, `why` */
	MACHINE_GONE,    /* it is seen to be */
	MACHINE_FINISH,  /* the documents go, too */
	MACHINE_PARK,    /* `code`, `why`, `waits_for`, `until` */
	MACHINE_LATE,    /* it is not known what it does: `why` */
	MACHINE_GUEST_LATE,  /* it runs, and is not up by now */
	MACHINE_CHANGE_DONE, /* there is no change any more */
	MACHINE_DROP_CHANGE, /* likewise, and it was not done: `why` */
	MACHINE_SETTLE,      /* everything is as it is wanted */
	MACHINE_DOS,         /* how many there are */
};

struct machine_step {
	enum machine_do what;
	int64_t until; /* 0: no time is set */
	size_t offering;
	const char *volume; /* our id */
	const char *why;    /* for people */
	int waits_for;      /* enum waits; 0: for what it says */
	enum err_code code;
	bool hard;    /* stop and reboot: not asking the guest */
	bool refused; /* giving up: it counts as one that failed to boot */
};

void machine_plan(const struct machine_view *v, struct machine_step *ret);

/* It is a call to the provider. */
bool machine_calls(enum machine_do what);

/* "launch": for logs and tests. */
const char *machine_word(enum machine_do what);

/* When it is worth looking again at a machine that was found unchanged. */
int64_t machine_look_again(const struct machine_view *v);

/* The digest of the tags that a machine is given; NULL when there are none. */
const char *machine_tags_digest(const struct items *tags, char out[65]);
