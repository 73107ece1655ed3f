/* Drivers that keep networks, images and volumes wrongly. */
#include <stdio.h>

#include "zoo.h"

/* Another id of ours each time. */
static struct backing_id another(struct provider *p, const char *ours,
				 struct arena *a)
{
	return (struct backing_id){
		.ours = arena_printf(a, "%s-%u", ours, ++cage_of(p)->calls)};
}

static int network_each_time(struct provider *p,
			     const struct network_spec *spec, struct arena *a,
			     struct backing *ret, struct err *err)
{
	struct network_spec s = *spec;

	s.id = another(p, spec->id.ours, a);
	return sim_driver.networks->ensure(p, &s, a, ret, err);
}

static int network_never_ready(struct provider *p,
			       const struct network_spec *spec, struct arena *a,
			       struct backing *ret, struct err *err)
{
	if (sim_driver.networks->ensure(p, spec, a, ret, err) < 0)
		return -1;
	ret->state = BACKED_FAILED;
	return 0;
}

static int group_each_time(struct provider *p, const struct group_spec *spec,
			   struct arena *a, struct backing *ret,
			   struct err *err)
{
	struct group_spec s = *spec;

	s.id = another(p, spec->id.ours, a);
	return sim_driver.networks->ensure_group(p, &s, a, ret, err);
}

static int image_each_time(struct provider *p, const struct image_spec *spec,
			   struct arena *a, struct backing *ret,
			   struct err *err)
{
	struct image_spec s = *spec;

	s.id = another(p, spec->id.ours, a);
	return sim_driver.images->import(p, &s, a, ret, err);
}

static int volume_each_time(struct provider *p, const struct volume_spec *spec,
			    struct arena *a, struct backing *ret,
			    struct err *err)
{
	struct volume_spec s = *spec;

	s.id = another(p, spec->id.ours, a);
	return sim_driver.volumes->ensure(p, &s, a, ret, err);
}

/* The second time it is not there any more. */
static int not_twice(struct provider *p, struct err *err)
{
	if (++cage_of(p)->calls % 2)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "there is no such thing");
}

static int removes_network_once(struct provider *p, const struct backing_id *id,
				struct err *err)
{
	if (sim_driver.networks->remove(p, id, err) < 0)
		return -1;
	return not_twice(p, err);
}

static int removes_volume_once(struct provider *p, const struct backing_id *id,
			       struct err *err)
{
	if (sim_driver.volumes->remove(p, id, err) < 0)
		return -1;
	return not_twice(p, err);
}

static int snapshots_somehow(struct provider *p, const struct image_spec *spec,
			     struct arena *a, struct backing *ret,
			     struct err *err)
{
	if (sim_driver.images->snapshot(p, spec, a, ret, err) < 0)
		return -1;
	ret->consistency = 0;
	return 0;
}

static int never_grows(struct provider *p, const struct volume_spec *spec,
		       struct arena *a, struct backing *ret, struct err *err)
{
	struct volume_spec s = *spec;

	s.size_gib = 1;
	return sim_driver.volumes->ensure(p, &s, a, ret, err);
}

static int attaches_again(struct provider *p, const char *machine,
			  const char *volume, struct arena *a,
			  const char **ret_device, struct err *err)
{
	if (sim_driver.volumes->attach(p, machine, volume, a, ret_device, err) <
	    0)
		return -1;
	*ret_device = arena_printf(a, "/dev/vd%u", ++cage_of(p)->calls);
	return 0;
}

static void cannot_detach(struct cage *c, struct provider *p)
{
	(void)p;
	c->volumes.detach = NULL;
}

static void cannot_start(struct cage *c, struct provider *p)
{
	(void)p;
	c->machines.start = NULL;
}

#define ONE     "what is ensured twice is one"
#define TWICE   "what is gone is gone"
#define HALVES  "what can be done can be undone"
#define VOLUMES "volumes come, are attached, grow and go"

const struct animal zoo_keepers[] = {
	{"makes a network each time", ONE, "networks.ensure",
	 "a network is found again", .networks = {.ensure = network_each_time}},
	{"calls a network failed that is not", "a state is what the cloud says",
	 "networks.ensure", "a network can be made",
	 .networks = {.ensure = network_never_ready}},
	{"cannot remove a network that is not there", TWICE, "networks.remove",
	 "networks are removed, and twice",
	 .networks = {.remove = removes_network_once}},
	{"makes a security group each time", ONE, "networks.ensure_group",
	 "security groups come, change and go",
	 .networks = {.ensure_group = group_each_time}},
	{"imports an image each time", ONE, "images.import",
	 "images are imported and removed",
	 .images = {.import = image_each_time}},
	{"does not say how consistent a snapshot is",
	 "a snapshot says what it is worth", "images.snapshot",
	 "snapshots can be launched",
	 .images = {.snapshot = snapshots_somehow}},
	{"makes a volume each time", ONE, "volumes.ensure", VOLUMES,
	 .volumes = {.ensure = volume_each_time}},
	{"never grows a volume", "what is answered is done", "volumes.ensure",
	 VOLUMES, .volumes = {.ensure = never_grows}},
	{"cannot remove a volume that is not there", TWICE, "volumes.remove",
	 VOLUMES, .volumes = {.remove = removes_volume_once}},
	{"attaches a volume twice", "what is attached is attached",
	 "volumes.attach", VOLUMES, .volumes = {.attach = attaches_again}},
	{"attaches volumes and cannot detach them", HALVES, "volumes.detach",
	 HALVES, .lie = cannot_detach},
	{"stops machines and cannot start them", HALVES, "start", HALVES,
	 .lie = cannot_start},
	{0},
};
