#include "cli/table.h"

#include <assert.h>
#include <string.h>

#include "cli/text.h"

#define GAP       2
#define CUT_LEAST 12 /* columns are never cut below this */

struct table_cell {
	const char *text;
	enum tone tone;
	size_t width;
};

void table_init(struct table *t, struct arena *a)
{
	*t = (struct table){.arena = a};
}

void table_column(struct table *t, const char *title, unsigned flags)
{
	assert(t->n_columns < TABLE_COLUMNS_MOST && !t->n_cells);
	t->columns[t->n_columns++] =
		(struct table_column){title, flags, text_width(title)};
}

void table_cell(struct table *t, const char *text, enum tone tone)
{
	if (t->n_cells == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct table_cell *cells =
			arena_alloc(t->arena, room * sizeof(*cells));

		if (t->n_cells)
			memcpy(cells, t->cells, t->n_cells * sizeof(*cells));
		t->cells = cells;
		t->room = room;
	}
	text = text_safe(t->arena, text);
	t->cells[t->n_cells++] =
		(struct table_cell){text, tone, text_width(text)};
}

static void measure(struct table *t)
{
	assert(t->n_columns);
	for (size_t i = t->written * t->n_columns; i < t->n_cells; i++) {
		struct table_column *c = &t->columns[i % t->n_columns];

		if (t->cells[i].width > c->width)
			c->width = t->cells[i].width;
	}
}

static size_t row_width(const struct table *t)
{
	size_t width = (t->n_columns - 1) * GAP;

	for (size_t i = 0; i < t->n_columns; i++)
		width += t->columns[i].width;
	return width;
}

/* Take from the widest column that may be cut until a row fits. */
static void fit(struct table *t, size_t width)
{
	while (row_width(t) > width) {
		struct table_column *widest = NULL;

		for (size_t i = 0; i < t->n_columns; i++) {
			struct table_column *c = &t->columns[i];

			if (c->flags & TABLE_CUT && c->width > CUT_LEAST &&
			    (!widest || c->width > widest->width))
				widest = c;
		}
		if (!widest)
			return;
		widest->width--;
	}
}

static const char *escape_of(enum tone tone)
{
	switch (tone) {
	case TONE_PLAIN:
		break;
	case TONE_HEAD:
		return "\033[1m";
	case TONE_FAINT:
		return "\033[2m";
	case TONE_GOOD:
		return "\033[32m";
	case TONE_BUSY:
		return "\033[33m";
	case TONE_BAD:
		return "\033[31m";
	}
	return NULL;
}

void table_add_toned(struct buf *out, const struct style *style, enum tone tone,
		     const char *text)
{
	const char *escape = style->color && *text ? escape_of(tone) : NULL;

	if (escape)
		buf_adds(out, escape);
	buf_adds(out, text);
	if (escape)
		buf_adds(out, "\033[0m");
}

static void write_cell(const struct table *t, size_t column,
		       const struct table_cell *cell, const struct style *style,
		       struct buf *out)
{
	const struct table_column *c = &t->columns[column];
	struct buf text = BUF_INIT((size_t)16 << 20);
	size_t width = cell->width < c->width ? cell->width : c->width;
	bool last = column + 1 == t->n_columns;

	if (c->flags & TABLE_CUT)
		text_add_cut(&text, cell->text, c->width);
	else
		buf_adds(&text, cell->text);
	if (c->flags & TABLE_RIGHT)
		text_add_spaces(out, c->width - width);
	table_add_toned(out, style, cell->tone, buf_str(&text));
	if (!last && !(c->flags & TABLE_RIGHT))
		text_add_spaces(out, c->width - width);
	if (!last)
		text_add_spaces(out, GAP);
	buf_release(&text);
}

/* Empty cells at the end of a row leave no spaces behind. */
static void end_line(struct buf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_addc(out, '\n');
}

void table_write(struct table *t, const struct style *style, bool head,
		 struct buf *out)
{
	size_t rows = t->n_columns ? t->n_cells / t->n_columns : 0;

	measure(t);
	if (style->width)
		fit(t, style->width);
	for (size_t i = 0; head && i < t->n_columns; i++) {
		struct table_cell cell = {t->columns[i].title, TONE_HEAD,
					  text_width(t->columns[i].title)};

		write_cell(t, i, &cell, style, out);
	}
	if (head)
		end_line(out);
	for (; t->written < rows; t->written++) {
		const struct table_cell *row =
			t->cells + t->written * t->n_columns;

		for (size_t i = 0; i < t->n_columns; i++)
			write_cell(t, i, &row[i], style, out);
		end_line(out);
	}
}

enum tone table_state_tone(const char *state)
{
	static const struct {
		const char *word;
		enum tone tone;
	} words[] = {
		{"running", TONE_GOOD},        {"provisioned", TONE_GOOD},
		{"healthy", TONE_GOOD},        {"ready", TONE_GOOD},
		{"active", TONE_GOOD},         {"available", TONE_GOOD},
		{"pending", TONE_BUSY},        {"provisioning", TONE_BUSY},
		{"stopping", TONE_BUSY},       {"terminating", TONE_BUSY},
		{"deprovisioning", TONE_BUSY}, {"degraded", TONE_BUSY},
		{"failed", TONE_BAD},          {"error", TONE_BAD},
		{"unknown", TONE_BAD},         {"stopped", TONE_FAINT},
		{"terminated", TONE_FAINT},
	};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (strcmp(words[i].word, state) == 0)
			return words[i].tone;
	return TONE_PLAIN;
}
