/*
 * volume - a disk with a life of its own: it outlives the instances that it is
 * attached to.
 *
 * Instances say which volumes they have; the volume's status says who has it.
 */
#pragma once

#include "model/kind.h"
#include "model/status.h"

struct volume {
	struct meta meta; /* first, as in every noun */
	const char *organization_id, *project_id, *region_id;
	struct {
		int64_t size_gib;
		const char *class; /* the provider's; NULL: its default */
		const char *zone;
		const char *image_id; /* what is on it at first; or NULL */
	} spec;
	struct {
		struct backed backed;
		const char *instance_id; /* who has it; NULL: nobody */
		const char *device;      /* what it is called there */
		int64_t size_gib;        /* what the provider says */
	} status;
};

extern const struct kind volume_kind;
