/* resolve - names to ids, and back. */
#pragma once

#include "base/json.h"
#include "cli/cli.h"
#include "model/kind.h"

struct resolved {
	const char *id;
	struct node *doc; /* NULL when it was not read on the way */
};

/* The one of K that is called TEXT, which may be its id already.  NEAR holds
 * ids that are known ({"regionId": …}; or NULL): those that say another in the
 * same field are not meant. */
int resolve_id(struct cli *c, const struct kind *k, const char *text,
	       const struct node *near, struct resolved *ret,
	       struct failure *p) MUST_CHECK;

/* Take into NEAR what DOC, of kind K, tells about where it is, itself
 * included. */
void resolve_learn(struct cli *c, struct node *near, const struct kind *k,
		   const struct node *doc);

/* Learn the names of everything that ITEMS refer to at PATH. */
void resolve_names(struct cli *c, const char *kind, const struct node *items,
		   const char *path);

/* The name of what has this id, or the id when it was not learned. */
const char *resolve_name(const struct cli *c, const char *id);

/* What is at a path ("status.state") of a document, or NULL. */
const struct node *resolve_at(const struct node *doc, const char *path);
