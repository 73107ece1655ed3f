/*
 * field - a struct's JSON shape, said once.
 *
 * One table of rows drives decoding and checking, encoding, immutability,
 * redaction, the API's schema, the CLI's columns and flags, and the reference
 * documentation; nothing else in the tree names a JSON member.
 *
 * How a row's member is kept: FIELD_STRING and FIELD_RAW as const char * (NULL
 * is absent), FIELD_INT as int64_t (FIELD_NONE is absent), FIELD_TIME as
 * int64_t Unix milliseconds (0 is absent), FIELD_BOOL as bool, FIELD_ENUM as
 * int (0 is absent, then an index into names), FIELD_OBJECT as the struct
 * itself, FIELD_LIST as struct items, FIELD_TAGS as struct items of struct
 * field_tag.  FIELD_INCLUDE puts another table's rows at this level.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/format.h"
#include "base/json.h"

enum field_type {
	FIELD_END,
	FIELD_STRING,
	FIELD_INT,
	FIELD_BOOL,
	FIELD_TIME,
	FIELD_ENUM,
	FIELD_RAW, /* any JSON, kept as its compact text */
	FIELD_TAGS,
	FIELD_OBJECT,
	FIELD_LIST,
	FIELD_INCLUDE,
};

enum {
	FIELD_REQUIRED = 1 << 0,
	FIELD_IMMUTABLE = 1 << 1, /* set at creation, never changed */
	FIELD_READ_ONLY = 1 << 2, /* ours to set: refused in a request */
	FIELD_SECRET = 1 << 3,    /* accepted and stored, never shown */
	FIELD_INDEX = 1 << 4,     /* lists may be filtered by it, fast */
	FIELD_COLUMN = 1 << 5,    /* in the CLI's table */
	FIELD_WIDE = 1 << 6,      /* in the CLI's wide table */
	FIELD_STATE = 1 << 7,     /* the state that ?wait= waits for */
	FIELD_WEAK = 1 << 9,      /* taken out when what it names is deleted */
	FIELD_ALWAYS = 1 << 8,    /* written even when empty */
	FIELD_SPARSE = 1 << 10,   /* a number that is 0 when it is absent */
};

#define FIELD_NONE        INT64_MIN
#define FIELD_STRING_MOST 1024 /* bytes, when a row says no max */
#define FIELD_LIST_MOST   128  /* items, likewise */
#define FIELD_TAGS_MOST   50

struct field {
	const char *name;
	enum field_type type;
	unsigned flags;
	size_t offset;
	const char *doc;             /* a sentence for people */
	const struct format *format; /* strings, and strings in lists */
	const char *const *names;    /* enums: names[0] NULL, ends with NULL */
	const char *refers;          /* the kind whose id this is */
	const struct field *fields;  /* of an object, include or list item */
	enum field_type item;        /* what a list holds */
	size_t size;                 /* of one item in a list */
	int64_t min, max;     /* value, bytes or items; both 0: default */
	const char *fallback; /* the default, as JSON */
};

struct items {
	void *at;
	size_t n;
};

struct field_tag {
	const char *key, *value;
};

struct violation {
	const char *pointer, *message;
};

enum { VIOLATIONS_MOST = 32 };

struct violations {
	struct arena *arena;
	struct violation list[VIOLATIONS_MOST];
	size_t n;       /* may be more than are kept */
	bool immutable; /* every one is about a field that cannot change */
};

/* What is being read, and so what is accepted. */
enum field_mode {
	FIELD_CREATE, /* a request: no read-only fields, required ones there */
	FIELD_UPDATE, /* a whole new version: settle it with field_settle() */
	FIELD_STORED, /* our own document: everything as it is */
};

enum field_view {
	FIELD_PUBLIC, /* without secrets */
	FIELD_FULL,   /* for the store */
};
