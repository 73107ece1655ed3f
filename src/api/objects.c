/* objects - reading, creating, changing and deleting one object of a kind. */
#include <assert.h>
#include <string.h>

#include "api/admit.h"
#include "api/instances.h"
#include "api/key.h"
#include "api/permit.h"
#include "api/routes.h"
#include "api/verb.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "model/deletion.h"

void handle_get(struct call *c)
{
	const char *match = exchange_header(c->x, "If-None-Match");
	const struct store *s = c->api->conf.store;
	struct err err;
	struct record r;
	uint64_t at = 0;

	if (call_number(c, "at", 1, INT64_MAX, &at, &err) < 0 ||
	    (at && store_check_at(s, at, &err) < 0)) {
		call_fail(c, &err);
		return;
	}
	if (call_arg(c, "timeoutMs") && !call_arg(c, "wait") &&
	    !call_arg(c, "maxStalenessMs")) {
		err_set(&err, ERR_INVALID,
			"timeoutMs goes with wait, and there is none");
		call_fail(c, &err);
		return;
	}
	if (!store_get(s, at, c->noun->kind, c->id, &r))
		r.object = NULL;
	if (permit(c, VERB_READ, r.object, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	if (call_arg(c, "maxStalenessMs")) {
		handle_fresh(c, &r);
		return;
	}
	if (call_arg(c, "wait")) {
		handle_wait(c, &r);
		return;
	}
	if (match && call_matches(match, r.revision))
		call_reply(c, 304, NULL, 0, r.revision);
	else
		call_show(c, &r);
}

/* Keys of tags that begin like this are ours: they find machines again. */
static void check_tags(const struct meta *old, const struct meta *new,
		       struct violations *v)
{
	const struct field_tag *t = new->tags.at;

	for (size_t i = 0; i < new->tags.n; i++) {
		const char *had =
			old ? field_tag_get(&old->tags, t[i].key) : NULL;

		if (strncmp(t[i].key, "muster/", 7) == 0 &&
		    (!had || strcmp(had, t[i].value) != 0))
			violations_add(v, "/tags", "the tag \"%s\" is reserved",
				       t[i].key);
	}
}

/* A plan is a transaction that is taken back: it went through every check. */
int call_plan(struct call *c, const char *action, const void *object)
{
	struct buf b = BUF_INIT((size_t)8 << 20);

	if (c->plan_json)
		buf_addf(&b, "{\"plan\":%s", c->plan_json);
	else
		buf_addf(&b, "{\"plan\":{\"action\":\"%s\",\"kind\":\"%s\"}",
			 action, c->noun->kind->name);
	if (object) {
		buf_adds(&b, ",\"object\":");
		field_encode(c->noun->kind->fields, object, FIELD_PUBLIC, &b);
	}
	buf_addc(&b, '}');
	c->planned = arena_memdup(c->x->arena, b.data, b.len);
	buf_release(&b);
	return -1;
}

static int decode(struct call *c, struct node *n, enum field_mode mode,
		  void **ret, struct violations *v)
{
	*ret = arena_alloc(c->x->arena, c->noun->kind->size);
	violations_init(v, c->x->arena);
	field_decode(c->noun->kind->fields, n, mode, *ret, v);
	return v->n ? -1 : 0;
}

static int make_object(struct call *c, struct tx *tx, struct err *err)
{
	const struct kind *k = c->noun->kind;
	struct meta *meta = c->object;
	int (*make)(struct call *, struct tx *, void *, struct err *);
	bool found;

	c->planned = NULL;
	c->replayed = false;
	tx_set_view(tx, permit_view, c);
	if (key_replay(c, tx, &found, err) < 0)
		return -1;
	if (found)
		return 0;
	if (!c->noun->permits && permit_create(c, c->object, err) < 0)
		return -1;
	make = c->make ? c->make : c->noun->create;
	meta->id = c->new_id;
	tx_new_id(tx, c->new_id);
	tx_expect(tx, k, meta);
	meta->generation = 1;
	meta->created_at = meta->updated_at = tx_time(tx);
	meta->created_by = meta->updated_by = c->who->name;
	if ((make && make(c, tx, c->object, err) < 0) ||
	    tx_put(tx, k, c->object, err) < 0 ||
	    (c->noun->written && c->noun->written(c, tx, c->object, err) < 0))
		return -1;
	if (c->plan)
		return call_plan(c, "create", c->object);
	call_audit(c, tx, "create", meta->id);
	key_remember(c, tx, k, meta->id);
	return 0;
}

/* Whose it is was taken from others, which may be gone when this comes to
 * nothing after all. */
static void keep_owner(struct call *c)
{
	struct owner o = kind_owner(c->noun->kind, c->object);
	struct arena *a = c->x->arena;

	c->owner = (struct owner){
		o.organization ? arena_strdup(a, o.organization) : NULL,
		o.project ? arena_strdup(a, o.project) : NULL};
}

static int create(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	int r = make_object(c, tx, err);

	keep_owner(c);
	return r;
}

/* A new token's secret is told with it, this once. */
static void reply_object(struct call *c, int status, const struct record *r)
{
	const char *json = r->json;
	size_t len = r->len;

	if (c->secret && !c->replayed) {
		json = arena_printf(c->x->arena, "%.*s,\"token\":\"%s\"}",
				    (int)(len - 1), json, c->secret);
		len = strlen(json);
	}
	call_reply(c, status, json, len, r->revision);
}

/* The answer is read back from the store: what was written is what is told. */
static void change_done(struct txn *t, const struct err *err)
{
	struct call *c = t->ctx;
	int status = c->accepted ? 202 : c->id ? 200 : 201;
	struct record r;

	if (c->planned) {
		call_reply(c, 200, c->planned, strlen(c->planned), 0);
		return;
	}
	if (err) {
		call_fail(c, err);
		return;
	}
	if (t->revision)
		c->revision = t->revision;
	if (!c->id)
		c->id = c->new_id;
	if (store_get(c->api->conf.store, c->revision, c->noun->kind, c->id,
		      &r))
		reply_object(c, status, &r);
	else
		call_reply(c, 204, NULL, 0, 0);
}

void call_change(struct call *c,
		 int (*fn)(struct tx *tx, void *ctx, struct err *err))
{
	if (!admit_change(c))
		return;
	c->who = access_copy(c->who, c->x->arena);
	c->txn = (struct txn){.fn = fn, .done = change_done, .ctx = c};
	store_transact(c->api->conf.store, &c->txn);
}

void handle_create(struct call *c)
{
	struct violations v;
	struct err err = {0};
	bool bad = key_read(c, &err) < 0;

	if (!bad) {
		decode(c, c->body, FIELD_CREATE, &c->object, &v);
		if (!v.n)
			check_tags(NULL, c->object, &v);
		bad = v.n && violations_err(&v, &err) < 0;
	}
	if (bad)
		call_fail(c, &err);
	else
		call_change(c, create);
}

void call_create(struct call *c, const struct kind *k,
		 int (*make)(struct call *c, struct tx *tx, void *object,
			     struct err *err))
{
	struct err err = {0};

	if (key_read(c, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	c->of = c->id;
	c->id = NULL;
	c->noun = noun_find(k->plural);
	c->make = make;
	c->object = arena_alloc(c->x->arena, k->size);
	call_change(c, create);
}

/* What a PATCH leads to: the object as it is, with the patch merged in. */
static struct node *merged(struct call *c, const void *old, struct err *err)
{
	struct buf b = BUF_INIT((size_t)8 << 20);
	struct arena *a = c->x->arena;
	struct node *n;

	field_encode(c->noun->kind->fields, old, FIELD_PUBLIC, &b);
	n = json_parse(b.data, b.len, a, err);
	buf_release(&b);
	if (!n)
		return NULL;
	n = node_merge(a, n, c->body);
	if (!n)
		err_set(err, ERR_TOO_LARGE, "the patch is too large");
	return n;
}

static int settle(struct call *c, const struct meta *old, struct node *doc,
		  struct meta **ret, struct err *err)
{
	const struct kind *k = c->noun->kind;
	struct violations v;
	void *new;

	if (decode(c, doc, FIELD_UPDATE, &new, &v) == 0) {
		*ret = new;
		if ((*ret)->revision != FIELD_NONE &&
		    (*ret)->revision != old->revision)
			return err_at(err, ERR_STALE, "/revision",
				      "it is at revision %lld now: read it "
				      "again",
				      (long long)old->revision);
		field_settle(k->fields, old, new, &v);
		check_tags(old, *ret, &v);
	}
	return v.n ? violations_err(&v, err) : 0;
}

static int update(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct kind *k = c->noun->kind;
	const struct meta *old = tx_get(tx, k, c->id);
	struct node *doc = c->body;
	struct meta *new = NULL;

	c->planned = NULL;
	tx_set_view(tx, permit_view, c);
	if (permit(c, VERB_UPDATE, old, err) < 0)
		return -1;
	c->revision = (uint64_t)old->revision;
	if (call_check_match(c, c->revision, err) < 0)
		return -1;
	if (old->deleted_at)
		return err_set(err, ERR_CONFLICT, "the %s is being deleted",
			       k->name);
	if (strcmp(c->x->method, "PATCH") == 0)
		doc = merged(c, old, err);
	if (!doc || settle(c, old, doc, &new, err) < 0)
		return -1;
	assert(new);
	if (!field_changed(k->fields, old, new))
		return c->plan ? call_plan(c, "none", old) : 0;
	new->generation = old->generation + 1;
	new->updated_at = tx_time(tx);
	new->updated_by = c->who->name;
	if ((c->noun->update && c->noun->update(c, tx, old, new, err) < 0) ||
	    tx_put(tx, k, new, err) < 0)
		return -1;
	if (c->plan)
		return call_plan(c, "update", new);
	call_audit(c, tx, "update", c->id);
	return 0;
}

void handle_replace(struct call *c)
{
	call_change(c, update);
}

void handle_patch(struct call *c)
{
	struct err err = {0};

	if (node_type(c->body) == NODE_OBJECT) {
		call_change(c, update);
		return;
	}
	err_set(&err, ERR_INVALID, "a merge patch must be an object, not %s",
		node_type_name(c->body));
	call_fail(c, &err);
}

/* From now on it is being deleted: what belongs to it goes first, and what a
 * provider has of it; see cascade.h and deletion.h. */
static int begin_delete(struct call *c, struct tx *tx, const struct meta *old,
			struct err *err)
{
	const struct kind *k = c->noun->kind;
	struct meta *dying = arena_alloc(c->x->arena, k->size);

	c->accepted = true;
	c->revision = (uint64_t)old->revision;
	memcpy(dying, old, k->size);
	deletion_begin(k, dying, tx_time(tx), c->who->name);
	tx_event(tx, k, old->id, "deleting", "%s asked for it to be deleted%s",
		 c->who->name,
		 c->noun->cascades ? ", with all that is its" : "");
	return tx_put(tx, k, dying, err);
}

static int delete_or_begin(struct call *c, struct tx *tx,
			   const struct meta *old, struct err *err)
{
	const struct kind *k = c->noun->kind;

	if (!k->backed && tx_delete(tx, k, c->id, err) == 0)
		return 0;
	if (!c->noun->cascades &&
	    (!k->backed || tx_check_unused(tx, k, c->id, err) < 0))
		return -1;
	return begin_delete(c, tx, old, err);
}

static int remove_object(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct meta *old = tx_get(tx, c->noun->kind, c->id);

	c->planned = NULL;
	c->accepted = false;
	tx_set_view(tx, permit_view, c);
	if (permit(c, VERB_DELETE, old, err) < 0 ||
	    call_check_match(c, (uint64_t)old->revision, err) < 0)
		return -1;
	if (old->deleted_at && !c->plan) {
		c->accepted = true;
		c->revision = (uint64_t)old->revision;
		return 0;
	}
	if (c->noun->remove && c->noun->remove(c, tx, old, err) < 0)
		return -1;
	if (c->plan)
		call_plan(c, "delete", old);
	if (delete_or_begin(c, tx, old, err) < 0) {
		c->planned = NULL;
		return -1;
	}
	if (c->plan)
		return -1;
	call_audit(c, tx, "delete", c->id);
	return 0;
}

void handle_delete(struct call *c)
{
	call_change(c, remove_object);
}
