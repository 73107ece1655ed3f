/*
 * lastuse - when a token was last used, to the hour.
 *
 * A write an hour and token, in the background: nobody waits for it, and one
 * that fails is made again with a later use.
 */
#pragma once

#include <stdint.h>

struct lastuse;
struct store;

#define LASTUSE_EVERY_MS ((int64_t)3600 * 1000)

struct lastuse *lastuse_new(struct store *s);

/* After the store is closed. */
void lastuse_free(struct lastuse *l);

/* Token ID is used now. */
void lastuse_note(struct lastuse *l, const char *id);
