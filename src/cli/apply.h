/*
 * apply - making a server hold what manifests say.
 *
 * First everything is planned: the documents are put in order (what others
 * refer to comes first), names become ids, and the server is asked what each
 * would do (?plan=true).  Only a plan without an error is carried out.  A
 * document that refers to one that is not there yet is checked here instead,
 * and its names are looked up again when their turn has come.
 */
#pragma once

#include "cli/manifest.h"

enum apply_action { APPLY_NOTHING, APPLY_CREATE, APPLY_UPDATE, APPLY_DELETE };

struct apply_item {
	const struct manifest_doc *doc; /* NULL: it is pruned */
	const struct kind *kind;
	const char *name;
	const char *id;               /* of what is there; NULL: it is not */
	const char *stand;            /* stands for the id until there is one */
	struct node *near;            /* ids that are known about where it is */
	struct node *body;            /* what is sent */
	const struct node *old, *new; /* as it is and will be, or NULL */
	const struct node *plan;      /* the server's, or NULL */
	enum apply_action action;
	const char *need; /* what has to be allowed, or NULL */
	bool waits;       /* refers to what is not there yet */
};

struct apply {
	struct cli *cli;
	struct manifest manifest;
	struct apply_item *items; /* in order; those to prune come last */
	size_t n;
	const char *project; /* id, or NULL: the documents say */
	const char *allow;   /* or NULL */
	size_t errors;       /* that were told */
};

/* Put the documents in order; an error when they refer to each other. */
int apply_order(struct apply *a, struct failure *p) MUST_CHECK;

/* Plan every item; what is wrong is told, and counted in errors. */
void apply_plan(struct apply *a);

/* Add what is tagged TAG ("key=value") in the manifest's projects, and is not
 * in the manifest, as to be deleted. */
int apply_prune(struct apply *a, const char *tag, struct failure *p) MUST_CHECK;

/* Make ITEM's body with what is known by now. */
int apply_translate(struct apply *a, struct apply_item *item,
		    struct failure *p) MUST_CHECK;

/* Tell what is wrong with ITEM. */
void apply_error(struct apply *a, const struct apply_item *item,
		 const struct failure *p);

/* The plan for people. */
void apply_show(struct apply *a);

extern const struct command_option apply_options[], diff_options[];
int apply_run(struct cli *c, int argc, char **argv);
int apply_diff(struct cli *c, int argc, char **argv);
