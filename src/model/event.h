/*
 * event - what happened to an object, for people who wonder about it.
 *
 * An object has one event a reason: when the same happens again it is counted,
 * and its message and time are the newest.  See tx_event().
 */
#pragma once

#include "model/kind.h"

struct happening {
	struct meta meta; /* first, as in every noun; it has no name */
	const char *organization_id, *project_id; /* the object's */
	const char *object_kind, *object_id;
	const char *reason;
	const char *message;
	const char *source;
	int64_t count;
	int64_t first_at, last_at;
};

extern const struct kind event_kind;
