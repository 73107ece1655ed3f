/* sweep - what launches that came to nothing have left on disks. */
#pragma once

#include "provider/libvirt/host.h"

/*
 * Removes the files of machines that there are not, on embedded hosts: those
 * are this process's alone, so when it launches nothing just now there is
 * nobody they could be for.  A launch that is repeated makes them anew.  Does
 * so now and then only, however often it is called; any thread may.
 */
void sweep(struct lv *lv);
