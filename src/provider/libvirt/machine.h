/*
 * machine - a machine of ours that is there: found by its id, and told of.
 *
 *	auto_found struct found m = {0};
 *
 *	if (machine_find(p, id, &m, err) < 0)
 *		return -1;
 */
#pragma once

#include "provider/libvirt/driver.h"
#include "provider/libvirt/facts.h"

struct found {
	struct host *host;
	virDomainPtr domain;
	char uuid[VIR_UUID_STRING_BUFLEN];
	bool stranger; /* there is one, and not ours */
};

void found_release(struct found *m);
#define auto_found __attribute__((cleanup(found_release)))

/* ERR_NOT_FOUND also for strangers.  UUID is filled in whenever ID has one. */
int machine_find(struct provider *p, const char *id, struct found *ret,
		 struct err *err) MUST_CHECK;

/* The same with its facts, in A. */
int machine_find_facts(struct provider *p, const char *id, struct arena *a,
		       struct found *ret, struct domain_facts *ret_facts,
		       struct err *err) MUST_CHECK;

/* All that there is to tell, in A. */
int machine_tell(struct host *h, virDomainPtr d, const struct domain_facts *f,
		 struct arena *a, struct machine *ret,
		 struct err *err) MUST_CHECK;

/* It runs, or is held: there is a QEMU. */
int machine_is_active(const struct host *h, virDomainPtr d, bool *ret,
		      struct err *err) MUST_CHECK;

/* Boot it, publish its ports, and write down that it was started. */
int machine_boot(struct host *h, virDomainPtr d, struct err *err) MUST_CHECK;

/* No QEMU of it is there when this returns. */
int machine_kill(const struct host *h, virDomainPtr d,
		 struct err *err) MUST_CHECK;

/* All that is on H's disks for machine UUID alone. */
int machine_remove_files(struct host *h, const char *uuid, struct arena *a,
			 struct err *err) MUST_CHECK;
