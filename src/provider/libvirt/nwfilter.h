/*
 * nwfilter - the filters that a host's libvirt has.
 *
 * A filter that is defined again reaches the machines that run with it, or
 * refer to it, before the call returns.
 */
#pragma once

#include "provider/libvirt/filter.h"
#include "provider/libvirt/host.h"

/* By name, or by UUID, in A; *FOUND is false when there is none. */
int nwfilter_get(struct host *h, const char *name, struct arena *a,
		 struct filter *ret, bool *found, struct err *err) MUST_CHECK;
int nwfilter_get_by_uuid(struct host *h, const char *uuid, struct arena *a,
			 struct filter *ret, bool *found,
			 struct err *err) MUST_CHECK;

/* ERR_CONFLICT when there is another one of that name. */
int nwfilter_put(struct host *h, const struct filter *f,
		 struct err *err) MUST_CHECK;

/* Of what is not there: it succeeds. */
int nwfilter_drop(struct host *h, const char *name, struct err *err) MUST_CHECK;
/* And what it was, in A, if it was there. */
int nwfilter_drop_by_uuid(struct host *h, const char *uuid, struct arena *a,
			  struct filter *ret, bool *found,
			  struct err *err) MUST_CHECK;

/* For every filter there is, whosever; -1 from the visit ends it.  One that is
 * needed whole is asked for with nwfilter_get(). */
typedef int nwfilter_visit(struct host *h, const char *name, const char *uuid,
			   void *ctx, struct err *err);
int nwfilter_each(struct host *h, nwfilter_visit *visit, void *ctx,
		  struct err *err) MUST_CHECK;
