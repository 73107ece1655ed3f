/*
 * record - networks of hosts that have no libvirt networks: one small file
 * each, in the region's folder.
 */
#pragma once

#include "provider/libvirt/driver.h"
#include "provider/libvirt/netdef.h"
#include "provider/libvirt/network.h"

/* ERR_CONFLICT when it is there with another prefix. */
int record_put(struct lv *lv, const struct netdef *n, struct arena *a,
	       struct err *err) MUST_CHECK;
/* ERR_NOT_FOUND. */
int record_get(struct lv *lv, const char *id, struct arena *a,
	       struct netdef *ret, struct err *err) MUST_CHECK;
/* Of what is not there: it succeeds. */
int record_drop(struct lv *lv, const char *id, struct err *err) MUST_CHECK;
int record_things(struct lv *lv, const char *installation, struct arena *a,
		  struct buf *things, struct err *err) MUST_CHECK;

/* Whether a machine on H is in the network, and which. */
int record_used(struct host *h, const char *id, bool *ret,
		char ret_user[VIR_UUID_STRING_BUFLEN],
		struct err *err) MUST_CHECK;
