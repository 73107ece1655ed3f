/*
 * server - the machine behind an instance, as operators see it.
 *
 * Its document is the intent: it is durable, with everything that a launch is
 * asked for, before the provider is called.  Each of its tries asks for one
 * offering (flavor, zone, market), and the token that the provider is given
 * follows from the server's id and the try, so that a call that is repeated,
 * even by another process, is known to be the same.
 *
 * An instance has one server.  One that is replaced gets its next only when the
 * one before is known to be gone: the id follows from the instance's uid and
 * the number of the server, so that there cannot be two.
 */
#pragma once

#include "base/random.h"
#include "base/ssh_pair.h"
#include "model/instance.h"

enum server_phase {
	SERVER_INTENDED = 1, /* a launch may have been asked for */
	SERVER_LAUNCHED,     /* the provider gave an id */
	SERVER_LEAVING,      /* to be terminated */
	SERVER_GONE,         /* and seen to be */
};

struct server_volume {
	const char *volume_id, *device;
};

struct server {
	struct meta meta; /* first, as in every noun; the instance's name */
	const char *instance_id, *instance_uid;
	const char *region_id, *network_id;
	int64_t number; /* 1 for the first of this uid */
	/* What its host keys follow from, a new one for each root disk; secret.
	 * NULL: it has none. */
	const char *host_key_seed;
	int64_t disk; /* which root disk it has, or is asked for; 1: the first */

	/* What the provider was last told to make of it. */
	struct {
		const char *flavor_id, *image_id, *zone;
		int market;
		int64_t root_disk_gib;
		const char *root_disk_class;
		struct items security_group_ids;
		bool public_ip;
		struct items sources;
		const char *tags_digest; /* of the instance's tags */
		/* A call that changes who reaches it, or its tags, may have been
		 * made since: what came of it is not written down. */
		bool access_begun, tags_begun;
	} asked;

	struct {
		int64_t number;   /* 1 for the first */
		int64_t offering; /* which of instance_offering() */
		const char *token;
		int64_t refused; /* tries that the provider failed to boot */
		bool spent;      /* refused clearly: nothing came of it */
		/* When a launch may last have been asked for, as far as it is
		 * written down: an answer was lost. */
		int64_t called_at;
	} attempt;

	struct {
		int phase; /* enum server_phase */
		int state; /* enum instance_state, as the provider says */
		const char *native_state, *provider_id;
		const char *native_flavor; /* the provider's word; or NULL */
		const char *zone;
		const char *host; /* which of the provider's; or NULL */
		const char *private_ip, *private_ip6, *public_ip, *mac;
		struct items ports; /* of struct port */
		struct readiness readiness;
		const char *ssh_host_key; /* a public line; or NULL */
		struct items volumes;     /* of struct server_volume */
		struct reason reason;
		int64_t answered_at; /* when the launch was */
		int64_t leaving_at;  /* when it was given up */
		int64_t observed_at; /* when that was so */
		int observed_by;     /* enum observed */
		int64_t stale_since; /* it could not be seen; 0: it can */
		int64_t deadline;
		bool several; /* more than one machine was found */
	} status;
};

extern const struct kind server_kind;
extern const char *const server_phase_names[];

void server_id(const char *instance_uid, int64_t number, char out[37]);

/* The token of its try. */
void server_token(const struct server *s, char out[37]);

/* The first try of server NUMBER of instance I, whose flavor is F: filled in,
 * but for what all nouns have in common.  What it points to is I's or in A. */
void server_begin(const struct instance *i, const struct flavor *f,
		  int64_t number, struct random *r, struct arena *a,
		  struct server *ret);

/* The host key of the guest on root disk number DISK of the server whose seed
 * that is, in A; false when SEED is not one. */
bool server_host_key(const char *seed, int64_t disk, struct arena *a,
		     struct ssh_pair *ret);

/* The next try, with that offering and its flavor: of the one before nothing is
 * left. */
void server_try(struct server *s, const struct instance *i, size_t offering,
		const struct flavor *f, struct arena *a);

/* What a machine is found again by; callers cannot set or strip them. */
#define TAG_SERVER       "muster/server"
#define TAG_INSTALLATION "muster/installation"
