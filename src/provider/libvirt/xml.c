#include "provider/libvirt/xml.h"

#include <libxml/parser.h>
#include <libxml/xmlwriter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define TEXT_MOST ((size_t)4 << 20)

struct xml {
	xmlBufferPtr buffer;
	xmlTextWriterPtr writer;
	bool failed;        /* libxml2 did */
	const char *cannot; /* be said: the element or attribute */
};

struct xml *xml_new(void)
{
	struct xml *x = xcalloc(1, sizeof(*x));

	x->buffer = xmlBufferCreate();
	x->writer = x->buffer ? xmlNewTextWriterMemory(x->buffer, 0) : NULL;
	x->failed = !x->writer;
	return x;
}

static const xmlChar *chars(const char *s)
{
	return (const xmlChar *)s;
}

static void note(struct xml *x, int r)
{
	x->failed |= r < 0;
}

/* XML has no way to say most control characters, nor two others. */
static bool can_say(const char *s)
{
	size_t len = strlen(s), n;
	uint32_t c;

	for (; len; s += n, len -= n) {
		n = utf8_take(s, len, &c);
		if (!n || c == 0xfffe || c == 0xffff)
			return false;
		if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
			return false;
	}
	return true;
}

static bool check(struct xml *x, const char *where, const char *s)
{
	if (!x->failed && !x->cannot && !can_say(s))
		x->cannot = where;
	return !x->failed && !x->cannot;
}

void xml_begin(struct xml *x, const char *element)
{
	if (check(x, element, element))
		note(x, xmlTextWriterStartElement(x->writer, chars(element)));
}

void xml_begin_in(struct xml *x, const char *prefix, const char *element,
		  const char *uri)
{
	if (check(x, element, element))
		note(x,
		     xmlTextWriterStartElementNS(x->writer, chars(prefix),
						 chars(element), chars(uri)));
}

void xml_attr(struct xml *x, const char *name, const char *value)
{
	if (check(x, name, value))
		note(x, xmlTextWriterWriteAttribute(x->writer, chars(name),
						    chars(value)));
}

void xml_attr_int(struct xml *x, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	xml_attr(x, name, text);
}

void xml_text(struct xml *x, const char *text)
{
	if (check(x, "text", text))
		note(x, xmlTextWriterWriteString(x->writer, chars(text)));
}

void xml_int(struct xml *x, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	xml_text(x, text);
}

void xml_end(struct xml *x)
{
	if (!x->failed && !x->cannot)
		note(x, xmlTextWriterEndElement(x->writer));
}

void xml_leaf(struct xml *x, const char *element, const char *text)
{
	xml_begin(x, element);
	if (check(x, element, text))
		xml_text(x, text);
	xml_end(x);
}

void xml_leaf_int(struct xml *x, const char *element, int64_t value)
{
	xml_begin(x, element);
	xml_int(x, value);
	xml_end(x);
}

int xml_finish(struct xml *x, struct buf *out, struct err *err)
{
	int r = 0;

	if (!x->failed && !x->cannot)
		note(x, xmlTextWriterEndDocument(x->writer));
	if (x->failed)
		r = err_set(err, ERR_INTERNAL, "XML could not be written");
	else if (x->cannot)
		r = err_set(err, ERR_INVALID,
			    "%s has characters that XML cannot carry",
			    x->cannot);
	else
		buf_add(out, xmlBufferContent(x->buffer),
			(size_t)xmlBufferLength(x->buffer));
	if (r == 0 && !buf_ok(out))
		r = err_set(err, ERR_TOO_LARGE, "it is too much XML");
	if (x->writer)
		xmlFreeTextWriter(x->writer);
	if (x->buffer)
		xmlBufferFree(x->buffer);
	free(x);
	return r;
}

/* libxml2's own types, under names of ours. */

static const xmlNode *node_of(const struct xml_node *n)
{
	return (const xmlNode *)(const void *)n;
}

static const struct xml_node *from_node(const xmlNode *n)
{
	return (const struct xml_node *)(const void *)n;
}

struct xml_doc *xml_parse(const char *text, size_t len, struct err *err)
{
	xmlDocPtr d = NULL;

	if (len <= TEXT_MOST)
		d = xmlReadMemory(text, (int)len, NULL, NULL,
				  XML_PARSE_NONET | XML_PARSE_NOERROR |
					  XML_PARSE_NOWARNING);
	/* Entities could be made to be anything; nobody here writes them. */
	if (d && d->intSubset) {
		xmlFreeDoc(d);
		d = NULL;
	}
	if (!d)
		err_set(err, ERR_PROVIDER, "what libvirt says is no XML");
	return (struct xml_doc *)(void *)d;
}

void xml_free(struct xml_doc *d)
{
	if (d)
		xmlFreeDoc((xmlDocPtr)(void *)d);
}

const struct xml_node *xml_root(const struct xml_doc *d)
{
	return from_node(xmlDocGetRootElement((const xmlDoc *)(const void *)d));
}

static bool is_named(const xmlNode *n, const char *name, size_t len)
{
	return n->type == XML_ELEMENT_NODE &&
	       strlen((const char *)n->name) == len &&
	       memcmp(n->name, name, len) == 0;
}

const struct xml_node *xml_child(const struct xml_node *n, const char *path)
{
	while (n && *path) {
		size_t len = strcspn(path, "/");
		const xmlNode *c = node_of(n)->children;

		while (c && !is_named(c, path, len))
			c = c->next;
		n = from_node(c);
		path += len + (path[len] == '/');
	}
	return n;
}

const struct xml_node *xml_next(const struct xml_node *n)
{
	const char *name = (const char *)node_of(n)->name;
	const xmlNode *c = node_of(n)->next;

	while (c && !is_named(c, name, strlen(name)))
		c = c->next;
	return from_node(c);
}

static const char *kept(xmlChar *text, struct arena *a)
{
	const char *copy = text ? arena_strdup(a, (const char *)text) : NULL;

	xmlFree(text);
	return copy;
}

const char *xml_value(const struct xml_node *n, struct arena *a)
{
	return n ? kept(xmlNodeGetContent(node_of(n)), a) : NULL;
}

const char *xml_get(const struct xml_node *n, const char *attr, struct arena *a)
{
	return n ? kept(xmlGetNoNsProp(node_of(n), chars(attr)), a) : NULL;
}

bool xml_is(const struct xml_node *n, const char *attr, const char *value)
{
	xmlChar *text = n ? xmlGetNoNsProp(node_of(n), chars(attr)) : NULL;
	bool is = text && strcmp((const char *)text, value) == 0;

	xmlFree(text);
	return is;
}
