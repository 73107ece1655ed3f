/* Who somebody is and what they may do, on a store in memory. */
#include "identity/access.h"

#include "base/attr.h"
#include "identity/lastuse.h"
#include "identity/mtls.h"
#include "identity/token.h"
#include "kept.h"
#include "model/group.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/quota.h"
#include "model/role.h"
#include "model/serviceaccount.h"
#include "model/token.h"
#include "model/user.h"
#include "stepped.h"

#define ACME   "00000000-0000-7000-8000-0000000000a1"
#define OTHER  "00000000-0000-7000-8000-0000000000a2"
#define ANN    "00000000-0000-7000-8000-0000000000b1"
#define ROBOT  "00000000-0000-7000-8000-0000000000b2"
#define THEIRS "00000000-0000-7000-8000-0000000000b3"
#define OPS    "00000000-0000-7000-8000-0000000000c1"
#define TOKEN  "00000000-0000-7000-8000-0000000000d1"
#define MADE   "00000000-0000-7000-8000-0000000000e1"
#define NOBODY "00000000-0000-7000-8000-0000000000ff"

static struct access *access_;

static const struct mtls_rule rules[] = {
	{.common_name = "robot", .service_account = "robot"},
};

static void begin(void)
{
	struct access_conf conf = {.clock = &stepped, .mtls = rules};
	struct organization acme = {.meta = kept_meta(ACME, "acme")};
	struct organization other = {.meta = kept_meta(OTHER, "other")};

	kept_open((struct store_conf){.clock = &stepped}, true);
	conf.store = kept.store;
	conf.n_mtls = COUNT_OF(rules);
	access_ = access_new(&conf);
	kept_put(&organization_kind, &acme);
	kept_put(&organization_kind, &other);
}

static void finish(void)
{
	kept_close();
	access_free(access_);
}

static void put_account(const char *id, const char *name,
			const char *organization)
{
	struct serviceaccount a = {.meta = kept_meta(id, name),
				   .organization_id = organization};

	kept_put(&serviceaccount_kind, &a);
}

static void put_user(int state)
{
	struct user u = {.meta = kept_meta(ANN, "ann"),
			 .organization_id = ACME,
			 .email = "ann@example.org",
			 .state = state};

	kept_put(&user_kind, &u);
}

/* A token "muster_x"; whose it is, is in T. */
static void put_token(struct token t)
{
	char digest[65];

	token_digest("muster_x", 8, digest);
	t.meta = kept_meta(TOKEN, "x");
	t.digest = digest;
	kept_put(&token_kind, &t);
}

/* A role that may do WORD everywhere, for the service account ROBOT. */
static void put_role(const char *word)
{
	const char *robot = ROBOT, *made = MADE;
	struct role r = {.meta = kept_meta(MADE, "made")};
	struct group g = {.meta = kept_meta(OPS, "ops"),
			  .service_account_ids = {&robot, 1},
			  .role_ids = {&made, 1}};

	if (word)
		r.platform = (struct items){&word, 1};
	kept_put(&role_kind, &r);
	kept_put(&group_kind, &g);
}

struct seen {
	int rc;
	const struct principal *who;
	struct err err;
};

static struct seen ask(const char *header, const char *subject, const char *as)
{
	struct credentials c = {header, subject, as};
	struct seen s = {0};

	s.rc = access_check(access_, &c, &s.who, &s.err);
	return s;
}

#define BEARER "Bearer muster_x"

static void who_brings_nothing_that_is_known_is_refused(void)
{
	static const struct {
		const char *header, *subject, *says;
	} t[] = {
		{NULL, NULL, "send a token"},
		{NULL, "CN=other", "nobody is known by the certificate"},
		{NULL, "CN=robot", "robot, which is not there"},
		{"Basic eA==", NULL, "only bearer tokens"},
		{"Bearer muster_y", NULL, "not known"},
		{"Bearer ", NULL, "not known"},
		{"Bearer x.y", NULL, "not known"},
		{"Bearer muster_.x.y", NULL, "not known"},
		{"Bearer x.y.z", NULL, "no issuer is configured"},
		/* A token that is sent counts, not the certificate. */
		{"Bearer muster_y", "CN=robot", "not known"},
	};

	begin();
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct seen s = ask(t[i].header, t[i].subject, NULL);

		CHECK(s.rc == -1 && s.err.code == ERR_UNAUTHENTICATED);
		CHECK(strstr(s.err.msg, t[i].says));
		if (!strstr(s.err.msg, t[i].says))
			printf("# %s: %s\n", t[i].says, s.err.msg);
	}
	finish();
}

static void without_rules_a_certificate_is_nothing(void)
{
	struct access_conf conf = {.clock = &stepped};
	struct credentials c = {.tls_subject = "CN=robot"};
	const struct principal *who = NULL;
	struct err err = {0};
	struct access *plain;

	begin();
	put_account(ROBOT, "robot", NULL);
	conf.store = kept.store;
	plain = access_new(&conf);
	CHECK(access_check(plain, &c, &who, &err) == -1 && !who);
	CHECK(strstr(err.msg, "send a token"));
	CHECK(ask(NULL, "CN=robot", NULL).rc == 0);
	kept_close();
	access_free(plain);
	access_free(access_);
	access_free(NULL);
}

static void a_token_is_as_good_as_its_owner(void)
{
	struct seen s;

	begin();
	put_token((struct token){0});
	s = ask(BEARER, NULL, NULL);
	CHECK(s.rc == -1 && strstr(s.err.msg, "no owner"));
	put_user(USER_PENDING);
	put_token((struct token){.user_id = ANN});
	s = ask(BEARER, NULL, NULL);
	CHECK(s.rc == -1 && strstr(s.err.msg, "the user is pending"));
	put_user(USER_SUSPENDED);
	s = ask(BEARER, NULL, NULL);
	CHECK(s.rc == -1 && strstr(s.err.msg, "the user is suspended"));
	put_user(USER_ACTIVE);
	s = ask(BEARER, NULL, NULL);
	CHECK(s.rc == 0);
	CHECK_STR(s.who->name, "user:ann@example.org");
	finish();
}

static void a_certificate_stands_for_its_account(void)
{
	static const struct {
		const char *word, *id;
	} t[] = {
		{"robot", ROBOT},       {ROBOT, ROBOT},
		{"acme/robot", THEIRS}, {NOBODY, NULL},
		{"robo", NULL},         {"roboT", NULL},
		{"robot2", NULL},       {"acme/none", NULL},
		{"none/robot", NULL},   {"other/robot", NULL},
	};

	begin();
	put_account(ROBOT, "robot", NULL);
	put_account(THEIRS, "robot", ACME);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *got = mtls_account(kept.store, t[i].word);

		CHECK(got && t[i].id ? strcmp(got, t[i].id) == 0
				     : !got && !t[i].id);
	}
	finish();
}

static void callers_are_kept_in_bounded_room(void)
{
	char subject[64];

	begin();
	put_account(ROBOT, "robot", NULL);
	for (int i = 0; i < 4200; i++) {
		snprintf(subject, sizeof(subject), "CN=robot,O=%d", i);
		CHECK(ask(NULL, subject, NULL).rc == 0);
	}
	finish();
}

static void who_acts_for_another_may_do_what_both_may(void)
{
	struct owner nowhere = {0};
	struct rights all = {0};
	int users = permission_noun("users"), audit = permission_noun("audit");
	struct seen s;

	begin();
	put_account(ROBOT, "robot", NULL);
	put_user(USER_ACTIVE);
	put_role("users:impersonate");
	s = ask(NULL, "CN=robot", ANN);
	CHECK(s.rc == 0 && s.who->as);
	CHECK_STR(s.who->name, "serviceaccount:robot as user:ann@example.org");
	CHECK(access_may(s.who->as, users, VERB_READ, nowhere) == false);
	CHECK(!access_may(s.who, users, VERB_IMPERSONATE, nowhere));
	CHECK(!access_may_anywhere(s.who, users, VERB_IMPERSONATE));
	CHECK(!access_in(s.who, nowhere));
	CHECK(rights_add(&all, "users:impersonate"));
	CHECK(!access_holds(s.who, &all, nowhere));
	CHECK(audit > 0 && !access_may(s.who, audit, VERB_READ, nowhere));
	/* Kept, and the same again. */
	CHECK(ask(NULL, "CN=robot", ANN).who == s.who);
	/* Whom one may not act for is not there. */
	s = ask(NULL, "CN=robot", ROBOT);
	CHECK(s.rc == -1 && s.err.code == ERR_FORBIDDEN);
	s = ask(NULL, "CN=robot", NOBODY);
	CHECK(s.rc == -1 && s.err.code == ERR_FORBIDDEN);
	CHECK(s.who && !s.who->as);
	put_user(USER_SUSPENDED);
	s = ask(NULL, "CN=robot", ANN);
	CHECK(s.rc == -1 && s.err.code == ERR_FORBIDDEN);
	finish();
}

static void a_role_without_words_gives_nothing(void)
{
	struct seen s;

	begin();
	put_account(ROBOT, "robot", NULL);
	put_role(NULL);
	s = ask(NULL, "CN=robot", NULL);
	CHECK(s.rc == 0 && s.who->n == 0);
	CHECK(!access_may_anywhere(s.who, 0, VERB_READ));
	/* A word of a later version gives nothing, either. */
	put_role("gadgets:read");
	s = ask(NULL, "CN=robot", NULL);
	CHECK(s.rc == 0 && !access_may_anywhere(s.who, 0, VERB_READ));
	finish();
}

static int remove_token(struct tx *tx, void *ctx, struct err *err)
{
	(void)ctx;
	return tx_delete(tx, &token_kind, TOKEN, err);
}

static const struct token *token_now(void)
{
	struct record r;

	return store_get(kept.store, 0, &token_kind, TOKEN, &r) ? r.object
								: NULL;
}

static void the_last_use_is_written_once_an_hour(void)
{
	struct txn t = {.fn = remove_token, .done = kept_done};
	int64_t first;

	begin();
	put_account(ROBOT, "robot", NULL);
	put_token((struct token){.service_account_id = ROBOT});
	CHECK(ask(BEARER, NULL, NULL).rc == 0);
	kept_settle();
	first = token_now()->last_used_at;
	CHECK(first == now);
	step(NULL, LASTUSE_EVERY_MS - 1);
	CHECK(ask(BEARER, NULL, NULL).rc == 0);
	kept_settle();
	CHECK(token_now()->last_used_at == first);
	step(NULL, 2);
	CHECK(ask(BEARER, NULL, NULL).rc == 0);
	kept_settle();
	CHECK(token_now()->last_used_at == now);
	/* One that is being deleted is not written again. */
	step(NULL, LASTUSE_EVERY_MS + 1);
	store_transact(kept.store, &t);
	CHECK(ask(BEARER, NULL, NULL).rc == 0);
	kept_settle();
	CHECK(!token_now());
	CHECK(ask(BEARER, NULL, NULL).rc == -1);
	finish();
}

/* Two servers, or two that are told of one use at once. */
static void a_use_that_is_written_already_is_left(void)
{
	struct lastuse *uses;
	int64_t first;

	begin();
	put_account(ROBOT, "robot", NULL);
	put_token((struct token){.service_account_id = ROBOT});
	uses = lastuse_new(kept.store);
	lastuse_note(uses, TOKEN);
	lastuse_note(uses, TOKEN);
	kept_settle();
	first = token_now()->last_used_at;
	CHECK(first == now);
	step(NULL, 1000);
	lastuse_note(uses, TOKEN);
	kept_settle();
	CHECK(token_now()->last_used_at == first);
	lastuse_free(uses);
	lastuse_free(NULL);
	finish();
}

/* The rights, and where they are. */
static const struct {
	struct owner scope; /* of the token */
	const char *organization, *project;
	struct owner of; /* what is asked about */
	bool may, in;
} places[] = {
	{{NULL, NULL}, NULL, NULL, {NULL, NULL}, true, true},
	{{NULL, NULL}, NULL, NULL, {"o", "p"}, true, true},
	{{NULL, NULL}, "o", NULL, {NULL, NULL}, false, false},
	{{NULL, NULL}, "o", NULL, {"o", NULL}, true, true},
	{{NULL, NULL}, "o", NULL, {"o", "p"}, true, true},
	{{NULL, NULL}, "o", NULL, {"x", NULL}, false, false},
	{{NULL, NULL}, "o", "p", {"o", "p"}, true, true},
	{{NULL, NULL}, "o", "p", {"o", "q"}, false, false},
	{{NULL, NULL}, "o", "p", {"o", NULL}, false, true},
	{{NULL, NULL}, "o", "p", {"x", "p"}, false, false},
	/* A token may be narrower than its owner. */
	{{"o", NULL}, NULL, NULL, {NULL, NULL}, false, false},
	{{"o", NULL}, NULL, NULL, {"o", "p"}, true, true},
	{{"o", NULL}, NULL, NULL, {"x", NULL}, false, false},
	{{"o", "p"}, NULL, NULL, {"o", "p"}, true, true},
	{{"o", "p"}, NULL, NULL, {"o", "q"}, false, false},
	{{"o", "p"}, NULL, NULL, {"o", NULL}, false, true},
	{{"o", "p"}, "o", "q", {"o", "p"}, false, false},
};

static void rights_reach_what_lies_below_them(void)
{
	struct rights some = {0}, more = {0};
	int noun = permission_noun("projects");

	CHECK(rights_add(&some, "projects:read"));
	CHECK(rights_add(&more, "projects:read"));
	CHECK(rights_add(&more, "projects:update"));
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct grant g = {places[i].organization, places[i].project,
				  some};
		struct principal p = {
			.scope = places[i].scope, .grants = &g, .n = 1};
		struct owner o = places[i].of;
		bool ok = access_may(&p, noun, VERB_READ, o) == places[i].may &&
			  access_holds(&p, &some, o) == places[i].may &&
			  access_in(&p, o) == places[i].in;

		CHECK(ok);
		if (!ok)
			printf("# places %zu\n", i);
		CHECK(!access_may(&p, noun, VERB_UPDATE, o));
		CHECK(!access_holds(&p, &more, o));
		p.as = &(struct principal){.grants = &g, .n = 1};
		CHECK(access_may(&p, noun, VERB_READ, o) == places[i].may);
		CHECK(access_holds(&p, &some, o) == places[i].may);
		CHECK(access_in(&p, o) == places[i].in);
		CHECK(access_may_anywhere(&p, noun, VERB_READ));
		p.n = 0;
		CHECK(!access_may(&p, noun, VERB_READ, o));
		CHECK(!access_in(&p, o));
	}
}

static void one_organization_is_told_when_it_is_the_only_one(void)
{
	struct grant g[] = {{.organization = "o"},
			    {.organization = "o", .project = "p"},
			    {.organization = "x"},
			    {0}};
	struct principal p = {.grants = g};

	CHECK(!access_only_organization(&p));
	p.n = 2;
	CHECK_STR(access_only_organization(&p), "o");
	p.n = 3;
	CHECK(!access_only_organization(&p));
	p.scope.organization = "o";
	CHECK_STR(access_only_organization(&p), "o");
	p.scope.organization = NULL;
	p.grants = &g[3];
	p.n = 1;
	CHECK(!access_only_organization(&p));
	/* Something that is everywhere after one that is not. */
	g[2] = g[3];
	p.grants = g;
	p.n = 3;
	CHECK(!access_only_organization(&p));
}

static const struct {
	const char *word;
	bool known;
	const char *written;
} words[] = {
	{"projects:read", true, "[\"projects:read\"]"},
	{"audit:read", true, "[\"audit:read\"]"},
	{"*:read", true, "[\"*:read\"]"},
	{"audit:nothing", false, "[]"},
	{"gadgets:read", false, "[]"},
	{"projects", false, "[]"},
	{":read", false, "[]"},
	{"x:read", false, "[]"},
	{"projects:", false, "[]"},
	{"a-noun-that-is-longer-than-any-that-there-can-be:read", false, "[]"},
};

static void words_are_read_and_written(void)
{
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		struct rights r = {0};
		struct buf b = BUF_INIT(4096);

		CHECK(rights_add(&r, words[i].word) == words[i].known);
		rights_write(&r, &b);
		CHECK_STR(b.data, words[i].written);
		buf_release(&b);
	}
	CHECK(permission_noun("gadgets") == -1);
	CHECK_STR(verb_name(VERB_SSH_KEY), "sshkey");
}

/* Made by an operator before a version that has one of the same name. */
static void a_name_that_is_taken_stops_the_bootstrap(void)
{
	const struct kind *const taken[] = {&role_kind, &quotakind_kind,
					    &serviceaccount_kind, &group_kind};
	const char *names[] = {built_in_roles[1].name,
			       built_in_quotakinds[1].name, "admin",
			       "platform-administrators"};

	for (size_t i = 0; i < COUNT_OF(taken); i++) {
		union {
			struct meta meta;
			struct role role;
			struct quotakind quotakind;
			struct serviceaccount account;
			struct group group;
		} u;
		char secret[] = "muster_x";

		kept_open((struct store_conf){.clock = &stepped}, false);
		memset(&u, 0, sizeof(u));
		u.meta = kept_meta(MADE, names[i]);
		kept_put(taken[i], &u);
		CHECK(kept_try(kept_bootstrap, secret) < 0);
		CHECK(kept.err.code == ERR_CONFLICT);
		kept_close();
	}
}

static void built_in_roles_are_brought_up_to_date(void)
{
	const char *word = "projects:read";
	struct role old = {
		.meta = kept_meta(built_in_roles[0].id, built_in_roles[0].name),
		.built_in = true,
		.platform = {&word, 1}};
	struct quotakind kind = {.meta = kept_meta(built_in_quotakinds[0].id,
						   built_in_quotakinds[0].name),
				 .unit = built_in_quotakinds[0].unit,
				 .fallback = 7};
	const struct role *is;
	uint64_t revision;
	struct record r;

	kept_open((struct store_conf){.clock = &stepped}, false);
	kept_put(&role_kind, &old);
	kept_put(&quotakind_kind, &kind);
	CHECK(kept_try(kept_bootstrap, NULL) == 0);
	CHECK(store_get(kept.store, 0, &role_kind, old.meta.id, &r));
	is = r.object;
	CHECK(is->platform.n > 0);
	CHECK_STR(((const char **)is->platform.at)[0],
		  built_in_roles[0].platform[0]);
	/* What an operator has set is left. */
	CHECK(store_get(kept.store, 0, &quotakind_kind, kind.meta.id, &r));
	CHECK(((const struct quotakind *)r.object)->fallback == 7);
	/* And again there is nothing to do. */
	revision = store_revision(kept.store);
	CHECK(kept_try(kept_bootstrap, NULL) == 0);
	CHECK(store_revision(kept.store) == revision);
	kept_close();
}

int main(void)
{
	RUN(who_brings_nothing_that_is_known_is_refused);
	RUN(without_rules_a_certificate_is_nothing);
	RUN(a_token_is_as_good_as_its_owner);
	RUN(a_certificate_stands_for_its_account);
	RUN(callers_are_kept_in_bounded_room);
	RUN(who_acts_for_another_may_do_what_both_may);
	RUN(a_role_without_words_gives_nothing);
	RUN(the_last_use_is_written_once_an_hour);
	RUN(a_use_that_is_written_already_is_left);
	RUN(rights_reach_what_lies_below_them);
	RUN(one_organization_is_told_when_it_is_the_only_one);
	RUN(words_are_read_and_written);
	RUN(a_name_that_is_taken_stops_the_bootstrap);
	RUN(built_in_roles_are_brought_up_to_date);
	return test_done();
}
