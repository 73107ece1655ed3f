/*
 * table - rows and columns, aligned.
 *
 * Cells are made safe for a terminal as they are added.  On a terminal columns
 * that may be cut give way until a row fits its width; elsewhere nothing is
 * cut and nothing is coloured.  Lives in the arena it was made with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/* What a text means, and so its colour. */
enum tone {
	TONE_PLAIN,
	TONE_HEAD,
	TONE_FAINT,
	TONE_GOOD,
	TONE_BUSY,
	TONE_BAD,
};

struct style {
	bool color;
	size_t width; /* of the terminal; 0: there is none */
};

enum { TABLE_COLUMNS_MOST = 32 };

enum {
	TABLE_RIGHT = 1 << 0, /* numbers */
	TABLE_CUT = 1 << 1,   /* may be cut to fit */
};

struct table_column {
	const char *title;
	unsigned flags;
	size_t width;
};

struct table_cell;

struct table {
	struct arena *arena;
	struct table_column columns[TABLE_COLUMNS_MOST];
	size_t n_columns;
	struct table_cell *cells;
	size_t n_cells, room;
	size_t written; /* rows that table_write() has written already */
};

void table_init(struct table *t, struct arena *a);

/* All columns come before the first cell. */
void table_column(struct table *t, const char *title, unsigned flags);

/* The next cell, rows being filled from left to right. */
void table_cell(struct table *t, const char *text, enum tone tone);

/* The rows not written yet, the titles before the first when HEAD.  Columns
 * keep at least the width they had before, so that a table can go on. */
void table_write(struct table *t, const struct style *style, bool head,
		 struct buf *out);

/* TEXT in the colour of its tone. */
void table_add_toned(struct buf *out, const struct style *style, enum tone tone,
		     const char *text);

/* "running" is good, "failed" is bad, "stopping" is under way. */
enum tone table_state_tone(const char *state);
