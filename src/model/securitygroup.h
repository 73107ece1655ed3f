/*
 * securitygroup - who may talk to the instances that are in it.
 *
 * It belongs to a network.  Nothing may come in but what a rule lets in, and
 * everything may go out unless a rule says what may.
 */
#pragma once

#include "model/kind.h"
#include "model/status.h"

enum direction { DIRECTION_INGRESS = 1, DIRECTION_EGRESS };
enum protocol {
	PROTOCOL_ANY = 1,
	PROTOCOL_TCP,
	PROTOCOL_UDP,
	PROTOCOL_ICMP,
};

struct rule {
	int direction, protocol;
	int64_t port, port_max; /* FIELD_NONE: all */
	const char *prefix;     /* the other side; NULL: anybody, */
	const char *group_id;   /* or who is in this group */
	const char *description;
};

struct securitygroup {
	struct meta meta; /* first, as in every noun */
	const char *organization_id, *project_id, *region_id, *network_id;
	struct {
		struct items rules; /* of struct rule */
	} spec;
	struct backed status;
};

extern const struct kind securitygroup_kind;
extern const char *const direction_names[];
extern const char *const protocol_names[];

/* What the table of fields cannot say of its rules. */
void securitygroup_check(const struct securitygroup *g, struct violations *v);
