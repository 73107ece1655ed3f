#include <stdio.h>
#include <string.h>

#include "base/json_tree.h"
#include "base/utf8.h"
#include "base/word.h"

/* Twice what the parser lets through: only a loop goes deeper. */
enum { DEPTH_MOST = 4096 };

struct writer {
	struct buf *out;
	bool indent;
	unsigned depth;
};

static void write_value(struct writer *w, const struct node *n);

/* DEL is written as an escape, though it need not be. */
static uint64_t marks_at(const char *s)
{
	uint64_t w = word_load(s);
	uint64_t del = (w ^ WORD_EACH(0x7f)) - WORD_EACH(1);

	return word_string_marks(w) | (del & WORD_EACH(0x80));
}

/* How many bytes from S are ASCII that needs no escape. */
static size_t plain_ascii(const char *s, size_t len)
{
	static const bool plain[256] = {
		[' ' ... '!'] = true,
		['#' ... '['] = true,
		[']' ... '~'] = true,
	};
	uint64_t marks;
	size_t i = 0;

	for (; len - i >= 8; i += 8) {
		marks = marks_at(s + i);
		if (marks)
			return i + word_first(marks);
	}
	if (i && i < len) {
		/* The last eight, without those that were looked at. */
		marks = marks_at(s + len - 8) >> (8 * (8 - (len - i)));
		return marks ? i + word_first(marks) : len;
	}
	while (i < len && plain[(unsigned char)s[i]])
		i++;
	return i;
}

/* How many bytes from S need no escape. */
static size_t plain_run(const char *s, size_t len)
{
	size_t i = plain_ascii(s, len);

	while (i < len && (unsigned char)s[i] >= 0x80) {
		uint32_t c;
		size_t n = utf8_take(s + i, len - i, &c);

		if (!n)
			break;
		i += n;
		i += plain_ascii(s + i, len - i);
	}
	return i;
}

/* With digits like HEX's, where there is no shorter form. */
static void add_control(struct buf *out, unsigned char c, const char *hex)
{
	static const char special[] = "\"\\\b\f\n\r\t";
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
	const char *hit = memchr(special, c, sizeof(special) - 1);

	if (!hit) {
		buf_add(out, text, sizeof(text));
		return;
	}
	text[1] = "\"\\bfnrt"[hit - special];
	buf_add(out, text, 2);
}

/* ESCAPE adds what cannot stand as it is. */
static void add_string(struct buf *out, const char *s, size_t len,
		       void (*escape)(struct buf *out, unsigned char c))
{
	buf_addc(out, '"');
	while (len) {
		size_t n = plain_run(s, len);

		buf_add(out, s, n);
		s += n;
		len -= n;
		if (!len)
			break;
		escape(out, (unsigned char)*s++);
		len--;
	}
	buf_addc(out, '"');
}

static void add_escape(struct buf *out, unsigned char c)
{
	if (c >= 0x80)
		buf_adds(out, "\xef\xbf\xbd");
	else
		add_control(out, c, "0123456789abcdef");
}

void json_add_string(struct buf *out, const char *s, size_t len)
{
	add_string(out, s, len, add_escape);
}

/*
 * What a tree is written as is kept in raw fields and compared with what was
 * kept before, so it stays what jansson wrote: capital digits in an escape, and
 * DEL as it is.
 */
static void write_escape(struct buf *out, unsigned char c)
{
	if (c == 0x7f)
		buf_addc(out, (char)c);
	else
		add_control(out, c, "0123456789ABCDEF");
}

static void write_string(struct buf *out, const char *s, size_t len)
{
	add_string(out, s, len, write_escape);
}

/* With all its digits, and never like an integer: 1.0, 1e20, 1.5e-7. */
static void write_real(struct buf *out, double d)
{
	static const char digits[] = "0123456789";
	char text[40];
	const char *p = text;
	size_t n;

	snprintf(text, sizeof(text), "%.17g", d);
	n = strspn(text, "-0123456789");
	buf_add(out, p, n);
	p += n;
	if (!*p)
		buf_adds(out, ".0");
	if (*p && *p != 'e') {
		/* Whatever the locale has for a point. */
		p += strcspn(p, digits);
		n = strspn(p, digits);
		buf_addc(out, '.');
		buf_add(out, p, n);
		p += n;
	}
	if (*p == 'e') {
		buf_adds(out, p[1] == '-' ? "e-" : "e");
		p += 2;
		buf_adds(out, p + strspn(p, "0"));
	}
}

static void new_line(struct writer *w)
{
	if (!w->indent)
		return;
	buf_addc(w->out, '\n');
	for (unsigned i = 0; i < w->depth; i++)
		buf_adds(w->out, "  ");
}

static void write_items(struct writer *w, const struct node *array)
{
	for (size_t i = 0; i < array->count; i++) {
		if (i)
			buf_addc(w->out, ',');
		new_line(w);
		write_value(w, array->items->at[i]);
	}
}

static void write_members(struct writer *w, const struct node *object)
{
	const struct members *members = object->members;
	size_t n = 0;

	for (uint32_t i = 0; members && i < members->used; i++) {
		const struct member *m = &members->at[i];

		if (!m->value)
			continue;
		if (n++)
			buf_addc(w->out, ',');
		new_line(w);
		write_string(w->out, m->key, m->len);
		buf_adds(w->out, w->indent ? ": " : ":");
		write_value(w, m->value);
	}
}

static void write_parts(struct writer *w, const struct node *n)
{
	bool array = n->type == NODE_ARRAY;

	buf_addc(w->out, array ? '[' : '{');
	if (++w->depth > DEPTH_MOST)
		w->out->full = true;
	else if (array)
		write_items(w, n);
	else
		write_members(w, n);
	w->depth--;
	if (n->count)
		new_line(w);
	buf_addc(w->out, array ? ']' : '}');
}

static void write_value(struct writer *w, const struct node *n)
{
	if (!buf_ok(w->out))
		return;
	switch ((enum node_type)n->type) {
	case NODE_NULL:
		buf_adds(w->out, "null");
		break;
	case NODE_BOOL:
		buf_adds(w->out, n->truth ? "true" : "false");
		break;
	case NODE_INT:
		buf_addi(w->out, n->integer);
		break;
	case NODE_REAL:
		write_real(w->out, n->real);
		break;
	case NODE_STRING:
		write_string(w->out, n->text, n->count);
		break;
	case NODE_ARRAY:
	case NODE_OBJECT:
		write_parts(w, n);
		break;
	}
}

void json_write(const struct node *n, bool indent, struct buf *out)
{
	struct writer w = {out, indent, 0};

	if (n)
		write_value(&w, n);
	else
		out->full = true;
}
