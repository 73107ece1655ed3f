/* Who a token of an issuer stands for, on a store in memory. */
#include "identity/person.h"

#include "identity/oidc.h"
#include "kept.h"
#include "model/group.h"
#include "model/organization.h"
#include "model/role.h"
#include "model/user.h"

#define ACME  "00000000-0000-7000-8000-0000000000a1"
#define OTHER "00000000-0000-7000-8000-0000000000a2"
#define ANN   "00000000-0000-7000-8000-0000000000b1"
#define ANN2  "00000000-0000-7000-8000-0000000000b2"
#define OPS   "00000000-0000-7000-8000-0000000000c1"
#define CORP  "https://id.example.org"

static const char *acme_only[] = {"acme"};
static const char *by_id[] = {OTHER};

static struct oidc_issuer corp = {.name = "corp", .issuer = CORP};

static struct persons *persons;

static void put_organization(const char *id, const char *name)
{
	struct meta m = kept_meta(id, name);

	kept_put(&organization_kind, &m);
}

static void put_user(const char *id, const char *organization, int state)
{
	struct user u = {.meta = kept_meta(id, "ann"),
			 .organization_id = organization,
			 .email = "ann@example.org",
			 .state = state};

	kept_put(&user_kind, &u);
}

static void put_named(const char *id, const char *organization)
{
	struct user u = {.meta = kept_meta(id, "ann-too"),
			 .organization_id = organization,
			 .email = "ann@example.org",
			 .state = USER_ACTIVE};

	kept_put(&user_kind, &u);
}

static void put_group(const char *organization, const char *external)
{
	const char *role = built_in_roles[organization ? 2 : 0].id;
	struct group g = {.meta = kept_meta(OPS, "ops"),
			  .organization_id = organization,
			  .external_groups = {&external, 1},
			  .role_ids = {&role, 1}};

	kept_put(&group_kind, &g);
}

static void begin(void)
{
	kept_open((struct store_conf){0}, true);
	persons = persons_new(kept.store);
	corp.organizations = (struct items){0};
	put_organization(ACME, "acme");
	put_organization(OTHER, "other");
}

static void finish(void)
{
	kept_close();
	persons_free(persons);
}

struct seen {
	int rc;
	struct principal who;
	struct err err;
};

static struct seen look_with(const char *subject, const char *email,
			     bool verified, const char **groups, size_t n)
{
	struct oidc_person p = {.issuer = &corp,
				.claims = {.issuer = CORP,
					   .subject = subject,
					   .email = email,
					   .email_verified = verified,
					   .groups = groups,
					   .n_groups = n}};
	struct seen s = {0};

	s.rc = person_resolve(persons, &p, &kept.arena, &s.who, &s.err);
	return s;
}

static struct seen look(const char *subject, const char *email, bool verified,
			const char *group)
{
	return look_with(subject, email, verified, &group, group ? 1 : 0);
}

static const struct user *user(const char *id)
{
	struct record r;

	CHECK(store_get(kept.store, 0, &user_kind, id, &r));
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
	kept_settle();
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
	kept_settle();
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 0);
	CHECK(look("s-2", "ann@example.org", true, NULL).rc == -1);
	CHECK_STR(user(ANN)->subject, "s-1");
	finish();
}

static void edit_subject(struct user *u)
{
	u->issuer = CORP;
	u->subject = "s-9";
}

static void edit_state(struct user *u)
{
	u->state = USER_SUSPENDED;
}

static void edit_email(struct user *u)
{
	u->email = "bob@example.org";
}

static void edit_issuer(struct user *u)
{
	u->issuer = "https://elsewhere.example";
}

static void edit_same_issuer(struct user *u)
{
	u->issuer = CORP;
}

static int remove_ann(struct tx *tx, void *ctx, struct err *err)
{
	(void)ctx;
	return tx_delete(tx, &user_kind, ANN, err);
}

/* What is written but not yet durable when somebody is bound counts. */
static void what_changed_meanwhile_is_not_bound(void)
{
	static void (*const edits[])(struct user * u) = {
		edit_same_issuer, edit_subject, edit_state,
		edit_email,       edit_issuer,  NULL};
	struct record r;

	for (size_t i = 0; i < COUNT_OF(edits); i++) {
		struct kept_put p = {.kind = &user_kind};
		struct txn t = {.fn = kept_write, .done = kept_done, .ctx = &p};
		struct user u;

		begin();
		put_user(ANN, ACME, USER_ACTIVE);
		u = *user(ANN);
		p.object = &u;
		if (edits[i])
			edits[i](&u);
		else
			t.fn = remove_ann;
		store_transact(kept.store, &t);
		CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
		kept_settle();
		if (!edits[i]) {
			CHECK(!store_get(kept.store, 0, &user_kind, ANN, &r));
		} else {
			const char *subject = user(ANN)->subject;

			CHECK(subject ? strcmp(subject, i ? "s-9" : "s-1") == 0
				      : i > 1);
		}
		finish();
	}
}

static void an_issuer_may_be_said_beforehand(void)
{
	struct user u = {.meta = kept_meta(ANN, "ann"),
			 .organization_id = ACME,
			 .email = "ann@example.org",
			 .issuer = "https://elsewhere.example",
			 .state = USER_ACTIVE};

	begin();
	kept_put(&user_kind, &u);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == -1);
	u.issuer = CORP;
	kept_put(&user_kind, &u);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	kept_settle();
	CHECK(look("s-1", NULL, false, NULL).rc == 0);
	/* A subject is its issuer's: another may have the same. */
	u = *user(ANN);
	u.issuer = "https://elsewhere.example";
	kept_put(&user_kind, &u);
	CHECK(look("s-1", NULL, false, NULL).rc == -1);
	u.issuer = NULL;
	kept_put(&user_kind, &u);
	CHECK(look("s-1", NULL, false, NULL).rc == -1);
	finish();
}

/* One that is under way when everything ends. */
static void a_binding_may_be_left_undone(void)
{
	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	finish();
	persons_free(NULL);
}

static void letters_of_an_address_may_be_large(void)
{
	begin();
	put_user(ANN, ACME, USER_ACTIVE);
	CHECK(look("s-1", "Ann@Example.ORG", true, NULL).rc == 1);
	kept_settle();
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
	memory_answer(kept.backend, MEMORY_REFUSED);
	CHECK(!user(ANN)->subject);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	kept_settle();
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
	kept_settle();
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
	kept_settle();
	put_named(ANN2, ACME);
	s = look("s-1", "ann@example.org", true, NULL);
	CHECK(s.rc == 0 && s.who.n_ids == 1 && !user(ANN2)->subject);
	finish();
}

static void a_suspended_user_bars_from_being_another_there(void)
{
	struct user u = {.meta = kept_meta(ANN, "ann"),
			 .organization_id = ACME,
			 .email = "ann@example.org",
			 .issuer = CORP,
			 .subject = "s-1",
			 .state = USER_SUSPENDED};
	struct seen s;

	begin();
	kept_put(&user_kind, &u);
	put_named(ANN2, ACME);
	s = look("s-1", "ann@example.org", true, NULL);
	CHECK(s.rc == -1 && strstr(s.err.msg, "suspended"));
	CHECK(!user(ANN2)->subject);
	/* Two of them are no more. */
	u = *user(ANN2);
	u.state = USER_PENDING;
	kept_put(&user_kind, &u);
	s = look("s-1", "ann@example.org", true, NULL);
	CHECK(s.rc == -1 && strstr(s.err.msg, "suspended"));
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
	kept_settle();
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

/* By its users, by one name of it and by another. */
static void a_group_gives_its_roles_once(void)
{
	const char *external[] = {"corp/ops", "corp/dev"}, *ann[] = {ANN};
	const char *names[] = {"dev", "ops", "none"};
	struct group g = {
		.meta = kept_meta(OPS, "ops"),
		.organization_id = ACME,
		.external_groups = {external, 2},
		.role_ids = {&(const char *){built_in_roles[2].id}, 1}};
	struct group h = g;
	struct seen s;

	begin();
	kept_put(&group_kind, &g);
	h.meta = kept_meta(ANN2, "ops-too");
	h.organization_id = OTHER;
	kept_put(&group_kind, &h);
	s = look_with("s-1", NULL, false, names, 3);
	CHECK(s.rc == 0 && s.who.n == 2 && s.who.n_ids == 1);
	put_user(ANN, ACME, USER_ACTIVE);
	g.user_ids = (struct items){ann, 1};
	kept_put(&group_kind, &g);
	CHECK(look("s-1", "ann@example.org", true, NULL).rc == 1);
	kept_settle();
	s = look_with("s-1", NULL, false, names, 3);
	CHECK(s.rc == 0 && s.who.n == 2);
	CHECK_STR(s.who.id, ANN);
	finish();
}

/* Longer than any group's external name can be. */
static void a_long_name_of_a_group_is_nobodys(void)
{
	char name[256];
	struct seen s;

	begin();
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put_group(ACME, "corp/ops");
	CHECK(look("s-1", NULL, false, name).rc == -1);
	s = look_with("s-1", NULL, false, (const char *[]){name, "ops"}, 2);
	CHECK(s.rc == 0 && s.who.n == 1);
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
	kept_settle();
	CHECK(look("s-1", NULL, false, NULL).rc == 0);
	/* What was bound is not theirs to vouch for any more. */
	corp.organizations = (struct items){by_id, 1};
	CHECK(look("s-1", NULL, false, NULL).rc == -1);
	/* By its id as by its name. */
	put_user(ANN2, OTHER, USER_ACTIVE);
	CHECK(look("s-2", "ann@example.org", true, NULL).rc == 1);
	kept_settle();
	CHECK(look("s-2", NULL, false, NULL).rc == 0);
	finish();
}

static void only_an_unlimited_issuer_admits_to_the_platform(void)
{
	struct seen s;

	begin();
	put_group(NULL, "corp/ops");
	s = look("s-1", NULL, false, "ops");
	CHECK(s.rc == 0 && s.who.n == 1 && !s.who.grants[0].organization);
	/* A user who is suspended somewhere is not barred from it. */
	put_user(ANN, ACME, USER_SUSPENDED);
	s = look("s-1", "ann@example.org", true, "ops");
	CHECK(s.rc == 0 && s.who.n == 1 && !s.who.grants[0].organization);
	corp.organizations = (struct items){acme_only, 1};
	CHECK(look("s-1", NULL, false, "ops").rc == -1);
	finish();
}

int main(void)
{
	RUN(a_verified_address_is_bound);
	RUN(the_first_of_two_subjects_gets_it);
	RUN(what_changed_meanwhile_is_not_bound);
	RUN(an_issuer_may_be_said_beforehand);
	RUN(a_binding_may_be_left_undone);
	RUN(letters_of_an_address_may_be_large);
	RUN(an_address_that_is_not_verified_is_nothing);
	RUN(a_disk_that_is_full_binds_nobody);
	RUN(suspended_and_pending_users_are_refused);
	RUN(one_may_be_active_in_one_place_and_suspended_in_another);
	RUN(one_user_of_an_organization_counts);
	RUN(a_suspended_user_bars_from_being_another_there);
	RUN(a_suspended_user_bars_from_its_own_organization_only);
	RUN(one_person_is_several_users);
	RUN(a_group_admits_by_its_external_name);
	RUN(a_group_gives_its_roles_once);
	RUN(a_long_name_of_a_group_is_nobodys);
	RUN(an_issuer_speaks_for_its_organizations_only);
	RUN(only_an_unlimited_issuer_admits_to_the_platform);
	return test_done();
}
