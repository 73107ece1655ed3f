/*
 * fuzz - what every fuzz target has in common.
 *
 * A target is one function of bytes that aborts when a property does not hold.
 * libFuzzer calls it with bytes of its own making (`make fuzz`); replay.c calls
 * it with the files of its corpus, as a test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): what is wrong should be seen. */
#define MUST(expr)                                                             \
	do {                                                                   \
		if (expr)                                                      \
			break;                                                 \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #expr);     \
		abort();                                                       \
	} while (0)

#define MUST_SAME(a, b)                                                        \
	do {                                                                   \
		if (strcmp((a), (b)) == 0)                                     \
			break;                                                 \
		fprintf(stderr, "%s:%d: differ:\n%s\n%s\n", __FILE__,          \
			__LINE__, (a), (b));                                   \
		abort();                                                       \
	} while (0)
