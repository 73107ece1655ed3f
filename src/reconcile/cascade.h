/*
 * cascade - what belongs to something that is being deleted goes first.
 *
 * An organization, project or network whose deletion was asked for carries
 * deletedAt; nothing can be added to it any more.  The cascade deletes what is
 * its, a few at a time and what refers before what is referred to, then the
 * thing itself.  What a provider has, too, is only begun to be deleted: its
 * controller ends that, and what it refers to waits until then.  Where it stands
 * is in the store alone, so that a crash only means going on.
 *
 * Loop thread only.
 */
#pragma once

#include <stddef.h>

struct cascade;
struct store;

/* Takes up whatever is half deleted. */
struct cascade *cascade_new(struct store *s);
void cascade_free(struct cascade *c);

/* Try again what failed; call now and then. */
void cascade_tick(struct cascade *c);

/* How many deletions are under way. */
size_t cascade_pending(const struct cascade *c);
