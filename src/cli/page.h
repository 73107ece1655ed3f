/*
 * page - a command together with the noun it is about.
 *
 * The command tables and the kinds make one tree: "login", "context list",
 * "project create".  Dispatch, help, manual pages and completion all walk it
 * here, so that a command cannot be missing in one of them.  Pages live in the
 * arena of the cli they were made with.
 */
#pragma once

#include "cli/cli.h"

struct page {
	const char *path; /* "project create" */
	const struct command *command;
	const struct kind *kind; /* that it is about, or NULL */
};

/* The first-level page of that name, nouns in singular or plural; false when
 * there is none. */
bool page_find(struct cli *c, const char *name, struct page *ret);

/* The page below P of that name. */
bool page_find_child(struct cli *c, const struct page *p, const char *name,
		     struct page *ret);
struct page page_child(struct cli *c, const struct page *p,
		       const struct command *child);

/* "unknown command 'projct'; did you mean 'project'?"; P is NULL at the first
 * level.  Returns -1. */
int page_unknown(struct cli *c, const struct page *p, const char *name,
		 struct failure *failure);

/* Every first-level page: start with *I = 0, ends with false.  The nouns come
 * last. */
bool page_next(struct cli *c, size_t *i, struct page *ret);

/* The options of P besides the common ones, those made from fields included;
 * ended by a zeroed row.  The fields' alone go to *RET_FLAGS when not NULL. */
const struct command_option *page_options(struct cli *c, const struct page *p,
					  struct flags *ret_flags);

/* "project create [NAME] [options]". */
const char *page_usage(struct cli *c, const struct page *p);

/* A text of the page's tables with the noun filled in. */
const char *page_text(struct cli *c, const struct page *p, const char *text);
