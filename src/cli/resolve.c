#include "cli/resolve.h"

#include <string.h>

#include "base/field_ops.h"
#include "base/uuid.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"
#include "http/uri.h"

/* With more ids than this to look up, one list costs less. */
#define LOOK_UPS_MOST 4

const struct node *resolve_at(const struct node *doc, const char *path)
{
	char key[64];

	while (doc && *path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(key) || node_type(doc) != NODE_OBJECT)
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		doc = node_get(doc, key);
		path += len + (path[len] == '.');
	}
	return doc;
}

static int not_found(struct cli *c, const struct kind *k, const char *text,
		     struct failure *p)
{
	p->hint = arena_printf(&c->arena, "see 'muster %s list'", k->name);
	return err_set(&p->err, ERR_NOT_FOUND, "there is no %s called '%s'",
		       k->name, text);
}

static bool same_text(const struct node *a, const struct node *b)
{
	struct buf x = BUF_INIT(65536), y = BUF_INIT(65536);
	bool same;

	if (!a || !b)
		return a == b;
	json_write(a, false, &x);
	json_write(b, false, &y);
	same = strcmp(buf_str(&x), buf_str(&y)) == 0;
	buf_release(&x);
	buf_release(&y);
	return same;
}

/* Not all of ITEMS say the same there. */
static bool tells_apart(const struct node *items, const char *path)
{
	for (size_t i = 1; i < node_count(items); i++)
		if (!same_text(resolve_at(node_at(items, 0), path),
			       resolve_at(node_at(items, i), path)))
			return true;
	return false;
}

static void add_difference(struct cli *c, const struct output_column *col,
			   const struct node *doc, struct buf *out)
{
	const struct node *n = resolve_at(doc, col->path);
	const char *text =
		n && node_type(n) == NODE_STRING ? node_string(n, NULL) : NULL;

	if (!n)
		return;
	if (out->len)
		buf_adds(out, ", ");
	if (col->field->refers && text) {
		buf_addf(out, "in %s %s", col->field->refers,
			 resolve_name(c, text));
		return;
	}
	buf_addf(out, "%s ", text_kebab(&c->arena, col->field->name));
	if (text)
		buf_adds(out, text);
	else
		json_write(n, false, out);
}

/* What tells two of the same name apart, for people: where they are, or else
 * whatever a table would show. */
static const char *whereabouts(struct cli *c, const struct output_columns *cols,
			       const struct node *items, size_t i)
{
	struct buf b = BUF_INIT(65536);
	const char *text;

	for (int places = 1; places >= 0 && !b.len; places--) {
		for (size_t n = 0; n < cols->n; n++) {
			const struct output_column *col = &cols->list[n];
			bool is_place = col->field->refers != NULL;

			if (is_place != places ||
			    col->field->type == FIELD_TIME ||
			    strcmp(col->path, "id") == 0 ||
			    !tells_apart(items, col->path))
				continue;
			if (is_place)
				resolve_names(c, col->field->refers, items,
					      col->path);
			add_difference(c, col, node_at(items, i), &b);
		}
	}
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static int ambiguous(struct cli *c, const struct kind *k, const char *text,
		     const struct node *items, struct failure *p)
{
	struct node *lines = node_new_array(&c->arena);
	struct arena *a = &c->arena;
	struct output_columns cols;

	output_columns(&cols, k, true, a);
	for (size_t i = 0; i < node_count(items) && i < 10; i++) {
		const char *id = node_text(node_at(items, i), "id");
		const char *where = whereabouts(c, &cols, items, i);
		struct node *line = node_new_object(a);

		if (!id)
			continue;
		node_set(a, line, "pointer",
			 node_new_string(a, id, strlen(id)));
		node_set(a, line, "message",
			 node_new_string(a, where, strlen(where)));
		node_append(a, lines, line);
	}
	p->violations = lines;
	p->hint = "say which by its id, or narrow it with the flag that tells "
		  "them apart";
	return failure_usage(p, "'%s' is the name of %zu %s", text,
			     node_count(items), k->plural);
}

/* As much of NEAR as the server can look at: what every K has. */
static void add_query(const struct kind *k, const struct node *near,
		      struct buf *out)
{
	struct node_walk w = node_walk(near);
	const struct node *n;
	const char *key;

	while ((n = node_walk_next(&w, &key))) {
		const struct field *f = field_find(k->fields, key, NULL, NULL);

		if (!f || !(f->flags & FIELD_REQUIRED))
			continue;
		buf_addf(out, "&%s=", key);
		uri_add_escaped(out, node_string(n, NULL));
	}
}

static bool is_near(const struct kind *k, const struct node *near,
		    const struct node *doc)
{
	struct node_walk w = node_walk(near);
	const struct node *n;
	const char *key;

	while ((n = node_walk_next(&w, &key))) {
		/* What names its own kind is another one. */
		const char *has = field_find(k->fields, key, NULL, NULL)
					  ? node_text(doc, key)
					  : NULL;
		if (has && strcmp(has, node_string(n, NULL)) != 0)
			return false;
	}
	return true;
}

static int list_named(struct cli *c, const struct kind *k, const char *text,
		      const struct node *near, struct node **ret,
		      struct failure *p)
{
	struct node *all, *some = node_new_array(&c->arena);
	struct buf b = BUF_INIT(65536);
	int rc;

	if (near)
		add_query(k, near, &b);
	buf_adds(&b, "&name=");
	uri_add_escaped(&b, text);
	rc = request_list(c, k, buf_str(&b), 0, &all, p);
	buf_release(&b);
	if (rc < 0)
		return -1;
	for (size_t i = 0; i < node_count(all); i++)
		if (!near || is_near(k, near, node_at(all, i)))
			node_append(&c->arena, some, node_at(all, i));
	*ret = some;
	return 0;
}

int resolve_id(struct cli *c, const struct kind *k, const char *text,
	       const struct node *near, struct resolved *ret, struct failure *p)
{
	struct node *items;
	const char *id;

	if (uuid_valid(text, strlen(text))) {
		*ret = (struct resolved){text, NULL};
		return 0;
	}
	if (list_named(c, k, text, near, &items, p) < 0)
		return -1;
	if (node_count(items) == 0)
		return not_found(c, k, text, p);
	if (node_count(items) > 1)
		return ambiguous(c, k, text, items, p);
	id = node_text(node_at(items, 0), "id");
	if (!id)
		return err_set(&p->err, ERR_INTERNAL,
			       "the server gave a %s without an id", k->name);
	*ret = (struct resolved){id, node_at(items, 0)};
	return 0;
}

static void know(struct cli *c, struct node *near, const char *key,
		 const char *id)
{
	if (id && !node_get(near, key))
		node_set(&c->arena, near, key,
			 node_new_string(&c->arena, id, strlen(id)));
}

void resolve_learn(struct cli *c, struct node *near, const struct kind *k,
		   const struct node *doc)
{
	static const char *const places[] = {"organizationId", "projectId",
					     "regionId", "networkId"};

	for (size_t i = 0; i < COUNT_OF(places); i++) {
		size_t len = strlen(k->name);

		know(c, near, places[i], node_text(doc, places[i]));
		if (strncmp(places[i], k->name, len) == 0 &&
		    strcmp(places[i] + len, "Id") == 0)
			know(c, near, places[i], node_text(doc, "id"));
	}
}

static void learn(struct cli *c, const char *id, const char *name)
{
	if (!map_get(&c->names, id))
		map_add(&c->names, arena_strdup(&c->arena, id),
			arena_strdup(&c->arena, name));
}

/* What cannot be read keeps its id. */
static void look_up(struct cli *c, const struct kind *k, const char *id)
{
	struct failure p = {0};
	struct node *doc = NULL;
	const char *name = NULL;

	if (request_get(c, arena_printf(&c->arena, "/v1/%s/%s", k->plural, id),
			&doc, &p) == 0 &&
	    doc)
		name = node_text(doc, "name");
	learn(c, id, name ? name : id);
}

static void look_up_all(struct cli *c, const struct kind *k)
{
	struct failure p = {0};
	struct node *items;

	if (request_list(c, k, "", 0, &items, &p) < 0)
		return;
	for (size_t i = 0; i < node_count(items); i++) {
		const char *id = node_text(node_at(items, i), "id");
		const char *name = node_text(node_at(items, i), "name");

		if (id && name)
			learn(c, id, name);
	}
}

static const char *id_in(const struct node *n)
{
	const char *id =
		n && node_type(n) == NODE_STRING ? node_string(n, NULL) : NULL;

	return id && uuid_valid(id, strlen(id)) ? id : NULL;
}

/* Looking names up, one by one or all at once. */
struct looking {
	struct cli *cli;
	const struct kind *kind;
	size_t n;
	bool all;
};

static void look_for(struct looking *l, const char *id)
{
	if (!id || l->all || map_get(&l->cli->names, id))
		return;
	l->all = l->n++ == LOOK_UPS_MOST;
	if (l->all)
		look_up_all(l->cli, l->kind);
	else
		look_up(l->cli, l->kind, id);
}

void resolve_names(struct cli *c, const char *kind, const struct node *items,
		   const char *path)
{
	struct looking l = {.cli = c, .kind = kind_find(kind)};

	for (size_t i = 0; l.kind && i < node_count(items); i++) {
		const struct node *n = resolve_at(node_at(items, i), path);

		if (!n || node_type(n) != NODE_ARRAY) {
			look_for(&l, id_in(n));
			continue;
		}
		for (size_t j = 0; j < node_count(n); j++)
			look_for(&l, id_in(node_at(n, j)));
	}
}

const char *resolve_name(const struct cli *c, const char *id)
{
	const char *name = map_get(&c->names, id);

	return name ? name : id;
}
