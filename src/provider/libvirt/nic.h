/*
 * nic - how a machine is connected to its network.
 *
 * Decided before the machine is defined, so that its addresses are known from
 * the beginning; written into the domain, its metadata and its seed.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"
#include "provider/calls.h"

struct host;
struct lv;
struct provider;

enum nic_kind {
	NIC_USER = 1, /* QEMU's own, alone behind its ports */
	NIC_NETWORK,  /* a network of the host's libvirt */
	NIC_BRIDGE,   /* a bridge of the host's */
};

struct nic {
	int kind;           /* enum nic_kind */
	const char *source; /* the network or bridge; NULL for user-mode */
	const char *mac;
	/* What the guest is given, by DHCP and by its seed. */
	const char *address, *prefix; /* IPv4: "10.0.0.15", "10.0.0.0/24" */
	const char *address6, *prefix6;
	const char *gateway, *gateway6;
	struct items dns;    /* of const char * */
	struct items routes; /* of struct network_route */
	const char *filter;  /* nwfilter, or NULL */
};

/* What machine UUID gets on H: the same again for the same UUID.  ERR_INVALID
 * when there is no such network. */
int nic_make(struct host *h, const struct machine_spec *spec, const char *uuid,
	     struct arena *a, struct nic *ret, struct err *err) MUST_CHECK;

/* The machine is gone: what was kept for it (a DHCP entry, a filter) goes. */
int nic_drop(struct lv *lv, struct host *h, const char *uuid,
	     struct err *err) MUST_CHECK;

/* Whether a machine on H is in the network, and which (RET_USER may be NULL).
 * With CLEAN, what is left of machines that are gone is removed. */
int nic_used(struct host *h, const char *network, bool clean, bool *ret,
	     char *ret_user, struct err *err) MUST_CHECK;

/* The slot of that name: groups and sources, of a machine that may run. */
int nic_set_access(struct provider *p, const char *id,
		   const struct machine_spec *spec, struct err *err) MUST_CHECK;
