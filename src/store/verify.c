#include "store/verify.h"

#include <string.h>

#include "base/field_ops.h"
#include "base/sorted.h"
#include "store/store_priv.h"

struct verify {
	const struct store *store;
	verify_tell *tell;
	void *ctx;
	struct buf line;
};

static void tell(struct verify *v, const struct cache *c, const char *id,
		 const char *what, const char *which)
{
	buf_clear(&v->line);
	buf_addf(&v->line, "%s %s: %s", c->kind->name, id, what);
	if (which)
		buf_addf(&v->line, " %s", which);
	v->tell(v->ctx, buf_str(&v->line));
}

static void check_target(struct verify *v, const struct cache *c,
			 const struct index_field *f, const void *object,
			 const char *target)
{
	const char *id = ((const struct meta *)object)->id;
	const char *own = kind_owner(c->kind, object).organization;
	const struct entry *e;
	const char *theirs;
	struct buf what = BUF_INIT(256);

	if (!target)
		return;
	e = cache_find(store_cache(v->store, f->refers), target);
	buf_addf(&what, "%s names the %s", f->path, f->refers->name);
	if (!e || !e->newest->record.object) {
		buf_addf(&what, " %s,", target);
		tell(v, c, id, buf_str(&what), "which is not there");
		buf_release(&what);
		return;
	}
	theirs = kind_owner(f->refers, e->newest->record.object).organization;
	if (own && theirs && strcmp(own, theirs) != 0) {
		buf_addf(&what, " %s,", target);
		tell(v, c, id, buf_str(&what),
		     "which is another organization's");
	}
	buf_release(&what);
}

static void check_references(struct verify *v, const struct cache *c,
			     const void *object)
{
	const char *o = object;

	for (size_t i = 0; i < c->n_fields; i++) {
		const struct index_field *f = &c->fields[i];
		const struct items *items;
		const void *at = o + f->offset;

		if (!f->refers)
			continue;
		if (!f->list) {
			check_target(v, c, f, object, *(const char *const *)at);
			continue;
		}
		items = (const void *)(o + f->list_offset);
		for (size_t n = 0; n < items->n; n++) {
			at = (const char *)items->at + n * f->list->size +
			     f->offset;
			check_target(v, c, f, object, *(const char *const *)at);
		}
	}
}

/* The one with the lesser id is told of. */
static void check_name(struct verify *v, const struct cache *c,
		       const struct meta *meta)
{
	const struct entry *e = meta->name ? cache_named(c, meta) : NULL;

	if (e && strcmp(e->id, meta->id) > 0)
		tell(v, c, meta->id, "has the same name as", e->id);
}

struct index_ctx {
	struct verify *verify;
	const struct cache *cache;
};

static void tell_index(void *ctx, const char *id, const char *what)
{
	struct index_ctx *i = ctx;

	tell(i->verify, i->cache, id, "the index is wrong:", what);
}

static size_t check_cache(struct verify *v, const struct cache *c)
{
	struct sorted_walk w = sorted_from(&c->by_order, NULL);
	struct index_ctx ctx = {v, c};
	const struct entry *e;
	size_t n = 0;

	while ((e = sorted_next(&w))) {
		const void *object = e->newest->record.object;

		if (!object)
			continue;
		check_references(v, c, object);
		check_name(v, c, object);
		n++;
	}
	if (n != c->live)
		tell(v, c, "-", "the count of objects is wrong", NULL);
	cache_check(c, tell_index, &ctx);
	return n;
}

size_t store_verify(const struct store *s, verify_tell *told, void *ctx)
{
	struct verify v = {
		.store = s, .tell = told, .ctx = ctx, .line = BUF_INIT(4096)};
	size_t n = 0;

	for (size_t i = 0; i < s->n_caches; i++)
		n += check_cache(&v, &s->caches[i]);
	buf_release(&v.line);
	return n;
}
