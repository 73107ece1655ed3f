/* machine - what providers are asked to run, and what they tell of it. */
#pragma once

#include "base/field.h"
#include "base/ssh_pair.h"
#include "model/reach.h"

/* What a machine is to be.  Ids are the provider's, but for server and token. */
struct machine_spec {
	const char *server; /* our id, the value of TAG_SERVER */
	const char *token;  /* the launch's: see server.h */
	const char *name;
	const char *flavor, *image;
	const char *zone; /* or NULL */
	bool spot;
	int64_t root_disk_gib;
	const char *root_disk_class; /* or NULL */
	const char *network;
	struct items groups;  /* of const char * */
	struct items sources; /* of const char *: prefixes */
	bool public_ip;
	const char *user_data; /* bytes, composed; or NULL */
	size_t user_data_len;
	struct items ssh_keys; /* of const char *: lines of OpenSSH's */
	/* What its SSH server is to show, and the secret that goes with it; NULL
	 * where the provider does not put it into guests (facts.host_keys).  The
	 * same call again has the same, another root disk has another. */
	struct ssh_pair host_key;
	struct items tags; /* of struct field_tag, ours among them */
};

/* Whether the guest is up, as far as the provider looks into it. */
enum ready {
	READY_UNTOLD, /* it does not look, or cannot */
	READY_NOT_YET,
	READY_NOW,
};

struct machine {
	const char *id;
	int state;                /* enum instance_state; never a guess */
	const char *native_state; /* the provider's word for it */
	const char *reason;       /* what it says besides, or NULL */
	const char *flavor, *image, *zone;
	const char *host; /* which of the provider's it is on; or NULL */
	const char *private_ip, *private_ip6, *public_ip, *mac;
	struct items ports;    /* of struct port: its guest's, from outside */
	int ready;             /* enum ready; of one that runs */
	const char *ready_why; /* by what that is known, or what is missing: the
				* same words while it is the same; or NULL */
	struct items tags;     /* of struct field_tag */
	int64_t created_at;
	bool spot;
};

/* Which machines: those of this installation, or of one server. */
struct machine_filter {
	const char *key, *value; /* a tag: TAG_INSTALLATION or TAG_SERVER */
};

struct machine_page {
	struct items machines; /* of struct machine */
	const char *next;      /* NULL: this was the last */
};

enum console_kind { CONSOLE_SERIAL = 1, CONSOLE_VNC };

struct console {
	const char *url; /* for the provider's own; or NULL */
	int fd;          /* a stream to relay, the caller's; -1: none */
};
