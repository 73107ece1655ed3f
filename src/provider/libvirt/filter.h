/*
 * filter - who may talk to whom, as libvirt's network filters.
 *
 * A machine's filter keeps it from being somebody else, lets in what is said of
 * it in the filters of its security groups, which it refers to, and nothing but
 * that.  Its name has the network and the address that are the machine's, and
 * libvirt takes a name once: so it is also what says that the address is taken.
 *
 * A group's filter has a rule for each of the group's rules, in each family.
 * One whose other side is a group is there for each member of that group, and
 * once for an address that nobody has: by that, the rest can be made anew when
 * the members are others.
 *
 * Pure.
 */
#pragma once

#include <netinet/in.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/uuid.h"
#include "provider/calls.h"

enum { FILTER_NAME_LEN = 127 };

struct filter_rule {
	const char *action, *direction; /* "accept", "in" */
	int64_t priority;
	bool stateless;
	const char *protocol; /* "tcp-ipv6"; NULL: whatever it is */
	struct items attrs;   /* of struct field_tag */
};

struct filter {
	const char *name, *uuid;
	struct items rules; /* of struct filter_rule */
	struct items refs;  /* of const char *: names of other filters */
};

/* A machine, as far as filters know it. */
struct filter_machine {
	const char *uuid;
	const char *network; /* the provider's id */
	const char *mac, *address;
	const char *address6; /* or NULL */
	struct items sources; /* of const char *: what else it may send as */
	struct items groups;  /* of const char *: names of filters; none:
			       * everything may go out */
};

/* Who is in a group that others name. */
struct filter_peer {
	const char *group;      /* the name of its filter */
	struct items addresses; /* of const char * */
};

int filter_write(const struct filter *f, struct buf *out,
		 struct err *err) MUST_CHECK;
int filter_read(const char *xml, struct arena *a, struct filter *ret,
		struct err *err) MUST_CHECK;

/* Names: of a group, by our id of it, and of a machine.  And back, false when it
 * is no such name, or of another installation. */
void filter_group_name(const char *installation, const char *ours,
		       char out[FILTER_NAME_LEN + 1]);
bool filter_is_group(const char *name, const char *installation,
		     char ret_ours[UUID_LEN + 1]);
void filter_machine_name(const char *installation, const char *network,
			 const char *address, char out[FILTER_NAME_LEN + 1]);
bool filter_is_machine(const char *name, const char *installation,
		       char ret_network[UUID_LEN + 1],
		       char ret_address[INET_ADDRSTRLEN]);

/* NAME is to be its name. */
struct filter filter_machine(const struct filter_machine *f, const char *name,
			     struct arena *a);

/* Without members of the groups that its rules name: filter_follow() puts them
 * in.  The peers of SPEC are names of filters.  GATEWAY may always be asked for
 * names; NULL: there is none.  Without SIX there is no IPv6. */
struct filter filter_group(const struct group_spec *spec,
			   const char *installation, const char *gateway,
			   bool six, struct arena *a);

/* The rules of F that name PEER are made anew for its addresses; false when
 * there are none, and F is as it was. */
bool filter_follow(struct filter *f, const struct filter_peer *peer,
		   struct arena *a);
/* The addresses that F's rules have for a group they name, maybe more than
 * once: of const char *. */
struct items filter_members(const struct filter *f, const char *group,
			    struct arena *a);
/* The groups that F's rules name: of const char *. */
struct items filter_peers(const struct filter *f, struct arena *a);
