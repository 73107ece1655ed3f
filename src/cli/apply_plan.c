/* What manifests would do. */
#include <string.h>

#include "base/field_ops.h"
#include "cli/apply.h"
#include "cli/plan.h"
#include "cli/request.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "http/uri.h"

/* The documents that one refers to, being put in order. */
struct ordering {
	struct apply *apply;
	unsigned char *seen; /* of each document: 1 begun, 2 done */
	size_t *order;
	size_t n;
	size_t at;  /* the document that is looked at */
	bool loops; /* one refers to itself, by way of others or not */
};

static void visit(struct ordering *o, size_t i);

static void on_reference(void *ctx, const struct kind *k, const char *name)
{
	struct ordering *o = ctx;
	const struct manifest *m = &o->apply->manifest;
	size_t at = o->at;

	for (size_t i = 0; i < m->n; i++)
		if (m->docs[i].kind == k && strcmp(m->docs[i].name, name) == 0)
			visit(o, i);
	o->at = at;
}

static void visit(struct ordering *o, size_t i)
{
	struct apply *a = o->apply;

	if (o->seen[i] == 1)
		o->loops = true;
	if (o->seen[i])
		return;
	o->seen[i] = 1;
	o->at = i;
	manifest_references(&a->manifest.docs[i], &a->cli->arena, on_reference,
			    o);
	o->seen[i] = 2;
	o->order[o->n++] = i;
}

static void make_item(struct apply *a, size_t i, size_t doc)
{
	const struct manifest_doc *d = &a->manifest.docs[doc];

	a->items[i] = (struct apply_item){
		.doc = d,
		.kind = d->kind,
		.name = d->name,
		.stand = arena_printf(&a->cli->arena,
				      "00000000-0000-4000-8000-%012zx", i + 1),
	};
}

int apply_order(struct apply *a, struct failure *p)
{
	struct arena *arena = &a->cli->arena;
	const struct manifest *m = &a->manifest;
	struct ordering o = {
		.apply = a,
		.seen = arena_alloc(arena, m->n + 1),
		.order = arena_alloc(arena, (m->n + 1) * sizeof(size_t)),
	};

	/* Kinds come in an order that suits most. */
	for (size_t k = 0; kinds[k]; k++)
		for (size_t i = 0; i < m->n && !o.loops; i++) {
			if (m->docs[i].kind == kinds[k])
				visit(&o, i);
			if (o.loops)
				return failure_usage(
					p,
					"%s: refers to itself, by way of "
					"others or not",
					manifest_where(&m->docs[i], "", arena));
		}
	a->items = arena_alloc(arena, (m->n + 1) * sizeof(*a->items));
	a->n = o.n;
	for (size_t i = 0; i < o.n; i++)
		make_item(a, i, o.order[i]);
	return 0;
}

/* An item while its names are looked up. */
struct looking {
	struct apply *apply;
	struct apply_item *item;
};

/* What NEAR and OTHER both say is the same. */
static bool agrees(const struct node *near, const struct node *other)
{
	struct node_walk w = node_walk(near);
	const struct node *n;
	const char *key;

	while ((n = node_walk_next(&w, &key))) {
		const struct node *m = node_get(other, key);

		if (m &&
		    strcmp(node_string(n, NULL), node_string(m, NULL)) != 0)
			return false;
	}
	return true;
}

static const char *id_of(const struct apply_item *i)
{
	return i->id ? i->id : i->stand;
}

static void set_text(struct arena *a, struct node *n, const char *key,
		     const char *text)
{
	node_set(a, n, key, node_new_string(a, text, strlen(text)));
}

/* Where another item is, and itself, becomes known. */
static void learn_from(struct cli *c, struct node *near,
		       const struct apply_item *from)
{
	struct node_walk w = node_walk(from->near);
	struct node *n, *self = node_new_object(&c->arena);
	const char *key;

	set_text(&c->arena, self, "id", id_of(from));
	resolve_learn(c, near, from->kind, self);
	while ((n = node_walk_next(&w, &key)))
		if (!node_get(near, key))
			node_set(&c->arena, near, key, n);
}

static int resolve(void *ctx, const struct kind *k, const char *name,
		   const char **ret_id, struct failure *p)
{
	struct looking *l = ctx;
	struct cli *c = l->apply->cli;
	struct resolved found;

	for (struct apply_item *i = l->apply->items; i < l->item; i++) {
		if (i->kind != k || strcmp(i->name, name) != 0 || !i->near ||
		    !agrees(l->item->near, i->near))
			continue;
		*ret_id = id_of(i);
		l->item->waits = l->item->waits || !i->id;
		learn_from(c, l->item->near, i);
		return 0;
	}
	if (resolve_id(c, k, name, l->item->near, &found, p) < 0)
		return -1;
	if (found.doc)
		resolve_learn(c, l->item->near, k, found.doc);
	*ret_id = found.id;
	return 0;
}

int apply_translate(struct apply *a, struct apply_item *item, struct failure *p)
{
	struct arena *arena = &a->cli->arena;
	struct looking l = {a, item};
	const struct manifest_world w = {arena, resolve, &l};
	const struct field *f =
		field_find(item->kind->fields, "projectId", NULL, NULL);
	bool takes = a->project && f && !(f->flags & FIELD_READ_ONLY);

	item->waits = false;
	item->near = node_new_object(arena);
	if (takes && !node_get(item->doc->node, "project") &&
	    !node_get(item->doc->node, "projectId"))
		set_text(arena, item->doc->node, "projectId", a->project);
	else if (a->project && f)
		set_text(arena, item->near, "projectId", a->project);
	if (manifest_translate(item->doc, &w, &item->body, p) < 0)
		return -1;
	/* What it says itself counts more than what was learned. */
	resolve_learn(a->cli, item->near, item->kind, item->body);
	return 0;
}

static bool is_stand(const struct apply *a, const char *id)
{
	for (size_t i = 0; id && i < a->n; i++)
		if (a->items[i].stand && !a->items[i].id &&
		    strcmp(a->items[i].stand, id) == 0)
			return true;
	return false;
}

/* What is there already of that name: *RET_DOC is NULL when nothing is. */
static int find_old(struct apply *a, struct apply_item *item, struct failure *p)
{
	struct node_walk w = node_walk(item->near);
	const struct node *n;
	const char *key;
	struct resolved found;

	/* Nothing is in what is not there. */
	while ((n = node_walk_next(&w, &key)))
		if (is_stand(a, node_string(n, NULL)) &&
		    field_find(item->kind->fields, key, NULL, NULL))
			return 0;
	if (resolve_id(a->cli, item->kind, item->name, item->near, &found, p) <
	    0) {
		if (p->err.code != ERR_NOT_FOUND || p->status)
			return -1;
		*p = (struct failure){0};
		return 0;
	}
	item->id = found.id;
	item->old = found.doc;
	if (item->old && node_text(item->old, "deletedAt"))
		return err_set(&p->err, ERR_CONFLICT,
			       "it is being deleted; apply it again when it "
			       "is gone");
	return 0;
}

/* What the table of fields alone can say. */
static int check_here(struct apply *a, const struct apply_item *item,
		      struct failure *p)
{
	struct arena *arena = &a->cli->arena;
	void *object = arena_alloc(arena, item->kind->size);
	struct violations v;
	struct node *list = node_new_array(arena);

	violations_init(&v, arena);
	field_decode(item->kind->fields, item->body,
		     item->id ? FIELD_UPDATE : FIELD_CREATE, object, &v);
	for (size_t i = 0; i < v.n && i < VIOLATIONS_MOST; i++) {
		struct node *one = node_new_object(arena);

		set_text(arena, one, "pointer", v.list[i].pointer);
		set_text(arena, one, "message", v.list[i].message);
		node_append(arena, list, one);
	}
	if (!v.n)
		return 0;
	p->violations = list;
	return err_set(&p->err, ERR_INVALID, "it is not valid");
}

/* The document as it was with the manifest's over it, when the server cannot be
 * asked. */
static const struct node *guess(struct apply *a, const struct apply_item *item)
{
	struct arena *arena = &a->cli->arena;
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct err err;
	struct node *copy;

	json_write(item->old, false, &b);
	copy = json_parse(buf_str(&b), b.len, arena, &err);
	buf_release(&b);
	return copy ? node_merge(arena, copy, item->body) : item->body;
}

static int ask_server(struct apply *a, struct apply_item *item,
		      struct failure *p)
{
	struct request r = {
		.method = item->id ? "PUT" : "POST",
		.target = arena_printf(&a->cli->arena, "/v1/%s%s%s?plan=true",
				       item->kind->plural, item->id ? "/" : "",
				       item->id ? item->id : ""),
		.body = item->body,
	};
	struct node *reply = NULL;
	const char *action;

	if (request_send(a->cli, &r, &reply, p) < 0)
		return -1;
	item->plan = reply ? node_get(reply, "plan") : NULL;
	item->new = reply ? node_get(reply, "object") : NULL;
	action = item->plan ? node_text(item->plan, "action") : NULL;
	if (item->id && action && strcmp(action, "none") == 0)
		item->action = APPLY_NOTHING;
	item->need = item->plan ? plan_needs(item->plan) : NULL;
	return 0;
}

static int plan_item(struct apply *a, struct apply_item *item,
		     struct failure *p)
{
	if (apply_translate(a, item, p) < 0 || find_old(a, item, p) < 0)
		return -1;
	for (struct apply_item *i = a->items; i < item; i++)
		if (i->kind == item->kind && i->near &&
		    strcmp(i->name, item->name) == 0 &&
		    agrees(i->near, item->near))
			return err_set(&p->err, ERR_CONFLICT,
				       "comes twice: also at line %zu of %s",
				       i->doc->line, i->doc->file);
	item->action = item->id ? APPLY_UPDATE : APPLY_CREATE;
	if (!item->waits)
		return ask_server(a, item, p);
	item->new = item->id ? guess(a, item) : item->body;
	return check_here(a, item, p);
}

void apply_error(struct apply *a, const struct apply_item *item,
		 const struct failure *p)
{
	struct cli *c = a->cli;
	struct buf b = BUF_INIT((size_t)1 << 20);
	const char *what = p->detail ? p->detail : p->err.msg;
	size_t n = p->violations ? node_count(p->violations) : 0;

	a->errors++;
	for (size_t i = 0; i < n; i++) {
		const struct node *v = node_at(p->violations, i);
		const char *pointer = node_text(v, "pointer");
		const char *message = node_text(v, "message");
		bool points = pointer && *pointer == '/';

		table_add_toned(&b, &c->err_style, TONE_BAD, "muster:");
		buf_addf(&b, " %s: %s%s%s\n",
			 manifest_where(item->doc, points ? pointer : "",
					&c->arena),
			 text_safe(&c->arena, pointer ? pointer : ""),
			 pointer && *pointer ? ": " : "",
			 text_safe(&c->arena, message ? message : what));
	}
	if (!n) {
		table_add_toned(&b, &c->err_style, TONE_BAD, "muster:");
		buf_addf(&b, " %s%s%s\n",
			 strncmp(what, item->doc->file,
				 strlen(item->doc->file)) == 0
				 ? ""
				 : manifest_where(item->doc, "", &c->arena),
			 strncmp(what, item->doc->file,
				 strlen(item->doc->file)) == 0
				 ? ""
				 : ": ",
			 text_safe(&c->arena, what));
	}
	fwrite(buf_str(&b), 1, b.len, c->err);
	buf_release(&b);
}

void apply_plan(struct apply *a)
{
	for (size_t i = 0; i < a->n; i++) {
		struct failure p = {0};

		if (plan_item(a, &a->items[i], &p) < 0)
			apply_error(a, &a->items[i], &p);
	}
}

/* What may be pruned: a project's own, that a manifest would make again. */
static bool is_prunable(const struct kind *k)
{
	const struct field *f = field_find(k->fields, "projectId", NULL, NULL);

	return f && f->flags & FIELD_INDEX && !k->read_only && !k->internal &&
	       (k->backed || strcmp(k->name, "sshca") == 0);
}

static bool is_kept(const struct apply *a, const char *id)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->items[i].id && strcmp(a->items[i].id, id) == 0)
			return true;
	return false;
}

static void add_pruned(struct apply *a, const struct kind *k, struct node *doc)
{
	struct apply_item *items =
		arena_alloc(&a->cli->arena, (a->n + 2) * sizeof(*items));
	const char *name = node_text(doc, "name"), *id = node_text(doc, "id");

	if (!id || is_kept(a, id) || node_text(doc, "deletedAt"))
		return;
	memcpy(items, a->items, a->n * sizeof(*items));
	items[a->n++] = (struct apply_item){
		.kind = k,
		.name = name ? name : id,
		.id = id,
		.old = doc,
		.action = APPLY_DELETE,
	};
	a->items = items;
}

static int prune_kind(struct apply *a, const struct kind *k,
		      const char *project, const char *tag, struct failure *p)
{
	struct buf query = BUF_INIT(65536);
	struct node *docs;
	int rc;

	buf_addf(&query, "&projectId=%s&tag=", project);
	uri_add_escaped(&query, tag);
	rc = request_list(a->cli, k, buf_str(&query), 0, &docs, p);
	buf_release(&query);
	for (size_t i = 0; rc == 0 && i < node_count(docs); i++)
		add_pruned(a, k, node_at(docs, i));
	return rc;
}

int apply_prune(struct apply *a, const char *tag, struct failure *p)
{
	struct node *done = node_new_object(&a->cli->arena);
	size_t n = a->n, last = 0;

	while (kinds[last])
		last++;
	/* In reverse: what refers to others goes before them. */
	for (size_t k = last; k-- > 0;) {
		if (!is_prunable(kinds[k]))
			continue;
		for (size_t i = 0; i < n; i++) {
			const char *project =
				a->items[i].near ? node_text(a->items[i].near,
							     "projectId")
						 : NULL;
			const char *key = arena_printf(&a->cli->arena, "%s %s",
						       kinds[k]->name,
						       project ? project : "");

			if (!project || is_stand(a, project) ||
			    node_get(done, key))
				continue;
			set_text(&a->cli->arena, done, key, "");
			if (prune_kind(a, kinds[k], project, tag, p) < 0)
				return -1;
		}
	}
	return 0;
}
