/*
 * userdata - what a guest is given at its first boot.
 *
 * The user's own, in one of the formats that cloud-init reads, goes to the
 * provider as it is.  When keys or a certificate authority must get into the
 * guest, too, both become parts of a MIME message: so the user's must then be
 * of a format that can be a part, which unknown ones cannot, and what gzip has
 * packed is unpacked for it.
 *
 * Pure, and the same every time: a launch that is repeated carries the same
 * bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"

struct instance;
struct sshca;

enum {
	USERDATA_MOST = 64 << 10,           /* the user's own, decoded */
	USERDATA_UNPACKED_MOST = 256 << 10, /* and unpacked */
};

enum userdata_format {
	USERDATA_EMPTY,
	USERDATA_CLOUD_CONFIG,   /* #cloud-config */
	USERDATA_SCRIPT,         /* #! */
	USERDATA_MULTIPART,      /* MIME */
	USERDATA_BOOTHOOK,       /* #cloud-boothook */
	USERDATA_INCLUDE,        /* #include, #include-once */
	USERDATA_CONFIG_ARCHIVE, /* #cloud-config-archive */
	USERDATA_PART_HANDLER,   /* #part-handler */
	USERDATA_JINJA,          /* ## template: jinja */
	USERDATA_GZIP,
	USERDATA_OTHER,
};

enum userdata_format userdata_format(const char *data, size_t len);

/* What is put in besides. */
struct userdata_extras {
	struct items keys; /* of const char *: lines of OpenSSH's */
	const char *ca;    /* the authority's public line, or NULL */
	/* Of const char *: which certificates of it are good here; none: those
	 * that name the user who logs in. */
	struct items principals;
};

/* What instance I needs; CA is its authority, or NULL.  In A. */
struct userdata_extras userdata_extras(const struct instance *i,
				       const struct sshca *ca, struct arena *a);

/* BASE64 is what a guest can be given, with something put in besides or not;
 * ERR_INVALID at POINTER.  NULL and "" are nothing. */
int userdata_check(const char *base64, bool extras, const char *pointer,
		   struct arena *a, struct err *err) MUST_CHECK;

/* The bytes that the provider is given, in A; *RET is NULL when there are
 * none.  BASE64 has been checked. */
int userdata_compose(const char *base64, const struct userdata_extras *extras,
		     struct arena *a, const char **ret, size_t *ret_len,
		     struct err *err) MUST_CHECK;
