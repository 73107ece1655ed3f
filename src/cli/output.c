#include "cli/output.h"

#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "base/yaml.h"
#include "cli/details.h"
#include "cli/plan.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "model/token.h"

#define TEXT_MOST ((size_t)1 << 30)

/* The name first, what is shown always, what only a wide table shows, times. */
static int rank_of(const struct field *f)
{
	if (strcmp(f->name, "name") == 0)
		return 0;
	if (f->type == FIELD_TIME)
		return 3;
	return f->flags & FIELD_COLUMN ? 1 : 2;
}

static const char *without(struct arena *a, const char *s, const char *end)
{
	size_t len = strlen(s), cut = strlen(end);

	if (len <= cut || strcmp(s + len - cut, end) != 0)
		return s;
	return arena_memdup(a, s, len - cut);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

const char *output_refers(const struct field *f)
{
	static const char *const others[][2] = {
		{"instanceId", "instance"},
		{"volumeId", "volume"},
		{"flavorId", "flavor"},
	};

	for (size_t i = 0; !f->refers && i < COUNT_OF(others); i++)
		if (strcmp(f->name, others[i][0]) == 0)
			return others[i][1];
	return f->refers;
}

/* Its kind is in a field of its own. */
static bool is_object_id(const struct field *f)
{
	return strcmp(f->name, "objectId") == 0;
}

static const char *title_of(const struct field *f, const char *path, bool wide,
			    struct arena *a)
{
	if (ends_with(path, "reason.code"))
		return "REASON";
	if (wide)
		return text_caps(a, f->name);
	if (strcmp(f->name, "createdAt") == 0)
		return "AGE";
	if (is_object_id(f))
		return "OBJECT";
	if (f->refers && f->type == FIELD_LIST)
		return text_caps(
			a, arena_printf(a, "%ss", without(a, f->name, "Ids")));
	if (output_refers(f))
		return text_caps(a, without(a, f->name, "Id"));
	return text_caps(a, without(a, f->name, "At"));
}

static void collect(struct output_columns *ret, const struct field *fields,
		    const char *path, int rank, struct arena *a)
{
	struct field_walk w = field_walk(fields);
	unsigned wanted = FIELD_COLUMN | (ret->wide ? FIELD_WIDE : 0);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		const char *here = arena_printf(a, "%s%s%s", path,
						*path ? "." : "", f->name);

		if (f->type == FIELD_OBJECT)
			collect(ret, f->fields, here, rank, a);
		else if (f->flags & wanted && rank_of(f) == rank &&
			 ret->n < TABLE_COLUMNS_MOST)
			ret->list[ret->n++] = (struct output_column){
				f, here, title_of(f, here, ret->wide, a)};
	}
}

void output_columns(struct output_columns *ret, const struct kind *k, bool wide,
		    struct arena *a)
{
	const struct field *id = field_find(k->fields, "id", NULL, NULL);

	*ret = (struct output_columns){.wide = wide};
	/* What has no name is called by its id. */
	if (!wide && !k->read_only && id &&
	    !field_find(k->fields, "name", NULL, NULL))
		ret->list[ret->n++] = (struct output_column){id, "id", "ID"};
	for (int rank = 0; rank <= 3; rank++)
		collect(ret, k->fields, "", rank, a);
}

void output_begin(const struct output_columns *cols, struct table *t)
{
	for (size_t i = 0; i < cols->n; i++) {
		const struct field *f = cols->list[i].field;
		bool free_text =
			f->type == FIELD_TAGS || f->type == FIELD_LIST ||
			f->type == FIELD_RAW || f->format == &format_text ||
			(f->type == FIELD_STRING && !f->format) ||
			is_object_id(f);
		bool name = strcmp(f->name, "name") == 0;

		table_column(t, cols->list[i].title,
			     (f->type == FIELD_INT ? TABLE_RIGHT : 0) |
				     (free_text && !name ? TABLE_CUT : 0));
	}
}

static void add_pairs(const struct node *object, struct buf *out)
{
	struct node_walk w = node_walk(object);
	const struct node *v;
	const char *key, *before = "";

	while ((v = node_walk_next(&w, &key))) {
		buf_addf(out, "%s%s=", before, key);
		before = ",";
		if (node_type(v) == NODE_STRING)
			buf_adds(out, node_string(v, NULL));
		else
			json_write(v, false, out);
	}
}

/* A name with numbers, as a quota's limits have: "vcpus=3+1". */
static bool add_amount(const struct node *object, struct buf *out)
{
	struct node_walk w;
	const struct node *v;
	const char *key;
	size_t n = 0;

	if (node_type(object) != NODE_OBJECT)
		return false;
	w = node_walk(object);
	while ((v = node_walk_next(&w, &key)))
		if (node_type(v) != (n++ ? NODE_INT : NODE_STRING))
			return false;
	if (n < 2)
		return false;
	w = node_walk(object);
	for (n = 0; (v = node_walk_next(&w, &key)); n++) {
		if (!n) {
			buf_adds(out, node_string(v, NULL));
			continue;
		}
		buf_addc(out, n == 1 ? '=' : '+');
		json_write(v, false, out);
	}
	return true;
}

static void add_list(const struct cli *c, const struct node *array,
		     struct buf *out)
{
	for (size_t i = 0; i < node_count(array); i++) {
		const struct node *n = node_at(array, i);

		if (i)
			buf_addc(out, ',');
		if (node_type(n) == NODE_STRING)
			buf_adds(out, resolve_name(c, node_string(n, NULL)));
		else if (!add_amount(n, out))
			json_write(n, false, out);
	}
}

/* A value in a line; F may be NULL, when the field is news to us. */
void output_value(const struct cli *c, const struct field *f,
		  const struct node *n, struct buf *out)
{
	switch (node_type(n)) {
	case NODE_STRING:
		buf_adds(out, node_string(n, NULL));
		break;
	case NODE_ARRAY:
		add_list(c, n, out);
		break;
	case NODE_OBJECT:
		if (f && f->type == FIELD_TAGS)
			add_pairs(n, out);
		else
			json_write(n, false, out);
		break;
	case NODE_NULL:
		break;
	case NODE_BOOL:
	case NODE_INT:
	case NODE_REAL:
		json_write(n, false, out);
		break;
	}
}

bool output_time(const struct field *f, const struct node *n, int64_t *ret)
{
	size_t len;
	const char *text;

	if (!f || f->type != FIELD_TIME || node_type(n) != NODE_STRING)
		return false;
	text = node_string(n, &len);
	return clock_parse(text, len, ret) == 0;
}

static void add_cell(const struct cli *c, const struct output_column *col,
		     bool wide, const struct node *n, struct buf *out)
{
	int64_t at;

	if (!n)
		return;
	if (!wide && output_time(col->field, n, &at))
		text_add_age(out, clock_wall(c->clock) - at);
	else if (!wide && node_type(n) == NODE_STRING &&
		 (output_refers(col->field) || is_object_id(col->field)))
		buf_adds(out, resolve_name(c, node_string(n, NULL)));
	else
		output_value(c, col->field, n, out);
}

void output_row(struct cli *c, const struct output_columns *cols,
		const struct node *doc, struct table *t)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	for (size_t i = 0; i < cols->n; i++) {
		const struct output_column *col = &cols->list[i];
		enum tone tone = TONE_PLAIN;

		buf_clear(&b);
		add_cell(c, col, cols->wide, resolve_at(doc, col->path), &b);
		if (col->field->type == FIELD_ENUM)
			tone = table_state_tone(buf_str(&b));
		table_cell(t, b.len ? buf_str(&b) : "-",
			   b.len ? tone : TONE_FAINT);
	}
	buf_release(&b);
}

void output_document(struct cli *c, const struct node *n, bool yaml)
{
	struct buf text = BUF_INIT(TEXT_MOST), safe = BUF_INIT(TEXT_MOST);

	if (yaml)
		yaml_write(n, &text);
	else
		json_write(n, true, &text);
	text_add_document(&safe, buf_str(&text), text.len);
	if (!safe.len || safe.data[safe.len - 1] != '\n')
		buf_addc(&safe, '\n');
	buf_release(&text);
	cli_print(c, &safe);
}

static const char *name_of(const struct node *doc)
{
	const char *name = node_text(doc, "name");

	if (!name)
		name = node_text(doc, "id");
	return name ? name : "?";
}

static void print_name(struct cli *c, const struct kind *k,
		       const struct node *doc)
{
	struct buf b = BUF_INIT(65536);

	buf_addf(&b, "%s/%s\n", k->name, text_safe(&c->arena, name_of(doc)));
	cli_print(c, &b);
}

/* The names of objects of every kind. */
static void learn_objects(struct cli *c, const struct node *items)
{
	for (const struct kind *const *k = kinds; *k; k++) {
		struct node *some = node_new_array(&c->arena);

		for (size_t i = 0; i < node_count(items); i++) {
			struct node *n = node_at(items, i);
			const char *kind = node_text(n, "objectKind");

			if (kind && strcmp(kind, (*k)->name) == 0)
				node_append(&c->arena, some, n);
		}
		if (node_count(some))
			resolve_names(c, (*k)->name, some, "objectId");
	}
}

void output_learn(struct cli *c, const struct output_columns *cols,
		  const struct node *items)
{
	for (size_t i = 0; !cols->wide && i < cols->n; i++) {
		const struct output_column *col = &cols->list[i];

		if (output_refers(col->field))
			resolve_names(c, output_refers(col->field), items,
				      col->path);
		else if (is_object_id(col->field))
			learn_objects(c, items);
	}
}

/* On a terminal a column in which nothing is said is left out. */
static void drop_empty(struct output_columns *cols, const struct node *items)
{
	size_t n = 0;

	for (size_t i = 0; i < cols->n; i++) {
		bool said = i == 0;

		for (size_t j = 0; j < node_count(items) && !said; j++)
			said = resolve_at(node_at(items, j),
					  cols->list[i].path) != NULL;
		if (said)
			cols->list[n++] = cols->list[i];
	}
	cols->n = n;
}

static void print_table(struct cli *c, const struct kind *k,
			const struct node *items)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct output_columns cols;
	struct table t;

	output_columns(&cols, k, c->output == OUTPUT_WIDE, &c->arena);
	if (c->style.width && !cols.wide)
		drop_empty(&cols, items);
	output_learn(c, &cols, items);
	table_init(&t, &c->arena);
	output_begin(&cols, &t);
	for (size_t i = 0; i < node_count(items); i++)
		output_row(c, &cols, node_at(items, i), &t);
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

void output_list(struct cli *c, const struct kind *k, const struct node *items)
{
	switch (c->output) {
	case OUTPUT_JSON:
	case OUTPUT_YAML:
		output_document(c, items, c->output == OUTPUT_YAML);
		return;
	case OUTPUT_NAME:
		for (size_t i = 0; i < node_count(items); i++)
			print_name(c, k, node_at(items, i));
		return;
	case OUTPUT_DEFAULT:
	case OUTPUT_TABLE:
	case OUTPUT_WIDE:
		break;
	}
	if (node_count(items))
		print_table(c, k, items);
	else
		cli_say(c, "No %s.", k->plural);
}

void output_one(struct cli *c, const struct kind *k, const struct node *doc)
{
	struct node *items = node_new_array(&c->arena);
	union {
		const struct node *read;
		struct node *write;
	} one = {doc};

	/* The array only lends it out. */
	node_append(&c->arena, items, one.write);
	switch (c->output) {
	case OUTPUT_JSON:
	case OUTPUT_YAML:
		output_document(c, doc, c->output == OUTPUT_YAML);
		break;
	case OUTPUT_NAME:
		print_name(c, k, doc);
		break;
	case OUTPUT_TABLE:
		print_table(c, k, items);
		break;
	case OUTPUT_DEFAULT:
	case OUTPUT_WIDE:
		details_print(c, k, doc);
		break;
	}
}

void output_done(struct cli *c, const struct kind *k, const struct node *doc,
		 const char *done)
{
	struct buf b = BUF_INIT(65536);
	const char *secret;

	if (c->output != OUTPUT_DEFAULT) {
		output_one(c, k, doc);
		return;
	}
	secret = k == &token_kind ? node_text(doc, "token") : NULL;
	if (c->quiet && !secret)
		return;
	/* For a script: the secret and nothing else. */
	if (c->quiet) {
		buf_addf(&b, "%s\n", text_safe(&c->arena, secret));
		cli_print(c, &b);
		return;
	}
	table_add_toned(&b, &c->style, TONE_GOOD, done);
	buf_addf(&b, " %s %s", k->name, text_safe(&c->arena, name_of(doc)));
	if (node_text(doc, "id") && node_text(doc, "name"))
		buf_addf(&b, " (%s)",
			 text_safe(&c->arena, node_text(doc, "id")));
	buf_addc(&b, '\n');
	if (secret)
		buf_addf(&b, "\n  %s\n\n", text_safe(&c->arena, secret));
	cli_print(c, &b);
	if (secret)
		cli_say(c, "Keep it now: it is not shown again.");
	else if (k == &token_kind && strcmp(done, "Created") == 0)
		cli_say(c, "Its secret was lost with a connection: 'muster "
			   "token rotate' gives it another.");
}

void output_plan(struct cli *c, const struct kind *k, const struct node *reply)
{
	const struct node *plan = node_get(reply, "plan");
	const struct node *object = node_get(reply, "object");
	const char *action, *need;
	struct buf b = BUF_INIT(65536);

	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML || !plan ||
	    node_type(plan) != NODE_OBJECT) {
		output_document(c, reply, c->output == OUTPUT_YAML);
		return;
	}
	action = node_text(plan, "action");
	if (action && strcmp(action, "none") == 0)
		action = "nothing to change in";
	table_add_toned(&b, &c->style, TONE_BUSY, "Plan:");
	buf_addf(&b, " %s %s", action ? text_safe(&c->arena, action) : "change",
		 k->name);
	if (object && node_type(object) == NODE_OBJECT)
		buf_addf(&b, " %s", text_safe(&c->arena, name_of(object)));
	buf_addc(&b, '\n');
	plan_write(plan, &c->style, 2, &b);
	need = plan_needs(plan);
	cli_print(c, &b);
	if (need)
		cli_say(c,
			"Nothing was changed.  It has to be allowed: "
			"--allow %s",
			need);
	else
		cli_say(c, "Nothing was changed.");
}
