/*
 * json_tree - what a struct node is made of; for the reader and the writer.
 *
 * A value is 16 bytes.  An array or object has its parts in one piece behind a
 * pointer, in the order they came, and moves to a piece of twice the size when
 * that is full.  Up to 32 members are looked through one by one; a larger piece
 * ends with an index of its members, by the hash of their keys, so that no body
 * that a user sends takes more than linear time.
 *
 * A member that was removed leaves a hole: no value, and a length that no key
 * has.  Holes are closed when the piece is full.
 */
#pragma once

#include "base/json.h"

struct member {
	const char *key; /* a NUL follows */
	struct node *value;
	uint32_t len, hash; /* the hash only where there is an index */
};

struct members {
	uint32_t used, room; /* holes count as used */
	struct member at[];  /* the index follows */
};

struct items {
	size_t room;
	struct node *at[];
};

struct node {
	uint8_t type;
	bool truth;
	uint32_t count; /* of parts; of bytes in a string */
	union {
		int64_t integer;
		double real;
		const char *text;        /* a NUL follows */
		struct items *items;     /* NULL while there are none */
		struct members *members; /* the same */
	};
};

/* Strings and keys are shorter than this. */
#define NODE_LEN_MOST ((size_t)UINT32_MAX)

/* Room for as many parts as will come, when that is known. */
bool node_expect(struct arena *a, struct node *n, size_t count);

/* False also when KEY is there already; it is kept itself, not a copy. */
bool node_add(struct arena *a, struct node *object, const char *key, size_t len,
	      struct node *value);

/* VALUE in the place of what was there, or at the end with a copy of KEY. */
bool node_put(struct arena *a, struct node *object, const char *key, size_t len,
	      struct node *value);
