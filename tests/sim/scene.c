#include "scene.h"

#include <string.h>

#include "model/organization.h"
#include "model/project.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "provider/sim.h"
#include "provider/sim_cloud.h"
#include "reconcile/engine.h"
#include "reconcile/engine_priv.h"

const struct region *the_region(struct stage *s)
{
	return stage_get(s, &region_kind, REGION);
}

const struct network *the_network(struct stage *s)
{
	return stage_get(s, &network_kind, NET);
}

void put_region(struct stage *s, const char *options)
{
	struct region r = {
		.meta = {.id = REGION, .name = "sim"},
		.spec = {.provider = "sim",
			 .options = options,
			 .sync_seconds = 300,
			 .calls_at_once = 16},
	};

	if (the_region(s))
		r.status = the_region(s)->status;
	else
		r.status.state = BACKED_PENDING;
	stage_put(s, &region_kind, &r);
}

/* A stage with a region whose provider is told OPTIONS. */
void scene_begin(struct stage *s, const char *options)
{
	struct organization o = {.meta = {.id = ORG, .name = "org"}};
	struct project p = {.meta = {.id = PROJECT, .name = "project"},
			    .organization_id = ORG};

	stage_init(s, 1);
	stage_put(s, &organization_kind, &o);
	stage_put(s, &project_kind, &p);
	put_region(s, options);
}

void put_network_as(struct stage *s, const char *id, const char *name)
{
	struct network n = {
		.meta = {.id = id, .name = name},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.prefix = "10.0.0.0/24"},
		.status = {.backed = {.state = BACKED_PENDING}},
	};

	stage_put(s, &network_kind, &n);
}

void put_network(struct stage *s)
{
	put_network_as(s, NET, "net");
}

void put_group(struct stage *s, const char *id, const char *peer)
{
	struct rule rules[] = {
		{.direction = DIRECTION_INGRESS,
		 .protocol = PROTOCOL_ANY,
		 .port = FIELD_NONE,
		 .port_max = FIELD_NONE,
		 .group_id = peer},
	};
	struct securitygroup g = {
		.meta = {.id = id, .name = id},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.network_id = NET,
		.spec = {.rules = {rules, peer ? 1 : 0}},
		.status = {.state = BACKED_PENDING},
	};
	const struct securitygroup *old = stage_get(s, &securitygroup_kind, id);

	if (old)
		g.status = old->status;
	stage_put(s, &securitygroup_kind, &g);
}

int group_state(struct stage *s, const char *id)
{
	const struct securitygroup *g = stage_get(s, &securitygroup_kind, id);

	return g ? g->status.state : 0;
}

void put_volume(struct stage *s, int64_t gib)
{
	struct volume v = {
		.meta = {.id = VOLUME, .name = "volume"},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.size_gib = gib},
		.status = {.backed = {.state = BACKED_PENDING}},
	};
	const struct volume *old = stage_get(s, &volume_kind, VOLUME);

	if (old)
		v.status = old->status;
	stage_put(s, &volume_kind, &v);
}

struct provider *scene_provider(struct stage *s)
{
	const struct place *p =
		site_place(regions_site(s->engine->regions, REGION));
	struct provider *provider = NULL;

	if (p)
		memcpy(&provider, &p->provider, sizeof(provider));
	return provider;
}

/* How often WORD is in the cloud's own account of itself. */
int scene_in_cloud(struct stage *s, const char *word)
{
	struct provider *p = scene_provider(s);
	struct buf truth = BUF_INIT((size_t)64 << 20);
	int n = 0;

	if (!p)
		return -1;
	sim_cloud_truth(sim_truth(p), &truth);
	for (const char *at = buf_str(&truth); (at = strstr(at, word)); at++)
		n++;
	buf_release(&truth);
	return n;
}

uint64_t scene_calls(struct stage *s)
{
	struct engine_stats stats;
	uint64_t n = 0;

	engine_stats(s->engine, &stats);
	for (size_t i = 0; i < ERR_CODE_COUNT; i++)
		n += stats.calls[i];
	return n;
}
