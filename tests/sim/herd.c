#include "herd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event.h"

void herd_open(struct yard *y, const char *options, int n)
{
	char name[32];

	yard_open(y, options);
	for (int i = 0; i < n; i++) {
		struct instance spec;

		snprintf(name, sizeof(name), "web-%d", i);
		spec = yard_spec(y, name);
		yard_create(y, &spec);
		if (i % 1000 == 999)
			yard_run(y, 10 * SECOND);
	}
	yard_run(y, MINUTE);
	if (yard_machines(y) != (size_t)n)
		abort();
	yard_observe(y, 60);
	yard_run(y, 5 * MINUTE);
}

const char *herd_id(int n)
{
	static char ids[8][37];
	static unsigned next;
	char *id = ids[next++ % 8], name[32];

	snprintf(name, sizeof(name), "web-%d", n);
	instance_id(YARD_NETWORK, name, id);
	return id;
}

const struct instance *herd_at(const struct yard *y, int n)
{
	return yard_instance(y, herd_id(n));
}

const char *herd_machine(const struct yard *y, int n)
{
	static char id[64];

	snprintf(id, sizeof(id), "%s", herd_at(y, n)->status.provider_id);
	return id;
}

bool herd_drift(struct yard *y, int n, const char *what)
{
	return yard_drift(y, herd_machine(y, n), what);
}

bool herd_told(const struct yard *y, int n, const char *reason)
{
	return yard_told(y, herd_id(n), reason);
}

int64_t herd_region_told(const struct yard *y, const char *reason)
{
	struct scan scan = store_scan(y->store, 0, &event_kind, NULL);
	struct record r;
	size_t effort = 0;

	while (scan_next(&scan, &r, &effort)) {
		const struct happening *e = r.object;

		if (strcmp(e->object_id, YARD_REGION) == 0 &&
		    strcmp(e->reason, reason) == 0)
			return e->count;
	}
	return 0;
}
