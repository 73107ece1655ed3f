/*
 * host - a machine that runs machines: the connection to its libvirt, which is
 * made when it is needed and again when it was lost, and what it has.
 *
 * Any thread may call; one host's calls may run at a time.
 */
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "provider/libvirt/options.h"

struct disk_ops;
struct host_priv;
struct lv;

/* What it has, and what of that is taken by machines, whosever they are. */
struct host_room {
	int64_t cpus, memory_mib, disk_gib; /* overcommit included */
	int64_t cpus_taken, memory_taken, disk_taken;
};

struct host {
	struct lv *lv;
	const struct host_options *options;
	const char *name;   /* "local" */
	const char *uri;    /* what is connected to */
	const char *folder; /* what an embedded one keeps, absolute; or NULL */
	bool embedded;      /* libvirt's driver runs in our process */
	bool fake;          /* test:///: there are no disks, and no QEMU */
	const struct disk_ops *disks;
	bool swept; /* of addresses that nobody has: see nic.c */
	struct host_priv *priv;
	/* For room.c, under the provider's lock: what was last seen of it, when
	 * (0: never), and why it was not. */
	struct host_room room;
	uint64_t looked_at;
	char deaf[120];
};

/* How its machines can be run. */
struct host_powers {
	bool kvm;        /* tried, not only said */
	bool limits;     /* of processor time can be honoured (cgroups) */
	const char *why; /* there is no KVM, in words; or NULL */
	const char *emulator, *machine; /* of <os>: "q35" */
};

int host_open(struct lv *lv, const struct host_options *o, struct host **ret,
	      struct err *err) MUST_CHECK;
/* Nobody is told what happens there any more; what is under way goes on. */
void host_deafen(struct host *h);
void host_close(struct host *h); /* NULL is fine */

/* The connection, to be given back with host_drop(); ERR_UNAVAILABLE when there
 * is none to be had now. */
int host_take(struct host *h, virConnectPtr *ret, struct err *err) MUST_CHECK;
void host_drop(virConnectPtr *conn);
#define auto_conn __attribute__((cleanup(host_drop)))

/* A domain of its by UUID; ERR_NOT_FOUND.  RET is given back by auto_domain. */
int host_domain(struct host *h, const char *uuid, virDomainPtr *ret,
		struct err *err) MUST_CHECK;
void host_domain_drop(virDomainPtr *domain);
#define auto_domain __attribute__((cleanup(host_domain_drop)))

int host_room(struct host *h, struct host_room *ret,
	      struct err *err) MUST_CHECK;

/* Found out once, at the first call, which may take seconds. */
int host_powers(struct host *h, struct host_powers *ret,
		struct err *err) MUST_CHECK;

/* Held while the facts of one of its domains are changed: see facts.h. */
pthread_mutex_t *host_facts_lock(struct host *h);

/* What libvirt's last call of this thread failed with, in our words; returns
 * -1.  WHAT was tried: "define the machine".  Any other call of libvirt's in
 * between, even for a name, has forgotten it. */
int host_err(const struct host *h, const char *what, struct err *err);

/* ERR in one line, in A: libvirt's own words, if it has any, are in it. */
const char *host_words(const struct err *err, struct arena *a);

/* "UUID@host", in A; and back: NULL when ID is no such, or, RET_OTHER, when it is
 * of a host that is none of LV's. */
const char *host_machine_id(const struct host *h, const char *uuid,
			    struct arena *a);
struct host *host_of_machine(struct lv *lv, const char *id,
			     char ret_uuid[VIR_UUID_STRING_BUFLEN],
			     bool *ret_other);
