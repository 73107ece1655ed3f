#include "store/cache.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"

/* A value too long for a key is not indexed; a filter by it scans. */
#define KEY_MOST 512

/* Who has a value.  How many versions of an entry have it is counted, so that
 * letting go of one need not look at the others. */
struct bucket {
	struct sorted set;
	struct map again; /* id to size_t: versions beyond the first */

	/* Of a name: who has it now.  One at most when a transaction is over;
	 * in its midst, or while it is replayed or taken back, there may be
	 * two. */
	struct list named;
	char key[];
};

static const char *entry_key(const void *member)
{
	return ((const struct entry *)member)->id;
}

/* Collecting the indexed fields of a table, those of nested objects and of
 * lists' items among them. */
struct collect {
	struct cache *cache;
	const struct kind *const *all;
	const struct field *list;
	size_t list_offset;
};

static void collect(struct collect *how, const struct field *fields,
		    const char *prefix, size_t base);

static void collect_leaf(struct collect *how, const struct field *f,
			 const char *path, size_t offset)
{
	struct cache *c = how->cache;
	struct index_field *i;

	if (!(f->flags & FIELD_INDEX) && !f->refers)
		return;
	assert(c->n_fields < INDEX_FIELDS_MOST);
	i = &c->fields[c->n_fields++];
	snprintf(i->path, sizeof(i->path), "%s", path);
	i->field = f;
	i->offset = offset;
	i->list = how->list;
	i->list_offset = how->list_offset;
	if (f->type == FIELD_LIST) {
		assert(!how->list);
		i->list = f;
		i->list_offset = offset;
		i->offset = 0;
	}
	for (const struct kind *const *k = how->all; f->refers && *k; k++)
		if (strcmp((*k)->name, f->refers) == 0)
			i->refers = *k;
}

static void collect(struct collect *how, const struct field *fields,
		    const char *prefix, size_t base)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset))) {
		char path[64];

		snprintf(path, sizeof(path), "%s%s%s", prefix,
			 *prefix ? "." : "", f->name);
		if (f->flags & FIELD_SECRET)
			how->cache->has_secrets = true;
		if (f->type == FIELD_OBJECT) {
			collect(how, f->fields, path, base + offset);
		} else if (f->type == FIELD_LIST && f->item == FIELD_OBJECT) {
			struct collect inner = {how->cache, how->all, f,
						base + offset};

			assert(!how->list);
			collect(&inner, f->fields, path, 0);
		} else {
			collect_leaf(how, f, path, base + offset);
		}
	}
}

/* Where the text NAME lies in an object of kind K; -1 for a NAME of NULL. */
static ptrdiff_t find_text(const struct kind *k, const char *name)
{
	struct field_walk w = field_walk(k->fields);
	const struct field *f;
	size_t offset;

	while (name && (f = field_walk_next(&w, &offset)))
		if (f->type == FIELD_STRING && strcmp(f->name, name) == 0)
			return (ptrdiff_t)offset;
	assert(!name);
	return -1;
}

void cache_init(struct cache *c, const struct kind *k,
		const struct kind *const *all)
{
	struct collect how = {.cache = c, .all = all};

	/* What line.h can write down. */
	assert(strlen(k->name) < 32 && k->version >= 1 && k->version < 1000);
	*c = (struct cache){.kind = k};
	sorted_init(&c->by_order, entry_key);
	collect(&how, k->fields, "", 0);
	c->within = find_text(k, k->unique_within);
	c->within_else = find_text(k, k->unique_else);
}

/* A, C and B into KEY; false when they do not fit. */
static bool join_key(char *key, size_t room, const char *a, char c,
		     const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len + b_len + 2 > room)
		return false;
	memcpy(key, a, a_len);
	key[a_len] = c;
	memcpy(key + a_len + 1, b, b_len + 1);
	return true;
}

static bool make_key(char *key, size_t room, const char *a, const char *b)
{
	return join_key(key, room, a, '=', b);
}

struct each {
	void (*fn)(void *ctx, const char *key);
	void *ctx;
};

static void emit(const struct each *each, const char *path, const char *value)
{
	char key[KEY_MOST];

	if (make_key(key, sizeof(key), path, value))
		each->fn(each->ctx, key);
}

static void emit_tags(const struct each *each, const char *path,
		      const struct items *tags)
{
	const struct field_tag *t = tags->at;
	size_t len = strlen(path) + 1;
	char key[KEY_MOST];

	memcpy(key, path, len - 1);
	key[len - 1] = '=';
	for (size_t i = 0; i < tags->n; i++)
		if (make_key(key + len, sizeof(key) - len, t[i].key,
			     t[i].value))
			each->fn(each->ctx, key);
}

static void emit_value(const struct each *each, const struct index_field *i,
		       const void *at)
{
	enum field_type type = i->list && i->list == i->field ? i->field->item
							      : i->field->type;

	if (type == FIELD_STRING) {
		if (*(const char *const *)at)
			emit(each, i->path, *(const char *const *)at);
	} else if (type == FIELD_TAGS) {
		emit_tags(each, i->path, at);
	} else {
		struct buf text = BUF_INIT(KEY_MOST);
		struct field one = *i->field;

		one.type = type;
		field_text(&one, at, &text);
		if (text.len && buf_ok(&text))
			emit(each, i->path, text.data);
		buf_release(&text);
	}
}

static void emit_field(const struct each *each, const struct index_field *i,
		       const char *object)
{
	const struct items *items;

	if (!i->list) {
		emit_value(each, i, object + i->offset);
		return;
	}
	items = (const void *)(object + i->list_offset);
	for (size_t n = 0; n < items->n; n++)
		emit_value(each, i,
			   (const char *)items->at + n * i->list->size +
				   i->offset);
}

static const char *text_at(const char *object, ptrdiff_t offset)
{
	const void *at;

	if (offset < 0)
		return NULL;
	at = object + offset;
	return *(const char *const *)at;
}

#define UNIQUE "@name"

/* The value that a kind's names are unique within, joined with the name, and the
 * index path for both before it. */
static bool unique_key(const struct cache *c, const void *object,
		       char key[KEY_MOST])
{
	const struct meta *meta = object;
	const char *within = text_at(object, c->within);
	size_t len = sizeof(UNIQUE "=") - 1;

	if (!within || !*within)
		within = text_at(object, c->within_else);
	memcpy(key, UNIQUE "=", len);
	return meta->name && join_key(key + len, KEY_MOST - len,
				      within ? within : "", '/', meta->name);
}

/* Every index key that OBJECT, of cache C, has; those of PATH only unless it is
 * NULL. */
static void each_key(const struct cache *c, const void *object,
		     const char *path, const struct each *each)
{
	char unique[KEY_MOST];

	if (!object)
		return;
	for (size_t i = 0; i < c->n_fields; i++)
		if (!path || strcmp(path, c->fields[i].path) == 0)
			emit_field(each, &c->fields[i], object);
	if ((!path || strcmp(path, UNIQUE) == 0) &&
	    unique_key(c, object, unique))
		each->fn(each->ctx, unique);
}

struct seek {
	const char *key;
	bool found;
};

static void compare_key(void *ctx, const char *key)
{
	struct seek *seek = ctx;

	if (strcmp(seek->key, key) == 0)
		seek->found = true;
}

static struct bucket *bucket_new(struct cache *c, const char *key)
{
	size_t len = strlen(key) + 1;
	struct bucket *b = xcalloc(1, sizeof(*b) + len);

	memcpy(b->key, key, len);
	sorted_init(&b->set, entry_key);
	list_init(&b->named);
	map_add(&c->buckets, b->key, b);
	return b;
}

static void add_key(void *ctx, const char *key)
{
	struct entry *e = ctx;
	struct bucket *b = map_get(&e->cache->buckets, key);
	size_t *again;

	if (!b)
		b = bucket_new(e->cache, key);
	if (sorted_add(&b->set, e))
		return;
	again = map_get(&b->again, e->id);
	if (!again) {
		again = xcalloc(1, sizeof(*again));
		map_add(&b->again, e->id, again);
	}
	++*again;
}

static void bucket_free(struct bucket *b)
{
	size_t *again, i = 0;

	while ((again = map_next(&b->again, &i)))
		free(again);
	map_release(&b->again);
	sorted_release(&b->set);
	free(b);
}

/* The entry lost a version that had KEY. */
static void remove_key(void *ctx, const char *key)
{
	struct entry *e = ctx;
	struct bucket *b = map_get(&e->cache->buckets, key);
	size_t *again = map_get(&b->again, e->id);

	if (again) {
		if (--*again == 0)
			free(map_remove(&b->again, e->id));
		return;
	}
	sorted_remove(&b->set, e->id);
	if (b->set.count)
		return;
	map_remove(&e->cache->buckets, key);
	bucket_free(b);
}

struct entry *cache_find(const struct cache *c, const char *id)
{
	return map_get(&c->by_id, id);
}

static struct entry *entry_new(struct cache *c, const char *id)
{
	size_t len = strlen(id) + 1;
	struct entry *e = xmalloc(sizeof(*e) + len);

	e->cache = c;
	e->newest = NULL;
	e->named = NULL;
	list_init(&e->name_link);
	memcpy(e->id, id, len);
	map_add(&c->by_id, e->id, e);
	sorted_add(&c->by_order, e);
	return e;
}

static void entry_free(struct entry *e)
{
	map_remove(&e->cache->by_id, e->id);
	sorted_remove(&e->cache->by_order, e->id);
	free(e);
}

struct version *entry_at(const struct entry *e, uint64_t at)
{
	struct version *v = e->newest;

	while (v && v->record.revision > at)
		v = v->older;
	return v;
}

static void count(struct entry *e, int by)
{
	struct cache *c = e->cache;

	if (!e->newest || !e->newest->record.object)
		return;
	c->live += (size_t)by;
	if (c->observe)
		c->observe(c->observe_ctx, c->kind, e->newest->record.object,
			   by);
}

static void set_json(struct version *v, const struct kind *k, bool secrets)
{
	struct buf json = BUF_INIT((size_t)8 << 20);
	const char *begin;

	if (!v->record.object)
		return;
	if (secrets) {
		field_encode(k->fields, v->record.object, FIELD_PUBLIC, &json);
		v->public_json = buf_take(&json, &v->record.len);
		v->record.json = v->public_json;
		return;
	}
	/* "+kind@1 ID {…}\n": what follows the second space. */
	begin = strchr(v->line, ' ');
	begin = strchr(begin + 1, ' ') + 1;
	v->record.json = begin;
	v->record.len = v->line_len - (size_t)(begin - v->line) - 1;
}

/* Most changes write a single object. */
static void grow(struct change *change)
{
	struct version **was = change->versions;

	if (!was) {
		change->versions = &change->one;
		change->room = 1;
		return;
	}
	change->room *= 2;
	change->versions = xrealloc(was == &change->one ? NULL : was,
				    change->room, sizeof(struct version *));
	if (was == &change->one)
		change->versions[0] = change->one;
}

static void join(struct change *change, struct version *v)
{
	if (change->n == change->room)
		grow(change);
	v->place = change->n;
	v->change = change;
	change->versions[change->n++] = v;
	change->live++;
	change->bytes += v->line_len;
}

static void leave_name(struct entry *e)
{
	list_remove(&e->name_link);
	e->named = NULL;
	if (e->newest && e->newest->record.revision > e->cache->freed)
		e->cache->freed = e->newest->record.revision;
}

/* The entry has another newest version, whose keys are there: its name may have
 * changed. */
static void set_name(struct entry *e)
{
	const struct meta *meta = e->newest ? e->newest->record.object : NULL;
	char key[KEY_MOST];
	bool has = meta && unique_key(e->cache, meta, key);

	if (e->named && (!has || strcmp(e->named->key, key) != 0))
		leave_name(e);
	if (!e->named && has) {
		e->named = map_get(&e->cache->buckets, key);
		list_add(&e->named->named, &e->name_link);
	}
}

/* One piece of memory: a version, its object and its line.  A reader needs the
 * first two, and finds the second beside the first. */
static struct version *version_new(const struct kind *k, const void *object,
				   const char *line, size_t line_len)
{
	size_t size = object ? field_copy_size(k->fields, k->size, object) : 0;
	struct version *v = xmalloc(sizeof(*v) + size + line_len + 1);
	char *to = (char *)(v + 1) + size;

	*v = (struct version){.line = to, .line_len = line_len};
	memcpy(to, line, line_len);
	to[line_len] = '\0';
	v->record.kind = k;
	if (object)
		v->record.object =
			field_copy_to(k->fields, k->size, object, v + 1);
	return v;
}

struct version *cache_add(struct cache *c, struct change *change,
			  const char *id, const void *object, const char *line,
			  size_t line_len)
{
	struct version *v = version_new(c->kind, object, line, line_len);
	struct entry *e = cache_find(c, id);
	struct each each = {add_key, NULL};

	if (!e)
		e = entry_new(c, id);
	v->entry = e;
	v->record.id = e->id;
	v->record.revision = change->revision;
	set_json(v, c->kind, c->has_secrets);
	join(change, v);
	count(e, -1);
	v->older = e->newest;
	if (v->older)
		v->older->newer = v;
	e->newest = v;
	count(e, 1);
	each.ctx = e;
	each_key(c, v->record.object, NULL, &each);
	set_name(e);
	return v;
}

void cache_expect(const struct cache *c, const void *object)
{
	const struct meta *meta = object;
	char key[KEY_MOST];

	map_expect(&c->by_id, meta->id);
	if (unique_key(c, object, key))
		map_expect(&c->buckets, key);
}

struct entry *cache_named(const struct cache *c, const void *object)
{
	const struct meta *meta = object;
	char key[KEY_MOST];
	const struct bucket *b;

	b = unique_key(c, object, key) ? map_get(&c->buckets, key) : NULL;
	if (!b)
		return NULL;
	for (struct list *l = b->named.next; l != &b->named; l = l->next) {
		struct entry *e = CONTAINER_OF(l, struct entry, name_link);

		if (strcmp(e->id, meta->id) != 0)
			return e;
	}
	return NULL;
}

static void version_free(struct version *v)
{
	free(v->public_json);
	free(v);
}

void cache_remove(struct version *v)
{
	struct entry *e = v->entry;
	struct each each = {remove_key, e};

	count(e, -1);
	if (v->newer)
		v->newer->older = v->older;
	else
		e->newest = v->older;
	if (v->older)
		v->older->newer = v->newer;
	count(e, 1);
	if (!v->newer)
		set_name(e);
	each_key(e->cache, v->record.object, NULL, &each);
	if (!e->newest)
		entry_free(e);
	version_free(v);
}

size_t version_bytes(const struct version *v)
{
	/* The decoded copy is about as large as the text it came from. */
	return sizeof(*v) + v->line_len +
	       (v->record.object ? v->entry->cache->kind->size + v->line_len
				 : 0);
}

const struct sorted *cache_index(const struct cache *c, const char *path,
				 const char *value)
{
	char key[KEY_MOST];
	struct bucket *b;

	if (!make_key(key, sizeof(key), path, value))
		return NULL;
	b = map_get(&c->buckets, key);
	return b ? &b->set : NULL;
}

bool cache_matches(const struct cache *c, const void *object, const char *path,
		   const char *value)
{
	char key[KEY_MOST];
	struct seek seek = {.key = key};
	struct each each = {compare_key, &seek};

	if (!make_key(key, sizeof(key), path, value))
		return false;
	each_key(c, object, path, &each);
	return seek.found;
}

void cache_release(struct cache *c)
{
	struct bucket *b;
	struct entry *e;
	size_t i = 0;

	while ((b = map_next(&c->buckets, &i)))
		bucket_free(b);
	map_release(&c->buckets);
	i = 0;
	while ((e = map_next(&c->by_id, &i))) {
		while (e->newest) {
			struct version *v = e->newest;

			e->newest = v->older;
			version_free(v);
		}
		free(e);
	}
	map_release(&c->by_id);
	sorted_release(&c->by_order);
}

/* Counting keys: those that an entry's versions have must all be there; if the
 * buckets have as many, they have no others. */
struct key_check {
	const struct entry *entry;
	size_t n;
	bool missing;
};

static void check_key(void *ctx, const char *key)
{
	struct key_check *k = ctx;
	const struct bucket *b = map_get(&k->entry->cache->buckets, key);

	k->n++;
	if (!b || sorted_get(&b->set, k->entry->id) != k->entry)
		k->missing = true;
}

static size_t bucket_keys(const struct cache *c)
{
	const struct bucket *b;
	size_t i = 0, n = 0;

	while ((b = map_next(&c->buckets, &i))) {
		const size_t *again;
		size_t j = 0;

		n += b->set.count;
		while ((again = map_next(&b->again, &j)))
			n += *again;
	}
	return n;
}

void cache_check(const struct cache *c,
		 void (*tell)(void *ctx, const char *id, const char *what),
		 void *ctx)
{
	struct sorted_walk w = sorted_from(&c->by_order, NULL);
	const struct entry *e;
	size_t n = 0;

	while ((e = sorted_next(&w))) {
		struct key_check k = {.entry = e};
		struct each each = {check_key, &k};

		for (const struct version *v = e->newest; v; v = v->older)
			each_key(c, v->record.object, NULL, &each);
		n += k.n;
		if (k.missing)
			tell(ctx, e->id, "a value is missing in it");
		if (cache_find(c, e->id) != e)
			tell(ctx, e->id, "it cannot be found by its id");
	}
	if (n != bucket_keys(c))
		tell(ctx, "-", "it has values that no object has");
	if (c->by_order.count != c->by_id.count)
		tell(ctx, "-", "ids and order differ");
}
