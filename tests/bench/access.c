/*
 * access - what it costs to know a caller and what it may do, beside a whole
 * GET through the API's handlers, all in this process and without a network.
 *
 * Prints nanoseconds: of a GET, of access_check() with access_may() for a caller
 * that is known already, and for one that is worked out anew; the latter for an
 * administrator of the platform, and for one with rights in 1,000 projects.
 */
#include "bench.h"

#include "api/api.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "http/exchange.h"
#include "identity/access.h"
#include "identity/bootstrap.h"
#include "identity/quota.h"
#include "identity/token.h"
#include "model/group.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/role.h"
#include "model/serviceaccount.h"
#include "store/memory.h"
#include "store/store.h"

enum { PROJECTS = 1000, ROUNDS = 7 };

struct bench {
	struct disk *disk;
	struct backend *backend;
	struct store *store;
	struct quota_sums *sums;
	struct api *api;
	char admin[TOKEN_LEN + 1], user[TOKEN_LEN + 1];
	char bearer[2][TOKEN_LEN + 16]; /* of the administrator, of the user */
	char organization[37], projects[PROJECTS][37];
	struct arena arena;
	const char *header; /* Authorization */
	int status;
};

static int fill_admin(struct tx *tx, void *ctx, struct err *err)
{
	struct bench *b = ctx;

	return bootstrap(tx, b->admin, err);
}

static void begin(struct tx *tx, struct meta *meta, char id[37],
		  const char *name)
{
	tx_new_id(tx, id);
	*meta = (struct meta){.id = id,
			      .name = name,
			      .generation = 1,
			      .created_at = tx_time(tx),
			      .updated_at = tx_time(tx),
			      .created_by = "bench",
			      .updated_by = "bench"};
}

static int fill_projects(struct tx *tx, void *ctx, struct err *err)
{
	struct bench *b = ctx;
	struct organization o = {0};

	begin(tx, &o.meta, b->organization, "acme");
	if (tx_put(tx, &organization_kind, &o, err) < 0)
		return -1;
	for (int i = 0; i < PROJECTS; i++) {
		struct project p = {.organization_id = b->organization};
		const char *name = arena_printf(tx_arena(tx), "p%d", i);

		begin(tx, &p.meta, b->projects[i], name);
		if (tx_put(tx, &project_kind, &p, err) < 0)
			return -1;
	}
	return 0;
}

/* A service account with the role "user" in every project. */
static int fill_user(struct tx *tx, void *ctx, struct err *err)
{
	struct bench *b = ctx;
	struct serviceaccount s = {.organization_id = b->organization};
	struct group g = {.organization_id = b->organization};
	struct token t = {.organization_id = b->organization};
	const char *role = built_in_roles[4].id;
	const char *projects[PROJECTS];
	char ids[3][37], digest[65];

	for (int i = 0; i < PROJECTS; i++)
		projects[i] = b->projects[i];
	begin(tx, &s.meta, ids[0], "user");
	begin(tx, &g.meta, ids[1], "users");
	begin(tx, &t.meta, ids[2], "token");
	g.service_account_ids = (struct items){&s.meta.id, 1};
	g.role_ids = (struct items){&role, 1};
	g.project_ids = (struct items){projects, PROJECTS};
	token_digest(b->user, TOKEN_LEN, digest);
	t.digest = digest;
	t.service_account_id = ids[0];
	if (tx_put(tx, &serviceaccount_kind, &s, err) < 0 ||
	    tx_put(tx, &group_kind, &g, err) < 0)
		return -1;
	return tx_put(tx, &token_kind, &t, err);
}

static void done(struct txn *t, const struct err *err)
{
	(void)t;
	if (err)
		die("%s", err->msg);
}

static void run(struct bench *b,
		int (*fn)(struct tx *tx, void *ctx, struct err *err))
{
	struct txn t = {.fn = fn, .done = done, .ctx = b};

	store_transact(b->store, &t);
	memory_answer(b->backend, MEMORY_WRITTEN);
}

static void open_all(struct bench *b)
{
	struct store_conf conf = {.clock = &clock_system,
				  .random = &random_system,
				  .observe = quota_observe};
	struct api_conf api = {.clock = &clock_system,
			       .random = &random_system,
			       .version = "bench"};
	struct err err = {0};

	b->disk = disk_new();
	b->backend = memory_open(b->disk);
	b->sums = quota_sums_new();
	conf.observe_ctx = b->sums;
	if (store_open(&conf, b->backend, &b->store, &err) < 0)
		die("%s", err.msg);
	token_make(&random_system, b->admin);
	token_make(&random_system, b->user);
	snprintf(b->bearer[0], sizeof(b->bearer[0]), "Bearer %s", b->admin);
	snprintf(b->bearer[1], sizeof(b->bearer[1]), "Bearer %s", b->user);
	run(b, fill_admin);
	run(b, fill_projects);
	run(b, fill_user);
	api.store = b->store;
	api.sums = b->sums;
	b->api = api_new(&api);
	arena_init(&b->arena, (size_t)1 << 20);
}

static void close_all(struct bench *b)
{
	store_close(b->store);
	api_free(b->api);
	quota_sums_free(b->sums);
	disk_free(b->disk);
	arena_release(&b->arena);
}

struct request {
	struct exchange x; /* first */
	struct bench *bench;
};

static const char *header(struct exchange *x, const char *name)
{
	struct bench *b = ((struct request *)x)->bench;

	return strcmp(name, "Authorization") == 0 ? b->header : NULL;
}

static void reply(struct exchange *x, const struct reply *r)
{
	((struct request *)x)->bench->status = r->status;
}

static const struct exchange_ops ops = {.header = header, .reply = reply};

static void get(struct bench *b, int i)
{
	char target[64];
	struct request r = {.x = {.ops = &ops,
				  .arena = &b->arena,
				  .method = "GET",
				  .target = target,
				  .peer = "127.0.0.1",
				  .body = "",
				  .id = "bench"},
			    .bench = b};

	snprintf(target, sizeof(target), "/v1/projects/%s",
		 b->projects[i % PROJECTS]);
	api_handle(b->api, &r.x);
	arena_clear(&b->arena);
	if (b->status != 200)
		die("status %d", b->status);
}

static void ask(struct bench *b, struct access *a, int i)
{
	struct credentials brought = {.header = b->header};
	const struct principal *who;
	struct owner o = {b->organization, b->projects[i % PROJECTS]};
	struct err err = {0};

	if (access_check(a, &brought, &who, &err) != 0)
		die("%s", err.msg);
	if (!access_may(who, (int)kind_index(&project_kind), VERB_READ, o))
		die("not permitted");
}

static double time_gets(struct bench *b, int n)
{
	uint64_t began = now_ns();

	for (int i = 0; i < n; i++)
		get(b, i);
	return (double)(now_ns() - began) / n;
}

static double time_asks(struct bench *b, struct access *a, int n)
{
	uint64_t began = now_ns();

	for (int i = 0; i < n; i++)
		ask(b, a, i);
	return (double)(now_ns() - began) / n;
}

/* A new cache each time knows nobody. */
static double time_strangers(struct bench *b, int n)
{
	struct access_conf conf = {.store = b->store, .clock = &clock_system};
	uint64_t began = now_ns();

	for (int i = 0; i < n; i++) {
		struct access *a = access_new(&conf);

		ask(b, a, i);
		access_free(a);
	}
	return (double)(now_ns() - began) / n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(double *list)
{
	qsort(list, ROUNDS, sizeof(*list), compare);
	return list[ROUNDS / 2];
}

static void measure(struct bench *b, const char *name, int n)
{
	struct access_conf conf = {.store = b->store, .clock = &clock_system};
	struct access *a = access_new(&conf);
	double gets[ROUNDS], known[ROUNDS], unknown[ROUNDS];
	double whole, cached;

	for (int i = 0; i < ROUNDS; i++) {
		gets[i] = time_gets(b, n);
		known[i] = time_asks(b, a, n);
		unknown[i] = time_strangers(b, n / 100);
	}
	access_free(a);
	whole = middle(gets);
	cached = middle(known);
	printf("%s_get_ns=%.0f %s_cached_ns=%.0f %s_anew_ns=%.0f "
	       "%s_share=%.3f\n",
	       name, whole, name, cached, name, middle(unknown), name,
	       cached / whole);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? (int)number(argv[1]) : 100000;
	static struct bench b;

	open_all(&b);
	b.header = b.bearer[0];
	measure(&b, "admin", n);
	b.header = b.bearer[1];
	measure(&b, "user", n);
	close_all(&b);
	return 0;
}
