/*
 * call - one call through the front, from beginning to end.
 *
 *	struct call c = {p, CALL_STOP, id, err};
 *
 *	while (call_next(&c))
 *		c.r = p->driver->machines->stop(p, id, hard, err);
 *	return call_end(&c);
 *
 * call_next() asks whether the provider can, and whether a fault takes the
 * call: it is false at once, or true once, or twice.
 */
#pragma once

#include "base/arena.h"
#include "provider/fault.h"
#include "provider/provider.h"

enum call_name {
	CALL_LAUNCH,
	CALL_DESCRIBE,
	CALL_TERMINATE,
	CALL_LIST,
	CALL_STOP,
	CALL_START,
	CALL_REBOOT,
	CALL_RESIZE,
	CALL_REBUILD,
	CALL_GROW_ROOT_DISK,
	CALL_SET_TAGS,
	CALL_SET_ACCESS,
	CALL_CONSOLE,
	CALL_CONSOLE_OUTPUT,
	CALL_CATALOGUE,
	CALL_IMPORT_IMAGE,
	CALL_SNAPSHOT,
	CALL_REMOVE_IMAGE,
	CALL_ENSURE_NETWORK,
	CALL_REMOVE_NETWORK,
	CALL_ENSURE_GROUP,
	CALL_REMOVE_GROUP,
	CALL_ENSURE_VOLUME,
	CALL_REMOVE_VOLUME,
	CALL_ATTACH,
	CALL_DETACH,
	CALL_LIST_THINGS,
	CALLS, /* how many there are; looped over */
};

struct call {
	struct provider *p;
	enum call_name name;
	const char *about; /* what it is about, for the trace */
	struct err *err;
	int r;
	unsigned turn;
	bool refused; /* the provider was not called */
	uint64_t begun;
	const struct fault *fault;
};

bool call_next(struct call *c);
int call_end(struct call *c);

/* What the front keeps of an open provider. */
struct front *front_new(const struct provider_conf *conf);
void front_free(struct front *f);
struct arena *front_arena(struct front *f);

/* CONF as it was copied. */
const struct provider_conf *front_conf(const struct front *f);

/* Once the driver has opened it. */
void front_begin(struct front *f, struct provider *p);
