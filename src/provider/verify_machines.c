/* The checks about machines. */
#include <unistd.h>

#include "base/field_ops.h"
#include "model/server.h"
#include "provider/verify_priv.h"

static void describe_agrees(struct verify *v)
{
	struct machine m;

	if (!verify_describe(v, v->id, &m))
		return;
	verify_that(v, verify_same(m.flavor, v->spec.flavor),
		    "describe tells of another flavor");
	verify_that(v, !m.image || verify_same(m.image, v->spec.image),
		    "describe tells of another image");
	verify_that(v, !v->spec.zone || verify_same(m.zone, v->spec.zone),
		    "it is in another zone");
}

static void unknown_is_not_found(struct verify *v)
{
	struct machine m;

	while (provider_describe(v->p, "muster-verify-none", &v->arena, &m,
				 &v->err) < 0) {
		if (v->err.code == ERR_NOT_FOUND)
			return;
		if (!verify_retry(v, "describe"))
			return;
	}
	verify_fail(v, "a machine that never was is described");
}

static void it_comes_to_run(struct verify *v)
{
	struct machine m;

	if (!verify_wait(v, v->id, INSTANCE_RUNNING, &m))
		return;
	v->runs = true;
	verify_that(v, !v->network || m.private_ip,
		    "it has no address in its network");
}

/* By the token, or because the driver looks first. */
static void launch_again_is_the_same(struct verify *v)
{
	struct machine_spec spec = v->spec;
	struct machine m;
	size_t n;
	bool has;

	if (!v->p->facts.launch_tokens)
		verify_sleep(v, v->p->facts.consistency_ms);
	if (!verify_launch(v, &spec, false, &m) ||
	    !verify_that(v, verify_same(m.id, v->id),
			 "the same launch made a second machine"))
		return;
	verify_sleep(v, v->p->facts.consistency_ms);
	if (verify_count(v, TAG_SERVER, spec.server, v->id, &n, &has))
		verify_that(v, n == 1 && has, "there is not exactly one");
}

static void lists_find_it(struct verify *v)
{
	size_t n;
	bool has;

	verify_sleep(v, v->p->facts.consistency_ms);
	if (!verify_count(v, TAG_SERVER, v->spec.server, v->id, &n, &has))
		return;
	verify_that(v, has, "the list of its server does not have it");
	verify_that(v, n <= 1, "the list of its server has others");
	if (verify_count(v, TAG_INSTALLATION, v->p->installation, v->id, &n,
			 &has))
		verify_that(v, has,
			    "the list of the installation does not have it");
}

static void other_tags_find_nothing(struct verify *v)
{
	size_t n;
	bool has;

	if (verify_count(v, TAG_SERVER, verify_uuid(v, &v->arena), v->id, &n,
			 &has))
		verify_that(v, !n, "another server's list has machines");
	if (verify_count(v, TAG_INSTALLATION, verify_uuid(v, &v->arena), v->id,
			 &n, &has))
		verify_that(v, !n, "another installation's list has machines");
}

static bool has_our_tags(struct verify *v, const struct machine *m)
{
	return verify_that(
		v,
		verify_same(field_tag_get(&m->tags, TAG_SERVER),
			    v->spec.server) &&
			verify_same(field_tag_get(&m->tags, TAG_INSTALLATION),
				    v->p->installation),
		"its tags do not say whose it is");
}

static void it_carries_its_tags(struct verify *v)
{
	struct machine m;

	if (verify_describe(v, v->id, &m))
		has_our_tags(v, &m);
}

static void user_data_is_accepted(struct verify *v)
{
	static const char data[] = "#!/bin/sh\n# \0\xff bytes are bytes\n";
	const char *keys[] = {"ssh-ed25519 "
			      "AAAAC3NzaC1lZDI1NTE5AAAAIJLmdLzYqVyR1dMtXoqYdvJ"
			      "BbIMFTdNRuwIMvsA6XAEh verify"};
	struct machine_spec spec = v->spec;
	struct machine m;

	spec.user_data = data;
	spec.user_data_len = sizeof(data) - 1;
	spec.ssh_keys = (struct items){keys, 1};
	verify_launch(v, &spec, true, &m);
}

static void refused(struct verify *v, struct machine_spec spec,
		    const char *what)
{
	size_t n;
	bool has;

	if (v->failed || !verify_refused(v, &spec, what))
		return;
	verify_sleep(v, v->p->facts.consistency_ms);
	if (verify_count(v, TAG_SERVER, spec.server, NULL, &n, &has))
		verify_that(v, !n, "a launch that was refused left a machine");
}

static void refused_leaves_nothing(struct verify *v)
{
	struct machine_spec spec = v->spec;

	spec.flavor = "muster-verify-none";
	refused(v, spec, "a flavor that there is not");
	spec = v->spec;
	spec.image = "muster-verify-none";
	refused(v, spec, "an image that there is not");
	spec = v->spec;
	spec.zone = "muster-verify-none";
	refused(v, spec, "a zone that there is not");
	if (!v->network)
		return;
	spec = v->spec;
	spec.network = "muster-verify-none";
	refused(v, spec, "a network that there is not");
}

static void reboot_works(struct verify *v)
{
	struct machine m;

	for (int hard = 0; hard < 2 && !v->failed; hard++) {
		while (provider_reboot(v->p, v->id, hard, &v->err) < 0)
			if (!verify_retry(v, "reboot"))
				return;
		verify_wait(v, v->id, INSTANCE_RUNNING, &m);
	}
}

/* Twice: what is done already is done. */
static bool stop(struct verify *v, struct machine *ret)
{
	for (int i = 0; i < 2; i++)
		while (provider_stop(v->p, v->id, false, &v->err) < 0)
			if (!verify_retry(v, "stop"))
				return false;
	return verify_wait(v, v->id, INSTANCE_STOPPED, ret);
}

static bool start(struct verify *v, struct machine *ret)
{
	for (int i = 0; i < 2; i++)
		while (provider_start(v->p, v->id, &v->err) < 0)
			if (!verify_retry(v, "start"))
				return false;
	return verify_wait(v, v->id, INSTANCE_RUNNING, ret);
}

static void stop_and_start_keep_it(struct verify *v)
{
	struct machine before, off, on;
	size_t n;
	bool has;

	if (!verify_wait(v, v->id, INSTANCE_RUNNING, &before) || !stop(v, &off))
		return;
	has_our_tags(v, &off);
	verify_that(v, off.ready == READY_UNTOLD,
		    "the guest of a machine that is off is said to be up");
	if (!start(v, &on))
		return;
	has_our_tags(v, &on);
	verify_that(v, verify_same(on.flavor, before.flavor),
		    "its flavor changed");
	verify_that(v, on.created_at == before.created_at,
		    "it is another machine");
	verify_that(v, !before.private_ip || on.private_ip,
		    "it came back without an address");
	if (v->p->facts.keeps_addresses && before.private_ip)
		verify_that(v, verify_same(before.private_ip, on.private_ip),
			    "it did not keep its address");
	if (verify_count(v, TAG_SERVER, v->spec.server, v->id, &n, &has))
		verify_that(v, has, "lists do not find it any more");
}

static void root_disk_grows(struct verify *v)
{
	int64_t gib = v->spec.root_disk_gib + 1;

	while (provider_grow_root_disk(v->p, v->id, gib, &v->err) < 0)
		if (!verify_retry(v, "grow the root disk"))
			return;
	v->waited = 0;
	do {
		if (provider_grow_root_disk(v->p, v->id, gib - 1, &v->err) ==
		    0) {
			verify_fail(v, "it did not grow, or can shrink");
			return;
		}
	} while (verify_again(v));
	if (err_passes(&v->err))
		verify_err(v, "it is not refused clearly to shrink");
}

/* In place; a provider that cannot do so while it runs says so. */
static void resize_works(struct verify *v)
{
	const char *flavors[] = {v->resized, v->spec.flavor};
	bool live = v->p->facts.resize_live;
	struct machine m;

	if (!v->resized) {
		verify_skip(v, "there is no other flavor like it");
		return;
	}
	for (int i = 0; i < 2 && !v->failed; i++) {
		if (!live && provider_can(v->p, CAN_STOP) && !stop(v, &m))
			return;
		while (provider_resize(v->p, v->id, flavors[i], &v->err) < 0)
			if (!verify_retry(v, "resize"))
				return;
		if (live && (!verify_describe(v, v->id, &m) ||
			     !verify_that(v, m.state == INSTANCE_RUNNING,
					  "it does not run meanwhile")))
			return;
		if (!live && provider_can(v->p, CAN_STOP) && !start(v, &m))
			return;
		if (verify_wait(v, v->id, INSTANCE_RUNNING, &m))
			verify_that(v, verify_same(m.flavor, flavors[i]),
				    "it has its flavor still");
	}
}

/* To another image, and back. */
static void rebuild_works(struct verify *v)
{
	const char *images[] = {v->other_image ? v->other_image : v->spec.image,
				v->spec.image};
	struct machine_spec spec = v->spec;
	struct machine m;

	for (int i = 0; i < 2 && !v->failed; i++) {
		spec.image = images[i];
		while (provider_rebuild(v->p, v->id, &spec, &v->err) < 0)
			if (!verify_retry(v, "rebuild"))
				return;
		if (!verify_wait(v, v->id, INSTANCE_RUNNING, &m))
			return;
		has_our_tags(v, &m);
		verify_that(v, !m.image || verify_same(m.image, images[i]),
			    "it has its image still");
	}
}

static void tags_can_be_set(struct verify *v)
{
	struct field_tag tags[] = {{TAG_SERVER, v->spec.server},
				   {TAG_INSTALLATION, v->p->installation},
				   {"colour", "blue"}};
	const struct items items = {tags, COUNT_OF(tags)};
	struct machine m;

	while (provider_set_tags(v->p, v->id, &items, &v->err) < 0)
		if (!verify_retry(v, "set the tags"))
			return;
	if (!verify_describe(v, v->id, &m))
		return;
	has_our_tags(v, &m);
	verify_that(v, verify_same(field_tag_get(&m.tags, "colour"), "blue"),
		    "the tag is not there");
	verify_that(v, !field_tag_get(&m.tags, "purpose"),
		    "a tag that it is not to have is there still");
}

static void access_can_be_set(struct verify *v)
{
	struct machine_spec spec = v->spec;
	struct machine m;

	for (int public = provider_can(v->p, CAN_PUBLIC_IP);
	     public >= 0 && !v->failed; public --) {
		spec.public_ip = public;
		while (provider_set_access(v->p, v->id, &spec, &v->err) < 0)
			if (!verify_retry(v, "set the access"))
				return;
		if (verify_describe(v, v->id, &m))
			verify_that(v, !!m.public_ip == !!public,
				    public ? "it has no public address"
					   : "it still has a public address");
	}
}

static void console_opens(struct verify *v)
{
	struct console c = {.fd = -1};

	while (provider_console(v->p, v->id, CONSOLE_SERIAL, &v->arena, &c,
				&v->err) < 0)
		if (!verify_retry(v, "console"))
			return;
	verify_that(v, c.url || c.fd >= 0, "there is neither URL nor stream");
	if (c.fd >= 0)
		close(c.fd);
}

static void console_output_is_read(struct verify *v)
{
	struct buf out = BUF_INIT(65536);

	while (provider_console_output(v->p, v->id, 16, &v->arena, &out,
				       &v->err) < 0)
		if (!verify_retry(v, "console output"))
			break;
	buf_release(&out);
}

static void spot_machines_launch(struct verify *v)
{
	struct machine_spec spec = v->spec;
	struct machine m;

	spec.spot = true;
	if (verify_launch(v, &spec, true, &m))
		verify_that(v, m.spot, "the machine is not a spot one");
}

/* How often each of those that were launched for the check is listed. */
struct listed {
	struct verify *v;
	unsigned times[VERIFY_EXTRA_MOST];
	size_t n;
};

static void see_listed(void *ctx, const struct machine *m)
{
	struct listed *l = ctx;

	l->n++;
	for (size_t i = 0; i < l->v->n_extra; i++)
		l->times[i] += verify_same(l->v->extra[i], m->id);
}

static void paging_is_complete(struct verify *v)
{
	size_t page = v->p->facts.page, want = 3, before;
	struct listed l = {.v = v};
	struct machine m;
	bool has;

	if (page && page <= 20)
		want = 2 * page + 1;
	if (!verify_count(v, TAG_INSTALLATION, v->p->installation, NULL,
			  &before, &has))
		return;
	for (size_t i = 0; i < want; i++) {
		struct machine_spec spec = v->spec;

		if (!verify_launch(v, &spec, true, &m))
			return;
	}
	verify_sleep(v, v->p->facts.consistency_ms);
	if (!verify_list(v, TAG_INSTALLATION, v->p->installation, see_listed,
			 &l))
		return;
	verify_that(v, l.n == before + want, "the list is too long or short");
	for (size_t i = 0; i < v->n_extra; i++)
		verify_that(v, l.times[i] == 1,
			    "the list has not all of them, or some twice");
}

const struct verify_check verify_machine_checks[] = {
	{"describe agrees with launch", describe_agrees, CAPABILITIES},
	{"describe of an unknown machine is not found", unknown_is_not_found,
	 CAPABILITIES, true},
	{"the machine comes to run", it_comes_to_run, CAPABILITIES},
	{"the same launch again is the same machine", launch_again_is_the_same,
	 CAPABILITIES},
	{"lists by server and by installation find it", lists_find_it,
	 CAPABILITIES},
	{"lists by other tags find nothing", other_tags_find_nothing,
	 CAPABILITIES},
	{"the machine carries our tags", it_carries_its_tags, CAPABILITIES},
	{"user data and keys are accepted", user_data_is_accepted,
	 CAPABILITIES},
	{"a launch that is refused leaves nothing", refused_leaves_nothing,
	 CAPABILITIES},
	{"paging is complete", paging_is_complete, CAPABILITIES},
	{"reboot works", reboot_works, CAN_REBOOT},
	{"stop and start keep the machine and its tags", stop_and_start_keep_it,
	 CAN_STOP},
	{"the root disk grows", root_disk_grows, CAN_GROW_ROOT_DISK},
	{"resize works", resize_works, CAN_RESIZE},
	{"rebuild works", rebuild_works, CAN_REBUILD},
	{"tags can be set", tags_can_be_set, CAN_TAG},
	{"access can be set", access_can_be_set, CAN_ACCESS},
	{"the console opens", console_opens, CAN_CONSOLE},
	{"console output is read", console_output_is_read, CAN_CONSOLE_OUTPUT},
	{"spot machines launch", spot_machines_launch, CAN_SPOT},
	{0},
};
