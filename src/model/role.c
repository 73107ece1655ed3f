#include "model/role.h"

#define PERMISSIONS(level, words)                                              \
	{                                                                      \
#level, FIELD_LIST, FIELD_WIDE, offsetof(struct role, level),  \
			words, &format_permission,                             \
			.item = FIELD_STRING, .size = sizeof(const char *),    \
			.max = 256                                             \
	}

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING,
	 FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 offsetof(struct role, organization_id),
	 "The organization it belongs to; absent for those built in.",
	 &format_uuid, .refers = "organization"},
	{"builtIn", FIELD_BOOL, FIELD_READ_ONLY | FIELD_COLUMN,
	 offsetof(struct role, built_in),
	 "The same in every installation, and fixed."},
	PERMISSIONS(platform, "What it permits everywhere: \"projects:read\"."),
	PERMISSIONS(organization,
		    "What it permits in the organization of its group."),
	PERMISSIONS(project, "What it permits in the projects of its group."),
	{0},
};

const struct kind role_kind = {
	.name = "role",
	.plural = "roles",
	.title = "Role",
	.doc = "What its holders may do.",
	.open = true,
	.size = sizeof(struct role),
	.organization_at = offsetof(struct role, organization_id),
	.fields = fields,
	.unique_within = "organizationId",
	.version = 1,
};

static const char *const everything[] = {"*:*", NULL};
static const char *const all_read[] = {"*:read", NULL};

/* What is made and run in a project. */
#define COMPUTE                                                                \
	"images:*", "networks:*", "securitygroups:*", "sshcas:*", "volumes:*", \
		"instances:*"
#define COMPUTE_READ                                                           \
	"images:read", "networks:read", "securitygroups:read", "sshcas:read",  \
		"volumes:read", "instances:read"

/* Within an organization all but what is the platform's to decide; and what
 * the roles below have, so that it can give them. */
static const char *const administer[] = {
	"*:read",  "organizations:update", "projects:*", "users:*", "groups:*",
	"roles:*", "serviceaccounts:*",    "tokens:*",   COMPUTE,   NULL};

/* Regions and flavors are nobody's in particular; a project's images are its
 * own. */
static const char *const baseline[] = {
	"organizations:read", "projects:read", "roles:read",   "quotas:read",
	"quotakinds:read",    "regions:read",  "flavors:read", NULL};

static const char *const use_project[] = {
	"projects:read", "projects:update", "quotas:read", "allocations:read",
	"events:read",   COMPUTE,           NULL};

static const char *const read_project[] = {"projects:read",    "quotas:read",
					   "allocations:read", "events:read",
					   COMPUTE_READ,       NULL};

const struct built_in_role built_in_roles[] = {
	{"00000000-0000-5000-8000-000000000001", "platform-administrator",
	 "May do everything.", everything, NULL, NULL},
	{"00000000-0000-5000-8000-000000000002", "platform-reader",
	 "May read everything, and do nothing.", all_read, NULL, NULL},
	{"00000000-0000-5000-8000-000000000003", "administrator",
	 "May do everything in an organization but change its quota.", NULL,
	 administer, NULL},
	{"00000000-0000-5000-8000-000000000004", "auditor",
	 "May read everything in an organization.", NULL, all_read, NULL},
	{"00000000-0000-5000-8000-000000000005", "user",
	 "May use the projects of its group.", NULL, baseline, use_project},
	{"00000000-0000-5000-8000-000000000006", "reader",
	 "May read in the projects of its group.", NULL, baseline,
	 read_project},
};

const size_t n_built_in_roles = COUNT_OF(built_in_roles);
