#include "provider/front.h"

#include <unistd.h>

#include "provider/call.h"
#include "provider/driver.h"

const char *const capability_names[] = {
	NULL,
	[1 + CAN_STOP] = "stop",
	[1 + CAN_REBOOT] = "reboot",
	[1 + CAN_RESIZE] = "resize",
	[1 + CAN_RESIZE_LIVE] = "resizeLive",
	[1 + CAN_REBUILD] = "rebuild",
	[1 + CAN_GROW_ROOT_DISK] = "growRootDisk",
	[1 + CAN_TAG] = "tag",
	[1 + CAN_ACCESS] = "access",
	[1 + CAN_CONSOLE] = "console",
	[1 + CAN_CONSOLE_OUTPUT] = "consoleOutput",
	[1 + CAN_IMPORT] = "import",
	[1 + CAN_SNAPSHOT] = "snapshot",
	[1 + CAN_NETWORKS] = "networks",
	[1 + CAN_SECURITY_GROUPS] = "securityGroups",
	[1 + CAN_VOLUMES] = "volumes",
	[1 + CAN_SPOT] = "spot",
	[1 + CAN_PUBLIC_IP] = "publicIp",
	[1 + CAN_NEIGHBOURS] = "neighbours",
	[1 + CAN_LIST_THINGS] = "listThings",
	[1 + CAPABILITIES] = NULL,
};

const char *capability_name(enum capability c)
{
	return capability_names[1 + c];
}

static bool has_slots(const struct provider *p, enum capability c)
{
	const struct driver *d = p->driver;
	const struct machine_ops *m = d->machines;

	switch (c) {
	case CAN_STOP:
		return m->stop && m->start;
	case CAN_REBOOT:
		return m->reboot;
	case CAN_RESIZE:
		return m->resize;
	case CAN_RESIZE_LIVE:
		return m->resize && p->facts.resize_live;
	case CAN_REBUILD:
		return m->rebuild;
	case CAN_GROW_ROOT_DISK:
		return m->grow_root_disk;
	case CAN_TAG:
		return m->set_tags && p->facts.tags;
	case CAN_ACCESS:
		return m->set_access;
	case CAN_CONSOLE:
		return m->console;
	case CAN_CONSOLE_OUTPUT:
		return m->console_output;
	case CAN_IMPORT:
		return d->images && d->images->import && d->images->remove;
	case CAN_SNAPSHOT:
		return d->images && d->images->snapshot && d->images->remove;
	case CAN_NETWORKS:
		return d->networks && d->networks->ensure &&
		       d->networks->remove;
	case CAN_SECURITY_GROUPS:
		return d->networks && d->networks->ensure_group &&
		       d->networks->remove_group;
	case CAN_VOLUMES:
		return d->volumes && d->volumes->ensure && d->volumes->remove &&
		       d->volumes->attach && d->volumes->detach;
	case CAN_SPOT:
		return p->facts.spot;
	case CAN_PUBLIC_IP:
	case CAN_NEIGHBOURS: /* no call: a driver says so by its lacks */
		return true;
	case CAN_LIST_THINGS:
		return d->things && d->things->list;
	case CAPABILITIES:
		break;
	}
	return false;
}

bool provider_can(const struct provider *p, enum capability c)
{
	return !(p->lacks & 1U << c) && has_slots(p, c) &&
	       (c != CAN_RESIZE_LIVE || provider_can(p, CAN_RESIZE));
}

static int lacking(enum capability c, struct err *err)
{
	return err_set(err, ERR_UNSUPPORTED,
		       "the provider lacks the capability \"%s\"",
		       capability_name(c));
}

int provider_launch(struct provider *p, const struct machine_spec *spec,
		    struct arena *a, struct machine *ret, struct err *err)
{
	struct call c = {p, CALL_LAUNCH, spec->server, err};

	if (spec->spot && !provider_can(p, CAN_SPOT))
		return lacking(CAN_SPOT, err);
	if (spec->public_ip && !provider_can(p, CAN_PUBLIC_IP))
		return lacking(CAN_PUBLIC_IP, err);
	while (call_next(&c))
		c.r = p->driver->machines->launch(p, spec, a, ret, err);
	return call_end(&c);
}

int provider_describe(struct provider *p, const char *id, struct arena *a,
		      struct machine *ret, struct err *err)
{
	struct call c = {p, CALL_DESCRIBE, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->describe(p, id, a, ret, err);
	return call_end(&c);
}

int provider_terminate(struct provider *p, const char *id, struct err *err)
{
	struct call c = {p, CALL_TERMINATE, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->terminate(p, id, err);
	return call_end(&c);
}

int provider_list(struct provider *p, const struct machine_filter *filter,
		  const char *page, struct arena *a, struct machine_page *ret,
		  struct err *err)
{
	struct call c = {p, CALL_LIST, filter->value, err};

	while (call_next(&c))
		c.r = p->driver->machines->list(p, filter, page, a, ret, err);
	return call_end(&c);
}

int provider_stop(struct provider *p, const char *id, bool hard,
		  struct err *err)
{
	struct call c = {p, CALL_STOP, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->stop(p, id, hard, err);
	return call_end(&c);
}

int provider_start(struct provider *p, const char *id, struct err *err)
{
	struct call c = {p, CALL_START, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->start(p, id, err);
	return call_end(&c);
}

int provider_reboot(struct provider *p, const char *id, bool hard,
		    struct err *err)
{
	struct call c = {p, CALL_REBOOT, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->reboot(p, id, hard, err);
	return call_end(&c);
}

int provider_resize(struct provider *p, const char *id, const char *flavor,
		    struct err *err)
{
	struct call c = {p, CALL_RESIZE, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->resize(p, id, flavor, err);
	return call_end(&c);
}

int provider_rebuild(struct provider *p, const char *id,
		     const struct machine_spec *spec, struct err *err)
{
	struct call c = {p, CALL_REBUILD, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->rebuild(p, id, spec, err);
	return call_end(&c);
}

int provider_grow_root_disk(struct provider *p, const char *id, int64_t gib,
			    struct err *err)
{
	struct call c = {p, CALL_GROW_ROOT_DISK, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->grow_root_disk(p, id, gib, err);
	return call_end(&c);
}

int provider_set_tags(struct provider *p, const char *id,
		      const struct items *tags, struct err *err)
{
	struct call c = {p, CALL_SET_TAGS, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->set_tags(p, id, tags, err);
	return call_end(&c);
}

int provider_set_access(struct provider *p, const char *id,
			const struct machine_spec *spec, struct err *err)
{
	struct call c = {p, CALL_SET_ACCESS, id, err};

	if (spec->public_ip && !provider_can(p, CAN_PUBLIC_IP))
		return lacking(CAN_PUBLIC_IP, err);
	while (call_next(&c))
		c.r = p->driver->machines->set_access(p, id, spec, err);
	return call_end(&c);
}

/* An answer that got lost, or came twice, leaves no stream behind. */
static void close_stream(struct console *c)
{
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct console){.fd = -1};
}

int provider_console(struct provider *p, const char *id, enum console_kind kind,
		     struct arena *a, struct console *ret, struct err *err)
{
	struct call c = {p, CALL_CONSOLE, id, err};
	struct console got = {.fd = -1};
	int r;

	while (call_next(&c)) {
		close_stream(&got);
		c.r = p->driver->machines->console(p, id, kind, a, &got, err);
		if (c.r < 0)
			got = (struct console){.fd = -1};
	}
	r = call_end(&c);
	if (r < 0)
		close_stream(&got);
	else
		*ret = got;
	return r;
}

int provider_console_output(struct provider *p, const char *id, size_t length,
			    struct arena *a, struct buf *out, struct err *err)
{
	struct call c = {p, CALL_CONSOLE_OUTPUT, id, err};

	while (call_next(&c))
		c.r = p->driver->machines->console_output(p, id, length, a, out,
							  err);
	return call_end(&c);
}

int provider_catalogue(struct provider *p, struct arena *a,
		       struct catalogue *ret, struct err *err)
{
	struct call c = {p, CALL_CATALOGUE, NULL, err};

	while (call_next(&c))
		c.r = p->driver->catalogue->read(p, a, ret, err);
	return call_end(&c);
}

int provider_import_image(struct provider *p, const struct image_spec *spec,
			  struct arena *a, struct backing *ret, struct err *err)
{
	struct call c = {p, CALL_IMPORT_IMAGE, spec->id.ours, err};

	while (call_next(&c))
		c.r = p->driver->images->import(p, spec, a, ret, err);
	return call_end(&c);
}

int provider_snapshot(struct provider *p, const struct image_spec *spec,
		      struct arena *a, struct backing *ret, struct err *err)
{
	struct call c = {p, CALL_SNAPSHOT, spec->id.ours, err};

	while (call_next(&c))
		c.r = p->driver->images->snapshot(p, spec, a, ret, err);
	return call_end(&c);
}

int provider_remove_image(struct provider *p, const struct backing_id *id,
			  struct err *err)
{
	struct call c = {p, CALL_REMOVE_IMAGE, id->ours, err};

	while (call_next(&c))
		c.r = p->driver->images->remove(p, id, err);
	return call_end(&c);
}

int provider_ensure_network(struct provider *p, const struct network_spec *spec,
			    struct arena *a, struct backing *ret,
			    struct err *err)
{
	struct call c = {p, CALL_ENSURE_NETWORK, spec->id.ours, err};

	while (call_next(&c))
		c.r = p->driver->networks->ensure(p, spec, a, ret, err);
	return call_end(&c);
}

int provider_remove_network(struct provider *p, const struct backing_id *id,
			    struct err *err)
{
	struct call c = {p, CALL_REMOVE_NETWORK, id->ours, err};

	while (call_next(&c))
		c.r = p->driver->networks->remove(p, id, err);
	return call_end(&c);
}

int provider_ensure_group(struct provider *p, const struct group_spec *spec,
			  struct arena *a, struct backing *ret, struct err *err)
{
	struct call c = {p, CALL_ENSURE_GROUP, spec->id.ours, err};

	while (call_next(&c))
		c.r = p->driver->networks->ensure_group(p, spec, a, ret, err);
	return call_end(&c);
}

int provider_remove_group(struct provider *p, const struct backing_id *id,
			  struct err *err)
{
	struct call c = {p, CALL_REMOVE_GROUP, id->ours, err};

	while (call_next(&c))
		c.r = p->driver->networks->remove_group(p, id, err);
	return call_end(&c);
}

int provider_ensure_volume(struct provider *p, const struct volume_spec *spec,
			   struct arena *a, struct backing *ret,
			   struct err *err)
{
	struct call c = {p, CALL_ENSURE_VOLUME, spec->id.ours, err};

	while (call_next(&c))
		c.r = p->driver->volumes->ensure(p, spec, a, ret, err);
	return call_end(&c);
}

int provider_remove_volume(struct provider *p, const struct backing_id *id,
			   struct err *err)
{
	struct call c = {p, CALL_REMOVE_VOLUME, id->ours, err};

	while (call_next(&c))
		c.r = p->driver->volumes->remove(p, id, err);
	return call_end(&c);
}

int provider_attach(struct provider *p, const char *machine, const char *volume,
		    struct arena *a, const char **ret_device, struct err *err)
{
	struct call c = {p, CALL_ATTACH, volume, err};

	while (call_next(&c))
		c.r = p->driver->volumes->attach(p, machine, volume, a,
						 ret_device, err);
	return call_end(&c);
}

int provider_detach(struct provider *p, const char *machine, const char *volume,
		    struct err *err)
{
	struct call c = {p, CALL_DETACH, volume, err};

	while (call_next(&c))
		c.r = p->driver->volumes->detach(p, machine, volume, err);
	return call_end(&c);
}

int provider_list_things(struct provider *p, const char *installation,
			 const char *page, struct arena *a,
			 struct thing_page *ret, struct err *err)
{
	struct call c = {p, CALL_LIST_THINGS, installation, err};

	while (call_next(&c))
		c.r = p->driver->things->list(p, installation, page, a, ret,
					      err);
	return call_end(&c);
}
