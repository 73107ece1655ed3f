#include "cli/details.h"

#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "cli/output.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "model/kind.h"

#define TEXT_MOST ((size_t)64 << 20)
#define GAP       2
#define LEAST     24 /* columns that a value gets, however narrow it is */

struct line {
	const char *label, *text;
	enum tone tone;
};

struct details {
	struct cli *cli;
	struct line *lines;
	size_t n, room;
	unsigned depth;
};

static const struct field *row_named(const struct field *fields,
				     const char *name)
{
	struct field_walk w;
	const struct field *f;

	if (!fields)
		return NULL;
	w = field_walk(fields);
	while ((f = field_walk_next(&w, NULL)))
		if (strcmp(f->name, name) == 0)
			return f;
	return NULL;
}

/* KEY is NULL for a line that goes on with the one before. */
static void add_line(struct details *d, const char *key, const char *text,
		     enum tone tone)
{
	struct arena *a = &d->cli->arena;

	if (d->n == d->room) {
		size_t room = d->room ? 2 * d->room : 64;
		struct line *lines = arena_alloc(a, room * sizeof(*lines));

		if (d->n)
			memcpy(lines, d->lines, d->n * sizeof(*lines));
		d->lines = lines;
		d->room = room;
	}
	d->lines[d->n++] = (struct line){
		key ? text_safe(a, arena_printf(a, "%*s%s", (int)(2 * d->depth),
						"", text_words(a, key)))
		    : "",
		text_safe(a, text),
		tone,
	};
}

static bool is_zero(const struct node *n)
{
	enum node_type type = node_type(n);

	return type == NODE_NULL || (type == NODE_INT && !node_int(n)) ||
	       (type == NODE_BOOL && !node_bool(n));
}

/* An item of a list: "direction=ingress protocol=tcp", or as it is. */
static void add_item(struct details *d, const struct field *f, const char *key,
		     const struct node *n)
{
	struct cli *c = d->cli;
	struct buf b = BUF_INIT((size_t)1 << 20);
	struct node_walk w = node_walk(n);
	const struct node *m;
	const char *name;

	while ((m = node_walk_next(&w, &name))) {
		const struct field *row = row_named(f->fields, name);
		const char *id = node_type(m) == NODE_STRING
					 ? node_string(m, NULL)
					 : NULL;

		if (is_zero(m))
			continue;
		buf_addf(&b, "%s%s=", b.len ? " " : "", name);
		if (id && row && output_refers(row))
			buf_adds(&b, resolve_name(c, id));
		else
			output_value(c, row, m, &b);
	}
	add_line(d, key, buf_str(&b), TONE_PLAIN);
	buf_release(&b);
}

static void add_value(struct details *d, const struct field *f, const char *key,
		      const struct node *n)
{
	struct cli *c = d->cli;
	struct buf b = BUF_INIT((size_t)16 << 20);
	enum tone tone = TONE_PLAIN;
	const char *text;
	int64_t at;

	output_value(c, f, n, &b);
	text = arena_strdup(&c->arena, buf_str(&b));
	if (f && output_refers(f) && node_type(n) == NODE_STRING) {
		const char *name = resolve_name(c, text);

		if (strcmp(name, text) != 0)
			buf_addf(&b, " (%s)", name);
	} else if (output_time(f, n, &at)) {
		buf_adds(&b, " (");
		text_add_age(&b, clock_wall(c->clock) - at);
		buf_adds(&b, at <= clock_wall(c->clock) ? " ago)" : ")");
	} else if (f && f->type == FIELD_ENUM) {
		tone = table_state_tone(text);
	}
	add_line(d, key, buf_str(&b), tone);
	buf_release(&b);
}

static bool is_list_of_objects(const struct field *f, const struct node *n)
{
	if (!f || f->type != FIELD_LIST || f->item != FIELD_OBJECT ||
	    node_type(n) != NODE_ARRAY || !node_count(n))
		return false;
	for (size_t i = 0; i < node_count(n); i++)
		if (node_type(node_at(n, i)) != NODE_OBJECT)
			return false;
	return true;
}

/* Nothing but zeroes in it. */
static bool says_nothing(const struct node *object)
{
	struct node_walk w = node_walk(object);
	const struct node *n;
	const char *key;

	while ((n = node_walk_next(&w, &key)))
		if (node_type(n) != NODE_INT || node_int(n))
			return false;
	return true;
}

static void add_all(struct details *d, const struct field *fields,
		    const struct node *doc)
{
	struct node_walk w = node_walk(doc);
	const struct node *n;
	const char *key;

	while ((n = node_walk_next(&w, &key))) {
		const struct field *f = row_named(fields, key);
		bool section = node_type(n) == NODE_OBJECT &&
			       (!f || f->type == FIELD_OBJECT) && d->depth < 8;

		if (is_list_of_objects(f, n)) {
			for (size_t i = 0; i < node_count(n); i++)
				add_item(d, f, i ? NULL : key, node_at(n, i));
		} else if (!section) {
			add_value(d, f, key, n);
		} else if (!says_nothing(n)) {
			add_line(d, key, "", TONE_PLAIN);
			d->depth++;
			add_all(d, f ? f->fields : NULL, n);
			d->depth--;
		}
	}
}

/* How much of TEXT goes into WIDTH columns: up to a blank or behind a comma,
 * when there is one. */
static size_t piece(const char *text, size_t width)
{
	size_t len = strlen(text), best = 0, columns = 0;

	for (size_t i = 0; i < len; i++) {
		/* The first byte of a letter. */
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (columns > width)
			return best ? best : i;
		if (text[i] == ' ' || text[i] == ',')
			best = i + 1;
	}
	return len;
}

static void write_line(const struct style *style, const struct line *l,
		       size_t column, struct buf *out)
{
	const char *text = l->text;
	size_t width = style->width > column + LEAST ? style->width - column
						     : SIZE_MAX;

	table_add_toned(out, style, TONE_HEAD, l->label);
	if (*text)
		text_add_spaces(out, column - text_width(l->label));
	while (*text) {
		size_t len = piece(text, style->width ? width : SIZE_MAX);
		struct buf part = BUF_INIT((size_t)16 << 20);

		buf_add(&part, text, len);
		while (part.len && part.data[part.len - 1] == ' ')
			part.data[--part.len] = '\0';
		table_add_toned(out, style, l->tone, buf_str(&part));
		buf_release(&part);
		text += len;
		if (!*text)
			break;
		buf_addc(out, '\n');
		text_add_spaces(out, column);
	}
	buf_addc(out, '\n');
}

static void learn_names(struct cli *c, const struct field *fields,
			const char *path, const struct node *items)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		const char *here = arena_printf(&c->arena, "%s%s%s", path,
						*path ? "." : "", f->name);
		const struct node *list = resolve_at(node_at(items, 0), here);

		if (f->type == FIELD_OBJECT)
			learn_names(c, f->fields, here, items);
		else if (list && is_list_of_objects(f, list))
			learn_names(c, f->fields, "", list);
		else if (output_refers(f))
			resolve_names(c, output_refers(f), items, here);
	}
}

void details_print(struct cli *c, const struct kind *k, const struct node *doc)
{
	struct details d = {.cli = c};
	struct buf b = BUF_INIT(TEXT_MOST);
	struct node *one = node_new_array(&c->arena);
	size_t column = 0;
	union {
		const struct node *read;
		struct node *write;
	} lent = {doc};

	node_append(&c->arena, one, lent.write);
	learn_names(c, k->fields, "", one);
	add_all(&d, k->fields, doc);
	for (size_t i = 0; i < d.n; i++)
		if (text_width(d.lines[i].label) > column)
			column = text_width(d.lines[i].label);
	for (size_t i = 0; i < d.n; i++)
		write_line(&c->style, &d.lines[i], column + GAP, &b);
	cli_print(c, &b);
}
