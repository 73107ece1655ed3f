/* Every field that can be changed, in regions that can and that cannot. */

#include "model/change.h"

#include "base/attr.h"
#include "model/instance.h"
#include "model/region.h"
#include "test.h"

static struct arena arena;

static const char *all[] = {"stop",   "reboot",  "resize",       "rebuild",
			    "access", "volumes", "growRootDisk", "spot"};

/* A region that can all of that but WITHOUT, and MORE. */
static struct region region_that(const char *without, const char *more)
{
	const char **can = arena_alloc(&arena, 16 * sizeof(*can));
	struct region r = {.meta.name = "here", .status.capabilities.at = can};
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(all); i++)
		if (!without || strcmp(all[i], without) != 0)
			can[n++] = all[i];
	if (more)
		can[n++] = more;
	r.status.capabilities.n = n;
	return r;
}

static const struct flavor plain = {.meta.id = "small",
				    .root_disk.size_gib = 10};

static struct instance running(void)
{
	return (struct instance){
		.meta = {.id = "i", .name = "web-1"},
		.spec = {.flavor_id = "small",
			 .image_id = "debian",
			 .zone = "a",
			 .market = MARKET_ON_DEMAND,
			 .root_disk.size_gib = FIELD_NONE,
			 .power = POWER_ON},
		.status = {.state = INSTANCE_RUNNING,
			   .provider_id = "m-1",
			   .flavor_id = "small",
			   .zone = "a",
			   .market = MARKET_ON_DEMAND,
			   .private_ip = "10.0.0.5",
			   .launched_at = 1},
	};
}

typedef void edit(struct instance *i);

static void edit_nothing(struct instance *i)
{
	(void)i;
}

static void edit_description(struct instance *i)
{
	i->meta.description = "other";
}

static void edit_tags(struct instance *i)
{
	static struct field_tag tag = {"k", "v"};

	i->meta.tags = (struct items){&tag, 1};
}

static void edit_flavor(struct instance *i)
{
	i->spec.flavor_id = "large";
}

static void edit_image(struct instance *i)
{
	i->spec.image_id = "ubuntu";
}

static void edit_zone(struct instance *i)
{
	i->spec.zone = "b";
}

static void edit_no_zone(struct instance *i)
{
	i->spec.zone = NULL;
}

static void edit_market(struct instance *i)
{
	i->spec.market = MARKET_SPOT;
}

static void edit_alternatives(struct instance *i)
{
	static struct alternative other = {.zone = "b"};

	i->spec.alternatives = (struct items){&other, 1};
}

static void edit_grow(struct instance *i)
{
	i->spec.root_disk.size_gib = 20;
}

static void edit_shrink(struct instance *i)
{
	i->spec.root_disk.size_gib = 5;
}

static void edit_same_size(struct instance *i)
{
	i->spec.root_disk.size_gib = 10;
}

static void edit_class(struct instance *i)
{
	i->spec.root_disk.class = "fast";
}

static void edit_volumes(struct instance *i)
{
	static struct instance_volume v = {.volume_id = "v"};

	i->spec.volumes = (struct items){&v, 1};
}

static const char *one[] = {"one"};

static void edit_groups(struct instance *i)
{
	i->spec.security_group_ids = (struct items){one, 1};
}

static void edit_public_ip(struct instance *i)
{
	i->spec.public_ip = true;
}

static void edit_sources(struct instance *i)
{
	i->spec.sources = (struct items){one, 1};
}

static void edit_sshca(struct instance *i)
{
	i->spec.sshca_id = "ca";
}

static void edit_keys(struct instance *i)
{
	i->spec.ssh_public_keys = (struct items){one, 1};
}

static void edit_user_data(struct instance *i)
{
	i->spec.user_data = "eA==";
}

static void edit_empty_user_data(struct instance *i)
{
	i->spec.user_data = "";
}

static void edit_power(struct instance *i)
{
	i->spec.power = POWER_OFF;
}

static void edit_expiry(struct instance *i)
{
	i->spec.expires_at = 5;
}

static void edit_protection(struct instance *i)
{
	i->spec.delete_protection = true;
}

static void edit_paused(struct instance *i)
{
	i->spec.paused = true;
}

enum { REFUSED = -1 };

/* What a difference comes to: where the region can everything, and where it
 * cannot WITHOUT. */
static const struct {
	edit *edit;
	const char *pointer;
	int action, need;
	const char *without;
	int action_without; /* or REFUSED */
} t[] = {
	{edit_nothing, NULL, 0, CHANGE_NEEDS_NOTHING, NULL, 0},
	{edit_description, "/description", 0, CHANGE_NEEDS_NOTHING, NULL, 0},
	{edit_tags, "/tags", 0, CHANGE_NEEDS_NOTHING, NULL, 0},
	{edit_flavor, "/spec/flavorId", CHANGE_RESIZE, CHANGE_NEEDS_RESTART,
	 "resize", CHANGE_REPLACE},
	{edit_image, "/spec/imageId", CHANGE_REBUILD, CHANGE_NEEDS_REBUILD,
	 "rebuild", CHANGE_REPLACE},
	{edit_zone, "/spec/zone", CHANGE_REPLACE, CHANGE_NEEDS_REBUILD, NULL,
	 CHANGE_REPLACE},
	{edit_no_zone, "/spec/zone", 0, CHANGE_NEEDS_NOTHING, NULL, 0},
	{edit_market, "/spec/market", CHANGE_REPLACE, CHANGE_NEEDS_REBUILD,
	 NULL, CHANGE_REPLACE},
	{edit_alternatives, "/spec/alternatives", 0, CHANGE_NEEDS_NOTHING, NULL,
	 0},
	{edit_grow, "/spec/rootDisk/sizeGiB", 0, CHANGE_NEEDS_NOTHING,
	 "growRootDisk", CHANGE_REPLACE},
	{edit_same_size, "/spec/rootDisk/sizeGiB", 0, CHANGE_NEEDS_NOTHING,
	 "growRootDisk", 0},
	{edit_shrink, "/spec/rootDisk/sizeGiB", REFUSED, 0, NULL, REFUSED},
	{edit_class, "/spec/rootDisk/class", CHANGE_REPLACE,
	 CHANGE_NEEDS_REBUILD, NULL, CHANGE_REPLACE},
	{edit_volumes, "/spec/volumes", 0, CHANGE_NEEDS_NOTHING, "volumes",
	 REFUSED},
	{edit_groups, "/spec/securityGroupIds", 0, CHANGE_NEEDS_NOTHING,
	 "access", CHANGE_REPLACE},
	{edit_public_ip, "/spec/publicIp", 0, CHANGE_NEEDS_NOTHING, "access",
	 CHANGE_REPLACE},
	{edit_sources, "/spec/allowedSourceAddresses", 0, CHANGE_NEEDS_NOTHING,
	 "access", CHANGE_REPLACE},
	{edit_sshca, "/spec/sshCertificateAuthorityId", CHANGE_REBUILD,
	 CHANGE_NEEDS_REBUILD, "rebuild", CHANGE_REPLACE},
	{edit_keys, "/spec/sshPublicKeys", CHANGE_REBUILD, CHANGE_NEEDS_REBUILD,
	 "rebuild", CHANGE_REPLACE},
	{edit_user_data, "/spec/userData", CHANGE_REBUILD, CHANGE_NEEDS_REBUILD,
	 "rebuild", CHANGE_REPLACE},
	{edit_empty_user_data, "/spec/userData", 0, CHANGE_NEEDS_NOTHING,
	 "rebuild", 0},
	{edit_power, "/spec/power", 0, CHANGE_NEEDS_NOTHING, "stop", REFUSED},
	{edit_expiry, "/spec/expiresAt", 0, CHANGE_NEEDS_NOTHING, NULL, 0},
	{edit_protection, "/spec/deleteProtection", 0, CHANGE_NEEDS_NOTHING,
	 NULL, 0},
	{edit_paused, "/spec/paused", 0, CHANGE_NEEDS_NOTHING, NULL, 0},
};

static int decide(const struct instance *old, const struct instance *new,
		  const struct flavor *f, const struct region *r,
		  struct change_plan *ret, struct err *err)
{
	struct change_case c = {
		.old = old, .new = new, .flavor = f, .region = r};

	return change_decide(&c, &arena, ret, err);
}

static void check_row(size_t i, const struct region *r, int action)
{
	struct instance old = running(), new = running();
	struct change_plan p = {0};
	struct err err = {0};
	bool ok;

	t[i].edit(&new);
	if (action == REFUSED) {
		CHECK(decide(&old, &new, &plain, r, &p, &err) < 0);
		CHECK_STR(err.field, t[i].pointer);
		return;
	}
	ok = decide(&old, &new, &plain, r, &p, &err) == 0 && p.action == action;
	CHECK(ok);
	if (!ok)
		printf("# row %zu: action %d, not %d\n", i, p.action, action);
	CHECK(p.fields.n == (t[i].pointer != NULL));
	if (p.fields.n)
		CHECK_STR(((const char **)p.fields.at)[0], t[i].pointer);
	if (action == t[i].action)
		CHECK(p.need == t[i].need);
	CHECK((p.loses.n > 0) == (p.need == CHANGE_NEEDS_REBUILD));
}

static void each_field_comes_to_what_the_table_says(void)
{
	struct region able = region_that(NULL, NULL);

	for (size_t i = 0; i < COUNT_OF(t); i++)
		check_row(i, &able, t[i].action);
}

static void each_field_comes_to_more_where_the_region_cannot(void)
{
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct region r = region_that(t[i].without, NULL);

		check_row(i, &r, t[i].action_without);
	}
}

/* What each does is not changed by what other fields need. */
static void other_capabilities_do_not_matter(void)
{
	for (size_t i = 0; i < COUNT_OF(t); i++)
		for (size_t n = 0; n < COUNT_OF(all); n++) {
			struct region r = region_that(all[n], NULL);

			if (!t[i].without || strcmp(all[n], t[i].without) != 0)
				check_row(i, &r, t[i].action);
		}
}

static void the_gravest_of_several_counts(void)
{
	struct instance old = running(), new = running();
	struct region r = region_that(NULL, NULL);
	struct change_plan p;
	struct err err = {0};

	edit_flavor(&new);
	edit_image(&new);
	edit_description(&new);
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_REBUILD && p.fields.n == 3);
	edit_zone(&new);
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_REPLACE && p.fields.n == 4);
}

static bool loses(const struct change_plan *p, const char *what)
{
	for (size_t i = 0; i < p->loses.n; i++)
		if (strcmp(((const char **)p->loses.at)[i], what) == 0)
			return true;
	return false;
}

static void what_is_lost_is_what_there_is(void)
{
	struct local_disk disk = {.size_gib = 100, .count = 1};
	struct flavor f = plain;
	struct instance old = running(), new = running();
	struct region r = region_that(NULL, NULL);
	struct change_plan p;
	struct err err = {0};

	edit_zone(&new);
	CHECK(decide(&old, &new, &f, &r, &p, &err) == 0);
	CHECK(loses(&p, "rootDisk") && loses(&p, "privateIp"));
	CHECK(!loses(&p, "publicIp") && !loses(&p, "localDisks"));
	CHECK(!loses(&p, "privateIp6") && !loses(&p, "macAddress"));
	CHECK(loses(&p, "consoleOutput"));
	f.local_disks = (struct items){&disk, 1};
	old.status.private_ip = NULL;
	old.status.private_ip6 = "fd00::5";
	old.status.public_ip = "192.0.2.1";
	old.status.mac = "02:00:00:00:00:01";
	CHECK(decide(&old, &new, &f, &r, &p, &err) == 0);
	CHECK(loses(&p, "publicIp") && loses(&p, "localDisks"));
	CHECK(loses(&p, "privateIp6") && loses(&p, "macAddress"));
	CHECK(!loses(&p, "privateIp"));
	/* Disks that go with the machine do not survive a resize. */
	new = running();
	edit_flavor(&new);
	CHECK(decide(&old, &new, &f, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_RESIZE && p.need == CHANGE_NEEDS_REBUILD);
	CHECK(loses(&p, "localDisks") && !loses(&p, "rootDisk"));
	/* But a rebuild, which leaves the machine where it is. */
	new = running();
	edit_image(&new);
	CHECK(decide(&old, &new, &f, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_REBUILD && p.loses.n == 1);
	CHECK(loses(&p, "rootDisk"));
}

static void a_change_is_from_what_there_was(void)
{
	struct instance old = running(), new;
	struct region r = region_that(NULL, NULL);
	struct change_plan p;
	struct err err = {0};

	/* A size that was said is what a disk cannot shrink from, */
	old.spec.root_disk.size_gib = 40;
	old.spec.root_disk.class = "ssd";
	old.spec.user_data = "eA==";
	new = old;
	new.spec.root_disk.size_gib = 30;
	CHECK(decide(&old, &new, &plain, &r, &p, &err) < 0);
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "it has 40 GiB"));
	CHECK_STR(err.field, "/spec/rootDisk/sizeGiB");
	/* and one that is said no more changes nothing. */
	new.spec.root_disk.size_gib = FIELD_NONE;
	new.spec.root_disk.class = NULL;
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == 0 && p.fields.n == 2);
	/* Taking user data away is a change of it. */
	new.spec.user_data = "";
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_REBUILD);
	/* Of a flavor that is not known there is no size to shrink from. */
	old = new = running();
	new.spec.root_disk.size_gib = 1;
	CHECK(decide(&old, &new, NULL, &r, &p, &err) == 0);
	CHECK(p.action == 0);
	/* What it got is not known before it has been launched. */
	memset(&old.status, 0, sizeof(old.status));
	edit_flavor(&new);
	CHECK(decide(&old, &new, NULL, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_RESIZE && p.need == CHANGE_NEEDS_NOTHING);
}

static void a_resize_needs_nothing_where_nothing_restarts(void)
{
	struct instance old = running(), new = running();
	struct region live = region_that(NULL, "resizeLive");
	struct region r = region_that(NULL, NULL);
	struct change_plan p;
	struct err err = {0};

	edit_flavor(&new);
	CHECK(decide(&old, &new, &plain, &live, &p, &err) == 0);
	CHECK(p.action == CHANGE_RESIZE && p.need == CHANGE_NEEDS_NOTHING);
	old.status.state = INSTANCE_STOPPED;
	old.spec.power = new.spec.power = POWER_OFF;
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_RESIZE && p.need == CHANGE_NEEDS_NOTHING);
	/* It is to start with it: that is a restart. */
	new.spec.power = POWER_ON;
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_RESIZE && p.need == CHANGE_NEEDS_RESTART);
}

static void one_that_was_never_launched_has_nothing_to_lose(void)
{
	struct instance old = running(), new;
	struct region r = region_that(NULL, NULL);
	struct change_plan p;
	struct err err = {0};

	old.status.provider_id = NULL;
	old.status.launched_at = 0;
	new = old;
	edit_image(&new);
	edit_zone(&new);
	edit_shrink(&new);
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == CHANGE_REPLACE && p.need == CHANGE_NEEDS_NOTHING);
	CHECK(p.loses.n == 0);
}

static void an_alternative_that_it_got_can_be_made_its_choice(void)
{
	struct instance old = running(), new;
	struct region r = region_that(NULL, NULL);
	struct change_plan p;
	struct err err = {0};

	old.status.flavor_id = "large";
	old.status.zone = "b";
	old.status.market = MARKET_SPOT;
	new = old;
	edit_flavor(&new);
	edit_zone(&new);
	edit_market(&new);
	CHECK(decide(&old, &new, &plain, &r, &p, &err) == 0);
	CHECK(p.action == 0 && p.fields.n == 3);
}

static void verbs_are_changes_too(void)
{
	struct instance i = running();
	struct region r = region_that(NULL, NULL);
	struct change_case c = {
		.old = &i, .new = &i, .flavor = &plain, .region = &r};
	struct change_plan p;

	change_verb(&c, CHANGE_REBOOT, &arena, &p);
	CHECK(p.action == CHANGE_REBOOT && p.need == CHANGE_NEEDS_RESTART);
	change_verb(&c, CHANGE_REBUILD, &arena, &p);
	CHECK(p.action == CHANGE_REBUILD && p.need == CHANGE_NEEDS_REBUILD);
	CHECK(loses(&p, "rootDisk") && !loses(&p, "privateIp"));
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(each_field_comes_to_what_the_table_says);
	RUN(each_field_comes_to_more_where_the_region_cannot);
	RUN(other_capabilities_do_not_matter);
	RUN(the_gravest_of_several_counts);
	RUN(what_is_lost_is_what_there_is);
	RUN(a_change_is_from_what_there_was);
	RUN(a_resize_needs_nothing_where_nothing_restarts);
	RUN(one_that_was_never_launched_has_nothing_to_lose);
	RUN(an_alternative_that_it_got_can_be_made_its_choice);
	RUN(verbs_are_changes_too);
	arena_release(&arena);
	return test_done();
}
