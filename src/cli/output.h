/*
 * output - documents as tables, details, JSON, YAML or names.
 *
 * Columns come from the noun's field table, values from the document as the
 * server sent it: what a newer server adds is in JSON, YAML and details too.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "model/kind.h"

struct output_column {
	const struct field *field;
	const char *path, *title;
};

struct output_columns {
	struct output_column list[TABLE_COLUMNS_MOST];
	size_t n;
	bool wide; /* ids and full times, rather than names and ages */
};

/* The columns of a table of K: its name, then the others, times last. */
void output_columns(struct output_columns *ret, const struct kind *k, bool wide,
		    struct arena *a);

/* Begin T with these columns; put a document's cells into its next row. */
void output_begin(const struct output_columns *cols, struct table *t);
void output_row(struct cli *c, const struct output_columns *cols,
		const struct node *doc, struct table *t);

/* Look up the names of what the columns refer to. */
void output_learn(struct cli *c, const struct output_columns *cols,
		  const struct node *items);

/* The kind that a field refers to, also where nothing holds it to that; NULL:
 * it does not. */
const char *output_refers(const struct field *f);

/* A value in a line; F may be NULL, when the field is news to us. */
void output_value(const struct cli *c, const struct field *f,
		  const struct node *n, struct buf *out);

/* The moment that N, a value of field F, says; false when it is no time. */
bool output_time(const struct field *f, const struct node *n, int64_t *ret);

/* An array of documents, as --output says. */
void output_list(struct cli *c, const struct kind *k, const struct node *items);

/* One document: every field on a line of its own, or as --output says. */
void output_one(struct cli *c, const struct kind *k, const struct node *doc);

/* What was done to a document: "Created project web.", or as --output says. */
void output_done(struct cli *c, const struct kind *k, const struct node *doc,
		 const char *done);

/* The reply to a request with ?plan=true. */
void output_plan(struct cli *c, const struct kind *k, const struct node *reply);

/* JSON or YAML, with a line break after it. */
void output_document(struct cli *c, const struct node *n, bool yaml);
