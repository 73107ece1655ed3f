/*
 * progress - waiting for something to become as it is wanted, and telling how
 * it goes meanwhile.
 *
 * The thing and its events are watched; each event is a line with the time
 * since the beginning, on standard error.  On a terminal the last line says
 * where it stands now.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "model/kind.h"

enum progress_aim {
	PROGRESS_STATE,   /* its state is the one wanted */
	PROGRESS_SETTLED, /* nothing is left to be done to it */
	PROGRESS_GONE,
	PROGRESS_SYNCED, /* a region's catalogue was read since */
	PROGRESS_UP,     /* or it is not on its way to that */
};

struct progress_goal {
	const struct kind *kind;
	const struct node *doc; /* as it was when the change was accepted */
	enum progress_aim aim;
	const char *state; /* "running" */
};

enum progress_verdict {
	PROGRESS_WORKING,
	PROGRESS_REACHED,
	PROGRESS_FAILED, /* nothing happens before somebody does something */
};

/* How far DOC has come.  One that is not newer than the goal's document says
 * nothing about failing: that was before. */
enum progress_verdict progress_judge(const struct progress_goal *g,
				     const struct node *doc);

/* Wait, at most as long as --timeout says.  *RET is as it was then, NULL when
 * it is gone; it lives in the cli's arena.  Ctrl-C ends the program. */
int progress_wait(struct cli *c, const struct progress_goal *g,
		  struct node **ret, struct failure *p) MUST_CHECK;
