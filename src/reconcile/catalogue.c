#include "reconcile/catalogue.h"

#include <string.h>

#include "base/field_ops.h"
#include "base/map.h"
#include "base/uuid.h"
#include "model/flavor.h"
#include "model/image.h"
#include "store/tx.h"

#define ENTRIES_MOST  4096 /* of flavors, and of images */
#define KNOWN_MOST    20000
#define DOCUMENT_MOST ((size_t)1 << 20)
#define NOTES_MOST    32
#define NOTE_BYTES    160
#define RETIRED_MS    ((int64_t)24 * 3600 * 1000)

/* One of the two kinds of things in a catalogue. */
struct shelf {
	const struct kind *kind;
	const char *prefix; /* of the name that its id is made of */
	size_t items;       /* of struct catalogue */
};

static const struct shelf shelves[] = {
	{&flavor_kind, "flavor/", offsetof(struct catalogue, flavors)},
	{&image_kind, "image/", offsetof(struct catalogue, images)},
};

static struct items *items_of(struct catalogue *c, const struct shelf *s)
{
	return (struct items *)(void *)((char *)c + s->items);
}

static const struct items *seen_of(const struct catalogue *c,
				   const struct shelf *s)
{
	return (const void *)((const char *)c + s->items);
}

static const char *provider_id(const struct shelf *s, const void *object)
{
	return s->kind == &flavor_kind
		       ? ((const struct flavor *)object)->provider_id
		       : ((const struct image *)object)->status.backed.provider;
}

static void make_id(const struct shelf *s, const char *region_id,
		    const void *object, char out[37])
{
	struct buf name = BUF_INIT(2048);

	buf_adds(&name, s->prefix);
	buf_adds(&name, provider_id(s, object));
	uuid_v5(region_id, buf_str(&name), out);
	buf_release(&name);
}

static void note(struct catalogue *c, struct arena *a, const char *words,
		 const char *what)
{
	const char **notes = c->notes.at;

	if (c->notes.n == NOTES_MOST)
		return;
	if (c->notes.n == NOTES_MOST - 1) {
		notes[c->notes.n++] = "and more";
		return;
	}
	notes[c->notes.n++] =
		arena_printf(a, "%.*s %s", NOTE_BYTES, what, words);
}

/* What is written down can be read again. */
static bool is_fit(const struct shelf *s, const void *object, struct arena *a)
{
	struct buf text = BUF_INIT(DOCUMENT_MOST);
	struct violations v;
	struct node *n = NULL;
	struct err err;

	violations_init(&v, a);
	field_encode(s->kind->fields, object, FIELD_FULL, &text);
	if (buf_ok(&text))
		n = json_parse(buf_str(&text), text.len, a, &err);
	buf_release(&text);
	if (!n)
		return false;
	field_decode(s->kind->fields, n, FIELD_STORED,
		     arena_alloc(a, s->kind->size), &v);
	return !v.n;
}

/* Why OBJECT cannot be kept; NULL when it can. */
static const char *oddity(const struct shelf *s, const char *region_id,
			  struct meta *object, const struct map *ids)
{
	struct arena scratch;
	const char *pid = provider_id(s, object);
	const char *why = NULL;
	char id[37];

	if (!pid || !pid[0] || strlen(pid) > FIELD_STRING_MOST)
		return "has no id of the provider's, and was skipped";
	if (!object->name || !object->name[0])
		return "has no name, and was skipped";
	make_id(s, region_id, object, id);
	if (map_get(ids, id))
		return "is there twice, and was skipped once";
	arena_init(&scratch, 4 * DOCUMENT_MOST);
	if (!is_fit(s, object, &scratch))
		why = "cannot be kept, and was skipped";
	arena_release(&scratch);
	return why;
}

static void clean_shelf(struct catalogue *c, const struct shelf *s,
			const char *region_id, struct arena *a)
{
	struct items *items = items_of(c, s);
	size_t size = s->kind->size, n = 0;
	struct map ids = {0};

	for (size_t i = 0; i < items->n; i++) {
		struct meta *object = (void *)((char *)items->at + i * size);
		const char *why = oddity(s, region_id, object, &ids);
		char *id;

		if (!why && n == ENTRIES_MOST)
			why = "is one too many, and was skipped";
		if (why) {
			note(c, a, why,
			     object->name ? object->name : s->kind->name);
			continue;
		}
		id = arena_alloc(a, 37);
		make_id(s, region_id, object, id);
		object->id = id;
		map_add(&ids, id, object);
		memmove((char *)items->at + n++ * size, object, size);
	}
	items->n = n;
	map_release(&ids);
}

void catalogue_clean(struct catalogue *c, const char *region_id,
		     struct arena *a)
{
	const char **notes = arena_alloc(a, NOTES_MOST * sizeof(*notes));
	size_t n = c->notes.n < NOTES_MOST ? c->notes.n : NOTES_MOST;

	if (n)
		memcpy(notes, c->notes.at, n * sizeof(*notes));
	c->notes = (struct items){notes, n};
	for (size_t i = 0; i < COUNT_OF(shelves); i++)
		clean_shelf(c, &shelves[i], region_id, a);
}

/* A price is as of when it became that. */
static void keep_price(struct price *new, const struct price *old)
{
	if (new->amount && old->amount &&new->currency &&
	    old->currency &&strcmp(new->amount, old->amount) == 0 &&
	    strcmp(new->currency, old->currency) == 0)
		new->as_of = old->as_of;
}

/* Those that are not over yet. */
static struct items keep_shortages(const struct items *old, int64_t now,
				   struct arena *a)
{
	const struct shortage *from = old->at;
	struct shortage *to = arena_alloc(a, old->n * sizeof(*to));
	size_t n = 0;

	for (size_t i = 0; i < old->n; i++)
		if (from[i].until > now)
			to[n++] = from[i];
	return (struct items){to, n};
}

static void settle_flavor(struct tx *tx, struct flavor *f,
			  const struct flavor *old, const char *region_id)
{
	f->region_id = region_id;
	f->retired_at = 0;
	f->shortages = (struct items){0};
	if (!old)
		return;
	f->shortages =
		keep_shortages(&old->shortages, tx_time(tx), tx_arena(tx));
	keep_price(&f->price, &old->price);
	keep_price(&f->spot_price, &old->spot_price);
}

static void settle_image(struct tx *tx, struct image *i,
			 const struct image *old, const char *region_id)
{
	i->region_id = region_id;
	i->organization_id = i->project_id = NULL;
	i->status.source = IMAGE_PROVIDER;
	i->status.retired_at = 0;
	if (!i->status.backed.state)
		i->status.backed.state = BACKED_READY;
	i->status.backed.observed_at =
		old ? old->status.backed.observed_at : tx_time(tx);
}

static bool is_same(const struct kind *k, const void *a, const void *b)
{
	struct buf x = BUF_INIT(DOCUMENT_MOST), y = BUF_INIT(DOCUMENT_MOST);
	bool same;

	field_encode(k->fields, a, FIELD_FULL, &x);
	field_encode(k->fields, b, FIELD_FULL, &y);
	same = x.len == y.len && memcmp(buf_str(&x), buf_str(&y), x.len) == 0;
	buf_release(&x);
	buf_release(&y);
	return same;
}

static int put(struct tx *tx, const struct shelf *s, const char *region_id,
	       const struct meta *seen, struct err *err)
{
	const struct meta *old = tx_get(tx, s->kind, seen->id);
	struct meta *new = arena_alloc(tx_arena(tx), s->kind->size);
	int64_t now = tx_time(tx);

	memcpy(new, seen, s->kind->size);
	new->created_at = old ? old->created_at : now;
	new->updated_at = old ? old->updated_at : now;
	new->created_by = new->updated_by = "muster";
	new->generation = old ? old->generation : 1;
	new->revision = old ? old->revision : 0;
	new->deleted_at = 0;
	if (s->kind == &flavor_kind)
		settle_flavor(tx, (void *)new, (const void *)old, region_id);
	else
		settle_image(tx, (void *)new, (const void *)old, region_id);
	if (old && is_same(s->kind, old, new))
		return 0;
	if (old) {
		new->updated_at = now;
		new->generation++;
	}
	return tx_put(tx, s->kind, new, err);
}

/* Of the region's own: an image of a project's is not. */
static int64_t *retired_at(const struct shelf *s, void *object)
{
	struct image *i = object;

	if (s->kind == &flavor_kind)
		return &((struct flavor *)object)->retired_at;
	return i->status.source == IMAGE_PROVIDER && !i->project_id
		       ? &i->status.retired_at
		       : NULL;
}

static int retire(struct tx *tx, const struct shelf *s, const char *id,
		  struct err *err)
{
	void *object = arena_alloc(tx_arena(tx), s->kind->size);
	int64_t *at;
	struct err used;

	memcpy(object, tx_get(tx, s->kind, id), s->kind->size);
	at = retired_at(s, object);
	if (!at)
		return 0;
	if (!*at) {
		*at = tx_time(tx);
		return tx_put(tx, s->kind, object, err);
	}
	/* One that is in use stays. */
	if (tx_time(tx) - *at > RETIRED_MS)
		(void)!tx_delete(tx, s->kind, id, &used);
	return 0;
}

static int write_shelf(struct tx *tx, const struct shelf *s,
		       const char *region_id, const struct items *seen,
		       struct err *err)
{
	struct map ids = {0};
	const char **known;
	size_t n =
		tx_find(tx, s->kind, "regionId", region_id, KNOWN_MOST, &known);
	int r = 0;

	for (size_t i = 0; r == 0 && i < seen->n; i++) {
		struct meta *object =
			(void *)((char *)seen->at + i * s->kind->size);

		map_add(&ids, object->id, object);
		r = put(tx, s, region_id, object, err);
	}
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!map_get(&ids, known[i]))
			r = retire(tx, s, known[i], err);
	map_release(&ids);
	return r;
}

int catalogue_write(struct tx *tx, const char *region_id,
		    const struct catalogue *c, struct err *err)
{
	const char **known;

	if (!c->flavors.n &&
	    tx_find(tx, &flavor_kind, "regionId", region_id, 1, &known))
		return err_set(err, ERR_PROVIDER,
			       "the provider says that it has no flavors, "
			       "though it had: not believed");
	for (size_t i = 0; i < COUNT_OF(shelves); i++)
		if (write_shelf(tx, &shelves[i], region_id,
				seen_of(c, &shelves[i]), err) < 0)
			return -1;
	return 0;
}
