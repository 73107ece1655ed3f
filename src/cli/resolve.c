#include "cli/resolve.h"

#include <string.h>

#include "base/field_ops.h"
#include "base/uuid.h"
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

/* What tells two of the same name apart, for people. */
static const char *whereabouts(struct cli *c, const struct kind *k,
			       const struct node *items, size_t i)
{
	const struct field *f =
		k->unique_within
			? field_find(k->fields, k->unique_within, NULL, NULL)
			: NULL;
	const char *id;

	if (!f || !f->refers)
		return "";
	resolve_names(c, f->refers, items, k->unique_within);
	id = node_text(node_at(items, i), k->unique_within);
	return id ? arena_printf(&c->arena, "in %s %s", f->refers,
				 resolve_name(c, id))
		  : "";
}

static int ambiguous(struct cli *c, const struct kind *k, const char *text,
		     const struct node *items, struct failure *p)
{
	struct node *lines = node_new_array(&c->arena);
	struct arena *a = &c->arena;

	for (size_t i = 0; i < node_count(items) && i < 10; i++) {
		const char *id = node_text(node_at(items, i), "id");
		const char *where = whereabouts(c, k, items, i);
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

int resolve_id(struct cli *c, const struct kind *k, const char *text,
	       const char *query, struct resolved *ret, struct failure *p)
{
	struct buf b = BUF_INIT(65536);
	struct node *items;
	const char *id;
	int rc;

	if (uuid_valid(text, strlen(text))) {
		*ret = (struct resolved){text, NULL};
		return 0;
	}
	buf_addf(&b, "%s&name=", query);
	uri_add_escaped(&b, text);
	rc = request_list(c, k, buf_str(&b), 0, &items, p);
	buf_release(&b);
	if (rc < 0)
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
