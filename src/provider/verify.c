#include "provider/verify.h"

#include <string.h>

#include "model/image.h"
#include "model/network.h"
#include "model/server.h"
#include "provider/verify_priv.h"

#define ARENA_MOST ((size_t)64 << 20)

/* In a row, for a call that may pass. */
enum { TRIES_MOST = 1000 };

/* Another image that FLAVOR can be made of. */
static void choose_other_image(struct verify *v, const struct catalogue *c,
			       const struct flavor *flavor)
{
	const struct image *images = c->images.at;

	for (size_t i = 0; i < c->images.n; i++) {
		const char *id = images[i].status.backed.provider;
		struct err no;

		if (!verify_same(id, v->spec.image) &&
		    image_fits(&images[i], flavor, v->spec.root_disk_gib, "/",
			       &no) == 0)
			v->other_image = arena_strdup(&v->kept, id);
	}
}

/* The least flavor that has an image, and one more like it. */
static void choose(struct verify *v, const struct catalogue *c)
{
	const struct flavor *f = c->flavors.at, *best = NULL;
	const struct image *images = c->images.at;
	const char *image = NULL;

	for (size_t i = 0; i < c->flavors.n; i++) {
		if (v->conf->flavor
			    ? !verify_same(f[i].provider_id, v->conf->flavor)
			    : best && best->memory_mib <= f[i].memory_mib)
			continue;
		for (size_t m = 0; m < c->images.n; m++) {
			struct err no;

			if (v->conf->image &&
			    !verify_same(images[m].status.backed.provider,
					 v->conf->image))
				continue;
			if (image_fits(&images[m], &f[i],
				       f[i].root_disk.size_gib, "/", &no) < 0)
				continue;
			best = &f[i];
			image = images[m].status.backed.provider;
			break;
		}
	}
	if (!best) {
		verify_fail(v, "there is no flavor with an image that fits");
		return;
	}
	v->spec.flavor = arena_strdup(&v->kept, best->provider_id);
	v->spec.image = arena_strdup(&v->kept, image);
	v->spec.root_disk_gib = best->root_disk.size_gib;
	v->architecture = best->architecture;
	choose_other_image(v, c, best);
	for (size_t i = 0; i < c->flavors.n; i++)
		if (f[i].architecture == best->architecture && &f[i] != best &&
		    !f[i].bare_metal && !f[i].gpus.n &&
		    f[i].root_disk.most >= v->spec.root_disk_gib &&
		    f[i].root_disk.model == best->root_disk.model)
			v->resized = arena_strdup(&v->kept, f[i].provider_id);
}

static void catalogue_makes_sense(struct verify *v)
{
	struct catalogue c;
	const struct flavor *f;

	v->waited = 0;
	while (provider_catalogue(v->p, &v->arena, &c, &v->err) < 0)
		if (!verify_retry(v, "catalogue"))
			return;
	f = c.flavors.at;
	verify_that(v, c.flavors.n, "there are no flavors");
	verify_that(v, c.images.n, "there are no images");
	for (size_t i = 0; i < c.flavors.n && !v->failed; i++) {
		verify_that(v, f[i].provider_id && f[i].meta.name,
			    "a flavor has no id or no name");
		verify_that(v, f[i].vcpus > 0 && f[i].memory_mib > 0,
			    "a flavor has no processors or no memory");
		verify_that(v, f[i].architecture, "a flavor is for nothing");
		for (size_t n = 0; n < i && !v->failed; n++)
			verify_that(v,
				    !verify_same(f[i].provider_id,
						 f[n].provider_id),
				    "two flavors have the same id");
	}
	if (!v->failed)
		choose(v, &c);
}

static void a_network_for_the_rest(struct verify *v)
{
	struct network n = {.meta.name = "muster-verify",
			    .spec.prefix = "10.77.0.0/24"};
	struct network_spec spec = {.network = &n};
	struct backing b = {0};

	spec.id.ours = v->our_network = verify_uuid(v, &v->kept);
	n.meta.id = v->our_network;
	v->waited = 0;
	for (unsigned i = 0; i < TRIES_MOST; i++) {
		if (provider_ensure_network(v->p, &spec, &v->arena, &b,
					    &v->err) < 0) {
			if (!verify_again(v))
				break;
			continue;
		}
		v->network = arena_strdup(&v->kept, b.id);
		if (b.state != BACKED_PENDING && b.state != BACKED_CREATING)
			break;
		verify_sleep(v, verify_poll_ms(v));
	}
	if (!v->network)
		verify_err(v, "ensure a network");
	else
		verify_that(v, b.state == BACKED_READY,
			    "the network is not ready");
	v->spec.network = v->network;
}

static void launch_tells_of_the_machine(struct verify *v)
{
	struct machine m;

	v->spec.name = "muster-verify";
	v->spec.zone = v->conf->zone;
	if (!v->spec.flavor) {
		verify_skip(v, "there is nothing to launch");
		return;
	}
	if (!verify_launch(v, &v->spec, true, &m))
		return;
	/* It is for the checks that follow, and outlives this one. */
	v->n_extra = 0;
	v->id = arena_strdup(&v->kept, m.id);
	verify_that(v, verify_same(m.flavor, v->spec.flavor),
		    "launch tells of another flavor");
	verify_that(v,
		    m.state == INSTANCE_PENDING || m.state == INSTANCE_RUNNING,
		    "a new machine is neither pending nor running");
	verify_that(v, m.created_at > 0, "it is not told when it was made");
}

static const struct verify_check first_checks[] = {
	{"the catalogue makes sense", catalogue_makes_sense, CAPABILITIES,
	 true},
	{"a network can be made", a_network_for_the_rest, CAN_NETWORKS, true},
	{"launch tells of the machine", launch_tells_of_the_machine,
	 CAPABILITIES, true},
	{0},
};

static const struct verify_check *const groups[] = {
	first_checks,        verify_machine_checks, verify_rule_checks,
	verify_reach_checks, verify_thing_checks,   verify_list_checks,
	verify_last_checks};

static const struct verify_check *check_at(size_t i)
{
	for (size_t g = 0; g < COUNT_OF(groups); g++)
		for (const struct verify_check *c = groups[g]; c->name; c++)
			if (!i--)
				return c;
	return NULL;
}

const char *verify_name(size_t i)
{
	const struct verify_check *c = check_at(i);

	return c ? c->name : NULL;
}

static void run_check(struct verify *v, const struct verify_check *c)
{
	v->failed = v->skipped = false;
	v->waited = 0;
	if (c->needs != CAPABILITIES &&
	    !provider_can(v->p, (enum capability)c->needs))
		verify_skip(v, "the provider cannot");
	else if (!c->no_machine && !v->id)
		verify_skip(v, "there is no machine");
	else if (!c->no_machine && c->needs != CAPABILITIES && !v->runs)
		verify_skip(v, "the machine does not run");
	else
		c->run(v);
	for (size_t i = 0; i < v->n_extra; i++)
		verify_gone(v, v->extra[i]);
	v->n_extra = 0;
	arena_clear(&v->arena);
}

static void count(struct verify *v, const struct verify_check *c,
		  struct verify_result *r)
{
	enum verify_outcome outcome = v->failed    ? VERIFY_FAILED
				      : v->skipped ? VERIFY_SKIPPED
						   : VERIFY_OK;

	r->passed += outcome == VERIFY_OK;
	r->failed += outcome == VERIFY_FAILED;
	r->skipped += outcome == VERIFY_SKIPPED;
	if (v->conf->tell)
		v->conf->tell(v->conf->ctx, c->name, outcome,
			      outcome == VERIFY_OK ? NULL : v->why);
}

/* What is tagged with our installation now, nobody wants. */
static void find_orphans(struct verify *v, struct verify_result *r)
{
	const struct machine_filter filter = {TAG_INSTALLATION,
					      v->p->installation};
	struct machine_page page;

	verify_sleep(v, v->p->facts.consistency_ms);
	for (unsigned tries = 0; tries < 10; tries++) {
		const struct machine *m;

		v->failed = v->skipped = false;
		v->waited = 0;
		while (provider_list(v->p, &filter, NULL, &v->arena, &page,
				     &v->err) < 0)
			if (!verify_again(v))
				return;
		m = page.machines.at;
		if (!page.machines.n)
			return;
		for (size_t i = 0; i < page.machines.n; i++) {
			r->orphans++;
			if (!verify_gone(v, m[i].id))
				return;
		}
		verify_sleep(v, verify_poll_ms(v));
	}
}

void verify_run(const struct verify_conf *conf, struct verify_result *ret)
{
	struct verify v = {.conf = conf, .p = conf->provider};
	const struct verify_check *c;

	*ret = (struct verify_result){0};
	arena_init(&v.arena, ARENA_MOST);
	arena_init(&v.kept, ARENA_MOST);
	if (conf->machines)
		v.machines_before = conf->machines(conf->ctx);
	for (size_t i = 0; (c = check_at(i)); i++) {
		run_check(&v, c);
		count(&v, c, ret);
	}
	find_orphans(&v, ret);
	arena_release(&v.arena);
	arena_release(&v.kept);
}
