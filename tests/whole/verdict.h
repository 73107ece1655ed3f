/*
 * verdict - how a test of the judge ends, for the files that have such tests.
 *
 * One bench at a time: a test opens it, and its verdict closes it.
 */
#pragma once

#include "bench.h"
#include "test.h"

#define STRANGER "99999999-9999-4999-8999-999999999999"

static struct bench b;

/* What must be found, or that nothing is. */
static inline void found(enum judge_class class, const char *words)
{
	CHECK(condemned(&b, class, words));
	bench_close(&b);
}

static inline void right(void)
{
	CHECK(acquitted(&b));
	bench_close(&b);
}
