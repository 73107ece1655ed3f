/*
 * intent - on which host a launch was begun, written down before it is.
 *
 * So a launch that is repeated need not ask every host whether it was there: one
 * that cannot be reached is in the way of its own launches only.  And the next
 * process knows what this one had begun, and where.  Kept until the machine is
 * terminated.  A provider whose hosts are all in this process, or without a
 * folder, keeps none.
 */
#pragma once

#include "provider/libvirt/host.h"

/* With several hosts it is durable when this returns; with one it need only
 * outlive this process. */
int intent_write(const struct lv *lv, const char *uuid, const struct host *h,
		 struct err *err) MUST_CHECK;

enum intent {
	INTENT_UNKNOWN = 1, /* nothing is kept: any host may have it */
	INTENT_NONE,        /* it was never begun */
	INTENT_HOST,        /* it was begun on RET */
};

/* RET is NULL when it was on a host that is none of LV's any more. */
enum intent intent_read(const struct lv *lv, const char *uuid,
			struct host **ret);
void intent_drop(const struct lv *lv, const char *uuid);

/* It came to nothing on H, or nobody knows, and may go on elsewhere; but there is
 * something left of it there, until intent_left_none() says otherwise. */
void intent_leave(const struct host *h, const char *uuid, struct arena *a);
void intent_left_none(const struct host *h, const char *uuid, struct arena *a);

typedef void intent_fn(struct host *h, const char *uuid);

/* Of all that were begun, or have left something, on hosts that LV has. */
void intent_each(struct lv *lv, struct arena *a, intent_fn *fn);
