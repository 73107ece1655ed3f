#include "model/instance.h"

#include "base/uuid.h"

const char *const power_names[] = {NULL, "on", "off", NULL};
const char *const ssh_key_names[] = {NULL, "none", "generated", NULL};
const char *const instance_state_names[] = {
	NULL,          "pending",    "running", "stopping", "stopped",
	"terminating", "terminated", "failed",  "unknown",  NULL};

#define AT(member)     offsetof(struct instance, member)
#define SPEC(member)   (AT(spec.member) - AT(spec))
#define DISK(member)   (AT(spec.root_disk.member) - AT(spec.root_disk))
#define STATUS(member) (AT(status.member) - AT(status))

#define TEXTS .item = FIELD_STRING, .size = sizeof(const char *)

static const struct field disk_fields[] = {
	{"sizeGiB", FIELD_INT, 0, DISK(size_gib),
	 "Its size; absent: what comes with the flavor.", .min = 1,
	 .max = 1048576},
	{"class", FIELD_STRING, 0, DISK(class),
	 "What it is made of, in the provider's words.", &format_text,
	 .max = 63},
	{0},
};

static const struct field volume_fields[] = {
	{"volumeId", FIELD_STRING, FIELD_REQUIRED,
	 offsetof(struct instance_volume, volume_id), "Which volume.",
	 &format_uuid, .refers = "volume"},
	{"mountPath", FIELD_STRING, 0,
	 offsetof(struct instance_volume, mount_path),
	 "Where it is to be mounted, by whoever sets up the guest.",
	 &format_text, .max = 255},
	{"deleteWithInstance", FIELD_BOOL, 0,
	 offsetof(struct instance_volume, delete_with_instance),
	 "Delete the volume when the instance is deleted."},
	{0},
};

static const struct field alternative_fields[] = {
	{"flavorId", FIELD_STRING, 0, offsetof(struct alternative, flavor_id),
	 "Another flavor.", &format_uuid, .refers = "flavor"},
	{"zone", FIELD_STRING, 0, offsetof(struct alternative, zone),
	 "Another zone.", &format_text, .max = 63},
	{"market", FIELD_ENUM, 0, offsetof(struct alternative, market),
	 "Another market.", .names = market_names},
	{0},
};

static const struct field spec_fields[] = {
	{"flavorId", FIELD_STRING, FIELD_REQUIRED | FIELD_INDEX,
	 SPEC(flavor_id), "How large a machine.", &format_uuid,
	 .refers = "flavor"},
	{"imageId", FIELD_STRING, FIELD_REQUIRED | FIELD_INDEX, SPEC(image_id),
	 "What it boots.", &format_uuid, .refers = "image"},
	{"zone", FIELD_STRING, 0, SPEC(zone), "In which zone; absent: in any.",
	 &format_text, .max = 63},
	{"market", FIELD_ENUM, 0, SPEC(market),
	 "Whether it may be taken away again for a lower price.",
	 .names = market_names, .fallback = "\"onDemand\""},
	{"alternatives", FIELD_LIST, 0, SPEC(alternatives),
	 "What may be taken instead, in order, when the first choice is not "
	 "to be had.",
	 .item = FIELD_OBJECT, .fields = alternative_fields,
	 .size = sizeof(struct alternative), .max = 16},
	{"rootDisk", FIELD_OBJECT, 0, SPEC(root_disk),
	 "The disk it boots from.", .fields = disk_fields},
	{"volumes", FIELD_LIST, 0, SPEC(volumes),
	 "Volumes that it has attached.", .item = FIELD_OBJECT,
	 .fields = volume_fields, .size = sizeof(struct instance_volume),
	 .max = 16},
	{"securityGroupIds", FIELD_LIST, 0, SPEC(security_group_ids),
	 "Who may talk to it; none: nobody may begin to.", &format_uuid,
	 .refers = "securitygroup", TEXTS, .max = 16},
	{"publicIp", FIELD_BOOL, 0, SPEC(public_ip),
	 "Whether it can be reached from outside."},
	{"allowedSourceAddresses", FIELD_LIST, 0, SPEC(sources),
	 "Prefixes that it may send as besides its own addresses.",
	 &format_prefix, TEXTS, .max = 32},
	{"sshCertificateAuthorityId", FIELD_STRING, 0, SPEC(sshca_id),
	 "Whose certificates let people log in.", &format_uuid,
	 .refers = "sshca"},
	{"sshPublicKeys", FIELD_LIST, 0, SPEC(ssh_public_keys),
	 "Whose keys let them log in: lines of OpenSSH's.", &format_text, TEXTS,
	 .max = 32},
	{"sshKey", FIELD_ENUM, FIELD_IMMUTABLE, SPEC(ssh_key),
	 "Whether a key pair is made for it; its private key is kept, and read "
	 "with the permission instances:sshkey.",
	 .names = ssh_key_names, .fallback = "\"none\""},
	{"userData", FIELD_STRING, FIELD_SECRET, SPEC(user_data),
	 "What the guest is given at its first boot, in base64; an empty "
	 "text takes it away.",
	 &format_base64, .max = 87384},
	{"power", FIELD_ENUM, FIELD_COLUMN, SPEC(power),
	 "Whether it is to run.", .names = power_names, .fallback = "\"on\""},
	{"expiresAt", FIELD_TIME, 0, SPEC(expires_at),
	 "When it is deleted; absent: never."},
	{"deleteProtection", FIELD_BOOL, 0, SPEC(delete_protection),
	 "Refuse to delete it until this is taken back."},
	{"paused", FIELD_BOOL, 0, SPEC(paused),
	 "Leave it alone until this is taken back; it can be deleted."},
	{0},
};

static const struct field status_fields[] = {
	{"state", FIELD_ENUM, FIELD_STATE | FIELD_INDEX | FIELD_COLUMN,
	 STATUS(state), "What the machine does.",
	 .names = instance_state_names},
	{"provisioning", FIELD_ENUM, FIELD_WIDE, STATUS(provisioning),
	 "How far it is as it is wanted.", .names = provisioning_names},
	{"health", FIELD_ENUM, FIELD_WIDE, STATUS(health),
	 "Whether it does well.", .names = health_names},
	{"reason", FIELD_OBJECT, 0, STATUS(reason),
	 "Why it is not as it is wanted.", .fields = reason_fields},
	{"serverId", FIELD_STRING, FIELD_INDEX, STATUS(server_id),
	 "The server behind it."},
	{"providerId", FIELD_STRING, FIELD_WIDE, STATUS(provider_id),
	 "The machine's id at the provider."},
	{"flavorId", FIELD_STRING, 0, STATUS(flavor_id),
	 "The flavor that it got: the spec's, or an alternative's."},
	{"zone", FIELD_STRING, FIELD_WIDE, STATUS(zone), "Where it is."},
	{"market", FIELD_ENUM, 0, STATUS(market), "The market it got.",
	 .names = market_names},
	{"privateIp", FIELD_STRING, FIELD_INDEX | FIELD_COLUMN,
	 STATUS(private_ip), "Its address in the network."},
	{"privateIp6", FIELD_STRING, 0, STATUS(private_ip6),
	 "The same for IPv6."},
	{"publicIp", FIELD_STRING, FIELD_INDEX | FIELD_COLUMN,
	 STATUS(public_ip), "Its address outside."},
	{"macAddress", FIELD_STRING, 0, STATUS(mac), "Of its interface."},
	{"ports", FIELD_LIST, 0, STATUS(ports),
	 "Its guest's ports that are reached elsewhere.", .item = FIELD_OBJECT,
	 .fields = port_fields, .size = sizeof(struct port)},
	{"readiness", FIELD_OBJECT, 0, STATUS(readiness),
	 "Whether its guest is up, where the provider looks.",
	 .fields = readiness_fields},
	{"nativeState", FIELD_STRING, FIELD_WIDE, STATUS(native_state),
	 "The provider's own word for its state."},
	{"sshPublicKey", FIELD_STRING, 0, STATUS(ssh_public_key),
	 "Of the key pair that was made for it.", .max = 2048},
	{"sshHostKey", FIELD_STRING, 0, STATUS(ssh_host_key),
	 "The public key that its SSH server was given to show.", .max = 2048},
	{"price", FIELD_OBJECT, 0, STATUS(price),
	 "What an hour costs, as it was when it was made.",
	 .fields = price_fields},
	{"observedGeneration", FIELD_INT, 0, STATUS(observed_generation),
	 "The generation that has been made real.", .fallback = "0"},
	{"observedAt", FIELD_TIME, 0, STATUS(observed_at),
	 "When the provider was asked for what is shown."},
	{"observedBy", FIELD_ENUM, FIELD_WIDE, STATUS(observed_by),
	 "How: the answer to its launch, a look at it, or a list of all.",
	 .names = observed_names},
	{"staleSince", FIELD_TIME, 0, STATUS(stale_since),
	 "Since when its machine could not be looked at: its state is unknown, "
	 "and the rest is what was known at observedAt."},
	{"launchedAt", FIELD_TIME, 0, STATUS(launched_at),
	 "When it was first seen running."},
	{"deadline", FIELD_TIME, 0, STATUS(deadline),
	 "When this state is given up at the latest."},
	{"change", FIELD_OBJECT, 0, STATUS(change), "What is being done to it.",
	 .fields = change_fields},
	{0},
};

static const struct field fields[] = {
	META_UNNAMED_FIELDS,
	{"name", FIELD_STRING, FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_COLUMN,
	 AT(meta.name), "What people call it; unique in its network.",
	 &format_name, .min = 1, .max = 63},
	{"uid", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX, AT(uid),
	 "Of this life: one that is made again has another."},
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of its network.", &format_uuid,
	 .refers = "organization"},
	{"projectId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX | FIELD_WIDE,
	 AT(project_id), "The project of its network.", &format_uuid,
	 .refers = "project"},
	{"regionId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX | FIELD_WIDE,
	 AT(region_id), "The region of its network.", &format_uuid,
	 .refers = "region"},
	{"networkId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_WIDE,
	 AT(network_id), "The network it is in.", &format_uuid,
	 .refers = "network"},
	{"spec", FIELD_OBJECT, FIELD_REQUIRED, AT(spec), "What is wanted.",
	 .fields = spec_fields},
	{"sshPrivateKey", FIELD_STRING, FIELD_READ_ONLY | FIELD_SECRET,
	 AT(ssh_private_key), "Of the key pair that was made for it.",
	 .max = 16384},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status), "What was seen.",
	 .fields = status_fields},
	{0},
};

const struct kind instance_kind = {
	.name = "instance",
	.plural = "instances",
	.title = "Instance",
	.doc = "A machine.",
	.backed = true,
	.size = sizeof(struct instance),
	.organization_at = offsetof(struct instance, organization_id),
	.project_at = offsetof(struct instance, project_id),
	.fields = fields,
	.unique_within = "networkId",
	.version = 1,
};

void instance_id(const char *network_id, const char *name, char out[37])
{
	uuid_v5(network_id, name, out);
}

/* What may follow a state.  A machine that is not known, or that failed, may
 * turn out to be anything; one that is terminated never comes back: another
 * takes its place. */
#define TO(state) (1u << INSTANCE_##state)
#define LEFT      (TO(TERMINATING) | TO(TERMINATED) | TO(FAILED) | TO(UNKNOWN))
static const unsigned moves[] = {
	[INSTANCE_PENDING] = TO(RUNNING) | TO(STOPPING) | TO(STOPPED) | LEFT,
	[INSTANCE_RUNNING] = TO(PENDING) | TO(STOPPING) | TO(STOPPED) | LEFT,
	[INSTANCE_STOPPING] = TO(PENDING) | TO(RUNNING) | TO(STOPPED) | LEFT,
	[INSTANCE_STOPPED] = TO(PENDING) | TO(RUNNING) | LEFT,
	[INSTANCE_TERMINATING] = TO(TERMINATED) | TO(PENDING) | TO(FAILED),
	[INSTANCE_TERMINATED] = TO(PENDING) | TO(TERMINATING) | TO(FAILED),
	[INSTANCE_FAILED] =
		TO(PENDING) | TO(RUNNING) | TO(STOPPING) | TO(STOPPED) | LEFT,
	[INSTANCE_UNKNOWN] =
		TO(PENDING) | TO(RUNNING) | TO(STOPPING) | TO(STOPPED) | LEFT,
};

bool instance_may_become(int from, int to)
{
	if (from == to)
		return true;
	if (from == 0) /* the first there is */
		return to == INSTANCE_PENDING;
	return (moves[from] & (1u << to)) != 0;
}

bool instance_offering(const struct instance *i, size_t n,
		       struct alternative *ret)
{
	const struct alternative *list = i->spec.alternatives.at;

	if (n > i->spec.alternatives.n)
		return false;
	*ret = (struct alternative){i->spec.flavor_id, i->spec.zone,
				    i->spec.market};
	if (n == 0)
		return true;
	if (list[n - 1].flavor_id)
		ret->flavor_id = list[n - 1].flavor_id;
	if (list[n - 1].zone)
		ret->zone = list[n - 1].zone;
	if (list[n - 1].market)
		ret->market = list[n - 1].market;
	return true;
}

int64_t instance_root_disk(const struct instance *i, const struct flavor *f)
{
	return i->spec.root_disk.size_gib == FIELD_NONE
		       ? f->root_disk.size_gib
		       : i->spec.root_disk.size_gib;
}

bool instance_was_launched(const struct instance *i)
{
	return i->status.provider_id || i->status.launched_at;
}
