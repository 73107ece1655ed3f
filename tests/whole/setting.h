/*
 * setting - what a history is played in: which cloud, how much is kept, which
 * limits and which policy, by a number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/sim_options.h"

enum { PROJECTS = 3 };

struct setting {
	unsigned cloud; /* a row */
	bool removes;   /* orphans */
	bool tight;     /* little quota */
	bool forgets;   /* little history is kept */
	int64_t observe_seconds;
	unsigned batch;
	unsigned guests; /* from 2: it is told whether they are up; 3: and it
			  * says by itself what happens */
};

/* A disk on which an installation has a region, an organization and projects,
 * and the ids of these. */
struct start {
	struct disk *disk;
	struct keyring *keys;
	char token[80];
	char organization[40], region[40], projects[PROJECTS][40];
	struct sim_options *options; /* of the region's cloud when it is well */
};

void setting_read(uint32_t number, struct setting *ret);

/* The region's options, as JSON. */
void setting_options(const struct setting *s, char out[512]);

/* The cloud behaves otherwise: variant WHAT. */
struct sim_options setting_weather(const struct start *s, uint32_t what);
