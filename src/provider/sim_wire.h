/*
 * sim_wire - what the simulated cloud is asked, what it answers, and what it
 * keeps; each a struct and its table of fields.
 *
 * The words are the cloud's own, as a real one has its own: the driver (sim.c)
 * turns them into ours.  Over HTTP these are the JSON bodies.
 */
#pragma once

#include "base/err.h"
#include "base/field.h"

/* A machine as the cloud keeps and shows it. */
struct sim_machine {
	const char *id, *token, *name;
	const char *flavor, *image, *zone, *network;
	bool spot, has_public;
	int64_t root_disk_gib;
	const char *root_disk_class;
	struct items groups, sources, ssh_keys; /* of const char * */
	struct items tags;                      /* of struct field_tag */
	const char *user_data; /* base64url; in the truth only if so asked */
	const char *user_data_digest;
	const char *private_ip, *private_ip6, *public_ip, *mac;
	struct items ports;   /* of struct port */
	const char *host_key; /* what its guest shows: a public line */
	const char *guest;    /* "booting", "up" or "hung"; NULL: not told */
	int64_t up_at;        /* when it is; 0: nobody looks */
	bool hung;
	const char *state, *reason;
	const char *next;   /* the state to come, */
	int64_t due;        /* when; 0: never */
	int64_t created_at; /* wall time, as all here */
	int64_t boots;
};

/* A network, security group, image or volume. */
struct sim_thing {
	const char *id, *kind, *ours, *name;
	const char *owner; /* who it was made for */
	const char *state, *reason, *next;
	int64_t due, created_at;
	const char *prefix, *prefix6, *gateway; /* networks */
	struct items reserved;                  /* of const char * */
	const char *network;                    /* groups */
	struct items rules;                     /* of const char * */
	const char *class, *zone;               /* volumes */
	int64_t size_gib;
	const char *machine, *device; /* what it is attached to */
	const char *architecture;     /* images */
	int64_t min_disk_gib, bytes;
	const char *source;      /* what it was made of */
	const char *consistency; /* how */
	bool bare_metal;
};

/* About one machine, or a list of them. */
struct sim_act {
	const char *id;
	bool hard;
	const char *flavor;
	int64_t gib, length;
	struct items tags;
	const char *key, *value; /* a tag, or "name" */
	const char *page;
	const char *volume;
	const char *kind, *ours; /* a thing */
	const char *console;     /* "serial", "vnc" */
};

struct sim_page {
	struct items machines; /* of struct sim_machine */
	const char *next;
};

struct sim_things {
	struct items things; /* of struct sim_thing */
	const char *next;
};

struct sim_text {
	const char *text;
};

struct sim_gpu {
	const char *vendor, *model;
	int64_t count, memory_mib;
};

struct sim_flavor {
	const char *id, *name, *architecture, *cpu;
	int64_t vcpus, memory_mib, disk_gib, local_gib;
	bool bare_metal, fixed_disk;
	struct sim_gpu gpu; /* vendor NULL: it has none */
	const char *price, *spot_price;
};

struct sim_image {
	const char *id, *name, *architecture, *distro, *version, *codename;
	const char *gpu_driver; /* its version */
	int64_t min_disk_gib;
	bool bare_metal;
};

struct sim_offers {
	struct items flavors, images, zones;
};

extern const struct field sim_machine_fields[], sim_thing_fields[],
	sim_act_fields[], sim_page_fields[], sim_things_fields[],
	sim_text_fields[], sim_offers_fields[];

/* A refusal; both ways. */
void sim_err_write(const struct err *err, struct buf *out);
void sim_err_read(const struct node *n, struct err *ret);
