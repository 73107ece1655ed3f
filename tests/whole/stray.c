#include "stray.h"

#include "base/uuid.h"
#include "judge.h"
#include "model/server.h"
#include "provider/sim_cloud.h"
#include "provider/sim_options.h"
#include "rig.h"
#include "store/read.h"
#include "tape.h"

#define OTHERS "0a0a0a0a-0000-7000-8000-0a0a0a0a0a0a"

/* A server that is there, or NULL. */
static const char *some_server(struct rig *r, uint32_t n)
{
	struct scan scan = store_scan(r->store, 0, &server_kind, NULL);
	struct record record;
	const char *id = NULL;
	size_t effort = 0;

	for (uint32_t i = 0; i <= n % 4 && scan_next(&scan, &record, &effort);
	     i++)
		id = record.id;
	return id;
}

static void launch(struct rig *r, const char *server, const char *installation)
{
	struct field_tag tags[] = {{TAG_SERVER, server},
				   {TAG_INSTALLATION, installation}};
	struct sim_machine ask = {.name = "stray",
				  .flavor = "sim.small",
				  .image = "debian-12",
				  .root_disk_gib = 10,
				  .tags = {tags, 2}};
	struct sim_machine made;
	struct arena a;
	struct err err;

	arena_init(&a, (size_t)1 << 20);
	if (sim_cloud_call(r->cloud, SIM_LAUNCH, &ask, &a, &made, &err) == 0) {
		r->stray_at = made.created_at;
		tell(r, "%s is a stray: of server %s, installation %s", made.id,
		     server, installation);
	}
	arena_release(&a);
}

void stray_come(struct rig *r, const struct act *act)
{
	const char *server = some_server(r, act->who);
	bool ours = act->what % 2;
	char nobody[37];

	/* Where there are no tags nobody looks at all machines. */
	if (!r->start->options->tags)
		return;
	uuid_v7(r->wall, 0, &r->chance.base, nobody);
	if (ours || act->what % 4 == 0 || !server)
		server = nobody;
	judge_meddled(r->judge, r->cloud);
	launch(r, server, ours ? DISK_INSTALLATION : OTHERS);
	judge_meddled(r->judge, r->cloud);
}

bool stray_is_young(const struct rig *r)
{
	const struct sim_options *o = r->start->options;

	return r->stray_at &&
	       r->wall < r->stray_at + o->launch_limit_ms + o->consistency_ms;
}
