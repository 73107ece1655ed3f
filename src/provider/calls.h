/* calls - what providers are asked for, and what they answer. */
#pragma once

#include "base/arena.h"
#include "base/field.h"
#include "model/securitygroup.h"
#include "provider/machine.h"

struct catalogue {
	struct items flavors; /* of struct flavor */
	struct items images;  /* of struct image */
	struct items zones;   /* of struct zone */
	struct items notes;   /* of const char *: what was skipped, and why */
};

/* Something of ours that the provider keeps and that is no machine. */
struct backing_id {
	const char *ours;     /* the object's id */
	const char *provider; /* its id there, or NULL: look by ours */
};

struct backing {
	const char *id;           /* the provider's */
	int state;                /* enum backed_state */
	const char *native_state; /* the provider's word for it */
	const char *gateway;      /* networks */
	int64_t size;             /* images: bytes; volumes: GiB */
	int consistency;          /* snapshots: enum consistency */
};

enum thing_kind { THING_NETWORK = 1, THING_GROUP, THING_IMAGE, THING_VOLUME };

/* The same, as it is found in a list. */
struct thing {
	int kind;           /* enum thing_kind */
	const char *id;     /* the provider's */
	const char *ours;   /* the object's id that it was made for */
	int64_t created_at; /* 0: the provider does not say */
};

struct thing_page {
	struct items things; /* of struct thing */
	const char *next;    /* NULL: this was the last */
};

struct image_spec {
	struct backing_id id;
	const char *name;
	const char *uri, *checksum;   /* to import, */
	const char *machine, *volume; /* or what it is made of */
	const struct image *image;
};

struct network_spec {
	struct backing_id id;
	const struct network *network;
};

struct group_spec {
	struct backing_id id;
	const char *network; /* the provider's id */
	const struct securitygroup *group;
	struct items peers; /* of const char *: for each rule that names a
			     * group that group's id there, NULL for others */
};

struct volume_spec {
	struct backing_id id;
	const char *name, *class, *zone;
	const char *image; /* the provider's id, or NULL */
	int64_t size_gib;
};
