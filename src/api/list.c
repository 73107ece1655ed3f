/* list - many objects of a kind: filters and pages. */
#include <stdlib.h>
#include <string.h>

#include "api/filter.h"
#include "api/permit.h"
#include "api/routes.h"
#include "base/sorted.h"
#include "model/event.h"

#define LIMIT_MOST     1000
#define LIMIT_FALLBACK 100

/* How many objects a page looks at: a page may come back short, with `next`,
 * rather than hold up everyone else. */
#define EFFORT_MOST 20000

#define ROOM_MOST ((size_t)4 << 20)

static bool is_filter(const struct field *f)
{
	return (f->flags & FIELD_INDEX || f->refers) &&
	       !(f->flags & FIELD_SECRET);
}

/* In the object WHERE of kind K. */
static const struct field *filter_in(const struct kind *k, const char *where,
				     const char *word, char path[FILTER_PATH])
{
	const struct field *f;
	size_t w = strlen(where), len = strlen(word);

	if (w + len + 2 > FILTER_PATH || strchr(word, '.'))
		return NULL;
	memcpy(path, where, w);
	path[w] = '.';
	memcpy(path + w + 1, word, len + 1);
	f = field_find(k->fields, path, NULL, NULL);
	return f && f->type != FIELD_LIST && is_filter(f) ? f : NULL;
}

const struct field *filter_field(const struct kind *k, const char *word,
				 char path[FILTER_PATH])
{
	struct field_walk w = field_walk(k->fields);
	const struct field *f;

	if (strcmp(word, "tag") == 0)
		word = "tags";
	if (strlen(word) >= FILTER_PATH)
		return NULL;
	while ((f = field_walk_next(&w, NULL)))
		if (strcmp(f->name, word) == 0 &&
		    (is_filter(f) || strcmp(word, "name") == 0)) {
			memcpy(path, word, strlen(word) + 1);
			return f;
		}
	f = filter_in(k, "spec", word, path);
	return f ? f : filter_in(k, "status", word, path);
}

int filters_read(const struct call *c, struct filters *ret, struct err *err)
{
	ret->n = 0;
	for (size_t i = 0; i < c->uri.n_query; i++) {
		const struct uri_pair *p = &c->uri.query[i];
		struct filter *f = &ret->list[ret->n];

		f->field = filter_field(c->noun->kind, p->name, f->path);
		if (!f->field)
			continue;
		f->value = p->value;
		if (f->field->type == FIELD_TAGS && !strchr(p->value, '='))
			return err_set(err, ERR_INVALID,
				       "write a tag as tag=key=value");
		if (++ret->n == FILTERS_MOST)
			return err_set(err, ERR_INVALID,
				       "at most %d filters at a time",
				       FILTERS_MOST - 1);
	}
	return 0;
}

static bool tag_matches(const struct items *tags, const char *pair)
{
	const struct field_tag *t = tags->at;
	size_t len = strcspn(pair, "=");

	for (size_t i = 0; i < tags->n; i++)
		if (strlen(t[i].key) == len &&
		    memcmp(t[i].key, pair, len) == 0 &&
		    strcmp(t[i].value, pair + len + 1) == 0)
			return true;
	return false;
}

bool filters_match(const struct filters *filters, const void *object)
{
	const struct kind *k;

	if (!object)
		return false;
	k = filters->kind;
	for (size_t i = 0; i < filters->n; i++) {
		const struct filter *f = &filters->list[i];
		const void *at;

		field_find(k->fields, f->path, object, &at);
		if (f->field->type == FIELD_TAGS
			    ? !tag_matches(at, f->value)
			    : !field_is(f->field, at, f->value))
			return false;
	}
	return true;
}

static const char *value_of(const struct filters *filters, const char *path)
{
	for (size_t i = 0; i < filters->n; i++)
		if (strcmp(filters->list[i].path, path) == 0)
			return filters->list[i].value;
	return NULL;
}

/* Have the scan go by the filter that leaves the least to look at.  What it
 * goes by need not be looked at again, and is taken out. */
static void narrow(struct call *c, struct scan *scan, struct filters *filters,
		   const char *after)
{
	const struct kind *k = c->noun->kind;
	const char *name = value_of(filters, "name");
	const char *within =
		k->unique_within ? value_of(filters, k->unique_within) : "";

	if (name && within) {
		const char *key =
			arena_printf(c->x->arena, "%s/%s", within, name);

		if (scan_narrow(scan, "@name", key, after))
			return;
	}
	for (size_t i = 0; i < filters->n; i++) {
		const struct filter *f = &filters->list[i];

		/* The scan goes by it when its place is another's. */
		if (!scan_narrow(scan, arena_strdup(c->x->arena, f->path),
				 f->value, after))
			continue;
		filters->list[i] = filters->list[--filters->n];
		return;
	}
	/* A tenant's page does not walk past everyone else's. */
	name = k->open ? NULL : access_only_organization(c->who);
	if (name)
		scan_narrow(scan, "organizationId", name, after);
}

/* "REVISION-ID": where the next page begins, and at which revision all of
 * them are read. */
static int read_after(struct call *c, uint64_t *at, const char **ret_id,
		      struct err *err)
{
	const char *after = call_arg(c, "after");
	const char *dash;
	char *end;
	uint64_t revision;

	*ret_id = NULL;
	if (!after)
		return 0;
	dash = strchr(after, '-');
	revision = strtoull(after, &end, 10);
	/* Signs and blanks are strtoull's to take, and not ours. */
	if (!dash || end != dash || !dash[1] || !revision ||
	    strspn(after, "0123456789") != (size_t)(dash - after) ||
	    (*at && *at != revision))
		return err_set(err, ERR_INVALID,
			       "after must be the `next` of the page before");
	*at = revision;
	*ret_id = dash + 1;
	return 0;
}

struct page {
	struct filters filters;
	uint64_t at, limit;
	const char *after;
};

static int read_page(struct call *c, struct page *p, struct err *err)
{
	*p = (struct page){.limit = LIMIT_FALLBACK};
	p->filters.kind = c->noun->kind;
	if (call_number(c, "limit", 1, LIMIT_MOST, &p->limit, err) < 0 ||
	    call_number(c, "at", 1, INT64_MAX, &p->at, err) < 0 ||
	    read_after(c, &p->at, &p->after, err) < 0 ||
	    filters_read(c, &p->filters, err) < 0)
		return -1;
	if (!p->at)
		p->at = store_revision(c->api->conf.store);
	return store_check_at(c->api->conf.store, p->at, err);
}

/* Room for a page of objects like the first, so that it need not be moved as it
 * grows; a guess, and not one to spend much on. */
static void make_room(const struct scan *scan, const struct page *p, size_t len,
		      struct buf *out)
{
	size_t n = p->limit < scan->set->count ? p->limit : scan->set->count;
	size_t bytes = n * (len + 16);

	buf_reserve(out, bytes < ROOM_MOST ? bytes : ROOM_MOST);
}

static bool wanted(struct call *c, const struct page *p, const struct record *r)
{
	return filters_match(&p->filters, r->object) &&
	       permit_sees(c, c->noun->kind, r->object);
}

/* Where to go on when a page has looked at enough: between LAST, the last that
 * it looked at, and NEXT.  Neither may be the caller's to know: it is told no
 * more of NEXT than tells the two apart. */
static const char *between(struct call *c, const char *last, const char *next)
{
	size_t same = 0;

	while (last[same] && last[same] == next[same])
		same++;
	return arena_memdup(c->x->arena, next, same + 1);
}

static void add_item(struct call *c, struct record *r, struct buf *out)
{
	struct buf room = BUF_INIT((size_t)1 << 20);

	permit_show(c, r, &room);
	buf_add(out, r->json, r->len);
	buf_release(&room);
}

/* Up to the limit, and one more to know that there is one; the place to go on
 * from, or NULL at the end. */
static const char *write_items(struct call *c, const struct page *p,
			       struct scan *scan, struct buf *out)
{
	const char *shown = NULL, *looked = NULL;
	size_t effort = 0, n = 0;
	struct record r;

	while (scan_next(scan, &r, &effort)) {
		if (looked && effort > EFFORT_MOST)
			return between(c, looked, r.id);
		looked = r.id;
		if (!wanted(c, p, &r))
			continue;
		if (n == p->limit)
			return shown;
		if (n++)
			buf_addc(out, ',');
		else
			make_room(scan, p, r.len, out);
		add_item(c, &r, out);
		shown = r.id;
	}
	return NULL;
}

static void write_page(struct call *c, struct page *p, struct buf *out)
{
	struct scan scan =
		store_scan(c->api->conf.store, p->at, c->noun->kind, p->after);
	const char *next;

	narrow(c, &scan, &p->filters, p->after);
	buf_adds(out, "{\"items\":[");
	next = write_items(c, p, &scan, out);
	buf_addc(out, ']');
	if (next)
		buf_addf(out, ",\"next\":\"%llu-%s\"",
			 (unsigned long long)p->at, next);
	buf_addf(out, ",\"revision\":%llu}", (unsigned long long)p->at);
}

static void reply_page(struct call *c, struct page *p)
{
	struct buf out = BUF_INIT((size_t)1 << 30);
	struct reply r = {.status = 200, .type = "application/json"};

	write_page(c, p, &out);
	r.body = out.data;
	r.len = out.len;
	r.own = &out;
	call_reply_with(c, &r);
	buf_release(&out);
}

/* The events of one object: a list of another noun, with one more filter. */
void handle_events(struct call *c)
{
	struct err err = {0};
	struct record r;
	struct page p;
	struct filter *f;

	if (!store_get(c->api->conf.store, 0, c->noun->kind, c->id, &r))
		r.object = NULL;
	if (permit(c, VERB_READ, r.object, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	c->noun = noun_find(event_kind.plural);
	if (read_page(c, &p, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	f = &p.filters.list[p.filters.n++];
	f->field = filter_field(&event_kind, "objectId", f->path);
	f->value = c->id;
	reply_page(c, &p);
}

void handle_list(struct call *c)
{
	struct err err = {0};
	struct page p;

	if (permit_anywhere(c, VERB_READ, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	if (c->stream) {
		handle_watch(c);
		return;
	}
	if (read_page(c, &p, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	reply_page(c, &p);
}
