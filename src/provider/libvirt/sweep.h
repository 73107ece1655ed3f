/* sweep - what launches that came to nothing have left on hosts. */
#pragma once

#include "provider/libvirt/host.h"

/*
 * Removes the files of machines that there are not, on embedded hosts: those
 * are this process's alone, so when it launches nothing just now there is
 * nobody they could be for.  A launch that is repeated makes them anew.  Does
 * so now and then only, however often it is called; any thread may.  What
 * sweep_later() was told of is removed too, from whichever host, and what a
 * process before this one had begun there and did not finish; and every host
 * is told what it was not when it did not answer (group.h).  Called when all of
 * them do.
 */
void sweep(struct lv *lv);

/* The launch of UUID on H was not finished, and what it may have made there
 * could not be removed: that is done once H answers again, unless the launch was
 * repeated meanwhile.  SENT: the machine itself may yet come to be. */
void sweep_later(struct host *h, const char *uuid, bool sent);

/* Of the time of close(). */
void sweep_release(struct lv *lv);
