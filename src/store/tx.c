#include "store/tx.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/uuid.h"
#include "store/line.h"
#include "store/read.h"
#include "store/store_priv.h"

#define DOCUMENT_MOST ((size_t)4 << 20)
#define CHANGE_MOST   ((size_t)64 << 20)

const struct version *tx_see(struct tx *tx, const struct version *v)
{
	if (v && v->change != tx->change && v->record.revision > tx->rests_on)
		tx->rests_on = v->record.revision;
	return v;
}

const void *tx_get(struct tx *tx, const struct kind *k, const char *id)
{
	const struct entry *e = cache_find(store_cache(tx->store, k), id);

	return e ? tx_see(tx, e->newest)->record.object : NULL;
}

size_t tx_find(struct tx *tx, const struct kind *k, const char *path,
	       const char *value, size_t most, const char ***ret)
{
	const struct cache *c = store_cache(tx->store, k);
	const struct sorted *set = cache_index(c, path, value);
	struct sorted_walk w;
	const struct entry *e;
	size_t n = 0;

	*ret = arena_alloc(tx_arena(tx), most * sizeof(**ret));
	if (!set)
		return 0;
	w = sorted_from(set, NULL);
	while (n < most && (e = sorted_next(&w))) {
		const void *object = tx_see(tx, e->newest)->record.object;

		if (object && cache_matches(c, object, path, value))
			(*ret)[n++] = arena_strdup(tx_arena(tx), e->id);
	}
	return n;
}

void tx_rest_on_all(struct tx *tx)
{
	tx->rests_on = tx->store->newest;
}

int64_t tx_time(const struct tx *tx)
{
	return tx->change->at;
}

void tx_new_id(struct tx *tx, char id[37])
{
	struct store *s = tx->store;

	/* Ids sort by age, those of one millisecond too. */
	if (tx->change->at != s->id_at)
		s->id_sequence = 0;
	else if (s->id_sequence < 0xfff)
		s->id_sequence++;
	s->id_at = tx->change->at;
	uuid_v7(s->id_at, s->id_sequence, s->conf.random, id);
}

struct arena *tx_arena(struct tx *tx)
{
	return &tx->store->arena;
}

static int check_unique(struct tx *tx, struct cache *c, const struct meta *meta,
			struct err *err)
{
	const struct entry *e = cache_named(c, meta);

	if (e) {
		bool seen = !tx->sees || tx->sees(tx->sees_ctx, c->kind,
						  e->newest->record.object);

		tx_see(tx, e->newest);
		return err_at(err, ERR_CONFLICT, "/name",
			      "there is %s %s with the name \"%s\" already%s%s",
			      strchr("aeiou", c->kind->name[0]) ? "an" : "a",
			      c->kind->name, meta->name, seen ? ": " : "",
			      seen ? e->id : "");
	}
	/* The name is free, maybe since a write that is not durable yet. */
	if (c->freed > tx->rests_on)
		tx->rests_on = c->freed < tx->store->newest ? c->freed
							    : tx->store->newest;
	return 0;
}

int tx_check_references(struct tx *tx, const struct kind *k, const void *object,
			struct err *err)
{
	return reference_check(tx, store_cache(tx->store, k), object, err);
}

void tx_set_view(struct tx *tx,
		 bool (*fn)(void *ctx, const struct kind *k,
			    const void *object),
		 void *ctx)
{
	tx->sees = fn;
	tx->sees_ctx = ctx;
}

/* A transaction that writes an object twice leaves the second one only.  The
 * first is let go of last: what is written may be made of it. */
static void write_version(struct tx *tx, struct cache *c, const char *id,
			  const void *object)
{
	struct buf *line = &tx->store->scratch;
	struct change *change = tx->change;
	struct version *v =
		cache_add(c, change, id, object, line->data, line->len);
	struct version *first = v->older;

	if (!first || first->change != change)
		return;
	v->place = first->place;
	change->versions[v->place] = v;
	change->n--;
	change->live--;
	change->bytes -= first->line_len;
	cache_remove(first);
}

/* What line.h can write down and read back. */
static bool is_word(const char *s, size_t room)
{
	size_t len = strlen(s);

	return len > 0 && len < room && !strpbrk(s, " \n");
}

void tx_expect(struct tx *tx, const struct kind *k, const void *object)
{
	cache_expect(store_cache(tx->store, k), object);
}

int tx_put(struct tx *tx, const struct kind *k, void *object, struct err *err)
{
	struct cache *c = store_cache(tx->store, k);
	struct buf *line = &tx->store->scratch;
	struct meta *meta = object;

	assert(meta->id && is_word(meta->id, 40));
	if (reference_check(tx, c, object, err) < 0 ||
	    (meta->name && check_unique(tx, c, meta, err) < 0))
		return -1;
	meta->revision = (int64_t)tx->change->revision;
	buf_clear(line);
	secret_encode(tx->store, c, object, line);
	if (!buf_ok(line))
		return err_set(err, ERR_TOO_LARGE,
			       "the document is larger than %zu bytes",
			       DOCUMENT_MOST);
	assert(!memchr(line->data, '\n', line->len - 1));
	if (tx->change->bytes + line->len > CHANGE_MOST)
		return err_set(err, ERR_TOO_LARGE,
			       "one change is larger than %zu bytes",
			       CHANGE_MOST);
	write_version(tx, c, meta->id, object);
	return 0;
}

int tx_delete(struct tx *tx, const struct kind *k, const char *id,
	      struct err *err)
{
	struct cache *c = store_cache(tx->store, k);
	struct buf *line = &tx->store->scratch;

	if (!tx_get(tx, k, id))
		return err_set(err, ERR_NOT_FOUND, "there is no %s %s", k->name,
			       id);
	if (reference_release(tx, k, id, err) < 0)
		return -1;
	buf_clear(line);
	line_begin(line, '-', k->name, k->version, id);
	buf_addc(line, '\n');
	write_version(tx, c, id, NULL);
	return 0;
}

void tx_remember(struct tx *tx, const char *key, const char *digest,
		 const struct kind *k, const char *id)
{
	assert(is_word(key, 72) && is_word(digest, 72) && is_word(id, 40));
	memo_add(tx->store, tx->change, key, digest, k, id);
}

bool tx_recall(struct tx *tx, const char *key, const char **ret_digest,
	       struct record *ret)
{
	const struct memo *m = map_get(&tx->store->memos, key);
	const struct entry *e;
	const struct version *v;

	if (!m)
		return false;
	if (m->change != tx->change && m->change->revision > tx->rests_on)
		tx->rests_on = m->change->revision;
	*ret_digest = m->digest;
	e = cache_find(store_cache(tx->store, m->kind), m->id);
	v = e ? entry_at(e, m->change->revision) : NULL;
	*ret = v ? v->record : (struct record){.kind = m->kind};
	return true;
}

bool tx_before(struct tx *tx, const struct kind *k, const char *id,
	       struct record *ret)
{
	const struct entry *e = cache_find(store_cache(tx->store, k), id);
	const struct version *v = e ? e->newest : NULL;

	if (v && v->change == tx->change)
		v = v->older;
	if (!tx_see(tx, v) || !v->record.object)
		return false;
	*ret = v->record;
	return true;
}

uint64_t tx_revision(const struct tx *tx)
{
	return tx->change->revision;
}

void tx_audit(struct tx *tx, const char *organization, const char *entry)
{
	free(tx->change->note);
	tx->change->note = note_new(organization, entry, strlen(entry));
}

void change_undo(struct store *s, struct change *c)
{
	memo_drop(s, c);
	while (c->n) {
		struct version *v = c->versions[--c->n], *older = v->older;

		cache_remove(v);
		/* A tombstone that had expired stayed for V alone. */
		if (older && !older->record.object && !older->change->in_log)
			history_let_go(s, older);
	}
	change_free(c);
}

/* A change is made although nothing may be written: it carries the time and
 * the revision the function is told. */
void tx_run(struct store *s, struct txn *t)
{
	int64_t now = store_time(s);
	struct tx tx = {.store = s};

	tx.change = change_new(s->newest + 1, now);
	t->change = NULL;
	t->revision = 0;
	t->failed = t->fn(&tx, t->ctx, &t->err) < 0;
	t->rests_on = tx.rests_on;
	arena_clear(&s->arena);
	if (t->failed || !tx.change->n) {
		change_undo(s, tx.change);
		return;
	}
	s->newest++;
	history_add(s, tx.change);
	t->change = tx.change;
	t->revision = tx.change->revision;
}
