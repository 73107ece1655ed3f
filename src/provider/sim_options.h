/*
 * sim_options - how the simulated cloud behaves, and what goes wrong in it.
 *
 * The options of a region whose provider is "sim", and of a `muster simcloud`.
 * A rate is so many of a thousand, by chance.
 */
#pragma once

#include "base/field.h"

/* So many machines at most are in this zone, with this flavor, of this market;
 * what is NULL or 0 is any. */
struct sim_capacity {
	const char *zone, *flavor;
	int market; /* enum market */
	int64_t count;
};

struct sim_options {
	/* The process that is asked; NULL: the cloud is in this one. */
	const char *endpoint;
	int64_t timeout_ms;

	int64_t seed;
	int64_t launch_ms, stop_ms, start_ms, terminate_ms, backing_ms;
	int64_t jitter;
	int64_t consistency_ms, forget_ms;
	int64_t launch_limit_ms, stop_limit_ms, start_limit_ms, poll_ms;

	bool launch_tokens, tags, keeps_addresses, resize_live;
	bool tells_limit, keeps_user_data, odd_catalogue, console_url;
	bool host_keys, tells_ready, tells_changes;
	int64_t ready_ms;
	struct items publish;  /* of int64_t: ports of the guests */
	struct items zones;    /* of const char * */
	struct items capacity; /* of struct sim_capacity */
	struct items hidden;   /* of const char *: flavors and images */
	struct items lacks;    /* of int: 1 + enum capability */
	int64_t account_quota, calls_per_second, burst, page_size;

	int64_t failure_rate, hang_rate, hang_ms, lost_answer_rate;
	int64_t partial_list_rate, boot_failure_rate, stuck_rate;
	int64_t stop_ignored_rate, spot_interruption_ms;
	struct items faults; /* of struct fault */
};

extern const struct field sim_option_fields[];

/* N, which may be NULL, over what is there by default; ERR_INVALID tells all
 * that is wrong.  What RET points to lives in A. */
int sim_options_read(const struct node *n, struct arena *a,
		     struct sim_options *ret, struct err *err) MUST_CHECK;
