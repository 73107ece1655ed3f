/*
 * Quota under random clients, faults and crashes: at every revision that comes
 * to the disk no limit is passed, what is used is the sum of what is allocated,
 * and whoever is refused would not have fitted.
 *
 *     SEEDS=5000 test_quota_sim
 *     test_quota_sim --seed 17
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "identity/quota.h"
#include "store/line.h"
#include "store/read.h"
#include "store/verify.h"
#include "test.h"
#include "world.h"

enum { OBJECTS = 12, PROJECTS = 2, STEPS = 220, ROWS_MOST = 1024 };

/* What the disk says, added up by hand. */
struct book {
	int64_t amount[OBJECTS];
	int project[OBJECTS];
	int64_t org_limit, project_limit[PROJECTS];
	/* What was free after each revision: in the projects, and in all. */
	int64_t free[ROWS_MOST][PROJECTS + 1];
};

struct play {
	struct world w;
	struct book book;
	char org[40], project[PROJECTS][40];
	char object[OBJECTS][40], allocation[OBJECTS][40];
	char org_quota[40], project_quota[PROJECTS][40];
	uint64_t granted, refused;
};

static int find(char list[][40], int n, const char *id)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i], id) == 0)
			return i;
	return -1;
}

static int64_t number_at(const struct node *doc, const char *list,
			 const char *name, int64_t fallback)
{
	const struct node *items = node_get(doc, list);
	const struct node *n;

	if (!items || !node_count(items))
		return fallback;
	n = node_get(node_at(items, 0), name);
	return n ? node_int(n) : fallback;
}

static void note_quota(struct play *p, const char *id, const struct node *doc)
{
	int64_t limit = doc ? number_at(doc, "limits", "limit", -1) : -1;
	int i = find(p->project_quota, PROJECTS, id);

	if (strcmp(id, p->org_quota) == 0)
		p->book.org_limit = limit < 0 ? 10 : limit;
	else if (i >= 0)
		p->book.project_limit[i] = limit < 0 ? INT64_MAX : limit;
}

static void note_allocation(struct play *p, const char *id,
			    const struct node *doc)
{
	int i = find(p->allocation, OBJECTS, id);

	if (i < 0)
		return;
	p->book.amount[i] =
		doc ? number_at(doc, "amounts", "committed", 0) +
				number_at(doc, "amounts", "reserved", 0)
		    : 0;
	if (doc)
		p->book.project[i] =
			find(p->project, PROJECTS, node_text(doc, "projectId"));
}

static int64_t sum_of(const struct play *p, int project)
{
	int64_t sum = 0;

	for (int i = 0; i < OBJECTS; i++)
		if (project < 0 || p->book.project[i] == project)
			sum += p->book.amount[i];
	return sum;
}

static void check_limits(struct play *p, uint64_t revision)
{
	if (sum_of(p, -1) > p->book.org_limit)
		model_broken(&p->w.model, "revision %llu: %lld of %lld",
			     (unsigned long long)revision,
			     (long long)sum_of(p, -1),
			     (long long)p->book.org_limit);
	for (int i = 0; i < PROJECTS; i++)
		if (sum_of(p, i) > p->book.project_limit[i])
			model_broken(&p->w.model,
				     "revision %llu: project %lld of %lld",
				     (unsigned long long)revision,
				     (long long)sum_of(p, i),
				     (long long)p->book.project_limit[i]);
}

static void note_free(struct play *p, uint64_t revision)
{
	int64_t *free = p->book.free[revision % ROWS_MOST];

	for (int i = 0; i < PROJECTS; i++)
		free[i] = p->book.project_limit[i] - sum_of(p, i);
	free[PROJECTS] = p->book.org_limit - sum_of(p, -1);
}

static void tap(void *ctx, const struct row *row)
{
	struct play *p = ctx;
	const char *at = row->data, *end = row->data + row->len;
	struct line l;
	struct err err;

	while (line_read(&at, end, &l, &err) > 0) {
		struct arena a;
		struct node *doc = NULL;

		arena_init(&a, (size_t)1 << 20);
		if (l.type == '+')
			doc = json_parse(l.json, l.len, &a, &err);
		if (l.type != '=' && strcmp(l.kind, "quota") == 0)
			note_quota(p, l.id, doc);
		if (l.type != '=' && strcmp(l.kind, "allocation") == 0)
			note_allocation(p, l.id, doc);
		arena_release(&a);
	}
	check_limits(p, row->revision);
	note_free(p, row->revision);
}

static void create(struct play *p, const char *noun, const char *body,
		   char *ret_id)
{
	struct ask *a = ask_new(&p->w, ASK_CREATE, "POST");
	const char *id;

	snprintf(a->target, sizeof(a->target), "/v1/%s", noun);
	snprintf(a->body, sizeof(a->body), "%s", body);
	ask_header(a, "Content-Type", "application/json");
	ask_send(a);
	while (!a->status && memory_pending(p->w.backend))
		memory_answer(p->w.backend, MEMORY_WRITTEN);
	id = a->status == 201 ? strstr(a->reply, "\"id\":\"") : NULL;
	if (id)
		snprintf(ret_id, 40, "%.36s", id + 6);
	else
		model_broken(&p->w.model, "%s: %d %s", noun, a->status,
			     a->reply);
	ask_free(a);
}

static void set_up(struct play *p)
{
	char body[256];

	p->book.org_limit = 10;
	create(p, "organizations", "{\"name\":\"o\"}", p->org);
	quota_id(p->org, p->org_quota);
	for (int i = 0; i < PROJECTS; i++) {
		p->book.project_limit[i] = INT64_MAX;
		snprintf(body, sizeof(body),
			 "{\"name\":\"p%d\",\"organizationId\":\"%s\"}", i,
			 p->org);
		create(p, "projects", body, p->project[i]);
		quota_id(p->project[i], p->project_quota[i]);
	}
	for (int i = 0; i < OBJECTS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "object-%d", i);
		uuid_v5(p->org, name, p->object[i]);
		quota_allocation_id(p->org, p->object[i], p->allocation[i]);
	}
	note_free(p, store_revision(p->w.store));
	disk_tap(p->w.disk, tap, p);
}

static struct ask *begin_allocation(struct play *p)
{
	int i = (int)roll(&p->w, OBJECTS), project, committed, reserved;
	struct ask *a = ask_new(&p->w, ASK_CREATE, "POST");

	project = (int)roll(&p->w, PROJECTS);
	committed = (int)roll(&p->w, 4);
	reserved = (int)roll(&p->w, 3);
	a->op = committed + reserved;
	a->noun = p->project[project];
	snprintf(a->target, sizeof(a->target), "/v1/allocations");
	snprintf(a->body, sizeof(a->body),
		 "{\"organizationId\":\"%s\",\"projectId\":\"%s\","
		 "\"objectKind\":\"thing\",\"objectId\":\"%s\","
		 "\"amounts\":[{\"kind\":\"instances\",\"committed\":%d,"
		 "\"reserved\":%d}]}",
		 p->org, p->project[project], p->object[i], committed,
		 reserved);
	ask_header(a, "Content-Type", "application/json");
	return a;
}

static struct ask *begin_change(struct play *p)
{
	int i = (int)roll(&p->w, OBJECTS);
	bool gone = roll(&p->w, 2);
	struct ask *a = ask_new(&p->w, ASK_UPDATE, gone ? "DELETE" : "PATCH");

	snprintf(a->target, sizeof(a->target), "/v1/allocations/%s",
		 p->allocation[i]);
	if (gone)
		return a;
	snprintf(a->body, sizeof(a->body),
		 "{\"amounts\":[{\"kind\":\"instances\",\"committed\":%d}]}",
		 (int)roll(&p->w, 6));
	ask_header(a, "Content-Type", "application/merge-patch+json");
	return a;
}

static struct ask *begin_limit(struct play *p)
{
	int i = (int)roll(&p->w, PROJECTS + 1);
	bool make = roll(&p->w, 2);
	struct ask *a = ask_new(&p->w, ASK_UPDATE, make ? "POST" : "PATCH");
	char project[64] = "";

	if (i < PROJECTS)
		snprintf(project, sizeof(project), ",\"projectId\":\"%s\"",
			 p->project[i]);
	if (make) {
		snprintf(a->target, sizeof(a->target), "/v1/quotas");
		snprintf(a->body, sizeof(a->body),
			 "{\"organizationId\":\"%s\"%s,\"limits\":[{\"kind\":"
			 "\"instances\",\"limit\":%d}]}",
			 p->org, project, (int)roll(&p->w, 14));
	} else {
		snprintf(a->target, sizeof(a->target), "/v1/quotas/%s",
			 i < PROJECTS ? p->project_quota[i] : p->org_quota);
		snprintf(a->body, sizeof(a->body),
			 "{\"limits\":[{\"kind\":\"instances\",\"limit\":%d}]}",
			 (int)roll(&p->w, 14));
	}
	ask_header(a, "Content-Type", "application/json");
	return a;
}

static void tell(void *ctx, const char *what)
{
	model_broken(&((struct play *)ctx)->w.model, "%s", what);
}

/* What is kept beside the store is what the store adds up to, once nothing is
 * pending. */
static void check_sums(struct play *p)
{
	struct buf out = BUF_INIT(65536);
	struct quota_use use;
	int64_t used;

	if (memory_pending(p->w.backend))
		return;
	if (quota_differences(p->w.sums, p->w.store, &out))
		model_broken(&p->w.model, "the sums differ: %s", out.data);
	if (quota_breaches(p->w.sums, p->w.store, &out))
		model_broken(&p->w.model, "%s", out.data);
	store_verify(p->w.store, tell, p);
	use = quota_used(p->w.sums, p->org, "instances");
	used = use.committed + use.reserved;
	if (used != sum_of(p, -1))
		model_broken(&p->w.model, "%lld are used, %lld allocated",
			     (long long)used, (long long)sum_of(p, -1));
	buf_release(&out);
}

/* It did not fit at some moment between asking and answer, of all that came to
 * the disk. */
static void check_refused(struct play *p, const struct ask *a)
{
	int project = a->noun ? find(p->project, PROJECTS, a->noun) : -1;

	if (project < 0)
		return;
	for (uint64_t r = a->started; r <= store_revision(p->w.store); r++) {
		const int64_t *free = p->book.free[r % ROWS_MOST];

		if (a->op > free[project] || a->op > free[PROJECTS])
			return;
	}
	model_broken(&p->w.model, "refused, and would have fitted: %s",
		     a->reply);
}

static void reap(struct play *p)
{
	struct list *l, *next;

	for (l = p->w.asks.next; l != &p->w.asks; l = next) {
		struct ask *a = CONTAINER_OF(l, struct ask, link);

		next = l->next;
		if (!a->status)
			continue;
		if (a->status == 201)
			p->granted++;
		if (a->status == 403)
			p->refused++;
		if (a->status == 403 && !strstr(a->reply, "\"quota_exceeded\""))
			model_broken(&p->w.model, "refused: %s", a->reply);
		else if (a->status == 403)
			check_refused(p, a);
		if (a->status >= 500 && a->status != 503)
			model_broken(&p->w.model, "%d %s", a->status, a->reply);
		ask_free(a);
	}
}

static void step(struct play *p)
{
	uint64_t what = roll(&p->w, 100);

	if (what < 35)
		ask_send(begin_allocation(p));
	else if (what < 55)
		ask_send(begin_change(p));
	else if (what < 60)
		ask_send(begin_limit(p));
	else if (what < 97 && memory_pending(p->w.backend))
		memory_answer(p->w.backend,
			      roll(&p->w, 8) ? MEMORY_WRITTEN : MEMORY_REFUSED);
	else if (what >= 97) {
		world_crash(&p->w, roll(&p->w, 2));
		world_boot(&p->w);
	}
	reap(p);
	check_sums(p);
}

static bool run(uint64_t seed, uint64_t *granted, uint64_t *refused)
{
	struct play *p = xcalloc(1, sizeof(*p));
	bool ok;

	world_init(&p->w, seed);
	world_boot(&p->w);
	set_up(p);
	for (int i = 0; i < STEPS && !p->w.model.why[0]; i++)
		step(p);
	while (!p->w.model.why[0] && memory_pending(p->w.backend)) {
		memory_answer(p->w.backend, MEMORY_WRITTEN);
		reap(p);
	}
	check_sums(p);
	ok = !p->w.model.why[0];
	if (!ok)
		printf("# seed %llu: %s\n# replay: test_quota_sim --seed "
		       "%llu\n",
		       (unsigned long long)seed, p->w.model.why,
		       (unsigned long long)seed);
	*granted += p->granted;
	*refused += p->refused;
	world_release(&p->w);
	free(p);
	return ok;
}

static void no_limit_is_passed_at_any_revision(void)
{
	const char *text = getenv("SEEDS");
	uint64_t n = text ? strtoull(text, NULL, 10) : 5000;
	uint64_t bad = 0, granted = 0, refused = 0;

	for (uint64_t seed = 1; seed <= n && bad < 5; seed++)
		bad += !run(seed, &granted, &refused);
	CHECK(bad == 0);
	CHECK(granted > n && refused > n);
	printf("# %llu histories, %llu violations; %llu granted, %llu "
	       "refused\n",
	       (unsigned long long)n, (unsigned long long)bad,
	       (unsigned long long)granted, (unsigned long long)refused);
}

int main(int argc, char **argv)
{
	uint64_t granted = 0, refused = 0;

	log_setup(LOG_ERROR, false);
	if (argc == 3 && strcmp(argv[1], "--seed") == 0)
		return run(strtoull(argv[2], NULL, 10), &granted, &refused) ? 0
									    : 1;
	RUN(no_limit_is_passed_at_any_revision);
	return test_done();
}
