/*
 * cache - every object in memory, with its recent past and its indexes.
 *
 * An entry is an object's identity; its versions hang on it, newest first, the
 * ones not yet durable among them.  What was true at revision R is the first
 * version at or before R.  An index holds an entry as long as any of its
 * versions has the value, so a reader looks at the version once more.
 *
 * The store's own; others use store.h and read.h.
 */
#pragma once

#include "base/list.h"
#include "base/map.h"
#include "base/sorted.h"
#include "model/kind.h"
#include "store/store.h"

enum { INDEX_FIELDS_MOST = 24 };

/* A field that is indexed, or that refers to another object. */
struct index_field {
	char path[64];                    /* "spec.flavorId" */
	const struct field *field, *list; /* and the list it lies in, or NULL */
	size_t list_offset, offset; /* in the object; in it, or in an item */
	const struct kind *refers;
};

struct cache {
	const struct kind *kind;
	struct map by_id;
	struct sorted by_order;
	struct map buckets; /* "path=value" to struct bucket */
	uint64_t freed;     /* the newest revision that gave one up */
	struct index_field fields[INDEX_FIELDS_MOST];
	size_t n_fields;
	ptrdiff_t within, within_else; /* of names: where it is, or -1 */
	bool has_secrets;
	size_t live;      /* objects there now, pending ones included */
	uint64_t changed; /* the newest durable change */
	store_observe *observe;
	void *observe_ctx;
};

struct entry {
	struct cache *cache;
	struct version *newest;
	struct bucket *named; /* NULL: it has no name now */
	struct list name_link;
	char id[];
};

/* One transaction's writes: a row of the log in memory. */
struct change {
	uint64_t revision;
	int64_t at;
	struct version **versions; /* in the order written; NULL: let go */
	struct version *one;       /* where a single one is */
	size_t n, room;
	size_t live;    /* versions that are still held */
	size_t bytes;   /* of their lines */
	bool in_log;    /* not yet expired */
	bool trimming;  /* its row has lost lines: write what is left */
	bool rewriting; /* its row is of an older version: write it anew */
	struct memo *memo;
	struct note *note; /* for the audit trail, until it is written */
	struct list trim_link;
};

struct version {
	struct record record; /* first; its id is the entry's */
	struct entry *entry;
	struct version *older, *newer;
	struct change *change;
	size_t place;      /* among the change's versions */
	char *public_json; /* when it is not part of the line */
	char *line;        /* as it goes into the log, newline included */
	size_t line_len;
};

/* ALL: the kinds that fields may refer to. */
void cache_init(struct cache *c, const struct kind *k,
		const struct kind *const *all);

/* Frees every entry and version; their changes are the caller's. */
void cache_release(struct cache *c);

struct entry *cache_find(const struct cache *c, const char *id);

/* The version that holds at revision AT, maybe a tombstone; or NULL. */
struct version *entry_at(const struct entry *e, uint64_t at);

/* Make a version and hang it on its entry, which is made when need be, and on
 * CHANGE.  OBJECT is copied; NULL makes a tombstone.  LINE is copied. */
struct version *cache_add(struct cache *c, struct change *change,
			  const char *id, const void *object, const char *line,
			  size_t line_len);

/* Take V off its entry, which goes with its last version, not off its change. */
void cache_remove(struct version *v);
size_t version_bytes(const struct version *v); /* of memory */

/* Those that have PATH=VALUE in some version; NULL when there is none. */
const struct sorted *cache_index(const struct cache *c, const char *path,
				 const char *value);

/* OBJECT's member PATH is VALUE now. */
bool cache_matches(const struct cache *c, const void *object, const char *path,
		   const char *value);

/* OBJECT is about to be added: have its places fetched from memory. */
void cache_expect(const struct cache *c, const void *object);

/* Who else has OBJECT's name now, where it must be unique; or NULL. */
struct entry *cache_named(const struct cache *c, const void *object);

/* Hold the indexes against every version; TELL is told of differences. */
void cache_check(const struct cache *c,
		 void (*tell)(void *ctx, const char *id, const char *what),
		 void *ctx);
