/*
 * permission - "noun:verb", and sets of them.
 *
 * A set of rights has a bit for each noun under each verb, so that asking is
 * looking at one bit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum verb {
	VERB_READ,
	VERB_CREATE,
	VERB_UPDATE,
	VERB_DELETE,
	VERB_ROTATE,      /* tokens */
	VERB_IMPERSONATE, /* users, serviceaccounts */
	VERB_START,       /* instances, from here on */
	VERB_STOP,
	VERB_REBOOT,
	VERB_REBUILD,
	VERB_SNAPSHOT, /* and volumes */
	VERB_CONSOLE,
	VERB_CONSOLE_OUTPUT,
	VERB_SSH_CERTIFICATE,
	VERB_SSH_KEY,
	VERB_SYNC,  /* regions */
	VERB_COUNT, /* how many there are; looped over */
};

struct rights {
	uint64_t nouns[VERB_COUNT];
};

/* NOUN is a kind's plural or one of the words that are no kind ("audit");
 * -1 when there is none. */
int permission_noun(const char *noun);

const char *verb_name(enum verb verb);

/* Add what WORD permits; false when its noun or verb is not known. */
bool rights_add(struct rights *r, const char *word);
bool rights_have(const struct rights *r, int noun, enum verb verb);

/* Everything in B is in A. */
bool rights_cover(const struct rights *a, const struct rights *b);
void rights_join(struct rights *to, const struct rights *from);

/* As a JSON array of words. */
void rights_write(const struct rights *r, struct buf *out);
