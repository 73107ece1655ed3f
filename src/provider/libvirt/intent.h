/*
 * intent - on which host a launch was begun, written down before it is.
 *
 * So a launch that is repeated need not ask every host whether it was there: one
 * that cannot be reached is in the way of its own launches only.  A provider
 * with one host, or without a folder, keeps none.
 */
#pragma once

#include "provider/libvirt/host.h"

/* Durable when this returns. */
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
