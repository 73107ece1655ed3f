/*
 * netdef - a network as we keep it.
 *
 * Everything we must know of a network later is in the metadata of libvirt's
 * network, as JSON in an element of our own; where libvirt has no networks, as
 * in our own process, the same JSON is in a file.  Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/uuid.h"
#include "provider/calls.h"
#include "provider/libvirt/options.h"

struct netdef {
	const char *id; /* the provider's: libvirt's UUID of it */
	const char *installation, *ours, *name;
	int mode;           /* enum network_mode; 0: user-mode */
	const char *bridge; /* the host's, for NETWORK_BRIDGE */
	const char *prefix, *prefix6;
	const char *gateway, *gateway6; /* the host; outside on a bridge */
	struct items dns;               /* of const char * */
	struct items routes;            /* of struct network_route */
	struct items reserved;          /* of const char * */
	int64_t created_at;
};

/* What libvirt has chosen for one that is there; kept when it is changed. */
struct netdef_kept {
	const char *bridge, *mac; /* may be NULL */
};

extern const struct field netdef_fields[];

/* The provider's id of OURS, the same whenever it is asked. */
void netdef_id(const char *installation, const char *ours,
	       char out[UUID_LEN + 1]);

/* What SPEC comes to; MODE 0 is user-mode.  ERR_INVALID: it cannot be had. */
int netdef_make(const struct network_spec *spec, const char *installation,
		const struct lv_network_options *mode, struct arena *a,
		struct netdef *ret, struct err *err) MUST_CHECK;

/* They ask for the same of libvirt, but for the day they were made. */
bool netdef_same(const struct netdef *a, const struct netdef *b);

/* As libvirt takes it, and back; ERR_NOT_FOUND: it is none of ours. */
int netdef_write(const struct netdef *n, const struct netdef_kept *kept,
		 struct buf *out, struct err *err) MUST_CHECK;
int netdef_read(const char *xml, struct arena *a, struct netdef *ret,
		struct netdef_kept *ret_kept, struct err *err) MUST_CHECK;

/* The JSON alone, and back. */
void netdef_encode(const struct netdef *n, struct buf *out);
int netdef_decode(const char *json, size_t len, struct arena *a,
		  struct netdef *ret, struct err *err) MUST_CHECK;
