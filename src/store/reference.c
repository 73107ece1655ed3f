/*
 * reference - what objects say of each other holds: a reference names what is
 * there, and what is named is not deleted; weak ones are taken out instead.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sorted.h"
#include "store/read.h"
#include "store/store_priv.h"
#include "store/tx.h"

#define USERS_NAMED   5
#define USERS_COUNTED 100

/* An object of one organization may not refer to another's. */
static bool is_foreign(const struct kind *k, const void *target,
		       struct owner owner)
{
	const char *organization = kind_owner(k, target).organization;

	return organization && owner.organization &&
	       strcmp(organization, owner.organization) != 0;
}

/* What a reference names; NULL when it is not there for the one who refers. */
static const struct meta *find_target(struct tx *tx, const struct kind *k,
				      const char *id, struct owner owner)
{
	const void *target = tx_get(tx, k, id);

	if (!target || is_foreign(k, target, owner) ||
	    (tx->sees && !tx->sees(tx->sees_ctx, k, target)))
		return NULL;
	return target;
}

/* What is being referred from. */
struct referrer {
	const struct version *old; /* the version before, or NULL */
	struct owner owner;
};

/* OLD, the version before or NULL, may refer to what has since begun to go
 * away: only a new reference needs its target. */
static int check_reference(struct tx *tx, const struct index_field *f,
			   const struct referrer *from, const char *id,
			   struct err *err)
{
	const struct version *old = from->old;
	const struct meta *target;
	char pointer[80];
	size_t n = 0;

	if (!id || (old && cache_matches(old->entry->cache, old->record.object,
					 f->path, id)))
		return 0;
	target = find_target(tx, f->refers, id, from->owner);
	if (target && !target->deleted_at)
		return 0;
	pointer[n++] = '/';
	static_assert(sizeof(f->path) < sizeof(pointer), "it fits");
	for (const char *p = f->path; *p; p++)
		memcpy(&pointer[n++], *p == '.' ? "/" : p, 1);
	pointer[n] = '\0';
	if (target)
		return err_at(err, ERR_CONFLICT, pointer,
			      "%s %s is being deleted", f->refers->name, id);
	return err_at(err, ERR_INVALID, pointer, "there is no %s %s",
		      f->refers->name, id);
}

int reference_check(struct tx *tx, struct cache *c, const void *object,
		    struct err *err)
{
	const struct entry *e =
		cache_find(c, ((const struct meta *)object)->id);
	struct referrer from = {
		.old = e && e->newest->record.object ? tx_see(tx, e->newest)
						     : NULL,
		.owner = kind_owner(c->kind, object),
	};
	const char *o = object;

	for (size_t i = 0; i < c->n_fields; i++) {
		const struct index_field *f = &c->fields[i];
		const struct items *items;

		if (!f->refers)
			continue;
		if (!f->list) {
			const void *at = o + f->offset;

			if (check_reference(tx, f, &from,
					    *(const char *const *)at, err) < 0)
				return -1;
			continue;
		}
		items = (const void *)(o + f->list_offset);
		for (size_t n = 0; n < items->n; n++) {
			const void *at = (const char *)items->at +
					 n * f->list->size + f->offset;

			if (check_reference(tx, f, &from,
					    *(const char *const *)at, err) < 0)
				return -1;
		}
	}
	return 0;
}

static bool is_weak(const struct index_field *f)
{
	return (f->list ? f->list : f->field)->flags & FIELD_WEAK;
}

/* Who refers to an object, found so far. */
struct users {
	struct buf text;
	size_t n;
};

/* The objects of cache C that refer to ID by field F; what refers to itself is
 * no hindrance. */
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

		tx_see(tx, e->newest);
		if (!meta || !cache_matches(c, meta, f->path, id) ||
		    (c->kind == f->refers && strcmp(e->id, id) == 0))
			continue;
		if (users->n++ < USERS_NAMED &&
		    (!tx->sees || tx->sees(tx->sees_ctx, c->kind, meta)))
			buf_addf(&users->text, "%s%s \"%s\"",
				 users->text.len ? ", " : "", c->kind->name,
				 meta->name ? meta->name : meta->id);
	}
}

int tx_check_unused(struct tx *tx, const struct kind *k, const char *id,
		    struct err *err)
{
	struct store *s = tx->store;
	struct users users = {.text = BUF_INIT(4096)};

	for (size_t i = 0; i < s->n_caches; i++) {
		const struct cache *c = &s->caches[i];

		for (size_t j = 0; j < c->n_fields; j++)
			if (c->fields[j].refers == k && !is_weak(&c->fields[j]))
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

/* The same as readers see it: the first. */
static bool find_user(const struct store *s, const struct cache *c,
		      const struct index_field *f, const char *id,
		      struct record *ret)
{
	struct scan scan = store_scan(s, 0, c->kind, NULL);
	size_t effort = 0;

	if (!scan_narrow(&scan, f->path, id, NULL))
		return false;
	while (scan_next(&scan, ret, &effort))
		if (c->kind != f->refers || strcmp(ret->id, id) != 0)
			return true;
	return false;
}

bool store_user(const struct store *s, const struct kind *k, const char *id,
		struct record *ret)
{
	for (size_t i = 0; i < s->n_caches; i++) {
		const struct cache *c = &s->caches[i];

		for (size_t j = 0; j < c->n_fields; j++)
			if (c->fields[j].refers == k &&
			    !is_weak(&c->fields[j]) &&
			    find_user(s, c, &c->fields[j], id, ret))
				return true;
	}
	return false;
}

/* OBJECT without ID in its weak list F, written. */
static int strip(struct tx *tx, const struct cache *c,
		 const struct index_field *f, const void *object,
		 const char *id, struct err *err)
{
	struct arena *a = tx_arena(tx);
	char *copy = arena_alloc(a, c->kind->size);
	struct items *items = (void *)(copy + f->list_offset);
	const char *const *from;
	const char **to;
	size_t n = 0;

	memcpy(copy, object, c->kind->size);
	from = items->at;
	to = arena_alloc(a, items->n * sizeof(*to));
	for (size_t i = 0; i < items->n; i++)
		if (strcmp(from[i], id) != 0)
			to[n++] = from[i];
	items->at = to;
	items->n = n;
	return tx_put(tx, c->kind, copy, err);
}

/* The set changes as it is walked: begin again after each. */
static int strip_all(struct tx *tx, const struct cache *c,
		     const struct index_field *f, const char *id,
		     struct err *err)
{
	const struct sorted *set = cache_index(c, f->path, id);
	const char *after = NULL;
	const struct entry *e;

	while (set) {
		struct sorted_walk w = sorted_from(set, after);

		e = sorted_next(&w);
		if (!e)
			break;
		after = e->id;
		tx_see(tx, e->newest);
		if (e->newest->record.object &&
		    cache_matches(c, e->newest->record.object, f->path, id) &&
		    strip(tx, c, f, e->newest->record.object, id, err) < 0)
			return -1;
		set = cache_index(c, f->path, id);
	}
	return 0;
}

int reference_release(struct tx *tx, const struct kind *k, const char *id,
		      struct err *err)
{
	struct store *s = tx->store;

	if (tx_check_unused(tx, k, id, err) < 0)
		return -1;
	for (size_t i = 0; i < s->n_caches; i++) {
		const struct cache *c = &s->caches[i];

		for (size_t j = 0; j < c->n_fields; j++)
			if (c->fields[j].refers == k &&
			    is_weak(&c->fields[j]) &&
			    strip_all(tx, c, &c->fields[j], id, err) < 0)
				return -1;
	}
	return 0;
}
