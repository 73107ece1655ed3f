/*
 * driver - a kind of cloud, behind a table.
 *
 * A driver is a const table of small groups of functions (ops.h).  A group, or
 * a slot in one, that is NULL is something the cloud cannot do; callers use the
 * front functions (front.h), which refuse it with ERR_UNSUPPORTED before
 * anything is called.  launch, describe, terminate, list and the catalogue are
 * what every driver has.
 *
 * Calls block: they run on worker threads, several at a time on one provider,
 * and are straight-line code.  A call does what it is asked once: retrying,
 * backing off and remembering what was sold out are the caller's.  An err says
 * whose trouble it is (scope) and what may help (retry), with the cloud's own
 * words beside.
 */
#pragma once

#include "base/field.h"
#include "provider/ops.h"
#include "provider/provider.h"

struct driver {
	const char *name;                          /* "sim" */
	const char *title;                         /* a line for people */
	const char *doc;                           /* a paragraph */
	const struct field *options, *credentials; /* of the driver's structs */
	size_t options_size, credentials_size;

	/* Checks what it is told; may ask the cloud who it is.  The options and
	 * credentials are the driver's structs, filled in by its tables; they
	 * and what CONF points to live until close() has returned.  A driver
	 * without a table is given NULL. */
	int (*open)(const struct provider_conf *conf, const void *options,
		    const void *credentials, struct provider **out,
		    struct err *err);
	/* No call is under way any more. */
	void (*close)(struct provider *p);

	const struct machine_ops *machines;
	const struct catalogue_ops *catalogue;
	const struct image_ops *images;     /* or NULL */
	const struct network_ops *networks; /* or NULL */
	const struct volume_ops *volumes;   /* or NULL */
	const struct thing_ops *things;     /* or NULL */
};

/* Every driver, ended by NULL. */
extern const struct driver *const drivers[];
const struct driver *driver_find(const char *name);
