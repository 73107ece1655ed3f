/* random - randomness, behind a table, so that a test can seed it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct random {
	void (*fill)(struct random *r, void *to, size_t len);
};

/* The kernel's. */
extern struct random random_system;

void random_fill(struct random *r, void *to, size_t len);

/* One of 0 … n-1. */
uint64_t random_below(struct random *r, uint64_t n);

/* A sequence that a seed repeats: splitmix64.  For tests and jitter. */
struct random_seeded {
	struct random base; /* first: cast from struct random */
	uint64_t state;
};

void random_seed(struct random_seeded *r, uint64_t seed);
