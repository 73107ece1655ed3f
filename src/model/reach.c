#include "model/reach.h"

#include <string.h>

#include "model/securitygroup.h"

const char *const readiness_names[] = {NULL, "waiting", "ready", "unready",
				       NULL};

#define PORT(member)      offsetof(struct port, member)
#define READINESS(member) offsetof(struct readiness, member)

const struct field port_fields[] = {
	{"guest", FIELD_INT, 0, PORT(guest), "The port in the guest."},
	{"protocol", FIELD_ENUM, 0, PORT(protocol), "Of what.",
	 .names = protocol_names},
	{"address", FIELD_STRING, 0, PORT(address),
	 "Where it is reached from outside."},
	{"port", FIELD_INT, 0, PORT(port), "And at which port there."},
	{0},
};

const struct field readiness_fields[] = {
	{"state", FIELD_ENUM, 0, READINESS(state),
	 "Whether the guest is up: not yet, or so, or not although it was or "
	 "ought to be.",
	 .names = readiness_names},
	{"message", FIELD_STRING, 0, READINESS(message),
	 "How that is known, or what is missing."},
	{"since", FIELD_TIME, 0, READINESS(since), "Since when."},
	{0},
};

static bool same(const struct port *a, const struct port *b)
{
	return a->guest == b->guest && a->protocol == b->protocol &&
	       a->port == b->port && strcmp(a->address, b->address) == 0;
}

bool ports_same(const struct items *a, const struct items *b)
{
	const struct port *x = a->at, *y = b->at;

	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same(&x[i], &y[i]))
			return false;
	return true;
}
