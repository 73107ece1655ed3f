/*
 * xml - XML written with everything escaped, and read.
 *
 *	struct xml *x = xml_new();
 *
 *	xml_begin(x, "disk");
 *	xml_attr(x, "type", "file");
 *	xml_leaf(x, "serial", serial);
 *	xml_end(x);
 *	return xml_finish(x, out, err);
 *
 * Nothing is looked at before xml_finish(), which tells what went wrong: text
 * that XML cannot carry is ERR_INVALID, never changed.  libxml2 is kept to this
 * module.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct xml;

struct xml *xml_new(void);
void xml_begin(struct xml *x, const char *element);
/* The same in a namespace: <PREFIX:ELEMENT xmlns:PREFIX="URI">. */
void xml_begin_in(struct xml *x, const char *prefix, const char *element,
		  const char *uri);
void xml_attr(struct xml *x, const char *name, const char *value);
void xml_attr_int(struct xml *x, const char *name, int64_t value);
void xml_text(struct xml *x, const char *text);
void xml_int(struct xml *x, int64_t value);
void xml_end(struct xml *x);
/* An element with nothing but text in it. */
void xml_leaf(struct xml *x, const char *element, const char *text);
void xml_leaf_int(struct xml *x, const char *element, int64_t value);

/* What was written goes to the end of OUT; X is freed, also on failure. */
int xml_finish(struct xml *x, struct buf *out, struct err *err) MUST_CHECK;

/* Reading: no entities, no network, bounded. */
struct xml_doc;
struct xml_node; /* an element; lives as long as the document */

struct xml_doc *xml_parse(const char *text, size_t len, struct err *err);
void xml_free(struct xml_doc *d); /* NULL is fine */
const struct xml_node *xml_root(const struct xml_doc *d);

/* The first child of that name under N, by a path: "os/type"; NULL when there is
 * none, or N is NULL. */
const struct xml_node *xml_child(const struct xml_node *n, const char *path);
/* The next sibling of the same name. */
const struct xml_node *xml_next(const struct xml_node *n);

/* In A; NULL when there is none, or N is NULL. */
const char *xml_value(const struct xml_node *n, struct arena *a);
const char *xml_get(const struct xml_node *n, const char *attr,
		    struct arena *a);
bool xml_is(const struct xml_node *n, const char *attr, const char *value);
