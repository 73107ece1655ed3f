/*
 * image - what a machine boots: the provider's, imported, or made of an
 * instance or a volume.
 *
 * A region's own images have no owner and are everyone's who sees the region;
 * those of a project are that project's.
 */
#pragma once

#include "model/flavor.h"
#include "model/kind.h"
#include "model/status.h"

enum virtualization {
	VIRTUALIZATION_VIRTUALIZED = 1,
	VIRTUALIZATION_BARE_METAL,
	VIRTUALIZATION_ANY,
};

enum image_source {
	IMAGE_PROVIDER = 1, /* it was there */
	IMAGE_IMPORT,
	IMAGE_SNAPSHOT, /* of an instance */
	IMAGE_VOLUME,   /* of a volume */
};

/* How sure it is that what was being written is in it. */
enum consistency {
	CONSISTENCY_OFFLINE = 1, /* the machine was off */
	CONSISTENCY_FROZEN,      /* its file systems were held still */
	CONSISTENCY_CRASH,       /* as after a power cut */
};

struct image {
	struct meta meta;                         /* first, as in every noun */
	const char *organization_id, *project_id; /* NULL: the region's own */
	const char *region_id;
	struct {
		const char *uri,
			*checksum; /* what is imported: https, sha256 */
		int architecture;  /* enum architecture */
		int64_t min_disk_gib;
		int virtualization; /* enum virtualization */
		struct {
			const char *kernel, *family, *distro, *variant;
			const char *codename, *version;
		} os;
		const char *user;      /* who logs in; or NULL */
		struct items software; /* of struct field_tag: name, version */
		struct {
			const char *vendor, *version;
			struct items models; /* of const char * */
		} gpu_driver;
	} spec;
	struct {
		struct backed backed;
		int source;                          /* enum image_source */
		const char *instance_id, *volume_id; /* what it was made of */
		int consistency;                     /* enum consistency */
		int64_t size_bytes;
		int64_t retired_at; /* gone from the provider's catalogue */
	} status;
};

extern const struct kind image_kind;
extern const char *const virtualization_names[];
extern const char *const image_source_names[];
extern const char *const consistency_names[];

/* Something of that project, in that region, may have it: the region's own are
 * everyone's there. */
bool image_is_for(const struct image *i, const char *region_id,
		  const char *project_id);

/* Something new may be made of it; otherwise ERR names the field at POINTER. */
int image_ready(const struct image *i, const char *pointer,
		struct err *err) MUST_CHECK;

/* A machine of flavor F can boot image I with a root disk of that size;
 * otherwise ERR says which of architecture, disk, virtualization and driver is
 * in the way, naming the field at POINTER. */
int image_fits(const struct image *i, const struct flavor *f,
	       int64_t root_disk_gib, const char *pointer,
	       struct err *err) MUST_CHECK;
