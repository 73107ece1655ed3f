#include "model/securitygroup.h"

#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"

const char *const direction_names[] = {NULL, "ingress", "egress", NULL};
const char *const protocol_names[] = {NULL, "any", "tcp", "udp", "icmp", NULL};

#define RULE(member) offsetof(struct rule, member)
#define AT(member)   offsetof(struct securitygroup, member)

static const struct field rule_fields[] = {
	{"direction", FIELD_ENUM, FIELD_REQUIRED, RULE(direction),
	 "Whether it is about what comes in or what goes out.",
	 .names = direction_names},
	{"protocol", FIELD_ENUM, 0, RULE(protocol), "What may pass.",
	 .names = protocol_names, .fallback = "\"any\""},
	{"port", FIELD_INT, 0, RULE(port), "The port, or the first of several.",
	 .min = 1, .max = 65535},
	{"portMax", FIELD_INT, 0, RULE(port_max), "The last port.", .min = 1,
	 .max = 65535},
	{"prefix", FIELD_STRING, 0, RULE(prefix),
	 "Whom it may pass from or to; absent: anybody.", &format_prefix},
	{"securityGroupId", FIELD_STRING, 0, RULE(group_id),
	 "The same: instances in this group.", &format_uuid,
	 .refers = "securitygroup"},
	{"description", FIELD_STRING, 0, RULE(description),
	 "A line for people.", &format_text, .max = 256},
	{0},
};

static const struct field spec_fields[] = {
	{"rules", FIELD_LIST, FIELD_ALWAYS, 0, "What may pass.",
	 .item = FIELD_OBJECT, .fields = rule_fields,
	 .size = sizeof(struct rule), .max = 128},
	{0},
};

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of its network.", &format_uuid,
	 .refers = "organization"},
	{"projectId", FIELD_STRING,
	 FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN, AT(project_id),
	 "The project of its network.", &format_uuid, .refers = "project"},
	{"regionId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX, AT(region_id),
	 "The region of its network.", &format_uuid, .refers = "region"},
	{"networkId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(network_id), "The network whose instances can be in it.",
	 &format_uuid, .refers = "network"},
	{"spec", FIELD_OBJECT, FIELD_ALWAYS, AT(spec), "What is wanted.",
	 .fields = spec_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status), "What was seen.",
	 .fields = backed_fields},
	{0},
};

const struct kind securitygroup_kind = {
	.name = "securitygroup",
	.plural = "securitygroups",
	.title = "SecurityGroup",
	.doc = "Who may talk to the instances that are in it.",
	.backed = true,
	.size = sizeof(struct securitygroup),
	.organization_at = offsetof(struct securitygroup, organization_id),
	.project_at = offsetof(struct securitygroup, project_id),
	.fields = fields,
	.unique_within = "networkId",
	.version = 1,
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same(const struct rule *a, const struct rule *b)
{
	return a->direction == b->direction && a->protocol == b->protocol &&
	       a->port == b->port && a->port_max == b->port_max &&
	       same_text(a->prefix, b->prefix) &&
	       same_text(a->group_id, b->group_id);
}

static const char *wrong(const struct rule *r)
{
	bool has_ports =
		r->protocol == PROTOCOL_TCP || r->protocol == PROTOCOL_UDP;

	if (!has_ports && (r->port != FIELD_NONE || r->port_max != FIELD_NONE))
		return "ports go with tcp and udp alone";
	if (r->port == FIELD_NONE && r->port_max != FIELD_NONE)
		return "portMax needs a port before it";
	if (r->port_max != FIELD_NONE && r->port_max < r->port)
		return "portMax is less than port";
	if (r->prefix && r->group_id)
		return "the other side is a prefix or a group, not both";
	return NULL;
}

void securitygroup_check(const struct securitygroup *g, struct violations *v)
{
	const struct rule *r = g->spec.rules.at;

	for (size_t i = 0; i < g->spec.rules.n; i++) {
		const char *why = wrong(&r[i]);
		char pointer[40];

		for (size_t j = 0; j < i && !why; j++)
			if (same(&r[i], &r[j]))
				why = "the same rule is there already";
		snprintf(pointer, sizeof(pointer), "/spec/rules/%zu", i);
		if (why)
			violations_add(v, pointer, "%s", why);
	}
}
