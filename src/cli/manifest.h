/*
 * manifest - files that say what there is to be.
 *
 * YAML documents (or JSON) of any kind: {kind, name, whose and where by name,
 * spec}.  Where the API has an id a manifest may have a name: "network: web"
 * for "networkId", "securityGroups: [ssh]" for "securityGroupIds"; and where
 * the API has base64, plain text.  Documents live in the cli's arena.
 */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "model/kind.h"

enum { MANIFEST_MOST = 10000 };

struct manifest_doc {
	const char *file; /* as it was named; "-" is standard input */
	size_t number;    /* in its file, from 1 */
	size_t line;      /* that it begins at */
	const char *text; /* the file's, whole */
	const struct kind *kind;
	const char *name;
	struct node *node; /* what it says, but for its kind */
};

struct manifest {
	struct manifest_doc *docs; /* in the order they were read */
	size_t n, room;
};

/* Add what is in a file, in the files of a folder (*.yaml, *.yml, *.json, by
 * name) or on standard input ("-"). */
int manifest_read(struct cli *c, const char *path, struct manifest *m,
		  struct failure *p) MUST_CHECK;

/* The same from TEXT, which is called FILE in messages. */
int manifest_parse(struct arena *a, const char *file, const char *text,
		   struct manifest *m, struct failure *p) MUST_CHECK;

/* The line of what a JSON pointer into DOC points to, as near as can be told. */
size_t manifest_line(const struct manifest_doc *doc, const char *pointer);

/* "web.yaml:12: instance web-1" */
const char *manifest_where(const struct manifest_doc *doc, const char *pointer,
			   struct arena *a);

/* How names become ids. */
struct manifest_world {
	struct arena *arena;
	int (*resolve)(void *ctx, const struct kind *k, const char *name,
		       const char **ret_id, struct failure *p);
	void *ctx;
};

/* The document as the API takes it, a new one.  Whose it is and where is looked
 * up first: that tells the names in the rest apart. */
int manifest_translate(const struct manifest_doc *doc,
		       const struct manifest_world *w, struct node **ret,
		       struct failure *p) MUST_CHECK;

/* Call EACH for every name that DOC refers to. */
void manifest_references(const struct manifest_doc *doc, struct arena *a,
			 void (*each)(void *ctx, const struct kind *k,
				      const char *name),
			 void *ctx);
