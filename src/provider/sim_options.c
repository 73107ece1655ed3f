#include "provider/sim_options.h"

#include <string.h>

#include "base/field_ops.h"
#include "model/flavor.h"
#include "provider/fault.h"
#include "provider/front.h"

#define AT(member)       offsetof(struct sim_options, member)
#define CAPACITY(member) offsetof(struct sim_capacity, member)
#define DAY_MS           ((int64_t)86400000)

#define TEXTS .item = FIELD_STRING, .size = sizeof(const char *)

static const struct field capacity_fields[] = {
	{"zone", FIELD_STRING, 0, CAPACITY(zone),
	 "In which zone; absent: in all together.", &format_text, .max = 63},
	{"flavor", FIELD_STRING, 0, CAPACITY(flavor),
	 "Of which flavor; absent: of all together.", &format_text, .max = 63},
	{"market", FIELD_ENUM, 0, CAPACITY(market),
	 "Of which market; absent: of both together.", .names = market_names},
	{"count", FIELD_INT, FIELD_REQUIRED, CAPACITY(count),
	 "How many machines there can be.", .max = 1000000000},
	{0},
};

const struct field sim_option_fields[] = {
	{"endpoint", FIELD_STRING, 0, AT(endpoint),
	 "Where a `muster simcloud` listens, such as http://127.0.0.1:7171; "
	 "absent: the cloud is in this process.  With it all other options "
	 "but timeoutMs, lacks, faults and seed are those of that process.",
	 &format_text, .max = 255},
	{"timeoutMs", FIELD_INT, 0, AT(timeout_ms),
	 "How long an answer is waited for.", .min = 1, .max = 600000,
	 .fallback = "30000"},
	{"seed", FIELD_INT, 0, AT(seed), "What chance follows from.",
	 .max = INT64_MAX, .fallback = "1"},
	{"launchMs", FIELD_INT, 0, AT(launch_ms),
	 "How long a machine takes until it runs.", .max = DAY_MS,
	 .fallback = "0"},
	{"stopMs", FIELD_INT, 0, AT(stop_ms), "How long it takes to stop.",
	 .max = DAY_MS, .fallback = "0"},
	{"startMs", FIELD_INT, 0, AT(start_ms),
	 "How long it takes to start again, or to restart.", .max = DAY_MS,
	 .fallback = "0"},
	{"terminateMs", FIELD_INT, 0, AT(terminate_ms),
	 "How long it takes to go away.", .max = DAY_MS, .fallback = "0"},
	{"backingMs", FIELD_INT, 0, AT(backing_ms),
	 "How long images, volumes and networks take until they are ready.",
	 .max = DAY_MS, .fallback = "0"},
	{"jitterPercent", FIELD_INT, 0, AT(jitter),
	 "By how much these times may be longer, by chance.", .max = 1000,
	 .fallback = "0"},
	{"consistencyMs", FIELD_INT, 0, AT(consistency_ms),
	 "How long a machine is not seen by describe and list after it was "
	 "launched.",
	 .max = DAY_MS, .fallback = "0"},
	{"forgetMs", FIELD_INT, 0, AT(forget_ms),
	 "How long a machine that is gone can still be described, and its "
	 "launch token is known.",
	 .max = 30 * DAY_MS, .fallback = "600000"},
	{"launchLimitMs", FIELD_INT, 0, AT(launch_limit_ms),
	 "When the driver wants a launch to be given up.", .min = 1,
	 .max = DAY_MS, .fallback = "300000"},
	{"stopLimitMs", FIELD_INT, 0, AT(stop_limit_ms),
	 "When it wants a stop to be given up.", .min = 1, .max = DAY_MS,
	 .fallback = "120000"},
	{"startLimitMs", FIELD_INT, 0, AT(start_limit_ms),
	 "When it wants a start to be given up.", .min = 1, .max = DAY_MS,
	 .fallback = "120000"},
	{"pollMs", FIELD_INT, 0, AT(poll_ms),
	 "How soon it is worth asking again.", .min = 1, .max = DAY_MS,
	 .fallback = "250"},
	{"launchTokens", FIELD_BOOL, 0, AT(launch_tokens),
	 "Whether the same token twice is one machine.", .fallback = "true"},
	{"tags", FIELD_BOOL, 0, AT(tags),
	 "Whether machines have tags; without, the driver finds its own by "
	 "their names.",
	 .fallback = "true"},
	{"keepsAddresses", FIELD_BOOL, 0, AT(keeps_addresses),
	 "Whether a machine that was stopped has its addresses again.",
	 .fallback = "true"},
	{"resizeLive", FIELD_BOOL, 0, AT(resize_live),
	 "Whether another flavor needs no restart."},
	{"tellsLimit", FIELD_BOOL, 0, AT(tells_limit),
	 "Whether the driver knows callsPerSecond; if not, it is found out by "
	 "being refused.",
	 .fallback = "true"},
	{"keepsUserData", FIELD_BOOL, 0, AT(keeps_user_data),
	 "Whether the truth shows a machine's user data, not only its "
	 "digest."},
	{"hostKeys", FIELD_BOOL, 0, AT(host_keys),
	 "Whether guests are given the host key that they are to show.",
	 .fallback = "true"},
	{"publish", FIELD_LIST, 0, AT(publish),
	 "Ports of each guest that are reached from outside.",
	 .item = FIELD_INT, .size = sizeof(int64_t), .min = 0, .max = 16},
	{"tellsReady", FIELD_BOOL, 0, AT(tells_ready),
	 "Whether it is told when a guest is up."},
	{"readyMs", FIELD_INT, 0, AT(ready_ms),
	 "How long one takes to be up once its machine runs.", .max = DAY_MS,
	 .fallback = "0"},
	{"tellsChanges", FIELD_BOOL, 0, AT(tells_changes),
	 "Whether it says of itself that something has happened to a "
	 "machine.  A cloud in another process does not."},
	{"oddCatalogue", FIELD_BOOL, 0, AT(odd_catalogue),
	 "Whether the catalogue has entries that make no sense."},
	{"consoleUrl", FIELD_BOOL, 0, AT(console_url),
	 "Whether a console is an address of the cloud's own, not a stream."},
	{"zones", FIELD_LIST, 0, AT(zones), "Its zones; none: it has none.",
	 &format_name, TEXTS, .max = 26},
	{"capacity", FIELD_LIST, 0, AT(capacity),
	 "How many machines there can be; none: as many as are asked for.",
	 .item = FIELD_OBJECT, .fields = capacity_fields,
	 .size = sizeof(struct sim_capacity), .max = 128},
	{"hidden", FIELD_LIST, 0, AT(hidden),
	 "Flavors and images that are not in the catalogue (any more).",
	 &format_text, TEXTS, .max = 64},
	{"lacks", FIELD_LIST, 0, AT(lacks),
	 "Capabilities that it is to be without: \"stop\", \"resize\", …",
	 .item = FIELD_ENUM, .size = sizeof(int), .names = capability_names,
	 .max = CAPABILITIES},
	{"accountQuota", FIELD_INT, 0, AT(account_quota),
	 "How many machines the account may have; 0: no limit.",
	 .max = 1000000000, .fallback = "0"},
	{"callsPerSecond", FIELD_INT, 0, AT(calls_per_second),
	 "How many calls are taken; more are refused and told when to come "
	 "again; 0: no limit.",
	 .max = 1000000, .fallback = "0"},
	{"burst", FIELD_INT, 0, AT(burst),
	 "How many calls are taken at once after a pause; 0: as many as in a "
	 "second.",
	 .max = 1000000, .fallback = "0"},
	{"pageSize", FIELD_INT, 0, AT(page_size),
	 "How many machines are on a page of a list.", .min = 1, .max = 1000,
	 .fallback = "500"},
	{"failureRate", FIELD_INT, 0, AT(failure_rate),
	 "How many of a thousand calls fail before anything is done.",
	 .max = 1000, .fallback = "0"},
	{"hangRate", FIELD_INT, 0, AT(hang_rate),
	 "How many of a thousand calls are answered late, after hangMs.",
	 .max = 1000, .fallback = "0"},
	{"hangMs", FIELD_INT, 0, AT(hang_ms), "How late.", .max = 600000,
	 .fallback = "60000"},
	{"lostAnswerRate", FIELD_INT, 0, AT(lost_answer_rate),
	 "How many of a thousand calls are done, and not answered.",
	 .max = 1000, .fallback = "0"},
	{"partialListRate", FIELD_INT, 0, AT(partial_list_rate),
	 "How many of a thousand pages after the first cannot be read.",
	 .max = 1000, .fallback = "0"},
	{"bootFailureRate", FIELD_INT, 0, AT(boot_failure_rate),
	 "How many of a thousand machines fail instead of running.",
	 .max = 1000, .fallback = "0"},
	{"stuckRate", FIELD_INT, 0, AT(stuck_rate),
	 "How many of a thousand machines never come to run, nor fail.",
	 .max = 1000, .fallback = "0"},
	{"stopIgnoredRate", FIELD_INT, 0, AT(stop_ignored_rate),
	 "How many of a thousand stops the guest ignores; a hard one it "
	 "cannot.",
	 .max = 1000, .fallback = "0"},
	{"spotInterruptionMs", FIELD_INT, 0, AT(spot_interruption_ms),
	 "When a spot machine is taken away again; 0: never.",
	 .max = 30 * DAY_MS, .fallback = "0"},
	{"faults", FIELD_LIST, 0, AT(faults),
	 "What goes wrong on the way to it, by a script.", .item = FIELD_OBJECT,
	 .fields = fault_fields, .size = sizeof(struct fault), .max = 64},
	{0},
};

int sim_options_read(const struct node *n, struct arena *a,
		     struct sim_options *ret, struct err *err)
{
	struct violations v;

	if (!n)
		n = node_new_object(a);
	*ret = (struct sim_options){0};
	violations_init(&v, a);
	field_decode(sim_option_fields, n, FIELD_CREATE, ret, &v);
	return v.n ? violations_err(&v, err) : 0;
}
