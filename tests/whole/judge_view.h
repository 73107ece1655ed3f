/* judge_view - the judge's own view of all documents, and of their past. */
#pragma once

#include "judge_priv.h"

/* A row's lines become facts; those are j->touched until the next row. */
void view_row(struct judge *j, const struct row *row);
void view_release(struct judge *j);

enum noun_kind view_noun(const char *kind);

struct object *view_find(const struct judge *j, const char *kind,
			 struct text id);

/* What holds of it now; NULL: it is not there. */
const struct doc *view_now(const struct object *o);
const struct doc *view_get(const struct judge *j, const char *kind,
			   struct text id);

/* The fact that held at a revision, or NULL when it was not there then. */
const struct fact *view_at(const struct object *o, uint64_t revision);

/* The fact of an object that was newest at a revision; gone is one, too. */
struct fact *view_newest(const struct object *o, uint64_t revision);

/* What holds of objects of a noun now, one after the other; start with 0. */
const struct doc *view_each(const struct judge *j, enum noun_kind noun,
			    size_t *i, struct object **ret);

/* Zero: it is absent, or no time. */
int64_t view_time(struct text t);

/* For messages: "%.*s" of it. */
#define TEXT(t) (int)(t).len, (t).at ? (t).at : ""
