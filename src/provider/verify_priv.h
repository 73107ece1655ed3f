/* verify_priv - what the checks share; for verify*.c only. */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/uuid.h"
#include "model/flavor.h"
#include "provider/front.h"
#include "provider/verify.h"

enum { VERIFY_EXTRA_MOST = 64 };

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
	bool runs;           /* it was seen to */
	const char *resized; /* another flavor, or NULL */
	int architecture;
	const char *network, *our_network; /* NULL: there are none */
	uint64_t launched_at;              /* on the monotonic clock */

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

/* Fails the check with the err of the last call. */
void verify_err(struct verify *v, const char *what);

char *verify_uuid(struct verify *v, struct arena *a);

/* Launch SPEC, which gets ids of its own when FRESH; false: the check failed.
 * A fresh one is terminated after the check. */
bool verify_launch(struct verify *v, struct machine_spec *spec, bool fresh,
		   struct machine *ret);

/* Also when it takes a while until it is seen. */
bool verify_describe(struct verify *v, const char *id, struct machine *ret);

/* Until it is in STATE (enum instance_state). */
bool verify_wait(struct verify *v, const char *id, int state,
		 struct machine *ret);

/* Terminate, until it is known to be gone. */
bool verify_gone(struct verify *v, const char *id);

/* How many machines have the tag; RET_HAS tells whether ID is among them. */
bool verify_count(struct verify *v, const char *key, const char *value,
		  const char *id, size_t *ret_n, bool *ret_has);
