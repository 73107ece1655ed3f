/* users - what people ask of the API, and what they make of the answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct act;
struct rig;

/* Play an act of a user. */
void users_act(struct rig *r, const struct act *a);

/* The first networks are asked for. */
void users_begin(struct rig *r);

/* Everybody takes back what keeps their machines from being as they are wanted,
 * asks again for what was given up, and deletes those that failed; false when
 * there was nothing to do. */
bool users_mend(struct rig *r);

/* Everything is deleted, one way or the other. */
void users_leave(struct rig *r);

/* Tell the judge of what was answered. */
void users_reap(struct rig *r);

/* A stream is begun, left or taken up again; it has something to say. */
void stream_turn(struct rig *r, unsigned i, bool anew);
void stream_pull(struct rig *r, unsigned i);

/* All that were begun are taken up, and heard to their end. */
void streams_end(struct rig *r);

/* An ask of a target in words, and its body in words, too; it is sent. */
struct ask *user_asks(struct rig *r, const char *method, const char *target,
		      ...) __attribute__((format(printf, 3, 4)));
void user_says(struct ask *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void user_sends(struct ask *a);
