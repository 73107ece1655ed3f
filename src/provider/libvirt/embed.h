/*
 * embed - what a libvirt needs that runs in our process.
 *
 * Its folder is in the data folder, whose path may be long; in it libvirt makes
 * sockets, whose paths must be short.  So libvirt is told of the folder by a
 * link in the folder for what lives as long as the machine is up.
 */
#pragma once

#include "provider/libvirt/host.h"

/* The folder, its settings and the link, made if need be; H's uri names it. */
int embed_prepare(struct host *h, struct err *err) MUST_CHECK;
