/*
 * network - what instances are attached to, and by which they find each other.
 *
 * It has a project and a region, and what is in it has the same: deleting it
 * deletes its instances and security groups first.
 */
#pragma once

#include "model/kind.h"
#include "model/status.h"

struct network_route {
	const char *prefix, *next_hop;
};

struct network {
	struct meta meta; /* first, as in every noun */
	const char *organization_id, *project_id, *region_id;
	struct {
		const char *prefix;    /* IPv4, CIDR */
		const char *prefix6;   /* IPv6, or NULL */
		struct items dns;      /* of const char *: addresses */
		struct items routes;   /* of struct network_route */
		struct items reserved; /* of const char *: addresses or
					  * prefixes that nobody is given */
	} spec;
	struct {
		struct backed backed;
		const char *gateway;
	} status;
};

extern const struct kind network_kind;

/* A pointer to the prefix of A that shares addresses with one of B; NULL when
 * there is none. */
const char *network_overlaps(const struct network *a, const struct network *b);

/* Everything about its addresses that the table of fields cannot say. */
void network_check(const struct network *n, struct violations *v);
