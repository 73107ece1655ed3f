/*
 * reach - where a machine can be reached from outside, and whether what is in
 * it is up.
 *
 * A machine that runs is not one that answers: its readiness is what the
 * provider sees of the guest, where it looks.  One that has begun to run may
 * take its time; when it takes too long, or does not answer any more, it is
 * unready.
 */
#pragma once

#include "base/field.h"

/* A port of the guest's that is also one of an address outside. */
struct port {
	int64_t guest;
	int protocol; /* enum protocol */
	const char *address;
	int64_t port;
};

enum readiness_state {
	READINESS_WAITING = 1, /* it has begun to run, and is not up yet */
	READINESS_READY,
	READINESS_UNREADY, /* it was, or ought to be by now */
};

struct readiness {
	int state;           /* enum readiness_state; 0: nobody looks */
	const char *message; /* how that is known, or what is missing */
	int64_t since;
};

extern const char *const readiness_names[];
extern const struct field port_fields[], readiness_fields[];

/* Of struct port: the same, in the same order. */
bool ports_same(const struct items *a, const struct items *b);
