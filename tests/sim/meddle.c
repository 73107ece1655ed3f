#include "meddle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/pool.h"
#include "provider/sim_cloud.h"

static void done(int r, const struct err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "meddle: %s\n", err->msg);
	abort();
}

/* The first of those that are there. */
static const char *first_machine(struct yard *y)
{
	static char id[64];
	struct buf truth = BUF_INIT((size_t)1 << 30);
	const char *at;

	sim_cloud_truth(yard_cloud(y), &truth);
	at = strstr(buf_str(&truth), "\"machines\":[{\"id\":\"");
	if (at)
		snprintf(id, sizeof(id), "%.*s", (int)strcspn(at + 19, "\""),
			 at + 19);
	buf_release(&truth);
	return at ? id : NULL;
}

const char *meddle_lose_launch(struct yard *y)
{
	size_t before = yard_machines(y);

	for (int n = 0; n < 1000000; n++) {
		struct job *j;

		if (!yard_calling(y)) {
			if (!yard_step(y))
				y->now = (int64_t)y->wake;
			continue;
		}
		j = CONTAINER_OF(list_pop(&y->jobs), struct job, link);
		y->calls++;
		j->run(j);
		if (yard_machines(y) > before)
			return first_machine(y);
		j->done(j);
	}
	abort();
}

const char *meddle_thing(struct yard *y, const char *kind, const char *ours,
			 const char *installation)
{
	static char id[64];
	const struct sim_thing ask = {.kind = kind,
				      .ours = ours,
				      .owner = installation,
				      .prefix = "10.99.0.0/24",
				      .size_gib = 1,
				      .min_disk_gib = FIELD_NONE,
				      .bytes = FIELD_NONE};
	struct sim_thing made;
	struct arena a;
	struct err err;

	arena_init(&a, 1 << 20);
	done(sim_cloud_call(yard_cloud(y), SIM_ENSURE, &ask, &a, &made, &err),
	     &err);
	snprintf(id, sizeof(id), "%s", made.id);
	arena_release(&a);
	return id;
}

void meddle_remove(struct yard *y, const char *kind, const char *id)
{
	const struct sim_act ask = {.kind = kind, .id = id};
	struct arena a;
	struct err err;

	arena_init(&a, 1 << 20);
	done(sim_cloud_call(yard_cloud(y), SIM_REMOVE, &ask, &a, NULL, &err),
	     &err);
	arena_release(&a);
}

bool meddle_has_thing(struct yard *y, const char *id)
{
	struct buf truth = BUF_INIT((size_t)1 << 30);
	char text[80];
	bool has;

	snprintf(text, sizeof(text), "\"%s\"", id);
	sim_cloud_truth(yard_cloud(y), &truth);
	has = strstr(buf_str(&truth), text) != NULL;
	buf_release(&truth);
	return has;
}

void meddle_tag(struct yard *y, const char *machine, const char *server,
		const char *installation)
{
	struct field_tag tags[] = {{TAG_SERVER, server},
				   {TAG_INSTALLATION, installation}};
	const struct sim_act ask = {.id = machine, .tags = {tags, 2}};
	struct arena a;
	struct err err;

	arena_init(&a, 1 << 20);
	done(sim_cloud_call(yard_cloud(y), SIM_SET_TAGS, &ask, &a, NULL, &err),
	     &err);
	arena_release(&a);
}
