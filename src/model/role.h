/*
 * role - what its holders may do: permissions, by the level they hold at.
 *
 * A permission is "noun:verb", either of which may be "*".  Those of the
 * organization's level hold for everything in the organization; those of the
 * project's level in the projects that a group names.
 */
#pragma once

#include "model/kind.h"

struct role {
	struct meta meta;            /* first, as in every noun */
	const char *organization_id; /* NULL: built in */
	bool built_in;
	struct items platform, organization, project; /* of const char * */
};

extern const struct kind role_kind;

/* Built in: the same in every installation, by fixed ids. */
struct built_in_role {
	const char *id, *name, *description;
	const char *const *platform, *const *organization, *const *project;
};

extern const struct built_in_role built_in_roles[];
extern const size_t n_built_in_roles;
