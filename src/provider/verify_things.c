/* The checks about what is no machine, and those that end the run. */
#include "model/image.h"
#include "model/server.h"
#include "provider/driver.h"
#include "provider/verify_priv.h"

/* How often something that is being made is looked at. */
enum { LOOKS_MOST = 10000 };

/* And what has ended. */
enum { END_LOOKS = 12 };

/* Until it is ready; ENSURE is called again and again, which must not make a
 * second one. */
static const char *ready(struct verify *v,
			 int (*ensure)(struct verify *, const void *spec,
				       struct backing *ret),
			 const void *spec, struct backing *b)
{
	uint64_t poll = verify_poll_ms(v);
	const char *id = NULL;

	for (unsigned i = 0; i < LOOKS_MOST; i++) {
		if (ensure(v, spec, b) < 0) {
			if (!verify_retry(v, "ensure"))
				return NULL;
			continue;
		}
		if (!verify_that(v, b->id && b->id[0], "it has no id") ||
		    !verify_that(v, !id || verify_same(id, b->id),
				 "ensure made a second one"))
			return NULL;
		if (id && b->state != BACKED_PENDING &&
		    b->state != BACKED_CREATING)
			break;
		id = b->id;
		verify_sleep(v, poll);
	}
	return verify_that(v, b->state == BACKED_READY, "it is not ready")
		       ? id
		       : NULL;
}

/* Twice: the second finds nothing, and succeeds. */
static void remove_twice(struct verify *v,
			 int (*drop)(struct provider *,
				     const struct backing_id *, struct err *),
			 const struct backing_id *id)
{
	v->waited = 0;
	for (int i = 0; i < 2; i++)
		while (drop(v->p, id, &v->err) < 0)
			if (!verify_retry(v, "remove"))
				return;
}

static int ensure_group(struct verify *v, const void *spec, struct backing *ret)
{
	return provider_ensure_group(v->p, spec, &v->arena, ret, &v->err);
}

static void groups_come_and_go(struct verify *v)
{
	struct rule rules[] = {{.direction = DIRECTION_INGRESS,
				.protocol = PROTOCOL_TCP,
				.port = 22,
				.port_max = 22,
				.prefix = "0.0.0.0/0"},
			       {.direction = DIRECTION_INGRESS,
				.protocol = PROTOCOL_ICMP,
				.port = FIELD_NONE,
				.port_max = FIELD_NONE}};
	struct securitygroup g = {.meta.name = "muster-verify",
				  .spec.rules = {rules, 1}};
	struct group_spec spec = {.network = v->network, .group = &g};
	struct backing b;

	if (!v->network) {
		verify_skip(v, "there is no network");
		return;
	}
	spec.id.ours = verify_uuid(v, &v->arena);
	if (!ready(v, ensure_group, &spec, &b))
		return;
	spec.id.provider = b.id;
	g.spec.rules.n = 2;
	ready(v, ensure_group, &spec, &b);
	remove_twice(v, provider_remove_group, &spec.id);
}

static int import(struct verify *v, const void *spec, struct backing *ret)
{
	return provider_import_image(v->p, spec, &v->arena, ret, &v->err);
}

static int snapshot(struct verify *v, const void *spec, struct backing *ret)
{
	return provider_snapshot(v->p, spec, &v->arena, ret, &v->err);
}

#define IMPORT                                                                 \
	"https://cloud.debian.org/images/cloud/bookworm/latest/"               \
	"debian-12-generic-amd64.qcow2"

static void images_are_imported(struct verify *v)
{
	const struct image image = {.spec.architecture = v->architecture,
				    .spec.virtualization =
					    VIRTUALIZATION_VIRTUALIZED};
	struct image_spec spec = {.name = "muster-verify",
				  .uri = v->conf->import ? v->conf->import
							 : IMPORT,
				  .image = &image};
	struct backing b;

	spec.id.ours = verify_uuid(v, &v->arena);
	if (ready(v, import, &spec, &b))
		spec.id.provider = b.id;
	remove_twice(v, provider_remove_image, &spec.id);
}

static void snapshots_can_be_launched(struct verify *v)
{
	const struct image image = {.spec.architecture = v->architecture,
				    .spec.virtualization =
					    VIRTUALIZATION_VIRTUALIZED};
	struct image_spec spec = {
		.name = "muster-verify", .machine = v->id, .image = &image};
	struct machine_spec from = v->spec;
	struct machine m;
	struct backing b;

	spec.id.ours = verify_uuid(v, &v->arena);
	if (ready(v, snapshot, &spec, &b)) {
		verify_that(v, b.consistency,
			    "it is not told how consistent it is");
		from.image = spec.id.provider = b.id;
		/* The machine's disk may have grown. */
		from.root_disk_gib += 1;
		/* Some clouds keep an image that a machine was made of. */
		if (verify_launch(v, &from, true, &m) && verify_gone(v, m.id))
			v->n_extra = 0;
	}
	remove_twice(v, provider_remove_image, &spec.id);
}

static int ensure_volume(struct verify *v, const void *spec,
			 struct backing *ret)
{
	return provider_ensure_volume(v->p, spec, &v->arena, ret, &v->err);
}

static bool attach(struct verify *v, const char *volume)
{
	const char *first = NULL, *device = NULL;

	for (int i = 0; i < 2; i++) {
		first = device;
		while (provider_attach(v->p, v->id, volume, &v->arena, &device,
				       &v->err) < 0)
			if (!verify_retry(v, "attach"))
				return false;
	}
	return verify_that(v, verify_same(device, first),
			   "attached twice, it is another device");
}

static void volumes_come_and_go(struct verify *v)
{
	struct volume_spec spec = {.name = "muster-verify", .size_gib = 1};
	struct machine m;
	struct backing b;

	if (!verify_describe(v, v->id, &m))
		return;
	spec.zone = m.zone;
	spec.id.ours = verify_uuid(v, &v->arena);
	if (ready(v, ensure_volume, &spec, &b)) {
		spec.id.provider = b.id;
		if (attach(v, b.id))
			for (int i = 0; i < 2; i++)
				while (provider_detach(v->p, v->id, b.id,
						       &v->err) < 0)
					if (!verify_retry(v, "detach"))
						break;
		spec.size_gib = 2;
		if (ready(v, ensure_volume, &spec, &b))
			verify_that(v, b.size == 2, "it did not grow");
	}
	remove_twice(v, provider_remove_volume, &spec.id);
}

const struct verify_check verify_thing_checks[] = {
	{"security groups come, change and go", groups_come_and_go,
	 CAN_SECURITY_GROUPS, true},
	{"images are imported and removed", images_are_imported, CAN_IMPORT,
	 true},
	{"snapshots can be launched", snapshots_can_be_launched, CAN_SNAPSHOT},
	{"volumes come, are attached, grow and go", volumes_come_and_go,
	 CAN_VOLUMES},
	{0},
};

static int ask_spot(struct verify *v, struct machine_spec spec)
{
	spec.spot = true;
	spec.server = verify_uuid(v, &v->arena);
	return provider_launch(v->p, &spec, &v->arena, &(struct machine){0},
			       &v->err);
}

/* Ask for what needs C; it is refused before anything is looked at. */
static int ask(struct verify *v, enum capability c)
{
	const struct backing_id id = {.ours = "none"};
	const struct image_spec image = {.id = id};
	struct machine_spec spec = v->spec;
	struct buf out = BUF_INIT(1024);
	struct console console;
	const struct items tags = {0};

	switch (c) {
	case CAN_STOP:
		return provider_stop(v->p, "none", false, &v->err);
	case CAN_REBOOT:
		return provider_reboot(v->p, "none", false, &v->err);
	case CAN_RESIZE:
		return provider_resize(v->p, "none", "none", &v->err);
	case CAN_REBUILD:
		return provider_rebuild(v->p, "none", &spec, &v->err);
	case CAN_GROW_ROOT_DISK:
		return provider_grow_root_disk(v->p, "none", 1, &v->err);
	case CAN_TAG:
		return provider_set_tags(v->p, "none", &tags, &v->err);
	case CAN_ACCESS:
		return provider_set_access(v->p, "none", &spec, &v->err);
	case CAN_CONSOLE:
		return provider_console(v->p, "none", CONSOLE_SERIAL, &v->arena,
					&console, &v->err);
	case CAN_CONSOLE_OUTPUT:
		return provider_console_output(v->p, "none", 1, &v->arena, &out,
					       &v->err);
	case CAN_IMPORT:
		return provider_import_image(v->p, &image, &v->arena, NULL,
					     &v->err);
	case CAN_SNAPSHOT:
		return provider_snapshot(v->p, &image, &v->arena, NULL,
					 &v->err);
	case CAN_NETWORKS:
		return provider_remove_network(v->p, &id, &v->err);
	case CAN_SECURITY_GROUPS:
		return provider_remove_group(v->p, &id, &v->err);
	case CAN_VOLUMES:
		return provider_remove_volume(v->p, &id, &v->err);
	case CAN_SPOT:
		return ask_spot(v, spec);
	case CAN_PUBLIC_IP:
		spec.public_ip = true;
		spec.server = verify_uuid(v, &v->arena);
		return provider_launch(v->p, &spec, &v->arena,
				       &(struct machine){0}, &v->err);
	case CAN_LIST_THINGS:
		return provider_list_things(v->p, "none", NULL, &v->arena,
					    &(struct thing_page){0}, &v->err);
	case CAN_NEIGHBOURS: /* facts, not calls */
	case CAN_RESIZE_LIVE:
	case CAPABILITIES:
		break;
	}
	return err_set(&v->err, ERR_UNSUPPORTED, "there is nothing to ask");
}

static void undeclared_is_unsupported(struct verify *v)
{
	for (int i = 0; i < CAPABILITIES; i++) {
		enum capability c = (enum capability)i;

		if (provider_can(v->p, c))
			continue;
		if (ask(v, c) == 0 || v->err.code != ERR_UNSUPPORTED)
			verify_fail(v,
				    "\"%s\" is not declared, and not refused "
				    "as unsupported",
				    capability_name(c));
	}
}

static void unknown_options_are_refused(struct verify *v)
{
	struct node *options = node_new_object(&v->arena);
	struct provider_conf conf = {.options = options};
	struct provider *p;

	node_set(&v->arena, options, "muster-verify-none",
		 node_new_bool(&v->arena, true));
	if (provider_open(v->p->driver->name, &conf, &p, &v->err) == 0) {
		provider_close(p);
		verify_fail(v, "an option that there is not was accepted");
		return;
	}
	verify_that(v, v->err.code == ERR_INVALID,
		    "an unknown option is not called invalid");
}

static void terminate_ends_it(struct verify *v)
{
	verify_gone(v, v->id);
}

static void lists_leave_it_out(struct verify *v)
{
	size_t n;
	bool has;

	if (verify_count(v, TAG_SERVER, v->spec.server, v->id, &n, &has))
		verify_that(v, !n, "a list still has it");
}

/* What is gone stays so, and was not called so before it was. */
static void terminated_is_the_end(struct verify *v)
{
	const char *native = NULL;
	bool gone = false;
	struct machine m;

	for (int i = 0; i < END_LOOKS && !v->failed; i++) {
		if (i)
			verify_sleep(v, verify_poll_ms(v));
		v->waited = 0;
		if (provider_describe(v->p, v->id, &v->arena, &m, &v->err) <
		    0) {
			if (v->err.code == ERR_NOT_FOUND)
				gone = true;
			else if (!err_passes(&v->err))
				verify_err(v, "describe");
			continue;
		}
		verify_that(v, !gone && m.state == INSTANCE_TERMINATED,
			    "it was gone, and is there again");
		verify_that(v, !native || verify_same(native, m.native_state),
			    "it was called terminated before it was");
		native = m.native_state;
	}
}

static void every_launch_has_its_id(struct verify *v)
{
	struct machine_spec spec = v->spec;
	struct machine m;

	if (!v->reused && !verify_launch(v, &spec, true, &m))
		return;
	if (v->reused)
		verify_fail(v, "the id %s was given to two machines",
			    v->reused);
}

static void nothing_is_left(struct verify *v)
{
	size_t now;

	if (!v->conf->machines) {
		verify_skip(v, "the cloud cannot be looked at from outside");
		return;
	}
	now = v->conf->machines(v->conf->ctx);
	if (now != v->machines_before)
		verify_fail(v, "there were %zu machines, and now %zu",
			    v->machines_before, now);
}

static void terminate_unknown(struct verify *v)
{
	while (provider_terminate(v->p, "muster-verify-none", &v->err) < 0)
		if (!verify_retry(v, "terminate"))
			return;
}

static void networks_go(struct verify *v)
{
	const struct backing_id id = {v->our_network, v->network};

	if (v->our_network)
		remove_twice(v, provider_remove_network, &id);
}

const struct verify_check verify_last_checks[] = {
	{"what is not declared is refused as unsupported",
	 undeclared_is_unsupported, CAPABILITIES, true},
	{"an unknown option is refused", unknown_options_are_refused,
	 CAPABILITIES, true},
	{"terminate ends in terminated or gone", terminate_ends_it,
	 CAPABILITIES},
	{"terminated is the end", terminated_is_the_end, CAPABILITIES},
	{"terminate twice succeeds", terminate_ends_it, CAPABILITIES},
	{"terminate of an unknown machine succeeds", terminate_unknown,
	 CAPABILITIES, true},
	{"lists leave out terminated machines", lists_leave_it_out,
	 CAPABILITIES},
	{"every launch has an id of its own", every_launch_has_its_id,
	 CAPABILITIES},
	{"networks are removed, and twice", networks_go, CAN_NETWORKS, true},
	{"nothing is left behind", nothing_is_left, CAPABILITIES, true},
	{0},
};
