/*
 * history - what was, for as long as the log keeps it: changes by revision,
 * reads in the past, watching, and letting go.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/read.h"
#include "store/store_priv.h"

/* One batch lets go of no more, to keep the turn and the batch short; it is
 * more than a batch can write, so that expiry keeps up. */
#define EXPIRE_MOST     512
#define TRIM_BYTES_MOST ((size_t)32 << 20)

/* So many objects are fetched at a time in a walk. */
#define AHEAD 4

/* What of an object is fetched when it is expected: a version, the object beside
 * it and where its text begins. */
#define LINE_BYTES   64
#define EXPECT_LINES 10

struct cache *store_cache(const struct store *s, const struct kind *k)
{
	union {
		const struct cache *read;
		struct cache *write;
	} c = {s->caches};

	for (size_t i = 0; s->conf.kinds[i] != k; i++) {
		assert(s->conf.kinds[i]);
		c.read++;
	}
	return c.write;
}

const struct kind *store_kind(const struct store *s, const char *name)
{
	for (size_t i = 0; s->conf.kinds[i]; i++)
		if (strcmp(s->conf.kinds[i]->name, name) == 0)
			return s->conf.kinds[i];
	return NULL;
}

struct change *change_new(uint64_t revision, int64_t at)
{
	struct change *c = xcalloc(1, sizeof(*c));

	c->revision = revision;
	c->at = at;
	list_init(&c->trim_link);
	return c;
}

void change_free(struct change *c)
{
	list_remove(&c->trim_link);
	if (c->versions != &c->one)
		free(c->versions);
	free(c->note);
	free(c->memo);
	free(c);
}

void memo_add(struct store *s, struct change *c, const char *key,
	      const char *digest, const struct kind *k, const char *id)
{
	struct memo *m = xcalloc(1, sizeof(*m));

	assert(!c->memo && strlen(key) < sizeof(m->key) &&
	       strlen(digest) < sizeof(m->digest) && strlen(id) < 40);
	m->change = c;
	m->kind = k;
	memcpy(m->key, key, strlen(key));
	memcpy(m->digest, digest, strlen(digest));
	memcpy(m->id, id, strlen(id));
	map_add(&s->memos, m->key, m);
	c->memo = m;
}

void memo_drop(struct store *s, struct change *c)
{
	if (!c->memo)
		return;
	map_remove(&s->memos, c->memo->key);
	free(c->memo);
	c->memo = NULL;
}

static void grow(struct history *h)
{
	struct history old = *h;

	h->room = old.room ? 2 * old.room : 1024;
	h->ring = xcalloc(h->room, sizeof(struct change *));
	for (uint64_t r = old.first; r < old.first + old.n; r++)
		h->ring[r % h->room] = old.ring[r % old.room];
	free(old.ring);
}

void history_add(struct store *s, struct change *c)
{
	struct history *h = &s->history;

	if (!h->n)
		h->first = c->revision;
	assert(c->revision == h->first + h->n);
	if (h->n == h->room)
		grow(h);
	h->ring[c->revision % h->room] = c;
	h->n++;
	c->in_log = true;
	for (size_t i = 0; i < c->n; i++)
		if (c->versions[i]->older)
			h->bytes += version_bytes(c->versions[i]->older);
}

struct change *history_at(const struct store *s, uint64_t revision)
{
	const struct history *h = &s->history;

	if (revision < h->first || revision >= h->first + h->n)
		return NULL;
	return h->ring[revision % h->room];
}

struct change *history_pop(struct store *s)
{
	struct history *h = &s->history;
	struct change *c = history_at(s, h->first + h->n - 1);

	h->n--;
	c->in_log = false;
	for (size_t i = 0; i < c->n; i++)
		if (c->versions[i]->older)
			h->bytes -= version_bytes(c->versions[i]->older);
	return c;
}

static void release_list(struct list *changes)
{
	struct list *l = changes->next;

	while (l != changes) {
		struct change *c = CONTAINER_OF(l, struct change, trim_link);

		l = l->next;
		if (!c->live && !c->in_log)
			change_free(c);
	}
}

void history_release(struct store *s)
{
	release_list(&s->history.trims);
	release_list(&s->history.rewrites);
	while (s->history.n)
		change_free(history_pop(s));
	free(s->history.ring);
}

void history_trim(struct store *s, struct change *c)
{
	if (c->trimming)
		return;
	list_remove(&c->trim_link);
	c->rewriting = false;
	c->trimming = true;
	list_add(&s->history.trims, &c->trim_link);
	s->history.trim_bytes += c->bytes;
}

void history_rewrite(struct store *s, struct change *c)
{
	if (c->trimming || c->rewriting)
		return;
	c->rewriting = true;
	list_add(&s->history.rewrites, &c->trim_link);
}

void history_let_go(struct store *s, struct version *v)
{
	struct change *c = v->change;

	c->versions[v->place] = NULL;
	c->live--;
	c->bytes -= v->line_len;
	history_trim(s, c);
	cache_remove(v);
}

/* What a tombstone deleted must be off the disk no later than the tombstone:
 * both are in the same batch, since each batch takes all trims there are. */
void history_settle(struct store *s, struct change *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct version *v = c->versions[i];

		if (v->older)
			history_let_go(s, v->older);
		if (!v->record.object && v->entry->newest == v)
			history_let_go(s, v);
	}
	/* A row that wrote nothing that is still there, or ever. */
	if (!c->live)
		history_trim(s, c);
}

static void expire_oldest(struct store *s)
{
	struct history *h = &s->history;
	struct change *c = history_at(s, h->first);

	h->first++;
	h->n--;
	c->in_log = false;
	memo_drop(s, c);
	for (size_t i = 0; i < c->n; i++)
		if (c->versions[i]->older)
			h->bytes -= version_bytes(c->versions[i]->older);
	history_settle(s, c);
}

static bool is_over(struct store *s, const struct change *oldest)
{
	const struct history *h = &s->history;
	struct list *l;

	if (oldest->revision >= s->durable)
		return false;
	for (l = s->pins.next; l != &s->pins; l = l->next)
		if (oldest->revision >=
		    CONTAINER_OF(l, struct pin, link)->revision)
			return false;
	return h->n > s->conf.log_revisions || h->bytes > s->conf.log_bytes ||
	       oldest->at + s->conf.log_age_ms < clock_wall(s->conf.clock);
}

void history_expire(struct store *s)
{
	for (size_t i = 0; i < EXPIRE_MOST && s->history.n; i++) {
		if (s->history.trim_bytes > TRIM_BYTES_MOST ||
		    !is_over(s, history_at(s, s->history.first)))
			break;
		expire_oldest(s);
	}
}

int store_check_at(const struct store *s, uint64_t at, struct err *err)
{
	if (at > s->durable)
		return err_set(err, ERR_INVALID,
			       "revision %llu is yet to come; the newest is "
			       "%llu",
			       (unsigned long long)at,
			       (unsigned long long)s->durable);
	/* What held just before the oldest change is still known, too. */
	if (at + 1 < s->history.first)
		return err_set(err, ERR_GONE,
			       "revision %llu is no longer kept; the oldest is "
			       "%llu",
			       (unsigned long long)at,
			       (unsigned long long)s->history.first - 1);
	return 0;
}

bool store_get(const struct store *s, uint64_t at, const struct kind *k,
	       const char *id, struct record *ret)
{
	const struct entry *e = cache_find(store_cache(s, k), id);
	const struct version *v;

	v = e ? entry_at(e, at ? at : s->durable) : NULL;
	if (!v || !v->record.object)
		return false;
	*ret = v->record;
	return true;
}

void store_expect(const struct store *s, const struct kind *k, const char *id)
{
	const struct entry *e = cache_find(store_cache(s, k), id);
	const char *v = e ? (const char *)e->newest : NULL;

	for (int i = 0; v && i < EXPECT_LINES; i++)
		__builtin_prefetch(v + i * LINE_BYTES);
}

void store_expect_key(const struct store *s, const char *key)
{
	map_expect(&s->memos, key);
}

uint64_t store_changed(const struct store *s, const struct kind *k)
{
	return store_cache(s, k)->changed;
}

struct scan store_scan(const struct store *s, uint64_t at, const struct kind *k,
		       const char *after)
{
	struct scan scan = {.store = s,
			    .cache = store_cache(s, k),
			    .at = at ? at : s->durable};
	struct sorted_walk w;

	scan.set = &scan.cache->by_order;
	w = sorted_from(scan.set, after);
	scan.run = w.run;
	scan.i = w.i;
	return scan;
}

static bool is_indexed(const struct cache *c, const char *path)
{
	for (size_t i = 0; i < c->n_fields; i++)
		if (strcmp(c->fields[i].path, path) == 0)
			return true;
	return strcmp(path, "@name") == 0;
}

bool scan_narrow(struct scan *scan, const char *path, const char *value,
		 const char *after)
{
	static const struct sorted nothing;
	struct sorted_walk w;

	if (!is_indexed(scan->cache, path) || strlen(value) > 256)
		return false;
	scan->set = cache_index(scan->cache, path, value);
	if (!scan->set)
		scan->set = &nothing;
	w = sorted_from(scan->set, after);
	scan->run = w.run;
	scan->i = w.i;
	scan->path = path;
	scan->value = value;
	return true;
}

/* An object is three steps away from its place in a set, each of them a miss of
 * the processor's caches: they are made before it is their turn, for several
 * objects at a time.  That halves what a list costs. */
static void fetch_ahead(const struct sorted_walk *w)
{
	const struct entry *e;
	const struct record *r;

	e = sorted_ahead(w, 3 * AHEAD);
	if (e)
		__builtin_prefetch(e);
	e = sorted_ahead(w, 2 * AHEAD);
	if (e)
		__builtin_prefetch(e->newest);
	e = sorted_ahead(w, AHEAD);
	r = e ? &e->newest->record : NULL;
	if (!r || !r->object)
		return;
	__builtin_prefetch((const char *)r->object + r->kind->organization_at);
	__builtin_prefetch(r->json);
}

bool scan_next(struct scan *scan, struct record *ret, size_t *effort)
{
	struct sorted_walk w = {scan->set, scan->run, scan->i};
	const struct entry *e;

	while ((e = sorted_next(&w))) {
		const struct version *v;

		fetch_ahead(&w);
		v = entry_at(e, scan->at);
		scan->run = w.run;
		scan->i = w.i;
		++*effort;
		if (!v || !v->record.object)
			continue;
		/* An only version is why its entry is in the index. */
		if (scan->path && (v != e->newest || v->older) &&
		    !cache_matches(scan->cache, v->record.object, scan->path,
				   scan->value))
			continue;
		*ret = v->record;
		return true;
	}
	return false;
}

bool store_next(const struct store *s, const struct kind *k, struct cursor *c,
		struct event *ret, bool *ret_gone)
{
	*ret_gone = c->revision + 1 < s->history.first;
	while (!*ret_gone && c->revision < s->durable) {
		const struct change *change = history_at(s, c->revision + 1);
		const struct version *hit = NULL;

		for (; c->i < change->n; c->i++) {
			const struct version *v = change->versions[c->i];

			if (v->record.kind != k)
				continue;
			if (hit)
				break;
			hit = v;
		}
		if (c->i == change->n) {
			c->revision++;
			c->i = 0;
		}
		if (!hit)
			continue;
		ret->now = hit->record;
		ret->before = hit->older ? hit->older->record
					 : (struct record){.kind = k};
		ret->last = c->i == 0;
		return true;
	}
	return false;
}

void store_watch(struct store *s, struct watcher *w)
{
	list_add(&s->watchers, &w->link);
}

void store_unwatch(struct watcher *w)
{
	list_remove(&w->link);
}

void store_pin(struct store *s, struct pin *p, uint64_t revision)
{
	p->revision = revision;
	list_add(&s->pins, &p->link);
}

void store_unpin(struct pin *p)
{
	list_remove(&p->link);
}
