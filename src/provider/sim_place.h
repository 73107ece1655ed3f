/* sim_place - a machine of the simulated cloud as it is kept; for sim_*.c
 * only. */
#pragma once

#include "provider/sim_priv.h"

/* The cloud's words for what a machine is doing. */
#define SIM_BUILDING   "building"
#define SIM_ACTIVE     "active"
#define SIM_HALTING    "halting"
#define SIM_HALTED     "halted"
#define SIM_BOOTING    "booting"
#define SIM_REBOOTING  "rebooting"
#define SIM_RESIZING   "resizing"
#define SIM_REBUILDING "rebuilding"
#define SIM_DELETING   "deleting"
#define SIM_DELETED    "deleted"
#define SIM_ERROR      "error"
#define SIM_CONFUSED   "transmogrifying" /* for drift: nobody knows it */

/* What comes next, and is never shown. */
#define SIM_INTERRUPTED "interrupted"
#define SIM_FORGOTTEN   "forgotten"

#define SIM_NEVER ((int64_t)-1)

struct sim_place {
	struct sim_item item; /* first */
	struct sim_machine *doc;
	struct list link; /* among those that are gone */
	char *token;      /* NULL: none */
	char private_ip[16], public_ip[16], private_ip6[46], mac[18];
	bool counted; /* it takes up room */
	bool volumes; /* it has had some */
};

/* Documents are copied.  The new place is found, counted and due. */
struct sim_place *sim_place_new(struct sim_cloud *c,
				const struct sim_machine *doc);
void sim_place_free(struct sim_cloud *c, struct sim_place *p);
void sim_place_revise(struct sim_cloud *c, struct sim_place *p,
		      const struct sim_machine *doc);
bool sim_place_gone(const struct sim_place *p);

/* Be in STATE now, and in NEXT after MS. */
void sim_place_move(struct sim_cloud *c, struct sim_place *p, const char *state,
		    const char *next, int64_t ms);

/* Something has happened to it. */
void sim_place_tell(struct sim_cloud *c, const struct sim_place *p);

/* Its time has come; it may be gone afterwards. */
void sim_place_due(struct sim_cloud *c, struct sim_place *p);

/* The row that leaves no room for it, or NULL. */
const struct sim_capacity *sim_place_full(const struct sim_cloud *c,
					  const struct sim_machine *m);
void sim_recount(struct sim_cloud *c);

/* Of machines that are gone only so many are remembered. */
void sim_forget_oldest(struct sim_cloud *c);

/* Addresses, as many as it is to have; and none. */
int sim_place_addresses(struct sim_cloud *c, struct sim_place *p,
			struct err *err);
void sim_place_give_addresses(struct sim_cloud *c, struct sim_place *p);

/* Those with a tag, or of a name; NULL: none. */
struct sim_tagset *sim_tagset(const struct sim_cloud *c, const char *key,
			      const char *value);
