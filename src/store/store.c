#include "store/store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "store/line.h"
#include "store/read.h"
#include "store/store_priv.h"

#define ARENA_MOST    ((size_t)64 << 20)
#define DOCUMENT_MOST ((size_t)4 << 20)
#define REWRITES_MOST 256

/* Objects and changes that are freed one by one at the end: more take seconds,
 * and the end of the process frees them at once. */
#define FREED_MOST 100000

/* A batch takes no more rows when it has so much text. */
#define TEXT_ENOUGH ((size_t)64 << 20)
#define TEXT_MOST   ((size_t)4 << 30)

static void pump(struct store *s, bool tick);

static void set_defaults(struct store_conf *c)
{
	if (!c->kinds)
		c->kinds = kinds;
	if (!c->log_revisions)
		c->log_revisions = 1000000;
	if (!c->log_age_ms)
		c->log_age_ms = 3600 * 1000;
	if (!c->log_bytes)
		c->log_bytes = (size_t)1 << 30;
	if (!c->batch_most)
		c->batch_most = 128;
	if (!c->pending_most)
		c->pending_most = 4096;
}

/* A watcher may be removed by another's wake(). */
static void wake_watchers(struct store *s)
{
	struct list todo, *l;

	list_init(&todo);
	while ((l = list_pop(&s->watchers)))
		list_add(&todo, l);
	while ((l = list_pop(&todo))) {
		struct watcher *w = CONTAINER_OF(l, struct watcher, link);

		list_add(&s->watchers, l);
		w->wake(w);
	}
}

/* Take back every change that is not durable, newest first; those who made
 * them are added to TO, oldest first, then those who have seen them. */
static void roll_back(struct store *s, struct list *to)
{
	struct list *const from[] = {&s->flying, &s->open, &s->held};

	while (s->newest > s->durable) {
		change_undo(s, history_pop(s));
		s->newest--;
	}
	for (size_t i = 0; i < COUNT_OF(from); i++) {
		struct list *l;

		while ((l = list_pop(from[i]))) {
			CONTAINER_OF(l, struct txn, link)->change = NULL;
			list_add(to, l);
		}
	}
}

/* A row of the log when it is loaded, or another writer's later on.  Then what
 * we have written on top of the old state is taken back, to be run again when
 * the batch under way comes back: as lost, unless it had no rows. */
static int feed(void *ctx, const struct row *row, struct err *err)
{
	struct store *s = ctx;

	if (row->revision <= s->durable)
		return 0;
	roll_back(s, &s->rerun);
	if (replay_row(s, row, err) < 0)
		return -1;
	wake_watchers(s);
	return 0;
}

static int load(struct store *s, struct err *err)
{
	if (s->backend->ops->load(s->backend, feed, s, &s->horizon, err) < 0)
		return -1;
	if (s->history.n)
		return 0;
	if (s->newest && s->horizon != s->newest + 1)
		return err_set(err, ERR_INTERNAL,
			       "the newest row is %llu, but the log begins at "
			       "%llu: rows are missing",
			       (unsigned long long)s->newest,
			       (unsigned long long)s->horizon);
	s->horizon = s->history.first = s->newest + 1;
	return 0;
}

int store_open(const struct store_conf *conf, struct backend *backend,
	       struct store **out, struct err *err)
{
	struct store *s = xcalloc(1, sizeof(*s));
	struct list *const lists[] = {
		&s->open,     &s->held, &s->rerun,         &s->flying,
		&s->watchers, &s->pins, &s->history.trims, &s->history.rewrites,
	};

	s->conf = *conf;
	set_defaults(&s->conf);
	s->backend = backend;
	steady_init(&s->time, s->conf.clock);
	for (size_t i = 0; i < COUNT_OF(lists); i++)
		list_init(lists[i]);
	notes_init(s);
	for (; s->conf.kinds[s->n_caches]; s->n_caches++) {
		assert(s->n_caches < KINDS_MOST);
		cache_init(&s->caches[s->n_caches], s->conf.kinds[s->n_caches],
			   s->conf.kinds);
		s->caches[s->n_caches].observe = s->conf.observe;
		s->caches[s->n_caches].observe_ctx = s->conf.observe_ctx;
	}
	arena_init(&s->arena, ARENA_MOST);
	s->scratch = BUF_INIT(DOCUMENT_MOST);
	s->text = BUF_INIT(TEXT_MOST);
	s->rows = xcalloc(s->conf.batch_most, sizeof(*s->rows));
	if (load(s, err) < 0) {
		store_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

/* The rows are rid of what they had lost. */
static void finish_trims(struct store *s)
{
	for (size_t i = 0; i < s->batch.n_trims; i++) {
		struct change *c = s->trimmed[i];

		if (!c->trimming && !c->live && !c->in_log)
			change_free(c);
	}
}

/* Changes that are neither in the log nor waiting to be trimmed hang on their
 * live versions alone. */
static void release_changes(struct store *s)
{
	for (size_t i = 0; i < s->n_caches; i++) {
		struct entry *e;
		size_t at = 0;

		while ((e = map_next(&s->caches[i].by_id, &at))) {
			struct version *v = e->newest;

			for (; v; v = v->older)
				if (!v->change->in_log &&
				    --v->change->live == 0)
					change_free(v->change);
		}
	}
}

static bool is_large(const struct store *s)
{
	size_t n = (size_t)(s->durable + 1 - s->history.first);

	for (size_t i = 0; i < s->n_caches; i++)
		n += s->caches[i].by_id.count;
	return n > FREED_MOST;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	s->backend->ops->close(s->backend);
	if (is_large(s))
		return;
	if (s->busy)
		finish_trims(s);
	release_changes(s);
	history_release(s);
	for (size_t i = 0; i < s->n_caches; i++)
		cache_release(&s->caches[i]);
	map_release(&s->memos);
	notes_release(s);
	arena_release(&s->arena);
	buf_release(&s->scratch);
	buf_release(&s->text);
	free(s->rows);
	free(s->trims);
	free(s->trimmed);
	free(s);
}

const char *store_installation(const struct store *s)
{
	return s->backend->installation;
}

static void answer(struct store *s, struct txn *t, const struct err *err)
{
	s->pending--;
	t->change = NULL;
	t->done(t, err);
}

/* Answer those that waited for revisions which are durable now. */
static void answer_held(struct store *s)
{
	struct list *l = s->held.next, ready;

	list_init(&ready);
	while (l != &s->held) {
		struct txn *t = CONTAINER_OF(l, struct txn, link);

		l = l->next;
		if (t->rests_on > s->durable)
			continue;
		list_remove(&t->link);
		list_add(&ready, &t->link);
	}
	while ((l = list_pop(&ready))) {
		struct txn *t = CONTAINER_OF(l, struct txn, link);

		answer(s, t, t->failed ? &t->err : NULL);
	}
}

static void place(struct store *s, struct txn *t)
{
	tx_run(s, t);
	if (t->change)
		list_add(&s->open, &t->link);
	else if (t->rests_on > s->durable)
		list_add(&s->held, &t->link);
	else
		answer(s, t, t->failed ? &t->err : NULL);
}

void store_transact(struct store *s, struct txn *t)
{
	struct err err;

	list_init(&t->link);
	t->revision = 0;
	s->pending++;
	if (s->pending > s->conf.pending_most) {
		err_set(&err, ERR_UNAVAILABLE,
			"too many changes are waiting to be written");
		err.retry_after_ms = 1000;
		answer(s, t, &err);
		return;
	}
	place(s, t);
	pump(s, false);
}

/* Nothing of the batch is there, and what came after it was built on it: all
 * of them fail. */
static void fail_all(struct store *s, const struct err *err)
{
	struct list failed, *l;

	list_init(&failed);
	roll_back(s, &s->rerun);
	while ((l = list_pop(&s->rerun)))
		list_add(&failed, l);
	while ((l = list_pop(&failed)))
		answer(s, CONTAINER_OF(l, struct txn, link), err);
}

static void run_again(struct store *s)
{
	struct list again, *l;

	list_init(&again);
	roll_back(s, &s->rerun);
	while ((l = list_pop(&s->rerun)))
		list_add(&again, l);
	while ((l = list_pop(&again))) {
		s->reruns++;
		place(s, CONTAINER_OF(l, struct txn, link));
	}
}

/* They were not written: have them tried again. */
static void redo_trims(struct store *s)
{
	for (size_t i = 0; i < s->batch.n_trims; i++)
		history_trim(s, s->trimmed[i]);
}

static void finish_batch(struct store *s)
{
	struct list done, *l;

	assert(!s->batch.n || s->rows[0].revision == s->durable + 1);
	s->commits++;
	s->durable += s->batch.n;
	finish_trims(s);
	list_init(&done);
	while ((l = list_pop(&s->flying))) {
		struct change *c = CONTAINER_OF(l, struct txn, link)->change;

		/* The trail has it now; nobody asks memory for it. */
		free(c->note);
		c->note = NULL;
		for (size_t i = 0; i < c->n; i++)
			c->versions[i]->entry->cache->changed = c->revision;
		list_add(&done, l);
	}
	if (s->batch.n)
		wake_watchers(s);
	/* The disk need not wait until all of them are answered. */
	if (list_empty(&s->rerun))
		pump(s, false);
	while ((l = list_pop(&done)))
		answer(s, CONTAINER_OF(l, struct txn, link), NULL);
	answer_held(s);
}

/* Whoever is answered may begin the next batch, in this one's place. */
static void commit_done(struct batch *b)
{
	struct store *s = b->ctx;
	struct err err = b->err;

	s->busy = false;
	s->failing = b->result == BATCH_FAILED;
	notes_settle(s, b->result == BATCH_DONE);
	s->commit_ms = clock_mono(s->conf.clock) - s->began_ms;
	switch (b->result) {
	case BATCH_DONE:
		finish_batch(s);
		if (!list_empty(&s->rerun))
			run_again(s);
		break;
	case BATCH_LOST:
		redo_trims(s);
		run_again(s);
		break;
	case BATCH_FAILED:
		s->failures++;
		redo_trims(s);
		fail_all(s, &err);
		break;
	}
	pump(s, false);
}

static size_t text_add(struct buf *text, const struct change *c)
{
	size_t begin = text->len;

	for (size_t i = 0; i < c->n; i++)
		if (c->versions[i])
			buf_add(text, c->versions[i]->line,
				c->versions[i]->line_len);
	if (c->memo)
		line_memo(text, c->memo->key, c->memo->digest,
			  c->memo->kind->name, c->memo->id);
	return text->len - begin;
}

static void take_rows(struct store *s)
{
	while (s->batch.n < s->conf.batch_most && !list_empty(&s->open) &&
	       s->text.len < TEXT_ENOUGH) {
		struct list *l = list_pop(&s->open);
		const struct change *c =
			CONTAINER_OF(l, struct txn, link)->change;
		struct row *r = &s->rows[s->batch.n++];

		*r = (struct row){.revision = c->revision, .at = c->at};
		r->len = text_add(&s->text, c);
		list_add(&s->flying, l);
	}
}

static void take_trim(struct store *s, struct change *c)
{
	struct trim *t;

	if (s->batch.n_trims == s->trims_room) {
		s->trims_room = s->trims_room ? 2 * s->trims_room : 256;
		s->trims = xrealloc(s->trims, s->trims_room, sizeof(*s->trims));
		s->trimmed = xrealloc(s->trimmed, s->trims_room,
				      sizeof(struct change *));
	}
	c->trimming = c->rewriting = false;
	s->trimmed[s->batch.n_trims] = c;
	t = &s->trims[s->batch.n_trims++];
	*t = (struct trim){.revision = c->revision, .at = c->at};
	t->len = text_add(&s->text, c);
}

/* All trims, for they depend on each other; rewrites can wait.  A rewritten
 * row may be in the log still: its memo goes with it. */
static void take_trims(struct store *s)
{
	struct history *h = &s->history;
	struct list *l;

	while ((l = list_pop(&h->trims)))
		take_trim(s, CONTAINER_OF(l, struct change, trim_link));
	h->trim_bytes = 0;
	for (size_t n = 0; n < REWRITES_MOST && s->text.len < TEXT_ENOUGH;
	     n++) {
		l = list_pop(&h->rewrites);
		if (!l)
			break;
		take_trim(s, CONTAINER_OF(l, struct change, trim_link));
	}
}

/* The text has stopped growing: now the pieces can be pointed to. */
static void point(struct store *s)
{
	const char *p = buf_str(&s->text);

	assert(buf_ok(&s->text));
	for (size_t i = 0; i < s->batch.n; i++) {
		s->rows[i].data = p;
		p += s->rows[i].len;
	}
	for (size_t i = 0; i < s->batch.n_trims; i++) {
		struct trim *t = &s->trims[i];

		t->data = t->len ? p : NULL;
		p += t->len;
	}
}

/* Give the backend the next batch, if it is free and there is one.  After a
 * failure trims wait for the next row, rather than fail again and again; the
 * audit trail's notes wait for a row or a tick. */
static void pump(struct store *s, bool tick)
{
	bool trims;

	if (s->busy)
		return;
	history_expire(s);
	trims = !list_empty(&s->history.trims) ||
		!list_empty(&s->history.rewrites);
	if (list_empty(&s->open) && (!trims || s->failing) &&
	    !(tick && notes_due(s)))
		return;
	s->batch = (struct batch){.done = commit_done, .ctx = s};
	if (s->text.room > TEXT_ENOUGH)
		buf_release(&s->text);
	buf_clear(&s->text);
	take_rows(s);
	take_trims(s);
	notes_take(s, tick);
	point(s);
	s->batch.rows = s->rows;
	s->batch.trims = s->trims;
	s->batch.horizon = s->history.first;
	s->busy = true;
	s->began_ms = clock_mono(s->conf.clock);
	s->backend->ops->commit(s->backend, &s->batch);
}

void store_expire(struct store *s)
{
	secret_tick(s);
	event_tick(s);
	pump(s, true);
}

bool store_idle(const struct store *s)
{
	return !s->busy && !s->pending && !s->notes.n && !s->notes.omitted;
}

uint64_t store_revision(const struct store *s)
{
	return s->durable;
}

int64_t store_time(struct store *s)
{
	return steady_now(&s->time);
}

int64_t store_even_since(struct store *s)
{
	return steady_even_since(&s->time);
}

void store_stats(const struct store *s, struct store_stats *ret)
{
	*ret = (struct store_stats){
		.durable = s->durable,
		.oldest = s->history.first - 1,
		.commits = s->commits,
		.failures = s->failures,
		.reruns = s->reruns,
		.pending = s->pending,
		.history_bytes = s->history.bytes,
		.commit_ms = s->commit_ms,
	};
	for (size_t i = 0; i < s->n_caches; i++)
		ret->objects[i] = s->caches[i].live;
}
