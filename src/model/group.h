/* group - who has which roles, and in which projects. */
#pragma once

#include "model/kind.h"

struct group {
	struct meta meta;            /* first, as in every noun */
	const char *organization_id; /* NULL: the platform's own */
	struct items user_ids, service_account_ids;
	struct items external_groups;       /* "ISSUER/GROUP" */
	struct items role_ids, project_ids; /* all of const char * */
};

extern const struct kind group_kind;
