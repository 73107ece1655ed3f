/* The checks about promises that are easily broken unseen. */
#include "base/field_ops.h"
#include "model/network.h"
#include "model/server.h"
#include "provider/driver.h"
#include "provider/verify_priv.h"

/*
 * So many launches may take long for reasons of the day, and one may take so
 * many times as long as a look at the same machine: the way there is slow
 * then, and the launch is not.
 */
enum { SLOW_MOST = 5, LOOKS_MOST = 4, OUTPUT_MOST = 4096 };

#define OTHER_NAME "muster-verify-other"
#define SECRET     "muster-verify-secret"
#define KEY        "muster-verify-key"

static void launch_does_not_wait(struct verify *v)
{
	for (int i = 0; i < SLOW_MOST; i++) {
		struct machine_spec spec = v->spec;
		struct machine m;
		uint64_t begun, look;

		if (!verify_launch(v, &spec, true, &m) ||
		    v->launch_took < verify_poll_ms(v))
			return;
		begun = verify_now(v);
		if (!verify_describe(v, m.id, &m) ||
		    m.state != INSTANCE_RUNNING)
			return;
		look = verify_now(v) - begun;
		if (v->launch_took <= LOOKS_MOST * (look + 1))
			return;
	}
	verify_fail(v, "launch waits until the machine runs");
}

static void see_whose(void *ctx, const struct machine *m)
{
	struct verify *v = ctx;
	const char *server = NULL;

	for (size_t i = 0; i < v->n_made; i++)
		if (verify_same(v->made[i].id, m->id))
			server = v->made[i].server;
	if (server)
		verify_that(v,
			    verify_same(field_tag_get(&m->tags, TAG_SERVER),
					server),
			    "a machine has the tags of another");
}

static void each_has_its_tags(struct verify *v)
{
	struct machine made[2], m;

	for (size_t i = 0; i < COUNT_OF(made); i++) {
		struct machine_spec spec = v->spec;

		if (!verify_launch(v, &spec, true, &made[i]))
			return;
		see_whose(v, &made[i]);
	}
	for (size_t i = 0; i < COUNT_OF(made); i++)
		if (verify_describe(v, made[i].id, &m))
			see_whose(v, &m);
	verify_list(v, TAG_INSTALLATION, v->p->installation, see_whose, v);
}

/* Nothing that has another installation's tag is found at the end. */
static void see_stranger(void *ctx, const struct machine *m)
{
	struct verify *v = ctx;

	if (v->n_extra < VERIFY_EXTRA_MOST && !verify_same(v->extra[0], m->id))
		v->extra[v->n_extra++] = arena_strdup(&v->kept, m->id);
}

/* One of another installation, in the same account. */
static void strangers_are_left_out(struct verify *v)
{
	struct field_tag tags[] = {
		{TAG_SERVER, verify_uuid(v, &v->kept)},
		{TAG_INSTALLATION, verify_uuid(v, &v->kept)}};
	struct machine_spec spec = v->spec;
	struct machine m;
	size_t n;
	bool has;

	if (!v->p->facts.tags) {
		verify_skip(v, "machines have no tags");
		return;
	}
	spec.server = tags[0].value;
	spec.token = verify_uuid(v, &v->kept);
	spec.tags = (struct items){tags, COUNT_OF(tags)};
	if (!verify_launch(v, &spec, false, &m))
		return;
	verify_keep(v, m.id, spec.server);
	verify_sleep(v, v->p->facts.consistency_ms);
	verify_list(v, TAG_SERVER, spec.server, see_stranger, v);
	if (verify_count(v, TAG_INSTALLATION, v->p->installation, m.id, &n,
			 &has))
		verify_that(v, !has,
			    "the list has a machine of another installation");
}

struct compared {
	const struct machine *told;
	bool same;
};

static bool alike(const char *a, const char *b)
{
	return a == b || verify_same(a, b);
}

static void see_same(void *ctx, const struct machine *m)
{
	struct compared *c = ctx;
	const struct machine *t = c->told;

	if (verify_same(m->id, t->id))
		c->same = m->state == t->state && alike(m->flavor, t->flavor) &&
			  alike(m->zone, t->zone) &&
			  alike(m->private_ip, t->private_ip) &&
			  alike(m->private_ip6, t->private_ip6) &&
			  alike(m->public_ip, t->public_ip) &&
			  alike(m->mac, t->mac) && alike(m->host, t->host) &&
			  m->ready == t->ready &&
			  ports_same(&m->ports, &t->ports);
}

static void lists_agree_with_describe(struct verify *v)
{
	uint64_t poll = verify_poll_ms(v);
	uint64_t most = v->p->facts.consistency_ms + 10 * poll;
	struct machine m;

	for (uint64_t waited = 0; waited <= most; waited += poll) {
		struct compared c = {.told = &m};

		if (!verify_describe(v, v->id, &m) ||
		    !verify_list(v, TAG_SERVER, v->spec.server, see_same, &c) ||
		    c.same)
			return;
		verify_sleep(v, poll);
	}
	verify_fail(v, "a list and describe tell different things of it");
}

/* What a caller decides by: a code, and whether it may help to try again. */
static void refusals_say_what(struct verify *v)
{
	struct machine_spec spec = v->spec;

	spec.flavor = "muster-verify-none";
	if (!verify_refused(v, &spec, "a flavor that there is not"))
		return;
	if (v->err.code != ERR_INVALID && v->err.code != ERR_NOT_FOUND &&
	    v->err.code != ERR_UNSUPPORTED && v->err.code != ERR_FORBIDDEN)
		verify_err(v,
			   "an unknown flavor is refused for another reason");
	verify_that(v, v->err.msg[0], "a refusal has no words");
	if (!provider_can(v->p, CAN_STOP))
		return;
	v->waited = 0;
	while (provider_stop(v->p, "muster-verify-none", false, &v->err) < 0) {
		if (v->err.code == ERR_NOT_FOUND)
			return;
		if (!verify_retry(v, "stop of an unknown machine"))
			return;
	}
	verify_fail(v, "a machine that never was is stopped");
}

static void refusals_keep_secrets(struct verify *v)
{
	static const char data[] = "#!/bin/sh\nlogin --with " SECRET "\n";
	struct machine_spec spec = v->spec;

	spec.flavor = "muster-verify-none";
	spec.user_data = data;
	spec.user_data_len = sizeof(data) - 1;
	spec.host_key = (struct ssh_pair){KEY, "ssh-ed25519 AAAA"};
	if (!verify_refused(v, &spec, "a flavor that there is not"))
		return;
	verify_that(v,
		    !strstr(v->err.msg, SECRET) &&
			    !strstr(v->err.provider_msg, SECRET),
		    "a refusal repeats the user data");
	verify_that(v,
		    !strstr(v->err.msg, KEY) &&
			    !strstr(v->err.provider_msg, KEY),
		    "a refusal repeats the host's private key");
}

static void see_unknown(void *ctx, const struct machine *m)
{
	verify_that(ctx, m->state == INSTANCE_UNKNOWN,
		    "a list guesses what the provider's word means");
}

static void unknown_states_are_unknown(struct verify *v)
{
	struct machine_spec spec = v->spec;
	struct machine m;

	if (!v->conf->confuse) {
		verify_skip(v, "the cloud cannot be meddled with");
		return;
	}
	if (!verify_launch(v, &spec, true, &m) ||
	    !verify_wait(v, m.id, INSTANCE_RUNNING, &m) ||
	    !verify_that(v, v->conf->confuse(v->conf->ctx, m.id) == 0,
			 "the machine could not be brought into such a state"))
		return;
	if (verify_describe(v, m.id, &m))
		verify_that(v, m.state == INSTANCE_UNKNOWN,
			    "it is guessed what the provider's word means");
	verify_list(v, TAG_SERVER, spec.server, see_unknown, v);
}

static bool output_of(struct verify *v, const char *id, struct buf *out)
{
	v->waited = 0;
	while (provider_console_output(v->p, id, OUTPUT_MOST, &v->arena, out,
				       &v->err) < 0)
		if (!verify_retry(v, "console output"))
			return false;
	return true;
}

/* Where a machine says its name, it says its own. */
static void output_is_its_own(struct verify *v)
{
	struct buf ours = BUF_INIT(16 * OUTPUT_MOST);
	struct buf others = BUF_INIT(16 * OUTPUT_MOST);
	struct machine_spec spec = v->spec;
	struct machine m;

	spec.name = OTHER_NAME;
	if (verify_launch(v, &spec, true, &m) &&
	    verify_wait(v, m.id, INSTANCE_RUNNING, &m) &&
	    output_of(v, v->id, &ours) && output_of(v, m.id, &others))
		verify_that(v,
			    !strstr(buf_str(&ours), OTHER_NAME) &&
				    (!strstr(buf_str(&others), v->spec.name) ||
				     strstr(buf_str(&others), OTHER_NAME)),
			    "it is the output of another machine");
	buf_release(&ours);
	buf_release(&others);
}

static void network_is_found_again(struct verify *v)
{
	struct network n = {.meta.id = v->our_network,
			    .meta.name = "muster-verify",
			    .spec.prefix = "10.77.0.0/24"};
	const struct network_spec spec = {.id.ours = v->our_network,
					  .network = &n};
	struct backing b;

	if (!v->network) {
		verify_skip(v, "there is no network");
		return;
	}
	while (provider_ensure_network(v->p, &spec, &v->arena, &b, &v->err) < 0)
		if (!verify_retry(v, "ensure a network"))
			return;
	verify_that(v, verify_same(b.id, v->network),
		    "ensured again it is another network");
}

/* What a driver must have, and what must have its other half. */
static void the_table_is_whole(struct verify *v)
{
	const struct driver *d = v->p->driver;
	const struct machine_ops *m = d->machines;
	const struct image_ops *i = d->images;
	const struct network_ops *n = d->networks;
	const struct volume_ops *o = d->volumes;

	verify_that(v, m->launch && m->describe && m->terminate && m->list,
		    "launch, describe, terminate or list is missing");
	verify_that(v, !m->stop == !m->start, "stop and start are a pair");
	verify_that(v, !i || !(i->import || i->snapshot) || i->remove,
		    "images are made and cannot be removed");
	verify_that(v, !n || !n->ensure == !n->remove,
		    "networks are made and cannot be removed");
	verify_that(v, !n || !n->ensure_group == !n->remove_group,
		    "security groups are made and cannot be removed");
	verify_that(v, !o || (o->ensure && o->remove && o->attach && o->detach),
		    "volumes cannot be made, removed, attached and detached");
}

const struct verify_check verify_rule_checks[] = {
	{"what can be done can be undone", the_table_is_whole, CAPABILITIES,
	 true},
	{"launch gives the id before the machine runs", launch_does_not_wait,
	 CAPABILITIES},
	{"each machine carries its own tags", each_has_its_tags, CAPABILITIES},
	{"lists leave out strangers", strangers_are_left_out, CAPABILITIES},
	{"lists tell what describe tells", lists_agree_with_describe,
	 CAPABILITIES},
	{"refusals say what is wrong", refusals_say_what, CAPABILITIES},
	{"refusals keep secrets", refusals_keep_secrets, CAPABILITIES},
	{"a state that nobody knows is unknown", unknown_states_are_unknown,
	 CAPABILITIES},
	{"console output is the machine's own", output_is_its_own,
	 CAN_CONSOLE_OUTPUT},
	{"a network is found again", network_is_found_again, CAN_NETWORKS,
	 true},
	{0},
};
