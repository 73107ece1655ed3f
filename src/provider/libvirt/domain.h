/*
 * domain - a machine as libvirt has it, and what we keep in it.
 *
 * Everything that we must know of a machine later is in its domain's metadata,
 * in a namespace of our own: there is no other list of them.  Names that people
 * give are only there, never in the domain's own name.  Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "provider/calls.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/nic.h"
#include "provider/libvirt/options.h"

#define DOMAIN_NAMESPACE "https://muster.invalid/libvirt/1"
#define DOMAIN_PREFIX    "muster"
#define DOMAIN_ELEMENT   "machine"

/* A port of the guest that is reached from outside. */
struct domain_port {
	int64_t guest;
	const char *address;
	int64_t port;
	const char *protocol; /* "tcp" */
};

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
	struct items ports;   /* of struct domain_port */
	struct items volumes; /* of struct domain_volume */
	int64_t root_disk_gib;
	int64_t created_at;
	bool started; /* it was: the launch is over */
};

extern const struct field domain_fact_fields[];

/* A disk of a domain. */
struct domain_disk {
	const char *path;
	const char *target; /* "vda" */
	const char *format; /* "qcow2", "raw" */
	const char *serial; /* what the guest sees it by; or NULL */
	bool cdrom;
	int64_t iops, mib_per_second; /* limits; 0: there is none */
};

struct domain {
	const char *uuid;
	int64_t vcpus, memory_mib;
	int64_t cpu_percent, cpu_shares; /* 0: no limit */
	struct host_powers powers;
	bool fake;          /* for test:///: only what that takes */
	struct items disks; /* of struct domain_disk; the first boots */
	struct nic nic;
	const char *console_log; /* a path, or NULL */
	struct domain_facts facts;
};

/* Its name there: short, safe and made of the UUID. */
void domain_name(const char *uuid, char out[48]);

/* The UUID of the machine of that launch token. */
void domain_uuid(const char *installation, const char *token,
		 char out[VIR_UUID_STRING_BUFLEN]);

int domain_write(const struct domain *d, struct buf *out,
		 struct err *err) MUST_CHECK;

/* The element of the metadata alone, as virDomainSetMetadata() takes it. */
int domain_facts_write(const struct domain_facts *f, struct buf *out,
		       struct err *err) MUST_CHECK;
/* And back, in A; ERR_NOT_FOUND: it is none of ours. */
int domain_facts_read(const char *xml, struct arena *a,
		      struct domain_facts *ret, struct err *err) MUST_CHECK;

/* enum instance_state of libvirt's STATE and REASON, with libvirt's word for it
 * and what there is to say besides, or NULL. */
int domain_state(int state, int reason, bool started, const char **ret_native,
		 const char **ret_reason);
