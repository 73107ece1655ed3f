#include "store/cache.h"

#include <stdlib.h>

#include "base/field_ops.h"
#include "rig/rig.h"
#include "store/line.h"
#include "store/store_priv.h"
#include "test.h"

enum { BOOKS = 12, SHELVES = 3, NAMES = 3, TAGS = 3, DEPTH = 6 };

/* A version as the model knows it. */
struct draft {
	struct version *version;
	bool there;
	int name, shelf, also, color, tag; /* also, tag: -1 for none */
};

struct model {
	struct cache cache;
	struct random_seeded random;
	struct draft chain[BOOKS][DEPTH]; /* oldest first */
	int n[BOOKS];
	struct change *changes[BOOKS * DEPTH * 400];
	size_t n_changes;
	uint64_t revision, seed;
};

static char book_ids[BOOKS][37], shelf_ids[SHELVES][37];
static const char *const names[NAMES] = {"ant", "bee", "cow"};
static const char *const values[TAGS] = {"x", "y", "z"};
static const char *const colors[] = {NULL, "red", "blue"};

static int pick(struct model *m, int n)
{
	return (int)random_below(&m->random.base, (uint64_t)n);
}

static void add(struct model *m, int i)
{
	struct draft *d = &m->chain[i][m->n[i]++];
	struct book b;
	struct field_tag tag = {"k", NULL};
	struct buf line = BUF_INIT(4096);
	struct change *c = change_new(++m->revision, 0);
	const char *also[2];

	m->changes[m->n_changes++] = c;
	*d = (struct draft){.there = pick(m, 4) > 0,
			    .name = pick(m, NAMES),
			    .shelf = pick(m, SHELVES),
			    .also = pick(m, 2) ? pick(m, SHELVES) : -1,
			    .color = pick(m, 3),
			    .tag = pick(m, TAGS + 1) - 1};
	b = book_of(book_ids[i], names[d->name], shelf_ids[d->shelf]);
	b.color = d->color;
	if (d->tag >= 0) {
		tag.value = values[d->tag];
		b.meta.tags = (struct items){&tag, 1};
	}
	if (d->also >= 0) { /* twice the same */
		also[0] = also[1] = shelf_ids[d->also];
		b.also = (struct items){also, 2};
	}
	line_begin(&line, d->there ? '+' : '-', "book", 1, book_ids[i]);
	if (d->there) {
		buf_addc(&line, ' ');
		field_encode(book_fields, &b, FIELD_FULL, &line);
	}
	buf_addc(&line, '\n');
	d->version = cache_add(&m->cache, c, book_ids[i], d->there ? &b : NULL,
			       line.data, line.len);
	buf_release(&line);
}

/* The newest, the oldest, or one in between. */
static void take_off(struct model *m, int i)
{
	int at = pick(m, 3) == 0   ? pick(m, m->n[i])
		 : pick(m, 2) == 0 ? 0
				   : m->n[i] - 1;

	cache_remove(m->chain[i][at].version);
	memmove(&m->chain[i][at], &m->chain[i][at + 1],
		(size_t)(m->n[i] - at - 1) * sizeof(struct draft));
	m->n[i]--;
}

struct query {
	const char *path;
	char value[160];
	int name, shelf, also, color, tag; /* -1: any */
};

static bool draft_matches(const struct draft *d, const struct query *q)
{
	return d->there && (q->name < 0 || d->name == q->name) &&
	       (q->shelf < 0 || d->shelf == q->shelf) &&
	       (q->also < 0 || d->also == q->also) &&
	       (q->color < 0 || d->color == q->color) &&
	       (q->tag < 0 || d->tag == q->tag);
}

/* The index has who ever had the value, in order, and nobody else. */
static void check_index(struct model *m, const struct query *q)
{
	const struct sorted *set = cache_index(&m->cache, q->path, q->value);
	struct sorted_walk w = {0};
	bool any = false;

	if (set)
		w = sorted_from(set, NULL);
	for (int i = 0; i < BOOKS; i++) {
		bool has = false;

		for (int k = 0; k < m->n[i]; k++) {
			const struct draft *d = &m->chain[i][k];
			bool matches = draft_matches(d, q);

			has |= matches;
			CHECK_SEED(cache_matches(&m->cache,
						 d->version->record.object,
						 q->path, q->value) == matches,
				   m->seed);
		}
		if (!has)
			continue;
		any = true;
		if (set) {
			const struct entry *e = sorted_next(&w);

			CHECK_SEED(e && strcmp(e->id, book_ids[i]) == 0,
				   m->seed);
		}
	}
	CHECK_SEED(!!set == any, m->seed);
	CHECK_SEED(!set || !sorted_next(&w), m->seed);
}

static void check_indexes(struct model *m)
{
	struct query none = {"", "", -1, -1, -1, -1, -1}, q;

	for (int s = 0; s < SHELVES; s++) {
		q = none;
		q.path = "shelfId";
		q.shelf = s;
		snprintf(q.value, sizeof(q.value), "%s", shelf_ids[s]);
		check_index(m, &q);
		for (int n = 0; n < NAMES; n++) {
			q.path = "@name";
			q.name = n;
			snprintf(q.value, sizeof(q.value), "%s/%s",
				 shelf_ids[s], names[n]);
			check_index(m, &q);
		}
		q = none;
		q.path = "alsoIds";
		q.also = s;
		snprintf(q.value, sizeof(q.value), "%s", shelf_ids[s]);
		check_index(m, &q);
	}
	for (int t = 0; t < TAGS; t++) {
		q = none;
		q.path = "tags";
		q.tag = t;
		snprintf(q.value, sizeof(q.value), "k=%s", values[t]);
		check_index(m, &q);
	}
	for (int c = 1; c < 3; c++) {
		q = none;
		q.path = "color";
		q.color = c;
		snprintf(q.value, sizeof(q.value), "%s", colors[c]);
		check_index(m, &q);
	}
}

static void check_entries(struct model *m)
{
	struct sorted_walk w = sorted_from(&m->cache.by_order, NULL);
	size_t live = 0;

	for (int i = 0; i < BOOKS; i++) {
		const struct entry *e = cache_find(&m->cache, book_ids[i]);
		const struct version *v;

		CHECK_SEED(!!e == (m->n[i] > 0), m->seed);
		if (!e)
			continue;
		CHECK_SEED(sorted_next(&w) == e, m->seed);
		live += m->chain[i][m->n[i] - 1].there;
		v = e->newest;
		CHECK_SEED(!v->newer, m->seed);
		for (int k = m->n[i] - 1; k >= 0; k--, v = v->older) {
			uint64_t at = m->chain[i][k].version->record.revision;

			CHECK_SEED(v == m->chain[i][k].version, m->seed);
			CHECK_SEED(entry_at(e, at) == v, m->seed);
			CHECK_SEED(entry_at(e, at - 1) == v->older, m->seed);
			CHECK_SEED(!v->older || v->older->newer == v, m->seed);
		}
		CHECK_SEED(!v, m->seed);
	}
	CHECK_SEED(!sorted_next(&w), m->seed);
	CHECK_SEED(m->cache.live == live, m->seed);
}

/* Who has a name now: somebody who has it, or nobody when nobody does. */
static void check_name(struct model *m, int shelf, int name)
{
	struct book b = book_of("", names[name], shelf_ids[shelf]);
	const struct entry *e = cache_named(&m->cache, &b);
	int takers = 0;
	bool found = false;

	for (int i = 0; i < BOOKS; i++) {
		const struct draft *d = &m->chain[i][m->n[i] ? m->n[i] - 1 : 0];

		if (!m->n[i] || !d->there || d->name != name ||
		    d->shelf != shelf)
			continue;
		takers++;
		found |= e && strcmp(e->id, book_ids[i]) == 0;
		/* Nobody clashes with himself. */
		b.meta.id = book_ids[i];
	}
	CHECK_SEED(found == (takers > 0) && !!e == found, m->seed);
	if (takers)
		CHECK_SEED(!!cache_named(&m->cache, &b) == (takers > 1),
			   m->seed);
}

static void check_names(struct model *m)
{
	for (int s = 0; s < SHELVES; s++)
		for (int n = 0; n < NAMES; n++)
			check_name(m, s, n);
}

static void run_seed(uint64_t seed)
{
	static struct model m;

	memset(&m, 0, sizeof(m));
	m.seed = seed;
	random_seed(&m.random, seed);
	cache_init(&m.cache, &book_kind, shelves_kinds);
	for (int turn = 0; turn < 400; turn++) {
		int i = pick(&m, BOOKS);

		if (m.n[i] == DEPTH || (m.n[i] && pick(&m, 2)))
			take_off(&m, i);
		else
			add(&m, i);
		if (turn % 20 == 0)
			check_indexes(&m);
		check_entries(&m);
		check_names(&m);
	}
	/* With the last version goes the last key. */
	for (int i = 0; i < BOOKS && seed % 2; i++)
		while (m.n[i])
			take_off(&m, i);
	if (seed % 2)
		CHECK_SEED(!m.cache.buckets.count && !m.cache.by_id.count,
			   seed);
	cache_release(&m.cache);
	for (size_t i = 0; i < m.n_changes; i++)
		change_free(m.changes[i]);
}

static void indexes_agree_with_a_plain_search(void)
{
	for (unsigned seed = 1; seed <= rig_seeds(60, 60); seed++)
		run_seed(seed);
}

static void secrets_are_in_the_line_alone(void)
{
	struct cache c;
	struct change *change = change_new(1, 0);
	struct book b = book_of(book_ids[0], "ant", shelf_ids[0]);
	static const char line[] = "+book@1 ID {\"note\":\"hush\"}\n";
	const struct version *v;

	b.note = "hush";
	cache_init(&c, &book_kind, shelves_kinds);
	v = cache_add(&c, change, book_ids[0], &b, line, sizeof(line) - 1);
	CHECK(strstr(v->line, "hush") != NULL);
	CHECK(!strstr(v->record.json, "hush"));
	CHECK(strlen(v->record.json) == v->record.len);
	cache_release(&c);
	change_free(change);
}

static void long_values_are_not_indexed(void)
{
	struct cache c;
	struct change *change = change_new(1, 0);
	static char value[600];
	struct field_tag tag = {"k", value};
	struct book b = book_of(book_ids[0], "ant", shelf_ids[0]);
	struct version *v;

	memset(value, 'v', sizeof(value) - 1);
	b.meta.tags = (struct items){&tag, 1};
	cache_init(&c, &book_kind, shelves_kinds);
	v = cache_add(&c, change, book_ids[0], &b, "+b@1 i {}\n", 10);
	CHECK(!cache_index(&c, "tags", value));
	CHECK(!cache_matches(&c, &b, "tags", value));
	CHECK(cache_index(&c, "shelfId", shelf_ids[0]) != NULL);
	cache_remove(v);
	CHECK(!c.buckets.count);
	cache_release(&c);
	change_free(change);
}

int main(void)
{
	for (unsigned i = 0; i < BOOKS; i++)
		shelves_id(book_ids[i], 2, i);
	for (unsigned i = 0; i < SHELVES; i++)
		shelves_id(shelf_ids[i], 1, i);
	RUN(indexes_agree_with_a_plain_search);
	RUN(secrets_are_in_the_line_alone);
	RUN(long_values_are_not_indexed);
	return test_done();
}
