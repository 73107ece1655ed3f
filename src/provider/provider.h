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

struct driver;
struct node;

/* What a caller must know of a cloud; fixed once it is open. */
struct provider_facts {
	bool launch_tokens;      /* the same token twice is one machine */
	bool tags;               /* machines carry ours, and lists find them */
	bool keeps_addresses;    /* over stop and start */
	bool live_groups;        /* security groups change on live machines */
	bool resize_live;        /* a resize does not restart */
	uint32_t consistency_ms; /* how long a list may be behind */
	uint32_t launch_ms;      /* when a launch is given up */
	uint32_t stop_ms, start_ms; /* likewise */
	uint32_t poll_ms;           /* how soon it is worth asking again */
	unsigned calls_per_second;  /* 0: no limit known */
	size_t page;                /* machines on a page of a list */
};

/* An open one; a driver's own begins with this. */
struct provider {
	const struct driver *driver;
	struct provider_facts facts;
	const char *installation; /* the value of TAG_INSTALLATION */
};

struct provider_conf {
	const struct node *options;     /* may be NULL */
	const struct node *credentials; /* may be NULL; secret */
	const char *region;             /* its id */
	const char *installation;       /* the installation's id */
	const char *folder;             /* for what it keeps on this machine */
	const struct clock *clock;
};
