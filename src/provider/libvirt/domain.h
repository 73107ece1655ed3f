/*
 * domain - a machine as libvirt has it, and what we keep in it.
 *
 * Names that people give are only in its metadata (facts.h), never in its own
 * name.  Pure.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "provider/libvirt/facts.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/nic.h"
#include "provider/libvirt/options.h"

enum { DOMAIN_NAME_SIZE = 48, CPU_PERIOD_US = 100000 };

struct xml;

/* A disk of a domain. */
struct domain_disk {
	const char *path;
	const char *target; /* "vda" */
	const char *format; /* "qcow2", "raw" */
	const char *serial; /* what the guest sees it by; or NULL */
	bool readonly;
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
void domain_name(const char *uuid, char out[DOMAIN_NAME_SIZE]);

/* The UUID of the machine of that launch token. */
void domain_uuid(const char *installation, const char *token,
		 char out[VIR_UUID_STRING_BUFLEN]);

/* A disk, as it is also attached later; a volume's readonly is false. */
void domain_add_disk(struct xml *x, const struct domain_disk *d);

int domain_write(const struct domain *d, struct buf *out,
		 struct err *err) MUST_CHECK;

/* enum instance_state of libvirt's STATE and REASON, with libvirt's word for it
 * and what there is to say besides, or NULL. */
int domain_state(int state, int reason, bool started, const char **ret_native,
		 const char **ret_reason);
