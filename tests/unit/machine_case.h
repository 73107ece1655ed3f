/*
 * machine_case - rows of what is the case with a machine, and what is planned.
 *
 * A row says how things differ from a machine that runs as it is wanted, and
 * what is planned then.  Times are seconds before or after now.
 */
#pragma once

#include "provider/front.h"
#include "reconcile/machine_plan.h"

#define NOW 1000000000

enum { ALL = ~0 };

/* What is not said: a machine that runs, and was last written long ago. */
struct given {
	/* The instance. */
	int power, action, step;
	bool deleted, paused, protected, never_ran, behind, unsettled, touched;
	int expires;      /* seconds from now */
	int clock_behind; /* seconds */
	int alternatives;
	/* What differs between what is wanted and what was asked. */
	bool flavor, image, groups, source, public_ip, disk, tags;
	bool other_group, was_tagged; /* what it was asked for had */
	bool access_begun, tags_begun;
	bool drifted;                   /* it was seen with another flavor */
	int volumes, attached, claimed; /* bits */
	unsigned volumes_ready;
	/* The server. */
	bool none, unnamed;
	int phase, state;
	bool no_id, spent, several;
	int refused, offering;
	int deadline; /* seconds from now */
	int failures, retry, waits;
	enum err_code code;
	const char *message;
	bool unshown; /* the instance does not say it */
	int age;      /* since it was last written; 0: an hour */
	/* The region. */
	bool closed, region_paused, region_touched, no_tokens, live;
	int cannot;     /* one capability, plus one */
	int called;     /* seconds ago */
	int look;       /* it is to be seen: seconds from now */
	int short_of;   /* offerings, as bits */
	bool backwards; /* the last may be to be had first */
	bool no_flavor;
	const char *missing;
};

struct wanted {
	enum machine_do what;
	int until; /* seconds from now */
	size_t offering;
	bool hard, refused;
	int waits;
	const char *volume;
};

struct row {
	const char *name;
	struct given given;
	struct wanted wanted;
};

struct setup {
	struct instance i;
	struct server s;
	struct provider_facts facts;
	struct flavor flavor[3];
	struct shortage shortage[3];
	struct alternative alternatives[2];
	struct instance_volume volumes[3];
	struct server_volume attached[3];
	const char *group, *other_group, *source;
	struct field_tag tag;
	struct machine_view v;
};

/* X, zeroed, as G says. */
void case_set(struct setup *x, const struct given *g);

/* What is wanted is planned; otherwise what is, is printed. */
bool case_holds(const struct row *r);

#define NEW        .never_ran = true, .unsettled = true, .behind = true
#define BOOTING    .state = INSTANCE_PENDING, NEW
#define INTENDED   .phase = SERVER_INTENDED, BOOTING
#define LEAVING    .phase = SERVER_LEAVING
#define GONE       .phase = SERVER_GONE, .state = INSTANCE_TERMINATED
#define OFF        .power = POWER_OFF
#define STOPPED    .state = INSTANCE_STOPPED
#define STOPPING   .state = INSTANCE_STOPPING
#define PENDING    .state = INSTANCE_PENDING
#define PARKED(on) .code = ERR_INVALID, .waits = (on)
#define BACKING_OFF                                                            \
	.code = ERR_UNAVAILABLE, .failures = 2, .retry = 7, .waits = WAITS_TIME
#define CANNOT(c) .cannot = CAN_##c + 1

/* A test of every row. */
#define TABLE(fn, rows)                                                        \
	static void fn(void)                                                   \
	{                                                                      \
		for (size_t n = 0; n < COUNT_OF(rows); n++)                    \
			test_check(case_holds(&(rows)[n]), (rows)[n].name,     \
				   __FILE__, __LINE__);                        \
	}
