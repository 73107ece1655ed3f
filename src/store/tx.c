#include "store/tx.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "base/uuid.h"
#include "store/line.h"
#include "store/store_priv.h"

#define DOCUMENT_MOST ((size_t)4 << 20)
#define CHANGE_MOST   ((size_t)64 << 20)
#define USERS_NAMED   5
#define USERS_COUNTED 100

static const struct version *see(struct tx *tx, const struct version *v)
{
	if (v && v->change != tx->change && v->record.revision > tx->rests_on)
		tx->rests_on = v->record.revision;
	return v;
}

const void *tx_get(struct tx *tx, const struct kind *k, const char *id)
{
	const struct entry *e = cache_find(store_cache(tx->store, k), id);

	return e && see(tx, e->newest) ? e->newest->record.object : NULL;
}

int64_t tx_time(const struct tx *tx)
{
	return tx->change->at;
}

void tx_new_id(struct tx *tx, char id[37])
{
	uuid_v7(tx->change->at, tx->store->conf.random, id);
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
		see(tx, e->newest);
		return err_at(err, ERR_CONFLICT, "/name",
			      "there is %s %s with the name \"%s\" already: %s",
			      strchr("aeiou", c->kind->name[0]) ? "an" : "a",
			      c->kind->name, meta->name, e->id);
	}
	/* The name is free, maybe since a write that is not durable yet. */
	if (c->freed > tx->rests_on)
		tx->rests_on = c->freed < tx->store->newest ? c->freed
							    : tx->store->newest;
	return 0;
}

/* OLD, the version before or NULL, may refer to what has since begun to go
 * away: only a new reference needs its target. */
static int check_reference(struct tx *tx, const struct index_field *f,
			   const struct version *old, const char *id,
			   struct err *err)
{
	const struct meta *target;
	char pointer[80];
	size_t n = 0;

	if (!id || (old && cache_matches(old->entry->cache, old->record.object,
					 f->path, id)))
		return 0;
	target = tx_get(tx, f->refers, id);
	if (target && !target->deleted_at)
		return 0;
	pointer[n++] = '/';
	for (const char *p = f->path; *p && n + 1 < sizeof(pointer); p++)
		memcpy(&pointer[n++], *p == '.' ? "/" : p, 1);
	pointer[n] = '\0';
	if (target)
		return err_at(err, ERR_CONFLICT, pointer,
			      "%s %s is being deleted", f->refers->name, id);
	return err_at(err, ERR_INVALID, pointer, "there is no %s %s",
		      f->refers->name, id);
}

static int check_references(struct tx *tx, struct cache *c, const void *object,
			    struct err *err)
{
	const struct entry *e =
		cache_find(c, ((const struct meta *)object)->id);
	const struct version *old =
		e && e->newest->record.object ? see(tx, e->newest) : NULL;
	const char *o = object;

	for (size_t i = 0; i < c->n_fields; i++) {
		const struct index_field *f = &c->fields[i];
		const struct items *items;

		if (!f->refers)
			continue;
		if (!f->list) {
			const void *at = o + f->offset;

			if (check_reference(tx, f, old,
					    *(const char *const *)at, err) < 0)
				return -1;
			continue;
		}
		items = (const void *)(o + f->list_offset);
		for (size_t n = 0; n < items->n; n++) {
			const void *at = (const char *)items->at +
					 n * f->list->size + f->offset;

			if (check_reference(tx, f, old,
					    *(const char *const *)at, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* A transaction that writes an object twice leaves the second one only.  The
 * first is let go of last: what is written may be made of it. */
static void write_version(struct tx *tx, struct cache *c, const char *id,
			  const void *object)
{
	struct buf *line = &tx->store->scratch;
	struct change *change = tx->change;
	struct entry *e = cache_find(c, id);
	struct version *first = NULL, *v;

	if (e && e->newest->change == change)
		first = e->newest;
	v = cache_add(c, change, id, object, line->data, line->len);
	if (!first)
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

int tx_put(struct tx *tx, const struct kind *k, void *object, struct err *err)
{
	struct cache *c = store_cache(tx->store, k);
	struct buf *line = &tx->store->scratch;
	struct meta *meta = object;

	assert(meta->id && is_word(meta->id, 40));
	if (check_references(tx, c, object, err) < 0 ||
	    (meta->name && check_unique(tx, c, meta, err) < 0))
		return -1;
	meta->revision = (int64_t)tx->change->revision;
	buf_clear(line);
	line_begin(line, '+', k->name, k->version, meta->id);
	buf_addc(line, ' ');
	field_encode(k->fields, object, FIELD_FULL, line);
	buf_addc(line, '\n');
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

/* Who refers to an object, found so far. */
struct users {
	struct buf text;
	size_t n;
};

/* The objects of cache C that refer to ID by field F. */
static void find_users(struct tx *tx, const struct cache *c,
		       const struct index_field *f, const char *id,
		       struct users *users)
{
	const struct sorted *set = cache_index(c, f->path, id);
	struct sorted_walk w;
	const struct entry *e;

	if (!set)
		return;
	w = sorted_from(set, NULL);
	while (users->n <= USERS_COUNTED && (e = sorted_next(&w))) {
		const struct meta *meta = e->newest->record.object;

		see(tx, e->newest);
		if (!meta || !cache_matches(c, meta, f->path, id))
			continue;
		if (users->n++ < USERS_NAMED)
			buf_addf(&users->text, "%s%s \"%s\"",
				 users->text.len ? ", " : "", c->kind->name,
				 meta->name ? meta->name : meta->id);
	}
}

static int check_unused(struct tx *tx, const struct kind *k, const char *id,
			struct err *err)
{
	struct store *s = tx->store;
	struct users users = {.text = BUF_INIT(4096)};

	for (size_t i = 0; i < s->n_caches; i++) {
		const struct cache *c = &s->caches[i];

		for (size_t j = 0; j < c->n_fields; j++)
			if (c->fields[j].refers == k)
				find_users(tx, c, &c->fields[j], id, &users);
	}
	if (users.n > USERS_COUNTED)
		buf_adds(&users.text, " and many more");
	else if (users.n > USERS_NAMED)
		buf_addf(&users.text, " and %zu more", users.n - USERS_NAMED);
	if (users.n)
		err_set(err, ERR_CONFLICT, "%s %s is in use by %s", k->name, id,
			buf_str(&users.text));
	buf_release(&users.text);
	return users.n ? -1 : 0;
}

int tx_delete(struct tx *tx, const struct kind *k, const char *id,
	      struct err *err)
{
	struct cache *c = store_cache(tx->store, k);
	struct buf *line = &tx->store->scratch;

	if (!tx_get(tx, k, id))
		return err_set(err, ERR_NOT_FOUND, "there is no %s %s", k->name,
			       id);
	if (check_unused(tx, k, id, err) < 0)
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

void tx_audit(struct tx *tx, const char *entry)
{
	free(tx->change->audit);
	tx->change->audit = xstrdup(entry);
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
	int64_t now = clock_wall(s->conf.clock);
	struct tx tx = {.store = s};

	if (now < s->last_at)
		now = s->last_at;
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
	s->last_at = now;
	s->newest++;
	history_add(s, tx.change);
	t->change = tx.change;
	t->revision = tx.change->revision;
}
