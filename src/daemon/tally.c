#include "daemon/tally.h"

#include <string.h>

#include "base/buf.h"

/* Milliseconds: what a simulated cloud takes, and what a real one does. */
static const int64_t limits[TALLY_TIMES] = {50,    100,   250,    500,
					    1000,  2500,  5000,   10000,
					    30000, 60000, 120000, 300000};

static void note_launch(struct tally *t, const struct instance *i)
{
	int64_t ms = i->status.launched_at - i->meta.created_at;
	size_t n = 0;

	while (n < TALLY_TIMES && ms > limits[n])
		n++;
	t->times[n]++;
	t->launches++;
	t->sum_ms += ms > 0 ? (uint64_t)ms : 0;
}

/* A version that is replaced ceases to be just before the next one is. */
static void follow(struct tally *t, const struct instance *i, int by)
{
	if (by > 0 && i->status.launched_at && strcmp(t->leaving, i->uid) == 0)
		note_launch(t, i);
	t->leaving[0] = '\0';
	if (by < 0 && !i->status.launched_at && strlen(i->uid) < 37)
		memcpy(t->leaving, i->uid, strlen(i->uid) + 1);
}

void tally_observe(void *ctx, const struct kind *k, const void *object, int by)
{
	const struct instance *i = object;
	struct tally *t = ctx;

	if (k != &instance_kind)
		return;
	t->states[i->status.state] += (uint64_t)by;
	if (i->status.change.action)
		t->changing += (uint64_t)by;
	if (i->status.reason.code)
		t->waiting += (uint64_t)by;
	if (i->uid)
		follow(t, i, by);
}

static void write_times(const struct tally *t, struct buf *out)
{
	uint64_t sum = 0;

	buf_adds(out, "# HELP muster_instance_launch_seconds From being asked "
		      "for to running.\n"
		      "# TYPE muster_instance_launch_seconds histogram\n");
	for (size_t n = 0; n < TALLY_TIMES; n++) {
		sum += t->times[n];
		buf_addf(out,
			 "muster_instance_launch_seconds_bucket{le=\"%g\"} "
			 "%llu\n",
			 (double)limits[n] / 1000, (unsigned long long)sum);
	}
	buf_addf(out,
		 "muster_instance_launch_seconds_bucket{le=\"+Inf\"} %llu\n"
		 "muster_instance_launch_seconds_sum %.3f\n"
		 "muster_instance_launch_seconds_count %llu\n",
		 (unsigned long long)t->launches, (double)t->sum_ms / 1000,
		 (unsigned long long)t->launches);
}

void tally_write(const struct tally *t, struct buf *out)
{
	buf_adds(out, "# HELP muster_instances Instances, by state.\n"
		      "# TYPE muster_instances gauge\n");
	for (int s = 1; instance_state_names[s]; s++)
		buf_addf(out, "muster_instances{state=\"%s\"} %llu\n",
			 instance_state_names[s],
			 (unsigned long long)t->states[s]);
	buf_addf(out,
		 "# HELP muster_instances_changing Instances with a change "
		 "under way.\n# TYPE muster_instances_changing gauge\n"
		 "muster_instances_changing %llu\n"
		 "# HELP muster_instances_waiting Instances that are not as "
		 "they are wanted, for a reason.\n"
		 "# TYPE muster_instances_waiting gauge\n"
		 "muster_instances_waiting %llu\n",
		 (unsigned long long)t->changing,
		 (unsigned long long)t->waiting);
	write_times(t, out);
}
