/*
 * Networks, groups, volumes and images by chance: made, changed and deleted
 * while calls fail, answers are lost and the server is dropped at any commit
 * and any call.  When all is quiet again the cloud has what the store has, one
 * each, and everything is as it is wanted.
 *
 *	test_things [--seed N]	SEEDS=N says how many
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "model/image.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "provider/sim.h"
#include "provider/sim_cloud.h"
#include "reconcile/engine_priv.h"
#include "stage.h"
#include "store/read.h"
#include "test.h"

#define ORG     "00000000-0000-7000-8000-00000000000a"
#define PROJECT "00000000-0000-7000-8000-00000000000b"
#define REGION  "00000000-0000-7000-8000-00000000000c"

enum { ACTS = 150, THINGS = 6 };

static const struct kind *const nouns[] = {&network_kind, &securitygroup_kind,
					   &volume_kind, &image_kind};

struct play {
	struct stage stage;
	struct random_seeded dice;
	unsigned crashes;
};

static uint64_t roll(struct play *p, uint64_t n)
{
	return random_below(&p->dice.base, n);
}

static void id_of(size_t noun, uint64_t n, char id[37])
{
	snprintf(id, 37, "00000000-0000-7000-8000-%04zu%08llu", noun + 1,
		 (unsigned long long)n);
}

static void put_region(struct play *p, bool calm)
{
	char options[400];
	const struct region *old = stage_get(&p->stage, &region_kind, REGION);
	struct region r = {
		.meta = {.id = REGION, .name = "sim"},
		.spec = {.provider = "sim",
			 .options = options,
			 .sync_seconds = 60,
			 .calls_at_once = 1 + (int64_t)roll(p, 4)},
		.status = {.state = BACKED_PENDING},
	};

	if (calm)
		snprintf(options, sizeof(options), "{}");
	else
		snprintf(options, sizeof(options),
			 "{\"seed\":%d,\"backingMs\":%d,\"failureRate\":%d,"
			 "\"lostAnswerRate\":%d,\"callsPerSecond\":%d,"
			 "\"tellsLimit\":%s,\"timeoutMs\":1}",
			 (int)roll(p, 1000), (int)roll(p, 3) * 2000,
			 (int)roll(p, 300), (int)roll(p, 300),
			 (int)roll(p, 3) * 20, roll(p, 2) ? "true" : "false");
	if (old)
		r.status = old->status;
	stage_put(&p->stage, &region_kind, &r);
}

static bool is_there(struct play *p, size_t noun, const char *id)
{
	return stage_get(&p->stage, nouns[noun], id);
}

static void put_network(struct play *p, const char *id)
{
	struct network n = {
		.meta = {.id = id, .name = id},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.prefix = "10.0.0.0/24"},
		.status = {.backed = {.state = BACKED_PENDING}},
	};

	stage_put(&p->stage, &network_kind, &n);
}

/* In some network that is there and stays, naming a group of it or not. */
static void put_group(struct play *p, const char *id)
{
	char network[37], peer[37];
	struct rule rule = {.direction = DIRECTION_INGRESS,
			    .protocol = PROTOCOL_ANY,
			    .port = FIELD_NONE,
			    .port_max = FIELD_NONE};
	struct securitygroup g = {
		.meta = {.id = id, .name = id},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.network_id = network,
		.spec = {.rules = {&rule, 1}},
		.status = {.state = BACKED_PENDING},
	};
	const struct securitygroup *other;
	const struct network *n;

	id_of(0, roll(p, THINGS), network);
	n = stage_get(&p->stage, &network_kind, network);
	if (!n || n->meta.deleted_at)
		return;
	id_of(1, roll(p, THINGS), peer);
	other = stage_get(&p->stage, &securitygroup_kind, peer);
	if (other && !other->meta.deleted_at &&
	    strcmp(other->network_id, network) == 0)
		rule.group_id = peer;
	stage_put(&p->stage, &securitygroup_kind, &g);
}

static void put_volume(struct play *p, const char *id)
{
	struct volume v = {
		.meta = {.id = id, .name = id},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.size_gib = 10},
		.status = {.backed = {.state = BACKED_PENDING}},
	};

	stage_put(&p->stage, &volume_kind, &v);
}

static void put_image(struct play *p, const char *id)
{
	struct image i = {
		.meta = {.id = id, .name = id},
		.organization_id = ORG,
		.project_id = PROJECT,
		.region_id = REGION,
		.spec = {.uri = "https://images.example/a",
			 .architecture = ARCHITECTURE_X86_64},
		.status = {.backed = {.state = BACKED_PENDING},
			   .source = IMAGE_IMPORT},
	};

	stage_put(&p->stage, &image_kind, &i);
}

static void grow_volume(struct play *p, const char *id)
{
	struct volume v =
		*(const struct volume *)stage_get(&p->stage, &volume_kind, id);

	v.spec.size_gib += 1 + (int64_t)roll(p, 5);
	if (!v.meta.deleted_at)
		stage_put(&p->stage, &volume_kind, &v);
}

static void touch(struct play *p)
{
	static void (*const makers[])(struct play *, const char *) = {
		put_network, put_group, put_volume, put_image};
	size_t noun = roll(p, COUNT_OF(nouns));
	struct record user;
	char id[37];

	id_of(noun, roll(p, THINGS), id);
	if (!is_there(p, noun, id))
		makers[noun](p, id);
	else if (nouns[noun] == &volume_kind && roll(p, 2))
		grow_volume(p, id);
	else if (nouns[noun] == &network_kind ||
		 !store_user(p->stage.store, nouns[noun], id, &user))
		stage_delete(&p->stage, nouns[noun], id);
}

static void crash(struct play *p)
{
	if (roll(p, 2))
		memory_write_silently(p->stage.backend);
	stage_crash(&p->stage);
	stage_boot(&p->stage);
	p->crashes++;
}

static void act(struct play *p)
{
	switch (roll(p, 8)) {
	case 0:
	case 1:
		touch(p);
		break;
	case 2:
		stage_pass(&p->stage, (int64_t)roll(p, 5000));
		break;
	case 3:
		stage_call_silently(&p->stage);
		crash(p);
		break;
	case 4:
		if (roll(p, 4) == 0)
			crash(p);
		break;
	case 5:
		if (roll(p, 10) == 0)
			put_region(p, false);
		break;
	case 6:
		stage_settle(&p->stage);
		break;
	default:
		stage_call(&p->stage);
	}
}

static int state_of(size_t noun, const void *object)
{
	switch (noun) {
	case 0:
		return ((const struct network *)object)->status.backed.state;
	case 1:
		return ((const struct securitygroup *)object)->status.state;
	case 2:
		return ((const struct volume *)object)->status.backed.state;
	default:
		return ((const struct image *)object)->status.backed.state;
	}
}

static bool is_as_wanted(size_t noun, const struct meta *m)
{
	const struct volume *v = (const void *)m;

	return state_of(noun, m) == BACKED_READY && !m->deleted_at &&
	       (nouns[noun] != &volume_kind ||
		v->status.size_gib == v->spec.size_gib);
}

/* How often the cloud has the object ID of ours, or, without one, anything of
 * ours. */
static int count_in_cloud(struct play *p, const char *id)
{
	const struct place *place =
		site_place(regions_site(p->stage.engine->regions, REGION));
	struct buf truth = BUF_INIT((size_t)64 << 20);
	struct provider *provider;
	char word[64];
	int n = 0;

	if (!place)
		return -1;
	memcpy(&provider, &place->provider, sizeof(provider));
	sim_cloud_truth(sim_truth(provider), &truth);
	snprintf(word, sizeof(word), "\"ours\":\"%s", id);
	for (const char *at = buf_str(&truth); (at = strstr(at, word)); at++)
		n++;
	buf_release(&truth);
	return n;
}

static bool check(struct play *p, uint64_t seed)
{
	int ours = 0;
	bool ok = true;

	for (size_t noun = 0; noun < COUNT_OF(nouns); noun++)
		for (uint64_t i = 0; i < THINGS; i++) {
			const struct meta *m;
			char id[37];
			int n;

			id_of(noun, i, id);
			m = stage_get(&p->stage, nouns[noun], id);
			n = count_in_cloud(p, id);
			ours += m != NULL;
			if (n == (m != NULL) && (!m || is_as_wanted(noun, m)))
				continue;
			ok = false;
			printf("# seed %llu: %s %s: %d in the cloud, state "
			       "%d\n",
			       (unsigned long long)seed, nouns[noun]->name, id,
			       n, m ? state_of(noun, m) : 0);
		}
	if (count_in_cloud(p, "00000000") != ours) {
		ok = false;
		printf("# seed %llu: the cloud has others\n",
		       (unsigned long long)seed);
	}
	return ok;
}

static bool run_play(uint64_t seed)
{
	struct organization o = {.meta = {.id = ORG, .name = "org"}};
	struct project project = {.meta = {.id = PROJECT, .name = "project"},
				  .organization_id = ORG};
	struct play p = {.crashes = 0};
	bool ok;

	random_seed(&p.dice, seed);
	stage_init(&p.stage, seed);
	stage_put(&p.stage, &organization_kind, &o);
	stage_put(&p.stage, &project_kind, &project);
	put_region(&p, false);
	for (int i = 0; i < ACTS; i++)
		act(&p);
	put_region(&p, true);
	stage_pass(&p.stage, 600 * 1000);
	ok = check(&p, seed);
	stage_release(&p.stage);
	return ok;
}

static uint64_t first = 1, many = 100;

static void the_cloud_has_what_the_store_has(void)
{
	for (uint64_t seed = first; seed < first + many; seed++)
		CHECK(run_play(seed));
}

int main(int argc, char **argv)
{
	const char *seeds = getenv("SEEDS");

	if (seeds)
		many = strtoull(seeds, NULL, 10);
	if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
		first = strtoull(argv[2], NULL, 10);
		many = 1;
	}
	RUN(the_cloud_has_what_the_store_has);
	return test_done();
}
