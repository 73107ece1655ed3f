#include "provider/verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/image.h"
#include "model/network.h"
#include "model/server.h"
#include "provider/driver.h"
#include "provider/verify_priv.h"

#define ARENA_MOST ((size_t)64 << 20)

/* In a row, for a call that may pass. */
enum { TRIES_MOST = 1000, PAGES_MOST = 100000 };

void verify_fail(struct verify *v, const char *fmt, ...)
{
	va_list ap;

	if (v->failed || v->skipped)
		return;
	v->failed = true;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
}

void verify_skip(struct verify *v, const char *why)
{
	if (v->failed || v->skipped)
		return;
	v->skipped = true;
	snprintf(v->why, sizeof(v->why), "%s", why);
}

bool verify_that(struct verify *v, bool cond, const char *what)
{
	if (!cond)
		verify_fail(v, "%s", what);
	return cond;
}

void verify_err(struct verify *v, const char *what)
{
	verify_fail(v, "%s: %s: %s%s%s", what, err_name(v->err.code),
		    v->err.msg, v->err.provider_code[0] ? " / " : "",
		    v->err.provider_code);
}

void verify_sleep(struct verify *v, uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	v->waited += ms;
	if (v->conf->sleep) {
		v->conf->sleep(v->conf->ctx, ms);
		return;
	}
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static uint64_t patience(const struct verify *v)
{
	return v->conf->patience_ms ? v->conf->patience_ms
				    : v->p->facts.launch_ms;
}

static uint64_t poll_ms(const struct verify *v)
{
	return v->p->facts.poll_ms ? v->p->facts.poll_ms : 1000;
}

bool verify_again(struct verify *v)
{
	if (!err_passes(&v->err) || v->waited > patience(v))
		return false;
	verify_sleep(v, v->err.retry_after_ms ? v->err.retry_after_ms
					      : poll_ms(v));
	return true;
}

bool verify_retry(struct verify *v, const char *what)
{
	if (verify_again(v))
		return true;
	verify_err(v, what);
	return false;
}

static const struct clock *clock_of(const struct verify *v)
{
	return v->conf->clock ? v->conf->clock : &clock_system;
}

char *verify_uuid(struct verify *v, struct arena *a)
{
	struct random *r = v->conf->random ? v->conf->random : &random_system;
	char *out = arena_alloc(a, UUID_LEN + 1);

	uuid_v7(clock_wall(clock_of(v)), (unsigned)random_below(r, 4096), r,
		out);
	return out;
}

static struct items our_tags(struct verify *v, const char *server)
{
	struct field_tag *t = arena_alloc(&v->kept, 3 * sizeof(*t));

	t[0] = (struct field_tag){TAG_SERVER, server};
	t[1] = (struct field_tag){TAG_INSTALLATION, v->p->installation};
	t[2] = (struct field_tag){"purpose", "verify"};
	return (struct items){t, 3};
}

/* What every machine that is told of must have. */
static bool check_machine(struct verify *v, const struct machine *m)
{
	return verify_that(v, m->id && m->id[0], "a machine has no id") &&
	       verify_that(v,
			   m->state >= INSTANCE_PENDING &&
				   m->state <= INSTANCE_UNKNOWN,
			   "a machine's state is none that there is") &&
	       verify_that(v, m->native_state && m->native_state[0],
			   "the provider's own word for the state is missing");
}

bool verify_launch(struct verify *v, struct machine_spec *spec, bool fresh,
		   struct machine *ret)
{
	if (fresh) {
		spec->server = verify_uuid(v, &v->kept);
		spec->token = verify_uuid(v, &v->kept);
		spec->tags = our_tags(v, spec->server);
	}
	v->waited = 0;
	while (provider_launch(v->p, spec, &v->arena, ret, &v->err) < 0) {
		/* Without tokens the driver must find what there may be. */
		if (!v->p->facts.launch_tokens)
			verify_sleep(v, v->p->facts.consistency_ms);
		if (!verify_retry(v, "launch"))
			return false;
	}
	if (fresh && v->n_extra < VERIFY_EXTRA_MOST)
		v->extra[v->n_extra++] = arena_strdup(&v->kept, ret->id);
	v->launched_at = clock_mono(clock_of(v));
	return check_machine(v, ret);
}

bool verify_describe(struct verify *v, const char *id, struct machine *ret)
{
	uint64_t seen = v->launched_at + v->p->facts.consistency_ms + 1;

	v->waited = 0;
	while (provider_describe(v->p, id, &v->arena, ret, &v->err) < 0) {
		if (v->err.code == ERR_NOT_FOUND &&
		    clock_mono(clock_of(v)) < seen) {
			verify_sleep(v, poll_ms(v));
			continue;
		}
		if (!verify_retry(v, "describe"))
			return false;
	}
	return check_machine(v, ret) &&
	       verify_that(v, verify_same(ret->id, id),
			   "describe tells of another machine");
}

bool verify_wait(struct verify *v, const char *id, int state,
		 struct machine *ret)
{
	for (uint64_t waited = 0; waited <= patience(v); waited += poll_ms(v)) {
		if (!verify_describe(v, id, ret))
			return false;
		if (ret->state == state)
			return true;
		if (ret->state == INSTANCE_FAILED)
			break;
		verify_sleep(v, poll_ms(v));
	}
	verify_fail(v, "the machine is %s (%s) and not %s",
		    instance_state_names[ret->state], ret->native_state,
		    instance_state_names[state]);
	return false;
}

static bool terminate(struct verify *v, const char *id)
{
	v->waited = 0;
	while (provider_terminate(v->p, id, &v->err) < 0)
		if (!verify_retry(v, "terminate"))
			return false;
	return true;
}

bool verify_gone(struct verify *v, const char *id)
{
	uint64_t seen = v->launched_at + v->p->facts.consistency_ms;
	struct machine m;

	if (!terminate(v, id))
		return false;
	v->waited = 0;
	for (uint64_t waited = 0; waited <= patience(v); waited += poll_ms(v)) {
		if (provider_describe(v->p, id, &v->arena, &m, &v->err) == 0) {
			if (!check_machine(v, &m))
				return false;
			if (m.state == INSTANCE_TERMINATED)
				return true;
		} else if (v->err.code == ERR_NOT_FOUND) {
			if (clock_mono(clock_of(v)) >= seen)
				return true;
		} else if (!verify_retry(v, "describe after terminate")) {
			return false;
		}
		verify_sleep(v, poll_ms(v));
	}
	verify_fail(v, "machine %s was terminated and is still there", id);
	return false;
}

bool verify_count(struct verify *v, const char *key, const char *value,
		  const char *id, size_t *ret_n, bool *ret_has)
{
	const struct machine_filter filter = {key, value};
	struct machine_page page = {0};
	unsigned pages = 0;

	*ret_n = 0;
	*ret_has = false;
	v->waited = 0;
	do {
		const char *next = page.next;
		const struct machine *m;

		while (provider_list(v->p, &filter, next, &v->arena, &page,
				     &v->err) < 0)
			if (!verify_retry(v, "list"))
				return false;
		m = page.machines.at;
		for (size_t i = 0; i < page.machines.n; i++) {
			if (!check_machine(v, &m[i]))
				return false;
			*ret_has |= verify_same(m[i].id, id);
		}
		*ret_n += page.machines.n;
	} while (page.next && ++pages < PAGES_MOST);
	return verify_that(v, !page.next, "the list does not end");
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
		verify_sleep(v, poll_ms(v));
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
	first_checks, verify_machine_checks, verify_thing_checks,
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
			verify_gone(v, m[i].id);
		}
		verify_sleep(v, poll_ms(v));
	}
}

void verify_run(const struct verify_conf *conf, struct verify_result *ret)
{
	struct verify v = {.conf = conf, .p = conf->provider};
	const struct verify_check *c;

	*ret = (struct verify_result){0};
	arena_init(&v.arena, ARENA_MOST);
	arena_init(&v.kept, ARENA_MOST);
	for (size_t i = 0; (c = check_at(i)); i++) {
		run_check(&v, c);
		count(&v, c, ret);
	}
	find_orphans(&v, ret);
	arena_release(&v.arena);
	arena_release(&v.kept);
}
