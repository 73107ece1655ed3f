/*
 * seed - what a machine reads when it boots first: cloud-init's NoCloud.
 *
 * Four files: who it is (meta-data), how it is connected (network-config), what
 * the user says (user-data) and what is ours (vendor-data: the host key that its
 * SSH server shows).  Ours are JSON, which YAML takes as well.
 *
 * Pure, and the same bytes every time.  What is written is a secret.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "provider/calls.h"
#include "provider/libvirt/nic.h"

#define SEED_LABEL "cidata"

/* An ISO 9660 image with that label that tells SPEC to the machine whose id is
 * INSTANCE (another one is another first boot).  NIC may be NULL.  ERR_TOO_LARGE
 * when OUT has no room for it. */
int seed_iso(const struct machine_spec *spec, const char *instance,
	     const struct nic *nic, struct buf *out,
	     struct err *err) MUST_CHECK;

/* The name by which a machine that people call NAME knows itself: at most 63 of
 * a-z, 0-9 and '-', beginning and ending with a letter or digit. */
void seed_hostname(const char *name, char out[64]);
