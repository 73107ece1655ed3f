/*
 * judge_glance - reads what is wanted out of a document, and skips the rest.
 *
 * It trusts that the text is JSON as the store writes it: nothing is copied, a
 * text is a part of the document, and escapes in it stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	const char *at; /* NULL: absent */
	size_t len;
};

enum glance_type {
	GLANCE_TEXT,   /* a string, into a struct text */
	GLANCE_RAW,    /* any value as it is written, into a struct text */
	GLANCE_INT,    /* into an int64_t */
	GLANCE_BOOL,   /* into a bool */
	GLANCE_OBJECT, /* by rows of its own, into the same struct */
};

struct glance_row {
	const char *name; /* NULL ends the table */
	enum glance_type type;
	size_t offset;
	const struct glance_row *rows;
};

/* False when it is not an object.  What is absent is left alone. */
bool glance(const struct glance_row *rows, struct text json, void *out);

/* Take the next item off a list, as it is written; false at its end.  Begin with
 * the list as a glance gave it. */
bool glance_next(struct text *list, struct text *ret);

/* A string's text, of what is written. */
struct text glance_string(struct text raw);

static inline bool text_is(struct text t, struct text u)
{
	return t.len == u.len && (t.at == NULL) == (u.at == NULL) &&
	       (t.at == u.at || __builtin_memcmp(t.at, u.at, t.len) == 0);
}

static inline struct text text_of(const char *s)
{
	return (struct text){s, s ? __builtin_strlen(s) : 0};
}

static inline bool text_eq(struct text t, const char *s)
{
	return t.at && text_is(t, text_of(s));
}
