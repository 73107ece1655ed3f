/*
 * plan - what the server says that a change would do, for people.
 *
 * It comes with ?plan=true, and with the refusal of what would restart a
 * machine or destroy something: the action, which fields change, what is lost,
 * and price and quota before and after.
 */
#pragma once

#include "base/json.h"
#include "cli/table.h"

/* A line for each thing that it says, begun with INDENT spaces; nothing when
 * there is nothing to say but the action. */
void plan_write(const struct node *plan, const struct style *style,
		size_t indent, struct buf *out);

/* The same in a few words: "rebuild, loses rootDisk". */
void plan_brief(const struct node *plan, struct buf *out);

/* What has to be allowed for it: "restart", "rebuild", or NULL. */
const char *plan_needs(const struct node *plan);

/* ALLOWED (or NULL) is enough for NEED (or NULL). */
bool plan_is_allowed(const char *need, const char *allowed);
