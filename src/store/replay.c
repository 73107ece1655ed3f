/* replay - rows of the log back into objects. */
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/json.h"
#include "store/line.h"
#include "store/store_priv.h"

/* A document was small enough to be written: reading it must not be what
 * fails. */
#define TREE_MOST ((size_t)1 << 30)

static int upgrade(const struct kind *k, unsigned from, struct node **doc,
		   struct arena *a, struct err *err)
{
	for (unsigned v = from; v < k->version; v++) {
		*doc = k->upgrades[v - 1](*doc, a, err);
		if (!*doc)
			return err_wrap(err, "%s: version %u to %u", k->name, v,
					v + 1);
	}
	return 0;
}

/* 1 when its secrets are to be sealed anew. */
static int decode(struct store *s, const struct kind *k, const struct line *l,
		  struct arena *a, void **ret, struct err *err)
{
	struct node *doc = json_parse(l->json, l->len, a, err);
	struct violations v;
	const char *id;
	int stale;

	if (!doc)
		return -1;
	stale = secret_open(s, store_cache(s, k), l->id, doc, a, err);
	if (stale < 0 || upgrade(k, l->version, &doc, a, err) < 0)
		return -1;
	*ret = arena_alloc(a, k->size);
	violations_init(&v, a);
	field_decode(k->fields, doc, FIELD_STORED, *ret, &v);
	if (v.n) {
		violations_err(&v, err);
		err->violations = NULL; /* they go with the arena */
		return -1;
	}
	id = ((const struct meta *)*ret)->id;
	if (!id || strcmp(id, l->id) != 0)
		return err_set(err, ERR_INTERNAL, "%s %s has the id %s inside",
			       k->name, l->id, id ? id : "of nobody");
	return stale;
}

/* An object written by an older version of the program gets a line of today's;
 * its row is rewritten when there is time. */
static int renew_line(struct store *s, const struct kind *k, const void *object,
		      const char *id, struct err *err)
{
	buf_clear(&s->scratch);
	secret_encode(s, store_cache(s, k), object, &s->scratch);
	if (!buf_ok(&s->scratch))
		return err_set(err, ERR_TOO_LARGE,
			       "%s %s has become too large to be written",
			       k->name, id);
	return 0;
}

static int apply_put(struct store *s, struct change *c, const struct line *l,
		     const struct kind *k, struct err *err)
{
	/* No function runs meanwhile: its arena is free. */
	struct arena *a = &s->arena;
	size_t most = a->max;
	void *object;
	int r, stale;

	a->max = TREE_MOST;
	r = stale = decode(s, k, l, a, &object, err);
	if (r >= 0)
		r = renew_line(s, k, object, l->id, err);
	if (r == 0) {
		cache_add(store_cache(s, k), c, l->id, object, s->scratch.data,
			  s->scratch.len);
		if (l->version < k->version || stale)
			history_rewrite(s, c);
	}
	arena_clear(a);
	a->max = most;
	return r;
}

static int apply_line(struct store *s, struct change *c, const struct line *l,
		      bool in_log, struct err *err)
{
	const struct kind *k = store_kind(s, l->kind);
	const struct entry *e;

	if (!k)
		return err_set(err, ERR_UNSUPPORTED,
			       "an object of kind \"%s\", which this version "
			       "of muster does not know",
			       l->kind);
	if (l->type == '=') {
		if (in_log && !c->memo && !map_get(&s->memos, l->key))
			memo_add(s, c, l->key, l->digest, k, l->id);
		return 0;
	}
	e = cache_find(store_cache(s, k), l->id);
	if (e && e->newest->change == c)
		return err_set(err, ERR_INTERNAL, "%s %s is written twice",
			       l->kind, l->id);
	if (l->version > k->version)
		return err_set(err, ERR_UNSUPPORTED,
			       "%s %s was written by a newer version of muster",
			       l->kind, l->id);
	if (l->type == '+')
		return apply_put(s, c, l, k, err);
	buf_clear(&s->scratch);
	line_begin(&s->scratch, '-', k->name, k->version, l->id);
	buf_addc(&s->scratch, '\n');
	cache_add(store_cache(s, k), c, l->id, NULL, s->scratch.data,
		  s->scratch.len);
	return 0;
}

static int apply_lines(struct store *s, struct change *c, const struct row *row,
		       bool in_log, struct err *err)
{
	const char *p = row->data, *end = row->data + row->len;
	struct line l;
	int r;

	while ((r = line_read(&p, end, &l, err)) > 0)
		if (apply_line(s, c, &l, in_log, err) < 0)
			return -1;
	return r;
}

int replay_row(struct store *s, const struct row *row, struct err *err)
{
	bool in_log = row->revision >= s->horizon;
	uint64_t next = s->history.n ? s->newest + 1 : s->horizon;
	struct change *c;

	if (in_log && row->revision != next)
		return err_set(err, ERR_INTERNAL,
			       "revision %llu follows on %llu: rows are "
			       "missing",
			       (unsigned long long)row->revision,
			       (unsigned long long)s->newest);
	c = change_new(row->revision, row->at);
	s->newest = s->durable = row->revision;
	if (apply_lines(s, c, row, in_log, err) < 0) {
		/* Its versions, if any, hold it until the store is closed. */
		if (!c->live)
			change_free(c);
		return err_wrap(err, "revision %llu",
				(unsigned long long)row->revision);
	}
	steady_reach(&s->time, row->at);
	for (size_t i = 0; i < c->n; i++)
		c->versions[i]->entry->cache->changed = c->revision;
	if (in_log)
		history_add(s, c);
	else
		history_settle(s, c);
	return 0;
}
