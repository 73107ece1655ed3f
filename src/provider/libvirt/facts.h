/*
 * facts - what we must know of a machine later, and keep in its domain.
 *
 * Everything is in the domain's metadata, in a namespace of our own: there is no
 * other list of machines.  It is JSON in one element.
 *
 * A change reads, changes and writes them while no other change of this process
 * does: groups, tags and volumes do not undo each other.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/field.h"
#include "model/reach.h"
#include "provider/libvirt/host.h"

#define DOMAIN_NAMESPACE "https://muster.invalid/libvirt/1"
#define DOMAIN_PREFIX    "muster"
#define DOMAIN_ELEMENT   "machine"
#define FACTS_MOST       ((size_t)1 << 20)

/* A volume that it has; see volume.c. */
struct domain_volume {
	const char *volume, *device;
};

struct domain_facts {
	const char *installation, *server, *token;
	const char *name; /* the user's */
	const char *flavor, *image, *zone, *network;
	struct items groups, sources; /* of const char * */
	bool public_ip;
	struct items tags; /* of struct field_tag */
	const char *mac, *address, *address6;
	struct items ports;   /* of struct port */
	struct items volumes; /* of struct domain_volume */
	int64_t root_disk_gib;
	int64_t created_at;
	bool started;        /* it was: the launch is over */
	const char *failure; /* why it cannot be; or NULL */
	int64_t stopped_at;  /* when it was last asked to stop; 0: it was not */
};

/* The JSON, as an element's text. */
int facts_text(const struct domain_facts *f, struct buf *out,
	       struct err *err) MUST_CHECK;
/* The element, as virDomainSetMetadata() takes it; and back, in A. */
int facts_write(const struct domain_facts *f, struct buf *out,
		struct err *err) MUST_CHECK;
int facts_read(const char *xml, struct arena *a, struct domain_facts *ret,
	       struct err *err) MUST_CHECK;

/* ERR_NOT_FOUND: the domain is none of ours, or gone. */
int facts_load(struct host *h, virDomainPtr d, struct arena *a,
	       struct domain_facts *ret, struct err *err) MUST_CHECK;

/* What CHANGE makes of F is written, unless it fails; A lives until then. */
typedef int facts_change_fn(struct domain_facts *f, struct arena *a, void *ctx,
			    struct err *err);
int facts_change(struct host *h, virDomainPtr d, facts_change_fn *change,
		 void *ctx, struct err *err) MUST_CHECK;
