/* test_machine_view - what the planner is shown, of documents that may be odd
 * or not there. */
#include "reconcile/machine_view.h"

#include "model/image.h"
#include "model/network.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/volume.h"
#include "test.h"

#define NOW 1000000

/* Everything that an instance looks at. */
struct store_of {
	struct region region;
	struct network network;
	struct image image;
	struct securitygroup group;
	struct volume volume;
	struct flavor flavor;
	const struct kind *gone; /* none of this kind is there */
};

static const void *look(void *ctx, const struct kind *k, const char *id)
{
	struct store_of *s = ctx;

	(void)id;
	if (k == s->gone || k == &allocation_kind)
		return NULL;
	return k == &region_kind          ? (void *)&s->region
	       : k == &network_kind       ? (void *)&s->network
	       : k == &image_kind         ? (void *)&s->image
	       : k == &securitygroup_kind ? (void *)&s->group
	       : k == &volume_kind        ? (void *)&s->volume
					  : (void *)&s->flavor;
}

static void ready(struct backed *b, struct meta *m, const char *name)
{
	b->state = BACKED_READY;
	b->provider = "p";
	m->id = m->name = name;
}

/* All there, and all ready. */
static struct store_of all_there(void)
{
	struct store_of s = {0};

	ready(&s.network.status.backed, &s.network.meta, "net");
	ready(&s.image.status.backed, &s.image.meta, "image");
	ready(&s.group.status, &s.group.meta, "group");
	ready(&s.volume.status.backed, &s.volume.meta, "disk");
	s.region.meta.updated_at = 5;
	return s;
}

struct view {
	struct instance i;
	struct server s;
	struct machine_view v;
	struct machine_waits waits;
	struct machine_known known;
	struct arena arena;
};

static const char *groups[20] = {"group"};
static struct instance_volume disks[40] = {{.volume_id = "disk"}};

static struct view view_of(struct store_of *s)
{
	struct view x = {0};
	const struct machine_look how = {look, s};

	arena_init(&x.arena, 1 << 20);
	x.i.meta.id = "00000000-0000-7000-8000-000000000001";
	x.i.organization_id = "00000000-0000-7000-8000-00000000000a";
	x.i.region_id = "region";
	x.i.network_id = "net";
	x.i.spec.image_id = "image";
	x.i.spec.flavor_id = "flavor";
	x.i.spec.security_group_ids = (struct items){groups, 1};
	x.i.spec.volumes = (struct items){disks, 1};
	x.v.i = &x.i;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	return x;
}

static void what_is_there_is_not_waited_for(void)
{
	struct store_of s = all_there();
	struct view x = view_of(&s);

	CHECK(!x.v.missing && !x.v.volume_waits && !x.waits.n);
	CHECK(x.v.volumes_ready == 1);
	CHECK(x.v.flavors[0] == &s.flavor && !x.v.flavors[1]);
	CHECK(x.v.now == NOW && x.v.region_touched == 5);
	CHECK(x.v.called_at == 0 && !x.v.region_paused);
	arena_release(&x.arena);
}

/* Each of what a launch needs: gone, not ready, not ready and saying why. */
static void what_is_not_there_is_named_and_waited_for(void)
{
	static const struct {
		const struct kind *kind;
		const char *gone, *unready;
	} cases[] = {
		{&network_kind, "waits for network net",
		 "waits for network net: too busy"},
		{&image_kind, "waits for image image",
		 "waits for image image: too busy"},
		{&securitygroup_kind, "waits for securitygroup group",
		 "waits for securitygroup group: too busy"},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		struct store_of s = all_there();
		struct backed *all[] = {&s.network.status.backed,
					&s.image.status.backed,
					&s.group.status};
		struct view x;

		s.gone = cases[n].kind;
		x = view_of(&s);
		CHECK_STR(x.v.missing, cases[n].gone);
		CHECK(x.waits.n == 1 && x.waits.list[0].kind == cases[n].kind);
		arena_release(&x.arena);
		s.gone = NULL;
		all[n]->state = BACKED_CREATING;
		all[n]->reason.message = "too busy";
		x = view_of(&s);
		CHECK_STR(x.v.missing, cases[n].unready);
		CHECK(x.waits.n == 1);
		arena_release(&x.arena);
	}
}

static void the_first_that_is_missing_is_named_and_all_waited_for(void)
{
	struct store_of s = all_there();
	struct view x;

	s.network.status.backed.state = BACKED_FAILED;
	s.image.status.backed.state = BACKED_PENDING;
	s.gone = &flavor_kind;
	x = view_of(&s);
	CHECK_STR(x.v.missing, "waits for network net");
	CHECK(x.waits.n == 3);
	CHECK(!x.v.flavors[0] && x.waits.list[2].kind == &flavor_kind);
	arena_release(&x.arena);
}

static void a_volume_is_had_by_one_and_when_it_is_there(void)
{
	static const struct {
		const char *why;
		bool gone, deleted, nowhere, unready;
		const char *instance;
		bool free;
	} cases[] = {
		{"it is free", .free = true},
		{"it is ours",
		 .instance = "00000000-0000-7000-8000-000000000001",
		 .free = true},
		{"it is another's", .instance = "other"},
		{"it is not there", .gone = true},
		{"it is being deleted", .deleted = true},
		{"the provider has none", .nowhere = true},
		{"it is being made", .unready = true},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		struct store_of s = all_there();
		struct view x;

		s.gone = cases[n].gone ? &volume_kind : NULL;
		s.volume.meta.deleted_at = cases[n].deleted;
		if (cases[n].nowhere)
			s.volume.status.backed.provider = NULL;
		if (cases[n].unready)
			s.volume.status.backed.state = BACKED_CREATING;
		s.volume.status.instance_id = cases[n].instance;
		x = view_of(&s);
		test_check(x.v.volumes_ready == cases[n].free, cases[n].why,
			   __FILE__, __LINE__);
		CHECK(!x.v.volume_waits == cases[n].free);
		CHECK(x.waits.n == !cases[n].free);
		CHECK(!x.v.missing);
		arena_release(&x.arena);
	}
}

/* There is room for so many to wait for, and bits for so many volumes. */
static void more_than_fit_are_left_out(void)
{
	struct store_of s = all_there();
	struct view x = view_of(&s);
	const struct machine_look how = {look, &s};

	for (size_t n = 0; n < COUNT_OF(groups); n++)
		groups[n] = "group";
	for (size_t n = 0; n < COUNT_OF(disks); n++)
		disks[n].volume_id = "disk";
	x.i.spec.security_group_ids.n = COUNT_OF(groups);
	x.i.spec.volumes.n = COUNT_OF(disks);
	x.v.i = &x.i;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	CHECK(x.v.volumes_ready == ~0u && !x.waits.n);
	s.group.status.state = BACKED_CREATING;
	s.volume.status.backed.state = BACKED_CREATING;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	CHECK(x.waits.n == COUNT_OF(x.waits.list));
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, NULL);
	CHECK(x.v.missing != NULL);
	arena_release(&x.arena);
}

/* However many would do: so many are looked at. */
static void there_are_only_so_many_offerings(void)
{
	struct alternative others[20] = {0};
	struct store_of s = all_there();
	struct view x = view_of(&s);
	const struct machine_look how = {look, &s};

	x.v.i = &x.i;
	x.i.spec.alternatives = (struct items){others, COUNT_OF(others)};
	x.i.spec.image_id = NULL; /* nor can what is not named be waited for */
	s.gone = &image_kind;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	CHECK(x.v.flavors[OFFERINGS_MOST - 1] == &s.flavor);
	CHECK(!x.waits.n);
	arena_release(&x.arena);
}

static void what_is_being_deleted_needs_nothing(void)
{
	struct store_of s = all_there();
	struct view x = view_of(&s);
	const struct machine_look how = {look, &s};

	s.gone = &network_kind;
	s.region.spec.paused = true;
	x.v.i = &x.i;
	x.i.meta.deleted_at = 1;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	CHECK(!x.v.missing && !x.v.flavors[0] && !x.v.volumes_ready);
	CHECK(x.v.region_paused);
	s.gone = &region_kind;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	CHECK(!x.v.region_paused && !x.v.region_touched);
	x.i.region_id = NULL;
	s.gone = NULL;
	machine_view(&how, &x.known, NOW, &x.arena, &x.v, &x.waits);
	CHECK(!x.v.region_paused);
	arena_release(&x.arena);
}

/* The latest that a launch of this try may have been asked for. */
static void a_launch_may_have_been_asked_for(void)
{
	static const struct {
		const char *why;
		int64_t written, created, started, number, attempt, called;
		int64_t want, even, way;
	} cases[] = {
		{"never", 0, 20, 10, 0, 0, 0, 0},
		{"as is written", 15, 20, 10, 0, 0, 0, 15},
		{"by whoever was before us", 0, 5, 10, 0, 0, 0, 10},
		{"or on its way even then", 0, 5, 10, 0, 0, 0, 17, 0, 7},
		{"or later, as is written", 15, 5, 10, 0, 0, 0, 15},
		{"by us", 0, 20, 10, 1, 1, 30, 30},
		{"by us, but as is written later", 40, 20, 10, 1, 1, 30, 40},
		{"by us for another server", 0, 20, 10, 2, 1, 30, 0},
		{"by us for another try", 0, 20, 10, 1, 2, 30, 0},
		{"before the clock was set", 15, 20, 10, 0, 0, 0, 18, 18},
		{"since then", 15, 20, 10, 0, 0, 0, 15, 12},
		{"never, whatever the clock", 0, 20, 10, 0, 0, 0, 0, 18},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		struct store_of s = all_there();
		struct view x = view_of(&s);
		const struct machine_look how = {look, &s};
		const struct provider_facts facts = {
			.call_ms = (uint32_t)cases[n].way};

		x.s.number = x.s.attempt.number = 1;
		x.s.attempt.called_at = cases[n].written;
		x.s.meta.created_at = cases[n].created;
		x.known = (struct machine_known){.facts = &facts,
						 .started = cases[n].started,
						 .number = cases[n].number,
						 .attempt = cases[n].attempt,
						 .called_at = cases[n].called,
						 .even = cases[n].even};
		x.v.i = &x.i;
		x.v.s = &x.s;
		machine_view(&how, &x.known, NOW, &x.arena, &x.v, NULL);
		test_check(x.v.called_at == cases[n].want, cases[n].why,
			   __FILE__, __LINE__);
		arena_release(&x.arena);
	}
}

/* When it is to be seen, by who began at 10 where calls take 7. */
static void a_look_is_due_where_there_are_no_lists(void)
{
	static const struct {
		int64_t created;
		bool tags;
		int64_t want;
	} cases[] = {{5, false, 18}, {5, true, 0}, {20, false, 0}};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		struct store_of s = all_there();
		struct view x = view_of(&s);
		const struct machine_look how = {look, &s};
		const struct provider_facts facts = {.tags = cases[n].tags,
						     .call_ms = 7};

		x.s.meta.created_at = cases[n].created;
		x.known =
			(struct machine_known){.facts = &facts, .started = 10};
		x.v.i = &x.i;
		x.v.s = &x.s;
		machine_view(&how, &x.known, NOW, &x.arena, &x.v, NULL);
		CHECK(x.v.look_at == cases[n].want);
		arena_release(&x.arena);
	}
}

int main(void)
{
	RUN(a_look_is_due_where_there_are_no_lists);
	RUN(what_is_there_is_not_waited_for);
	RUN(what_is_not_there_is_named_and_waited_for);
	RUN(the_first_that_is_missing_is_named_and_all_waited_for);
	RUN(a_volume_is_had_by_one_and_when_it_is_there);
	RUN(more_than_fit_are_left_out);
	RUN(there_are_only_so_many_offerings);
	RUN(what_is_being_deleted_needs_nothing);
	RUN(a_launch_may_have_been_asked_for);
	return test_done();
}
