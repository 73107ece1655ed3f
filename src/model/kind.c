#include "model/kind.h"

#include <assert.h>
#include <string.h>

#include "model/event.h"
#include "model/flavor.h"
#include "model/group.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/organization.h"
#include "model/project.h"
#include "model/quota.h"
#include "model/region.h"
#include "model/role.h"
#include "model/securitygroup.h"
#include "model/server.h"
#include "model/serviceaccount.h"
#include "model/sshca.h"
#include "model/token.h"
#include "model/user.h"
#include "model/volume.h"

#define AT(member) offsetof(struct meta, member)

#define ID_ROW                                                                 \
	{                                                                      \
		"id", FIELD_STRING, FIELD_READ_ONLY | FIELD_WIDE, AT(id),      \
			"Given by the server, never changes.", &format_uuid    \
	}

/* What stands behind the name, in both tables. */
static const struct field later_fields[] = {
	{"description", FIELD_STRING, FIELD_WIDE, AT(description),
	 "A line for people.", &format_text, .max = 512},
	{"tags", FIELD_TAGS, FIELD_INDEX | FIELD_WIDE, AT(tags),
	 "Free pairs of key and value, for finding things again."},
	{"revision", FIELD_INT, FIELD_READ_ONLY | FIELD_WIDE, AT(revision),
	 "The store's revision at which it last changed; the ETag."},
	{"generation", FIELD_INT, FIELD_READ_ONLY, AT(generation),
	 "Counts the changes of what is wanted."},
	{"createdAt", FIELD_TIME, FIELD_READ_ONLY | FIELD_COLUMN,
	 AT(created_at), "When it was created."},
	{"createdBy", FIELD_STRING, FIELD_READ_ONLY, AT(created_by),
	 "Who created it."},
	{"updatedAt", FIELD_TIME, FIELD_READ_ONLY, AT(updated_at),
	 "When it last changed."},
	{"updatedBy", FIELD_STRING, FIELD_READ_ONLY, AT(updated_by),
	 "Who changed it last."},
	{"deletedAt", FIELD_TIME, FIELD_READ_ONLY, AT(deleted_at),
	 "When its deletion was asked for; absent while it is wanted."},
	{0},
};

#define LATER_ROWS                                                             \
	{                                                                      \
		.type = FIELD_INCLUDE, .fields = later_fields                  \
	}

const struct field meta_fields[] = {
	ID_ROW,
	{"name", FIELD_STRING, FIELD_REQUIRED | FIELD_COLUMN, AT(name),
	 "What people call it.", &format_name, .min = 1, .max = 63},
	LATER_ROWS,
	{0},
};

const struct field meta_unnamed_fields[] = {
	ID_ROW,
	LATER_ROWS,
	{0},
};

/* What is referred to comes before what refers to it: a cascade goes from the
 * end to the beginning.  What machines use is counted until they are gone. */
const struct kind *const kinds[] = {
	&organization_kind,   &project_kind,   &user_kind,
	&serviceaccount_kind, &role_kind,      &group_kind,
	&token_kind,          &quotakind_kind, &quota_kind,
	&allocation_kind,     &region_kind,    &flavor_kind,
	&image_kind,          &network_kind,   &securitygroup_kind,
	&sshca_kind,          &volume_kind,    &instance_kind,
	&server_kind,         &event_kind,     NULL, /* ends it */
};

const struct kind *kind_find(const char *name)
{
	for (const struct kind *const *k = kinds; *k; k++)
		if (strcmp((*k)->name, name) == 0 ||
		    strcmp((*k)->plural, name) == 0)
			return *k;
	return NULL;
}

size_t kind_index(const struct kind *k)
{
	size_t i = 0;

	for (; kinds[i] != k; i++)
		assert(kinds[i]);
	return i;
}

static const char *text_at(const void *object, size_t offset)
{
	const void *at = (const char *)object + offset;

	return offset ? *(const char *const *)at : NULL;
}

struct owner kind_owner(const struct kind *k, const void *object)
{
	const struct meta *meta = object;

	if (k == &organization_kind)
		return (struct owner){meta->id, NULL};
	if (k == &project_kind)
		return (struct owner){text_at(object, k->organization_at),
				      meta->id};
	return (struct owner){text_at(object, k->organization_at),
			      text_at(object, k->project_at)};
}
