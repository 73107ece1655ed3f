/* Names in a manifest, and the ids that the API has in their place. */
#include <string.h>

#include "base/field_ops.h"
#include "base/uuid.h"
#include "cli/manifest.h"
#include "cli/text.h"

/* A document being gone through: for its names, or into one with ids. */
struct going {
	const struct manifest_doc *doc;
	struct arena *arena;
	const struct manifest_world *world; /* NULL: names are only told */
	void (*each)(void *ctx, const struct kind *k, const char *name);
	void *ctx;
	struct failure *failure;
};

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

/* KEY is the field's name, or that without "Id": "network", "securityGroups",
 * "sshCa". */
static bool means(const struct field *f, const char *key)
{
	size_t len = strlen(f->name), n = strlen(key);

	if (strcmp(f->name, key) == 0)
		return true;
	if (!f->refers)
		return false;
	if (f->type == FIELD_LIST && ends_with(f->name, "Ids"))
		return n == len - 2 && strncmp(f->name, key, len - 3) == 0 &&
		       key[n - 1] == 's';
	if (strcmp(f->name, "sshCertificateAuthorityId") == 0 &&
	    strcmp(key, "sshCa") == 0)
		return true;
	return ends_with(f->name, "Id") && n == len - 2 &&
	       strncmp(f->name, key, n) == 0;
}

static const struct field *field_of(const struct field *fields, const char *key)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL)))
		if (means(f, key))
			return f;
	return NULL;
}

static struct node *text_node(const struct going *g, const char *text)
{
	return node_new_string(g->arena, text, strlen(text));
}

static struct node *reference(const struct going *g, const struct field *f,
			      struct node *n, const char *pointer)
{
	const struct kind *k = kind_find(f->refers);
	const char *text, *id;

	if (!k || node_type(n) != NODE_STRING)
		return n;
	text = node_string(n, NULL);
	if (uuid_valid(text, strlen(text)))
		return n;
	if (!g->world) {
		g->each(g->ctx, k, text);
		return n;
	}
	if (g->world->resolve(g->world->ctx, k, text, &id, g->failure) == 0)
		return text_node(g, id);
	g->failure->usage = false;
	err_wrap(&g->failure->err, "%s",
		 manifest_where(g->doc, pointer, g->arena));
	return NULL;
}

/* What is no base64 was meant to become some. */
static struct node *plain_text(const struct going *g, struct node *n)
{
	size_t len;
	const char *s;

	if (node_type(n) != NODE_STRING)
		return n;
	s = node_string(n, &len);
	if (!len || format_base64.check(s, len))
		return n;
	return text_node(g, text_base64(g->arena, s, len));
}

static struct node *object(const struct going *g, const struct field *fields,
			   const struct node *n, const char *pointer);

static struct node *value(const struct going *g, const struct field *f,
			  enum field_type type, struct node *n,
			  const char *pointer)
{
	if (type == FIELD_OBJECT && node_type(n) == NODE_OBJECT)
		return object(g, f->fields, n, pointer);
	if (f->refers)
		return reference(g, f, n, pointer);
	return f->format == &format_base64 ? plain_text(g, n) : n;
}

static struct node *list(const struct going *g, const struct field *f,
			 const struct node *n, const char *pointer)
{
	struct node *all = node_new_array(g->arena);

	for (size_t i = 0; i < node_count(n); i++) {
		struct node *one = value(g, f, f->item, node_at(n, i), pointer);

		if (!one || !node_append(g->arena, all, one))
			return NULL;
	}
	return all;
}

static int member(const struct going *g, const struct field *fields,
		  const char *key, struct node *n, const char *pointer,
		  struct node *to)
{
	const struct field *f = field_of(fields, key);
	const char *here = arena_printf(g->arena, "%s/%s", pointer, key);

	if (f && f->type == FIELD_LIST && node_type(n) == NODE_ARRAY)
		n = list(g, f, n, here);
	else if (f)
		n = value(g, f, f->type, n, here);
	if (!n)
		return -1;
	node_set(g->arena, to, f ? f->name : key, n);
	return 0;
}

static struct node *object(const struct going *g, const struct field *fields,
			   const struct node *n, const char *pointer)
{
	struct node *to = node_new_object(g->arena), *m;
	struct node_walk w = node_walk(n);
	const char *key;

	while ((m = node_walk_next(&w, &key)))
		if (member(g, fields, key, m, pointer, to) < 0)
			return NULL;
	return to;
}

/* Whose it is and where, from the widest to the narrowest: each tells the names
 * of the next apart. */
static int places(const struct going *g, struct node *to)
{
	static const char *const names[] = {"organizationId", "projectId",
					    "regionId", "networkId"};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct node_walk w = node_walk(g->doc->node);
		struct node *m;
		const char *key;

		while ((m = node_walk_next(&w, &key))) {
			const struct field *f =
				field_of(g->doc->kind->fields, key);

			if (f && strcmp(f->name, names[i]) == 0 &&
			    member(g, g->doc->kind->fields, key, m, "", to) < 0)
				return -1;
		}
	}
	return 0;
}

int manifest_translate(const struct manifest_doc *doc,
		       const struct manifest_world *w, struct node **ret,
		       struct failure *p)
{
	struct going g = {
		.doc = doc, .arena = w->arena, .world = w, .failure = p};

	*ret = node_new_object(w->arena);
	if (places(&g, *ret) < 0)
		return -1;
	*ret = object(&g, doc->kind->fields, doc->node, "");
	return *ret ? 0 : -1;
}

void manifest_references(const struct manifest_doc *doc, struct arena *a,
			 void (*each)(void *ctx, const struct kind *k,
				      const char *name),
			 void *ctx)
{
	struct going g = {.doc = doc, .arena = a, .each = each, .ctx = ctx};

	(void)object(&g, doc->kind->fields, doc->node, "");
}
