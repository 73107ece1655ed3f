/* verify_priv - what the checks share; for verify*.c only. */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/uuid.h"
#include "model/flavor.h"
#include "provider/front.h"
#include "provider/verify.h"

enum { VERIFY_EXTRA_MOST = 64, VERIFY_MADE_MOST = 256 };

/* A machine that was launched, and its TAG_SERVER. */
struct verify_made {
	const char *id, *server;
};

struct verify {
	const struct verify_conf *conf;
	struct provider *p;
	struct arena arena; /* of the check */
	struct arena kept;  /* of the run */
	bool failed, skipped;
	char why[512];
	struct err err; /* of the last call */
	uint64_t waited;

	/* What is launched, and the machine that most checks are about. */
	struct machine_spec spec;
	const char *id;
	bool runs;                         /* it was seen to */
	const char *resized, *other_image; /* other ones that fit, or NULL */
	int architecture;
	const char *network, *our_network; /* NULL: there are none */
	uint64_t launched_at;              /* on the monotonic clock */
	uint64_t launch_took;              /* the last call */
	size_t machines_before;            /* as conf->machines says */

	struct verify_made made[VERIFY_MADE_MOST];
	size_t n_made;
	const char *reused; /* the id of two launches, or NULL */

	/* Others, to be terminated when their check is over. */
	const char *extra[VERIFY_EXTRA_MOST];
	size_t n_extra;
};

struct verify_check {
	const char *name;
	void (*run)(struct verify *v);
	int needs;       /* enum capability; CAPABILITIES: none */
	bool no_machine; /* it does without the machine */
};

extern const struct verify_check verify_machine_checks[], verify_thing_checks[],
	verify_list_checks[], verify_rule_checks[], verify_reach_checks[],
	verify_last_checks[];

/* The check fails, or cannot be made, for this reason; the first counts. */
void verify_fail(struct verify *v, const char *fmt, ...) PRINTF(2, 3);
void verify_skip(struct verify *v, const char *why);

static inline bool verify_same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* COND holds, or the check fails with what WHAT says. */
bool verify_that(struct verify *v, bool cond, const char *what);

/* The last call failed: true after a pause when it is worth making again.  If
 * not, verify_retry() has the check fail. */
bool verify_again(struct verify *v);
bool verify_retry(struct verify *v, const char *what);
void verify_sleep(struct verify *v, uint64_t ms);
uint64_t verify_poll_ms(const struct verify *v);

/* By the clock that does not jump, in ms. */
uint64_t verify_now(const struct verify *v);

/* Fails the check with the err of the last call. */
void verify_err(struct verify *v, const char *what);

char *verify_uuid(struct verify *v, struct arena *a);

/* Our tags for a machine of SERVER. */
struct items verify_tags(struct verify *v, const char *server);

/* A machine that was launched: it is terminated after the check. */
void verify_keep(struct verify *v, const char *id, const char *server);

/* Launch SPEC, which gets ids of its own when FRESH; false: the check failed.
 * A fresh one is terminated after the check. */
bool verify_launch(struct verify *v, struct machine_spec *spec, bool fresh,
		   struct machine *ret);

/* SPEC, with ids of its own, is refused for good, and v->err says why; WHAT is
 * wrong with it.  False: the check failed. */
bool verify_refused(struct verify *v, struct machine_spec *spec,
		    const char *what);

/* Also when it takes a while until it is seen. */
bool verify_describe(struct verify *v, const char *id, struct machine *ret);

/* Until it is in STATE (enum instance_state). */
bool verify_wait(struct verify *v, const char *id, int state,
		 struct machine *ret);

/* Terminate, until it is known to be gone. */
bool verify_gone(struct verify *v, const char *id);

/* SEE each machine that has the tag. */
bool verify_list(struct verify *v, const char *key, const char *value,
		 void (*see)(void *ctx, const struct machine *m), void *ctx);

/* How many machines have the tag; RET_HAS tells whether ID is among them. */
bool verify_count(struct verify *v, const char *key, const char *value,
		  const char *id, size_t *ret_n, bool *ret_has);
