/* Rows that no store of ours would write are refused in words, and the checks
 * of a store find what is wrong with it. */
#include <stdlib.h>

#include "base/mem.h"
#include "model/group.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/user.h"
#include "rig/rig.h"
#include "store/memory.h"
#include "store/store_priv.h"
#include "store/verify.h"
#include "test.h"

#define ID    "00000001-0000-4000-8000-000000000001"
#define OTHER "00000001-0000-4000-8000-000000000002"

/* A backend that has these rows, whatever is in them. */
struct given {
	struct backend base; /* first */
	const char *const *texts;
	size_t n;
	uint64_t revisions[4], horizon;
	backend_feed *feed;
	void *ctx;
};

static int load(struct backend *b, backend_feed *feed, void *ctx,
		uint64_t *ret_horizon, struct err *err)
{
	struct given *g = (struct given *)b;

	*ret_horizon = g->horizon;
	for (size_t n = 0; n < g->n; n++) {
		struct row row = {.revision = g->revisions[n],
				  .at = 1,
				  .data = g->texts[n],
				  .len = strlen(g->texts[n])};

		if (feed(ctx, &row, err) < 0)
			return -1;
	}
	return 0;
}

static void close_it(struct backend *b)
{
	(void)b;
}

static const struct backend_ops given_ops = {
	.name = "given", .load = load, .close = close_it};

static const struct kind *const *kinds_of_rows = shelves_kinds;

static int open_rows(struct rig *r, struct given *g, struct err *err)
{
	g->base.ops = &given_ops;
	for (size_t n = 0; n < g->n && !g->revisions[n]; n++)
		g->revisions[n] = n + 1;
	if (!g->horizon)
		g->horizon = 1;
	rig_init(r, rig_backends[0]);
	r->store = NULL;
	r->conf.kinds = kinds_of_rows;
	return store_open(&r->conf, &g->base, &r->store, err);
}

static void rows_that_nobody_wrote_are_refused(void)
{
	static const struct {
		const char *row, *words;
		enum err_code code;
	} cases[] = {
		{"+shelf@1 " ID " {nonsense\n", "revision 1", ERR_INVALID},
		{"+shelf@1 " ID " {\"id\":\"" ID "\",\"name\":5}\n",
		 "revision 1", ERR_INVALID},
		{"+shelf@1 " ID " {\"name\":\"n\"}\n", "of nobody",
		 ERR_INTERNAL},
		{"+shelf@1 " ID " {\"id\":\"" OTHER "\",\"name\":\"n\"}\n",
		 "has the id " OTHER, ERR_INTERNAL},
		{"+shelf@1 " ID " {\"id\":\"" ID "\",\"name\":\"n\"}\n"
		 "+shelf@1 " ID " {\"id\":\"" ID "\",\"name\":\"m\"}\n",
		 "is written twice", ERR_INTERNAL},
		{"+shelf@2 " ID " {\"id\":\"" ID "\",\"name\":\"n\"}\n",
		 "newer version", ERR_UNSUPPORTED},
		{"+ghost@1 " ID " {\"id\":\"" ID "\"}\n", "does not know",
		 ERR_UNSUPPORTED},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		struct given g = {.texts = &cases[n].row, .n = 1};
		struct err err = {0};
		struct rig r;

		CHECK(open_rows(&r, &g, &err) < 0);
		CHECK(err.code == cases[n].code);
		CHECK(strstr(err.msg, cases[n].words));
		if (!test_ok)
			printf("# %zu: %d %s\n", n, (int)err.code, err.msg);
	}
}

#define SHELF "+shelf@1 " ID " {\"id\":\"" ID "\",\"name\":\"n\"}\n"

static void a_document_that_has_become_too_large_is_refused(void)
{
	size_t len = 5 << 20;
	char *text = xmalloc(len + 200);
	const char *row = text;
	struct given g = {.texts = &row, .n = 1};
	struct err err = {0};
	struct rig r;
	int head = snprintf(text, 200, "+shelf@1 %s {\"id\":\"%s\",\"name\":\"",
			    ID, ID);

	memset(text + head, 'x', len);
	memcpy(text + head + len, "\"}\n", 4);
	CHECK(open_rows(&r, &g, &err) < 0);
	CHECK(err.code == ERR_TOO_LARGE && strstr(err.msg, "too large"));
	free(text);
}

/* What is before the log is whole only when the log follows on it. */
static void a_log_that_begins_later_than_the_rows_end_is_refused(void)
{
	static const char *const rows[] = {SHELF};
	struct given g = {.texts = rows, .n = 1, .horizon = 10};
	struct err err = {0};
	struct rig r;

	CHECK(open_rows(&r, &g, &err) < 0);
	CHECK(err.code == ERR_INTERNAL && strstr(err.msg, "missing"));
	g.horizon = 2;
	CHECK(open_rows(&r, &g, &err) == 0);
	CHECK(store_revision(r.store) == 1);
	rig_close(&r);
}

/* A backend may feed again what was heard; and remember what it likes. */
static void a_row_that_is_known_is_not_applied_again(void)
{
	static const char *const rows[] = {
		SHELF,
		SHELF,
		"=key digest shelf " ID "\n=other digest shelf " ID "\n",
		"=key digest shelf " ID "\n",
	};
	struct given g = {
		.texts = rows, .n = 4, .revisions = {1, 1, 2, 3}, .horizon = 1};
	struct store_stats stats;
	struct err err = {0};
	struct rig r;

	CHECK(open_rows(&r, &g, &err) == 0);
	store_stats(r.store, &stats);
	CHECK(stats.durable == 3 && stats.objects[0] == 1);
	CHECK(stats.oldest == 0);
	rig_close(&r);
	/* What lies before the log answers nobody. */
	g.horizon = 3;
	CHECK(open_rows(&r, &g, &err) == 0);
	store_stats(r.store, &stats);
	CHECK(stats.durable == 3 && stats.objects[0] == 1);
	rig_close(&r);
}

static char found[8][200];
static size_t n_found;

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	if (n_found < COUNT_OF(found))
		snprintf(found[n_found++], sizeof(found[0]), "%s", line);
}

static bool is_found(const struct store *s, const char *words)
{
	n_found = 0;
	store_verify(s, tell, NULL);
	for (size_t n = 0; n < n_found; n++)
		if (strstr(found[n], words))
			return true;
	return false;
}

static void fill(struct rig *r)
{
	struct err err = {0};
	struct deed d = {0};
	struct book book = book_of(OTHER, "book", ID);

	rig_init(r, rig_backends[0]);
	CHECK(rig_open(r, &err) == 0);
	book.color = COLOR_RED;
	deed_shelf(&d, ID, "shelf");
	deed_book(&d, &book);
	CHECK(deed_do(&d, r) == ERR_NONE);
}

/* Meddled with in memory, and mended again. */
static void what_is_wrong_with_the_indexes_is_found(void)
{
	struct rig r;
	struct cache *c;
	struct entry *e;
	void *bucket;
	const struct sorted *indexed;
	struct sorted *set;
	static const char key[] = "color=red";

	fill(&r);
	c = &r.store->caches[1];
	e = cache_find(c, OTHER);
	CHECK(!is_found(r.store, ""));
	c->live++;
	CHECK(is_found(r.store, "the count of objects is wrong"));
	c->live--;
	map_remove(&c->by_id, OTHER);
	CHECK(is_found(r.store, "it cannot be found by its id"));
	CHECK(is_found(r.store, "ids and order differ"));
	map_add(&c->by_id, e->id, e);
	bucket = map_remove(&c->buckets, key);
	CHECK(bucket != NULL);
	CHECK(is_found(r.store, "a value is missing in it"));
	CHECK(is_found(r.store, "it has values that no object has"));
	map_add(&c->buckets, key, bucket);
	indexed = cache_index(c, "color", "red");
	memcpy(&set, &indexed, sizeof(set));
	CHECK(!is_found(r.store, ""));
	if (set) {
		sorted_remove(set, OTHER);
		CHECK(is_found(r.store, "a value is missing in it"));
		CHECK(sorted_add(set, e));
	}
	CHECK(!is_found(r.store, ""));
	rig_release(&r);
}

#define ORG     "00000000-0000-7000-8000-00000000000a"
#define THEIRS  "00000000-0000-7000-8000-00000000000b"
#define PROJECT "00000000-0000-7000-8000-00000000000c"
#define REGION  "00000000-0000-7000-8000-00000000000d"

#define ROW(kind, id, more) "+" kind "@1 " id " {\"id\":\"" id "\"," more "}\n"

/* A store loads what its log has; whether that holds together is for the check
 * to say. */
static void what_does_not_hold_together_is_found(void)
{
	static const char *const shelves[] = {
		ROW("shelf", ID, "\"name\":\"same\""),
		ROW("shelf", OTHER, "\"name\":\"same\""),
		ROW("book", ID, "\"name\":\"b\",\"shelfId\":\"" ORG "\""),
		"-shelf@1 " OTHER
		"\n" ROW("book", OTHER,
			 "\"name\":\"c\",\"alsoIds\":[\"" OTHER "\"]"),
	};
	static const char *const tenants[] = {
		ROW("organization", ORG, "\"name\":\"ours\"") ROW(
			"organization", THEIRS,
			"\"name\":\"theirs\"") ROW("region", REGION,
						   "\"name\":\"r\"")
			ROW("project", PROJECT,
			    "\"name\":\"p\",\"organizationId\":\"" THEIRS "\"")
				ROW("network", ID,
				    "\"name\":\"n\",\"organizationId\":\"" ORG
				    "\",\"projectId\":\"" PROJECT
				    "\",\"regionId\":\"" REGION "\""),
	};
	struct given g = {.texts = shelves, .n = 3};
	struct err err = {0};
	struct rig r;

	CHECK(open_rows(&r, &g, &err) == 0);
	CHECK(is_found(r.store, "has the same name as " OTHER));
	CHECK(is_found(r.store, "names the shelf " ORG ", which is not there"));
	CHECK(n_found == 2);
	rig_close(&r);
	g.n = 4;
	memset(g.revisions, 0, sizeof(g.revisions));
	CHECK(open_rows(&r, &g, &err) == 0);
	CHECK(is_found(r.store, "names the shelf " OTHER ", which is not"));
	CHECK(!is_found(r.store, "has the same name"));
	rig_close(&r);
	g = (struct given){.texts = tenants, .n = 1};
	kinds_of_rows = NULL;
	CHECK(open_rows(&r, &g, &err) == 0);
	CHECK(is_found(r.store, "which is another organization's"));
	CHECK(n_found == 1);
	kinds_of_rows = shelves_kinds;
	rig_close(&r);
}

int main(void)
{
	RUN(what_does_not_hold_together_is_found);
	RUN(rows_that_nobody_wrote_are_refused);
	RUN(a_document_that_has_become_too_large_is_refused);
	RUN(a_log_that_begins_later_than_the_rows_end_is_refused);
	RUN(a_row_that_is_known_is_not_applied_again);
	RUN(what_is_wrong_with_the_indexes_is_found);
	return test_done();
}
