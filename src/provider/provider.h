/*
 * provider - a cloud that is open, and what a caller must know of it.
 *
 * What it can be asked is in front.h; how one is written in driver.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/field.h"

struct driver;
struct front;

/* What a caller must know of a cloud; fixed once it is open. */
struct provider_facts {
	bool launch_tokens;      /* the same token twice is one machine */
	bool tags;               /* machines carry ours, and lists find them */
	bool keeps_addresses;    /* over stop and start */
	bool live_groups;        /* security groups change on live machines */
	bool resize_live;        /* a resize does not restart */
	bool spot;               /* it has a second market */
	bool host_keys;          /* it puts a spec's host_key into the guest */
	uint32_t consistency_ms; /* how long a list may be behind */
	uint32_t call_ms;        /* how long a call that was sent may be on its
				  * way: it may yet be carried out */
	uint32_t launch_ms;      /* when a launch is given up */
	uint32_t stop_ms, start_ms; /* likewise */
	uint32_t poll_ms;           /* how soon it is worth asking again */
	unsigned calls_per_second;  /* 0: no limit known */
	size_t page;                /* machines on a page of a list */
};

/* An open one; a driver's own begins with this, and its open() fills in what
 * is not the front's. */
struct provider {
	const struct driver *driver;
	struct provider_facts facts;
	unsigned lacks;           /* what the driver can and this one cannot:
				   * bits, 1 << enum capability */
	const char *installation; /* the value of TAG_INSTALLATION */
	struct items faults;      /* of struct fault: see fault.h */
	int64_t seed;             /* what chance they have follows from it */
	struct front *front;      /* the front's own */
};

struct provider_conf {
	const struct node *options;     /* may be NULL */
	const struct node *credentials; /* may be NULL; secret */
	const char *region;             /* its id */
	const char *installation;       /* the installation's id */
	const char *folder;             /* for what it keeps on this machine;
					 * NULL: nothing is kept */
	const struct clock *clock;      /* NULL: the machine's */
	/* How a call waits; NULL: its thread sleeps. */
	void (*sleep)(void *ctx, uint64_t ms);
	void *ctx;
	/* Something has happened to that machine, and it is worth a look; NULL:
	 * nobody listens.  From any thread, between open() and the return of
	 * close(); it returns at once and never fails: too much news is a look
	 * at all of them. */
	void (*changed)(void *listener, const char *machine);
	void *listener;
};
