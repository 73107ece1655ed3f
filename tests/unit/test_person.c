/* Who a token of an issuer stands for, on a store in memory. */
#include "identity/person.h"

#include <stdlib.h>

#include "identity/bootstrap.h"
#include "identity/oidc.h"
#include "model/group.h"
#include "model/organization.h"
#include "model/role.h"
#include "model/user.h"
#include "store/memory.h"
#include "store/read.h"
#include "test.h"

#define ACME  "00000000-0000-7000-8000-0000000000a1"
#define OTHER "00000000-0000-7000-8000-0000000000a2"
#define ANN   "00000000-0000-7000-8000-0000000000b1"
#define ANN2  "00000000-0000-7000-8000-0000000000b2"
#define OPS   "00000000-0000-7000-8000-0000000000c1"
#define CORP  "https://id.example.org"

static const char *acme_only[] = {"acme"};
static const char *by_id[] = {OTHER};

static struct oidc_issuer corp = {.name = "corp", .issuer = CORP};

static struct {
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct random_seeded random;
	struct persons *persons;
	struct arena arena;
} w;

/* A write of one object; or the built-in roles, without one. */
struct put {
	struct txn txn;
	const struct kind *kind;
	void *object;
};

static int write_one(struct tx *tx, void *ctx, struct err *err)
{
	struct put *p = ctx;

	return p->kind ? tx_put(tx, p->kind, p->object, err)
		       : bootstrap(tx, NULL, err);
}

static void written(struct txn *t, const struct err *err)
{
	(void)t;
	CHECK(!err);
}

static void settle(void)
{
	while (memory_pending(w.backend))
		memory_answer(w.backend, MEMORY_WRITTEN);
}

static void put(const struct kind *k, void *object)
{
	struct put p = {.kind = k, .object = object};

	p.txn = (struct txn){.fn = write_one, .done = written, .ctx = &p};
	store_transact(w.store, &p.txn);
	settle();
}

static struct meta meta_of(const char *id, const char *name)
{
	return (struct meta){.id = id,
			     .name = name,
			     .generation = 1,
			     .created_by = "test",
			     .updated_by = "test",
			     .created_at = 1,
			     .updated_at = 1};
}

static void put_organization(const char *id, const char *name)
{
	struct meta m = meta_of(id, name);

	put(&organization_kind, &m);
}

static void put_user(const char *id, const char *organization, int state)
{
	struct user u = {.meta = meta_of(id, "ann"),
			 .organization_id = organization,
			 .email = "ann@example.org",
			 .state = state};

	put(&user_kind, &u);
}

static void put_named(const char *id, const char *organization)
{
	struct user u = {.meta = meta_of(id, "ann-too"),
			 .organization_id = organization,
			 .email = "ann@example.org",
			 .state = USER_ACTIVE};

	put(&user_kind, &u);
}

static void put_group(const char *organization, const char *external)
{
	const char *role = built_in_roles[organization ? 2 : 0].id;
	struct group g = {.meta = meta_of(OPS, "ops"),
			  .organization_id = organization,
			  .external_groups = {&external, 1},
			  .role_ids = {&role, 1}};

	put(&group_kind, &g);
}

static void begin(void)
{
	struct store_conf conf = {.clock = &clock_system,
				  .random = &w.random.base};
	struct err err = {0};

	random_seed(&w.random, 1);
	arena_init(&w.arena, (size_t)64 << 20);
	w.disk = disk_new();
	w.backend = memory_open(w.disk);
	if (store_open(&conf, w.backend, &w.store, &err) < 0)
		abort();
	w.persons = persons_new(w.store);
	corp.organizations = (struct items){0};
	put(NULL, NULL);
	put_organization(ACME, "acme");
	put_organization(OTHER, "other");
}

static void finish(void)
{
	store_close(w.store);
	persons_free(w.persons);
	disk_free(w.disk);
	arena_release(&w.arena);
}

struct seen {
	int rc;
	struct principal who;
	struct err err;
};

static struct seen look(const char *subject, const char *email, bool verified,
			const char *group)
{
	struct oidc_person p = {.issuer = &corp,
				.claims = {.issuer = CORP,
					   .subject = subject,
					   .email = email,
					   .email_verified = verified,
					   .groups = &group,
					   .n_groups = group ? 1 : 0}};
	struct seen s = {0};

	s.rc = person_resolve(w.persons, &p, &w.arena, &s.who, &s.err);
	return s;
}

static const struct user *user(const char *id)
{
	struct record r;

	CHECK(store_get(w.store, 0, &user_kind, id, &r));
	return r.object;
}

static void a_verified_address_is_bound(void)
{
	struct seen s;

	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	s = look("s-1", "ann@example.org", true, NULL);
	CHECK(s.rc == 1);
	/* Asking again while that is under way changes nothing. */
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	settle();
	s = look("s-1", "ann@example.org", true, NULL);
	CHECK(s.rc == 0 && s.who.n_ids == 1);
	CHECK_STR(s.who.id, ANN);
	CHECK_STR(s.who.name, "user:ann@example.org");
	CHECK_STR(user(ANN)->subject, "s-1");
	CHECK_STR(user(ANN)->issuer, CORP);
	/* The address does not matter any more. */
	CHECK(look("s-1", NULL, false, NULL).rc == 0);
	CHECK(look("s-2", "ann@example.org", true, NULL).rc == -1);
	finish();
}

static void the_first_of_two_subjects_gets_it(void)
{
	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	CHECK(look("s-2", "ann@example.org", true, NULL).rc == 1);
	settle();
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 0);
	CHECK(look("s-2", "ann@example.org", true, NULL).rc == -1);
	CHECK_STR(user(ANN)->subject, "s-1");
	finish();
}

static void letters_of_an_address_may_be_large(void)
{
	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	CHECK(look("s-1", "Ann@Example.ORG", true, NULL).rc == 1);
	settle();
	CHECK(look("s-1", "Ann@Example.ORG", true, NULL).rc == 0);
	finish();
}

static void an_address_that_is_not_verified_is_nothing(void)
{
	struct seen s;

	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	s = look("s-1", "ann@example.org", false, NULL);
	CHECK(s.rc == -1 && s.err.code == ERR_UNAUTHENTICATED);
	CHECK(strstr(s.err.msg, "not verified"));
	s = look("s-1", NULL, false, NULL);
	CHECK(s.rc == -1 && strstr(s.err.msg, "no email"));
	CHECK(!user(ANN)->subject);
	finish();
}

static void a_disk_that_is_full_binds_nobody(void)
{
	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	memory_answer(w.backend, MEMORY_REFUSED);
	CHECK(!user(ANN)->subject);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	settle();
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 0);
	finish();
}

static void suspended_and_pending_users_are_refused(void)
{
	struct seen s;

	begin();
	put_user(ANN, ACME, USER_SUSPENDED);
	put_group(ACME, "corp/ops");
	s = look("s-1", "ann@example.org", true, "ops");
	CHECK(s.rc == -1 && strstr(s.err.msg, "suspended"));
	put_user(ANN, ACME, USER_PENDING);
	s = look("s-1", "ann@example.org", true, "ops");
	CHECK(s.rc == -1 && strstr(s.err.msg, "pending"));
	finish();
}

static void one_may_be_active_in_one_place_and_suspended_in_another(void)
{
	struct seen s;

	begin();
	put_user(ANN, ACME, USER_SUSPENDED);
	put_user(ANN2, OTHER, USER_ACTIVE);
	put_group(ACME, "corp/ops");
	CHECK(look("s-1", "ann@example.org", true, "ops").rc == 1);
	settle();
	s = look("s-1", "ann@example.org", true, "ops");
	CHECK(s.rc == 0 && s.who.n_ids == 1 && s.who.n == 0);
	CHECK_STR(s.who.id, ANN2);
	finish();
}

static void one_user_of_an_organization_counts(void)
{
	struct seen s;

	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	settle();
	put_named(ANN2, ACME);
	s = look("s-1", "ann@example.org", true, NULL);
	CHECK(s.rc == 0 && s.who.n_ids == 1 && !user(ANN2)->subject);
	finish();
}

/* Whoever may make users in one organization has no say in another. */
static void a_suspended_user_bars_from_its_own_organization_only(void)
{
	struct seen s;

	begin();
	put_group(ACME, "corp/ops");
	put_user(ANN2, OTHER, USER_SUSPENDED);
	s = look("s-1", "ann@example.org", true, "ops");
	CHECK(s.rc == 0 && s.who.n == 1);
	CHECK_STR(s.who.grants[0].organization, ACME);
	finish();
}

static void one_person_is_several_users(void)
{
	struct seen s;

	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	put_user(ANN2, OTHER, USER_ACTIVE);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	settle();
	s = look("s-1", NULL, false, NULL);
	CHECK(s.rc == 0 && s.who.n_ids == 2);
	CHECK(access_is(&s.who, ANN) && access_is(&s.who, ANN2));
	CHECK(!access_is(&s.who, OPS));
	finish();
}

static void a_group_admits_by_its_external_name(void)
{
	struct seen s;

	begin();
	put_group(ACME, "corp/ops");
	s = look("s-1", "eve@example.org", true, "ops");
	CHECK(s.rc == 0 && s.who.n == 1);
	CHECK_STR(s.who.name, "external:corp/eve@example.org");
	CHECK_STR(s.who.grants[0].organization, ACME);
	CHECK(strlen(s.who.id) == 36);
	s = look("s-1", "eve@example.org", false, "ops");
	CHECK_STR(s.who.name, "external:corp/s-1");
	CHECK(look("s-1", NULL, false, "dev").rc == -1);
	CHECK(look("s-1", NULL, false, "corp/ops").rc == -1);
	put_group(ACME, "ops");
	CHECK(look("s-1", NULL, false, "ops").rc == -1);
	finish();
}

static void an_issuer_speaks_for_its_organizations_only(void)
{
	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	put_group(ACME, "corp/ops");
	corp.organizations = (struct items){by_id, 1};
	CHECK(look("s-1", "ann@example.org", true, "ops").rc == -1);
	CHECK(!user(ANN)->subject);
	corp.organizations = (struct items){acme_only, 1};
	CHECK(look("s-1", "eve@example.org", true, "ops").rc == 0);
	CHECK(look("s-1", "ann@example.org", true, "ops").rc == 1);
	settle();
	CHECK(look("s-1", NULL, false, NULL).rc == 0);
	/* What was bound is not theirs to vouch for any more. */
	corp.organizations = (struct items){by_id, 1};
	CHECK(look("s-1", NULL, false, NULL).rc == -1);
	finish();
}

static void only_an_unlimited_issuer_admits_to_the_platform(void)
{
	struct seen s;

	begin();
	put_group(NULL, "corp/ops");
	s = look("s-1", NULL, false, "ops");
	CHECK(s.rc == 0 && s.who.n == 1 && !s.who.grants[0].organization);
	corp.organizations = (struct items){acme_only, 1};
	CHECK(look("s-1", NULL, false, "ops").rc == -1);
	finish();
}

int main(void)
{
	RUN(a_verified_address_is_bound);
	RUN(the_first_of_two_subjects_gets_it);
	RUN(letters_of_an_address_may_be_large);
	RUN(an_address_that_is_not_verified_is_nothing);
	RUN(a_disk_that_is_full_binds_nobody);
	RUN(suspended_and_pending_users_are_refused);
	RUN(one_may_be_active_in_one_place_and_suspended_in_another);
	RUN(one_user_of_an_organization_counts);
	RUN(a_suspended_user_bars_from_its_own_organization_only);
	RUN(one_person_is_several_users);
	RUN(a_group_admits_by_its_external_name);
	RUN(an_issuer_speaks_for_its_organizations_only);
	RUN(only_an_unlimited_issuer_admits_to_the_platform);
	return test_done();
}
