#include "model/region.h"

#include <string.h>

#define SPEC(member)                                                           \
	offsetof(struct region, spec.member) - offsetof(struct region, spec)
#define STATUS(member)                                                         \
	offsetof(struct region, status.member) - offsetof(struct region, status)

const char *const orphan_policy_names[] = {NULL, "report", "remove", NULL};
const char *const orphan_kind_names[] = {
	NULL, "machine", "network", "securitygroup", "image", "volume", NULL};

static const struct field spec_fields[] = {
	{"provider", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 SPEC(provider), "The driver: see `muster provider list`.",
	 &format_name, .min = 1, .max = 63},
	{"options", FIELD_RAW, 0, SPEC(options),
	 "What the driver is told; its documentation lists the words.",
	 .max = 65536},
	{"credentials", FIELD_RAW, FIELD_SECRET, SPEC(credentials),
	 "What the driver signs in with.", .max = 65536},
	{"organizationIds", FIELD_LIST, 0, SPEC(organization_ids),
	 "Who may see and use it; none: everyone.", &format_uuid,
	 .refers = "organization", .item = FIELD_STRING,
	 .size = sizeof(const char *)},
	{"syncSeconds", FIELD_INT, 0, SPEC(sync_seconds),
	 "How often flavors and images are read from the provider.", .min = 1,
	 .max = 86400, .fallback = "300"},
	{"callsAtOnce", FIELD_INT, 0, SPEC(calls_at_once),
	 "How many calls to the provider may be under way.", .min = 1,
	 .max = 256, .fallback = "16"},
	{"callsPerSecond", FIELD_INT, 0, SPEC(calls_per_second),
	 "How many calls to the provider may begin in a second; 0: as many as "
	 "the driver knows to be allowed.",
	 .max = 1000000, .fallback = "0"},
	{"observeSeconds", FIELD_INT, 0, SPEC(observe_seconds),
	 "How long at most between two looks at all its machines; they are "
	 "more "
	 "often while something happens.  0: there are none.",
	 .max = 3600, .fallback = "30"},
	{"orphanPolicy", FIELD_ENUM, 0, SPEC(orphan_policy),
	 "What becomes of machines and other things there that carry this "
	 "installation's tags and that nobody is known for: they are shown, or "
	 "removed after their quarantine.",
	 .names = orphan_policy_names, .fallback = "\"report\""},
	{"orphanQuarantineSeconds", FIELD_INT, 0,
	 SPEC(orphan_quarantine_seconds),
	 "How long one is known before it is removed.", .min = 60,
	 .max = 31536000, .fallback = "3600"},
	{"paused", FIELD_BOOL, FIELD_WIDE, SPEC(paused),
	 "Leave everything in it alone until this is taken back."},
	{0},
};

static const struct field zone_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, offsetof(struct zone, name),
	 "The provider's name for it."},
	{"available", FIELD_BOOL, 0, offsetof(struct zone, available),
	 "Whether it takes new machines."},
	{0},
};

#define ORPHAN(member) offsetof(struct orphan, member)

static const struct field orphan_fields[] = {
	{"kind", FIELD_ENUM, 0, ORPHAN(kind), "What it is.",
	 .names = orphan_kind_names, .fallback = "\"machine\""},
	{"providerId", FIELD_STRING, FIELD_REQUIRED, ORPHAN(provider_id),
	 "The provider's id of it."},
	{"serverId", FIELD_STRING, 0, ORPHAN(server_id),
	 "The server that a machine's tag names."},
	{"objectId", FIELD_STRING, 0, ORPHAN(object_id),
	 "What anything else was made for."},
	{"kept", FIELD_BOOL, 0, ORPHAN(kept),
	 "Whether it is never removed: what it names is known, and has another "
	 "of these."},
	{"firstSeenAt", FIELD_TIME, 0, ORPHAN(first_seen_at),
	 "When it was found."},
	{"quarantinedUntil", FIELD_TIME, 0, ORPHAN(quarantined_until),
	 "Before that it is not removed."},
	{0},
};

#define MONITOR(member) offsetof(struct monitoring, member)

static const struct field monitor_fields[] = {
	{"observedAt", FIELD_TIME, 0, MONITOR(observed_at),
	 "When all its machines were last seen to be as they are shown; it is "
	 "written once a minute."},
	{"staleSince", FIELD_TIME, 0, MONITOR(stale_since),
	 "Since when that could not be done: what is shown of its machines may "
	 "not be so any more."},
	{"missing", FIELD_INT, FIELD_SPARSE, MONITOR(missing),
	 "How many were missing from the provider's list when that was too "
	 "many to be believed."},
	{"of", FIELD_INT, FIELD_SPARSE, MONITOR(of), "Of how many."},
	{"missingSince", FIELD_TIME, 0, MONITOR(missing_since),
	 "Since when: nothing is concluded from lists until they are back, or "
	 "an operator accepts that they are gone."},
	{"accepted", FIELD_INT, FIELD_SPARSE, MONITOR(accepted),
	 "How many an operator has accepted to be gone."},
	{"orphanCount", FIELD_INT, FIELD_SPARSE, MONITOR(orphan_count),
	 "How many machines and other things there carry our tags and are "
	 "nobody's."},
	{"orphans", FIELD_LIST, 0, MONITOR(orphans), "The first of those.",
	 .item = FIELD_OBJECT, .fields = orphan_fields,
	 .size = sizeof(struct orphan), .max = ORPHANS_MOST},
	{0},
};

static const struct field status_fields[] = {
	{"state", FIELD_ENUM, FIELD_STATE | FIELD_INDEX | FIELD_COLUMN,
	 STATUS(state), "Whether the provider was reached.",
	 .names = backed_names},
	{"reason", FIELD_OBJECT, 0, STATUS(reason), "Why it was not.",
	 .fields = reason_full_fields},
	{"syncedAt", FIELD_TIME, FIELD_COLUMN, STATUS(synced_at),
	 "When flavors and images were last read."},
	{"observedGeneration", FIELD_INT, 0, STATUS(observed_generation),
	 "The generation that it was reached with.", .fallback = "0"},
	{"capabilities", FIELD_LIST, FIELD_WIDE, STATUS(capabilities),
	 "What can be done there.", .item = FIELD_STRING,
	 .size = sizeof(const char *)},
	{"zones", FIELD_LIST, 0, STATUS(zones), "Its parts, if it has any.",
	 .item = FIELD_OBJECT, .fields = zone_fields,
	 .size = sizeof(struct zone)},
	{"flavors", FIELD_INT, FIELD_COLUMN, STATUS(flavors),
	 "How many flavors it offers.", .fallback = "0"},
	{"images", FIELD_INT, FIELD_COLUMN, STATUS(images),
	 "How many images it offers.", .fallback = "0"},
	{"notes", FIELD_LIST, 0, STATUS(notes),
	 "What in its catalogue was skipped, and why.", .item = FIELD_STRING,
	 .size = sizeof(const char *), .max = 32},
	{"monitor", FIELD_OBJECT, 0, STATUS(monitor),
	 "What looking at all its machines has found.",
	 .fields = monitor_fields},
	{0},
};

static const struct field fields[] = {
	META_FIELDS,
	{"spec", FIELD_OBJECT, FIELD_REQUIRED, offsetof(struct region, spec),
	 "What is wanted.", .fields = spec_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY,
	 offsetof(struct region, status), "What was seen.",
	 .fields = status_fields},
	{0},
};

const struct kind region_kind = {
	.name = "region",
	.plural = "regions",
	.title = "Region",
	.doc = "A place where machines can be: a provider and how to reach it.",
	.open = true,
	.size = sizeof(struct region),
	.fields = fields,
	.version = 1,
};

bool region_can(const struct region *r, const char *capability)
{
	const char *const *list = r->status.capabilities.at;

	for (size_t i = 0; i < r->status.capabilities.n; i++)
		if (strcmp(list[i], capability) == 0)
			return true;
	return false;
}

const char *region_mark(const char *id)
{
	const char *dash = strrchr(id, '-');

	return dash ? dash + 1 : id;
}
