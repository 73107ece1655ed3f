/*
 * instance - a machine, as its owner sees it.
 *
 * Its id follows from its network and name, so that a second of the same name
 * collides.  Its uid is of this life: one that is deleted and made again has
 * the same id and another uid.  The machine behind it is a server (server.h).
 *
 * What would destroy something is done only when a change says so: the API
 * writes one when a caller has allowed it, in the transaction that changes the
 * spec; controllers carry it out and take it away.
 */
#pragma once

#include "model/change.h"
#include "model/flavor.h"
#include "model/kind.h"
#include "model/reach.h"
#include "model/status.h"

enum power { POWER_ON = 1, POWER_OFF };
enum ssh_key { SSH_KEY_NONE = 1, SSH_KEY_GENERATED };

enum instance_state {
	INSTANCE_PENDING = 1,
	INSTANCE_RUNNING,
	INSTANCE_STOPPING,
	INSTANCE_STOPPED,
	INSTANCE_TERMINATING,
	INSTANCE_TERMINATED,
	INSTANCE_FAILED,
	INSTANCE_UNKNOWN,
};

struct instance_volume {
	const char *volume_id, *mount_path;
	bool delete_with_instance;
};

/* What may be taken instead, in order, when the first choice is not to be had.
 * What is NULL or 0 is as in the first. */
struct alternative {
	const char *flavor_id, *zone;
	int market;
};

struct instance {
	struct meta meta; /* first, as in every noun */
	const char *uid;
	const char *organization_id, *project_id, *region_id, *network_id;
	struct {
		const char *flavor_id, *image_id, *zone;
		int market;                /* enum market */
		struct items alternatives; /* of struct alternative */
		struct {
			int64_t size_gib; /* FIELD_NONE: the flavor's */
			const char *class;
		} root_disk;
		struct items volumes; /* of struct instance_volume */
		struct items security_group_ids;
		bool public_ip;
		struct items sources; /* prefixes that it may send as */
		const char *sshca_id;
		struct items ssh_public_keys;
		int ssh_key;           /* enum ssh_key */
		const char *user_data; /* base64, secret */
		int power;             /* enum power */
		int64_t expires_at;
		bool delete_protection;
		bool paused; /* leave it alone until this is taken back */
	} spec;
	const char *ssh_private_key; /* secret; made when asked for */
	struct {
		int state;        /* enum instance_state */
		int provisioning; /* enum provisioning */
		int health;       /* enum health */
		struct reason reason;
		const char *server_id;
		const char *provider_id;
		const char *flavor_id, *zone; /* what it came to be */
		int market;
		const char *private_ip, *private_ip6, *public_ip, *mac;
		struct items ports; /* of struct port */
		struct readiness readiness;
		const char *native_state;
		const char *ssh_public_key; /* of the pair that was made */
		const char *ssh_host_key;   /* what its server shows; or NULL */
		struct price price;         /* when it was made */
		int64_t observed_generation, observed_at;
		int observed_by;     /* enum observed */
		int64_t stale_since; /* 0: what is shown is known */
		int64_t launched_at; /* first seen running */
		int64_t deadline;    /* of the state it is in; 0: none */
		struct change change;
	} status;
};

/* The most that instance_offering() counts. */
enum { OFFERINGS_MOST = 17 };

extern const struct kind instance_kind;
extern const char *const power_names[], *const ssh_key_names[];
extern const char *const instance_state_names[];

void instance_id(const char *network_id, const char *name, char out[37]);

/* An instance, or a server, that is in state FROM may come to be in TO; the same
 * again is always so. */
bool instance_may_become(int from, int to);

/* The I-th of what it may be: 0 is its spec, the alternatives follow.  False
 * when there is no such. */
bool instance_offering(const struct instance *i, size_t n,
		       struct alternative *ret);

/* It is, or was, at the provider: it may have something to lose. */
bool instance_was_launched(const struct instance *i);

/* The root disk that it gets with flavor F. */
int64_t instance_root_disk(const struct instance *i, const struct flavor *f);
