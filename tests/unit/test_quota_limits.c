/* Limits, what they are held against, and what is told when they do not fit. */
#include "identity/quota.h"

#include "base/attr.h"
#include "kept.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/region.h"
#include "stepped.h"

#define ACME    "00000000-0000-7000-8000-0000000000a1"
#define OTHER   "00000000-0000-7000-8000-0000000000a2"
#define SHOP    "00000000-0000-7000-8000-0000000000b1"
#define HERE    "00000000-0000-7000-8000-0000000000c1"
#define NET     "00000000-0000-7000-8000-0000000000d1"
#define GADGET  "00000000-0000-7000-8000-0000000000e1"
#define STRANGE "00000000-0000-7000-8000-0000000000e2"
#define NOTHING "00000000-0000-7000-8000-0000000000ff"

static struct quota_sums *sums;

/* A kind of quota that has a default of 10. */
static void put_gadgets(int64_t fallback)
{
	struct quotakind k = {.meta = kept_meta(GADGET, "gadgets"),
			      .unit = "pieces",
			      .fallback = fallback};

	kept_put(&quotakind_kind, &k);
}

static void begin(void)
{
	struct organization acme = {.meta = kept_meta(ACME, "acme")};
	struct organization other = {.meta = kept_meta(OTHER, "other")};
	struct project shop = {.meta = kept_meta(SHOP, "shop"),
			       .organization_id = ACME};

	sums = quota_sums_new();
	kept_open((struct store_conf){.clock = &stepped,
				      .observe = quota_observe,
				      .observe_ctx = sums},
		  true);
	kept_put(&organization_kind, &acme);
	kept_put(&organization_kind, &other);
	kept_put(&project_kind, &shop);
	put_gadgets(10);
}

static void finish(void)
{
	kept_close();
	quota_sums_free(sums);
	quota_sums_free(NULL);
}

/* A quota of ACME, or of its project. */
static struct quota quota_of(bool project, struct quota_limit *limits, size_t n)
{
	static char id[37];

	quota_id(project ? SHOP : ACME, id);
	return (struct quota){.meta = kept_meta(id, NULL),
			      .organization_id = ACME,
			      .project_id = project ? SHOP : NULL,
			      .limits = {limits, n}};
}

struct charge {
	const char *object, *project;
	struct quota_amount amounts[2];
	size_t n;
};

static int charge_one(struct tx *tx, void *ctx, struct err *err)
{
	struct charge *c = ctx;
	struct allocation a = {.meta = kept_meta(NULL, NULL),
			       .organization_id = ACME,
			       .project_id = c->project,
			       .object_kind = "gadget",
			       .object_id = c->object,
			       .amounts = {c->amounts, c->n}};

	return quota_charge(sums, tx, &a, err);
}

static int charge(const char *object, const char *project, int64_t many)
{
	struct charge c = {object, project, {{"gadgets", many, 0}}, 1};

	return kept_try(charge_one, &c);
}

static bool told(enum err_code code, const char *pointer, const char *words)
{
	bool ok = kept.err.code == code &&
		  strcmp(kept.err.field, pointer) == 0 &&
		  strstr(kept.err.msg, words);

	if (!ok)
		printf("# %d %s: %s\n", kept.err.code, kept.err.field,
		       kept.err.msg);
	return ok;
}

static void what_is_used_stays_below_each_limit(void)
{
	struct quota_limit limit = {"gadgets", 4};
	struct quota q;

	begin();
	CHECK(charge(NET, NULL, 10) == 0);
	CHECK(charge(NET, NULL, 11) < 0);
	CHECK(told(ERR_QUOTA, "/amounts", "organization may use 10 gadgets"));
	CHECK(quota_used(sums, ACME, "gadgets").committed == 10);
	CHECK(charge(NET, NULL, 1) == 0);
	q = quota_of(true, &limit, 1);
	kept_put(&quota_kind, &q);
	CHECK(charge(HERE, SHOP, 4) == 0);
	CHECK(charge(HERE, SHOP, 5) < 0);
	CHECK(told(ERR_QUOTA, "/amounts", "project may use 4 gadgets"));
	/* What an organization has has no project that could be full. */
	CHECK(charge(NET, NULL, 6) == 0);
	CHECK(quota_used(sums, SHOP, "gadgets").committed == 4);
	finish();
}

/* A sum of what has no limit must be one that can be counted. */
static void without_a_limit_there_is_still_a_most(void)
{
	begin();
	put_gadgets(FIELD_NONE);
	CHECK(charge(NET, NULL, QUOTA_MOST) == 0);
	CHECK(charge(HERE, NULL, 1) < 0 && kept.err.code == ERR_QUOTA);
	finish();
}

static void only_kinds_that_there_are_are_charged(void)
{
	struct charge c = {NET, NULL, {{"widgets", 1, 0}}, 1};

	begin();
	CHECK(kept_try(charge_one, &c) < 0);
	CHECK(told(ERR_INVALID, "/amounts", "no quota kind widgets"));
	c.amounts[0].kind = c.amounts[1].kind = "gadgets";
	c.n = 2;
	CHECK(kept_try(charge_one, &c) < 0);
	CHECK(told(ERR_INVALID, "/amounts", "gadgets is named twice"));
	finish();
}

struct limits {
	const struct quota *old, *new;
	struct quotakind kind; /* its default, when there is no quota */
};

static int check_limits(struct tx *tx, void *ctx, struct err *err)
{
	struct limits *l = ctx;

	return l->old || l->new
		       ? quota_check_limits(sums, tx, l->old, l->new, err)
		       : quota_check_default(sums, tx, &l->kind, err);
}

static int try_limits(const struct quota *old, const struct quota *new)
{
	return kept_try(check_limits, &(struct limits){.old = old, .new = new});
}

static void a_limit_is_not_below_what_is_used(void)
{
	struct quota_limit low[] = {{"gadgets", 4}, {"gadgets", 4}};
	struct quota_limit high[] = {{"gadgets", 20}};
	struct quota_limit wrong[] = {{"widgets", 1}};
	struct quota_limit none[] = {{"gadgets", FIELD_NONE}};
	struct quota was, is;

	begin();
	was = quota_of(false, high, 1);
	CHECK(try_limits(NULL, &was) == 0);
	kept_put(&quota_kind, &was);
	CHECK(charge(NET, SHOP, 15) == 0);
	is = quota_of(false, low, 1);
	CHECK(try_limits(&was, &is) < 0);
	CHECK(told(ERR_CONFLICT, "/limits", "15 gadgets are in use"));
	is.limits.n = 2;
	CHECK(try_limits(&was, &is) < 0 && kept.err.code == ERR_INVALID);
	is = quota_of(false, wrong, 1);
	CHECK(try_limits(&was, &is) < 0);
	CHECK(told(ERR_INVALID, "/limits", "no quota kind widgets"));
	is = quota_of(false, none, 1);
	CHECK(try_limits(NULL, &is) == 0);
	/* Without one, the default of 10 would hold. */
	CHECK(try_limits(&was, NULL) < 0);
	CHECK(told(ERR_CONFLICT, "/limits", "the limit cannot be 10"));
	is = quota_of(false, NULL, 0);
	CHECK(try_limits(&was, &is) < 0 && kept.err.code == ERR_CONFLICT);
	put_gadgets(15);
	CHECK(try_limits(&was, &is) == 0 && try_limits(&was, NULL) == 0);
	/* A project without one is bound by its organization's. */
	was = quota_of(true, high, 1);
	put_gadgets(10);
	CHECK(try_limits(&was, NULL) == 0);
	finish();
}

static int try_default(const char *name, int64_t fallback)
{
	struct limits l = {.kind = {.meta = kept_meta(GADGET, name),
				    .fallback = fallback}};

	return kept_try(check_limits, &l);
}

static void a_default_is_not_below_what_it_holds_for(void)
{
	struct quota_limit own = {"gadgets", 8}, of_another = {"instances", 8};
	struct quota q;

	begin();
	CHECK(charge(NET, SHOP, 7) == 0);
	CHECK(try_default("gadgets", 7) == 0);
	CHECK(try_default("gadgets", 6) < 0);
	CHECK(told(ERR_CONFLICT, "/default", ACME " uses more of it"));
	CHECK(try_default("gadgets", FIELD_NONE) == 0);
	CHECK(try_default("widgets", 6) == 0);
	/* It does not hold where there is a limit. */
	q = quota_of(false, &of_another, 1);
	kept_put(&quota_kind, &q);
	CHECK(try_default("gadgets", 6) < 0);
	q = quota_of(false, &own, 1);
	kept_put(&quota_kind, &q);
	CHECK(try_default("gadgets", 6) == 0);
	CHECK(quota_limit_now(kept.store, ACME, NULL, "gadgets") == 8);
	CHECK(quota_limit_now(kept.store, OTHER, NULL, "gadgets") == 10);
	CHECK(quota_limit_now(kept.store, ACME, SHOP, "gadgets") == FIELD_NONE);
	CHECK(quota_limit_now(kept.store, ACME, NULL, "widgets") == FIELD_NONE);
	finish();
}

static void sums_that_are_wrong_are_told(void)
{
	struct quota_amount one = {"gadgets", 1, 2}, two = {"gadgets", 2, 0};
	struct allocation a = {.organization_id = ACME, .amounts = {&one, 1}};
	struct buf out = BUF_INIT(4096);

	begin();
	CHECK(charge(NET, NULL, 7) == 0);
	CHECK(quota_differences(sums, kept.store, &out) == 0 && !out.len);
	/* What is there is counted otherwise, */
	quota_observe(sums, &allocation_kind, &a, 1);
	CHECK(quota_differences(sums, kept.store, &out) == 2);
	CHECK_STR(out.data,
		  ACME "/gadgets: kept 8+2\n" ACME "/gadgets: added up 7+0\n");
	/* by what is in use or by what is reserved alone, */
	a.amounts.at = &two;
	quota_observe(sums, &allocation_kind, &a, 1);
	a.amounts.at = &(struct quota_amount){"gadgets", 3, 0};
	quota_observe(sums, &allocation_kind, &a, -1);
	buf_clear(&out);
	CHECK(quota_differences(sums, kept.store, &out) == 2);
	CHECK(strstr(out.data, "kept 7+2"));
	a.amounts.at = &(struct quota_amount){"gadgets", 0, 2};
	quota_observe(sums, &allocation_kind, &a, -1);
	/* and what is not there is counted. */
	a.organization_id = OTHER;
	a.amounts.at = &one;
	quota_observe(sums, &allocation_kind, &a, 1);
	buf_clear(&out);
	CHECK(quota_differences(sums, kept.store, &out) == 1);
	CHECK_STR(out.data, OTHER "/gadgets: kept 1+2\n");
	buf_release(&out);
	finish();
}

/* An allocation as nothing of ours would write it. */
static void put_allocation(const char *id, const char *organization,
			   const char *kind, const char *object,
			   struct quota_amount *amount)
{
	struct allocation a = {.meta = kept_meta(id, NULL),
			       .organization_id = organization,
			       .project_id =
				       organization[35] == '1' ? SHOP : NULL,
			       .object_kind = kind,
			       .object_id = object,
			       .amounts = {amount, 1}};

	kept_put(&allocation_kind, &a);
}

static size_t breaches(struct buf *out)
{
	buf_clear(out);
	return quota_breaches(sums, kept.store, out);
}

static void what_passes_a_limit_or_is_not_counted_is_told(void)
{
	struct quota_limit limit = {"gadgets", 4};
	struct quota_amount many = {"gadgets", 7, 0}, none = {"widgets", 1, 0};
	struct region here = {.meta = kept_meta(HERE, "here"),
			      .spec.provider = "sim"};
	struct network net = {.meta = kept_meta(NET, "net"),
			      .organization_id = ACME,
			      .project_id = SHOP,
			      .region_id = HERE,
			      .spec.prefix = "10.0.0.0/24"};
	struct buf out = BUF_INIT(4096);
	struct quota q;
	char id[37];

	begin();
	CHECK(breaches(&out) == 0 && !out.len);
	kept_put(&region_kind, &here);
	kept_put(&network_kind, &net);
	CHECK(breaches(&out) == 1);
	CHECK_STR(out.data, "network " NET ": is not counted\n");
	quota_allocation_id(ACME, NET, id);
	put_allocation(id, ACME, "network", NET, &many);
	CHECK(breaches(&out) == 0);
	q = quota_of(true, &limit, 1);
	kept_put(&quota_kind, &q);
	CHECK(breaches(&out) == 1);
	CHECK_STR(out.data,
		  "project " SHOP ": uses 7 gadgets, and may use 4\n");
	put_gadgets(6);
	CHECK(breaches(&out) == 2);
	CHECK(strstr(out.data, "organization " ACME ": uses 7 gadgets"));
	/* An object of another organization, one that is not there, one of a
	 * kind that is not known, and an id that is not its object's. */
	put_gadgets(100);
	q = quota_of(true, NULL, 0);
	kept_put(&quota_kind, &q);
	quota_allocation_id(OTHER, NET, id);
	put_allocation(id, OTHER, "network", NET, &many);
	CHECK(breaches(&out) == 1);
	CHECK(strstr(out.data, "its network " NET " is not there"));
	put_allocation(id, OTHER, "network", NOTHING, &many);
	CHECK(breaches(&out) == 2);
	CHECK(strstr(out.data, "its id is not its object's"));
	CHECK(strstr(out.data, "its network " NOTHING " is not there"));
	quota_allocation_id(OTHER, STRANGE, id);
	put_allocation(id, OTHER, "gizmo", STRANGE, &none);
	CHECK(breaches(&out) == 3);
	CHECK(strstr(out.data, "there is no quota kind widgets"));
	buf_release(&out);
	finish();
}

int main(void)
{
	RUN(what_is_used_stays_below_each_limit);
	RUN(without_a_limit_there_is_still_a_most);
	RUN(only_kinds_that_there_are_are_charged);
	RUN(a_limit_is_not_below_what_is_used);
	RUN(a_default_is_not_below_what_it_holds_for);
	RUN(sums_that_are_wrong_are_told);
	RUN(what_passes_a_limit_or_is_not_counted_is_told);
	return test_done();
}
