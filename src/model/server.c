#include "model/server.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/uuid.h"

const char *const server_phase_names[] = {NULL,      "intended", "launched",
					  "leaving", "gone",     NULL};

#define AT(member)      offsetof(struct server, member)
#define ASKED(member)   (AT(asked.member) - AT(asked))
#define ATTEMPT(member) (AT(attempt.member) - AT(attempt))
#define STATUS(member)  (AT(status.member) - AT(status))

#define TEXTS .item = FIELD_STRING, .size = sizeof(const char *)

static const struct field asked_fields[] = {
	{"flavorId", FIELD_STRING, FIELD_INDEX, ASKED(flavor_id),
	 "Which flavor.", &format_uuid, .refers = "flavor"},
	{"imageId", FIELD_STRING, FIELD_INDEX, ASKED(image_id), "Which image.",
	 &format_uuid, .refers = "image"},
	{"zone", FIELD_STRING, 0, ASKED(zone), "Which zone."},
	{"market", FIELD_ENUM, 0, ASKED(market), "Which market.",
	 .names = market_names},
	{"rootDiskGiB", FIELD_INT, 0, ASKED(root_disk_gib),
	 "How large a root disk.", .fallback = "0"},
	{"rootDiskClass", FIELD_STRING, 0, ASKED(root_disk_class),
	 "And of what."},
	{"securityGroupIds", FIELD_LIST, 0, ASKED(security_group_ids),
	 "In which security groups.", TEXTS},
	{"publicIp", FIELD_BOOL, 0, ASKED(public_ip),
	 "With an address outside."},
	{"allowedSourceAddresses", FIELD_LIST, 0, ASKED(sources),
	 "What it may send as.", TEXTS},
	{"tagsDigest", FIELD_STRING, 0, ASKED(tags_digest),
	 "The digest of its tags."},
	{"accessBegun", FIELD_BOOL, 0, ASKED(access_begun),
	 "Groups or addresses are being changed: it may have either."},
	{"tagsBegun", FIELD_BOOL, 0, ASKED(tags_begun),
	 "Its tags are being changed."},
	{0},
};

static const struct field attempt_fields[] = {
	{"number", FIELD_INT, FIELD_COLUMN, ATTEMPT(number),
	 "1 for the first."},
	{"offering", FIELD_INT, 0, ATTEMPT(offering),
	 "Which of the instance's choices; 0 is its spec."},
	{"token", FIELD_STRING, 0, ATTEMPT(token),
	 "What the provider knows the launch by."},
	{"refused", FIELD_INT, 0, ATTEMPT(refused),
	 "How many machines came to nothing before.", .fallback = "0"},
	{"spent", FIELD_BOOL, 0, ATTEMPT(spent),
	 "Whether the provider refused it, so that nothing came of it."},
	{"calledAt", FIELD_TIME, 0, ATTEMPT(called_at),
	 "When an answer to it was last lost."},
	{0},
};

static const struct field volume_fields[] = {
	{"volumeId", FIELD_STRING, 0, offsetof(struct server_volume, volume_id),
	 "Which volume."},
	{"device", FIELD_STRING, 0, offsetof(struct server_volume, device),
	 "What it is called there."},
	{0},
};

static const struct field status_fields[] = {
	{"phase", FIELD_ENUM, FIELD_INDEX | FIELD_COLUMN, STATUS(phase),
	 "How far it has come.", .names = server_phase_names},
	{"state", FIELD_ENUM, FIELD_STATE | FIELD_INDEX | FIELD_COLUMN,
	 STATUS(state), "What the machine does.",
	 .names = instance_state_names},
	{"nativeState", FIELD_STRING, FIELD_WIDE, STATUS(native_state),
	 "The provider's own word for it."},
	{"providerId", FIELD_STRING, FIELD_INDEX | FIELD_COLUMN,
	 STATUS(provider_id), "The machine's id there."},
	{"nativeFlavor", FIELD_STRING, 0, STATUS(native_flavor),
	 "What the provider says its size is."},
	{"zone", FIELD_STRING, 0, STATUS(zone), "Where it is."},
	{"host", FIELD_STRING, FIELD_WIDE, STATUS(host),
	 "Which of the provider's hosts it is on."},
	{"privateIp", FIELD_STRING, 0, STATUS(private_ip),
	 "Its address in the network."},
	{"privateIp6", FIELD_STRING, 0, STATUS(private_ip6),
	 "The same for IPv6."},
	{"publicIp", FIELD_STRING, 0, STATUS(public_ip),
	 "Its address outside."},
	{"macAddress", FIELD_STRING, 0, STATUS(mac), "Of its interface."},
	{"ports", FIELD_LIST, 0, STATUS(ports),
	 "Its guest's ports that are reached elsewhere.", .item = FIELD_OBJECT,
	 .fields = port_fields, .size = sizeof(struct port)},
	{"readiness", FIELD_OBJECT, 0, STATUS(readiness),
	 "Whether its guest is up, where the provider looks.",
	 .fields = readiness_fields},
	{"sshHostKey", FIELD_STRING, 0, STATUS(ssh_host_key),
	 "The public key that its SSH server was given to show.", .max = 2048},
	{"volumes", FIELD_LIST, 0, STATUS(volumes), "What is attached to it.",
	 .item = FIELD_OBJECT, .fields = volume_fields,
	 .size = sizeof(struct server_volume)},
	{"reason", FIELD_OBJECT, 0, STATUS(reason),
	 "Why it is not as it is wanted.", .fields = reason_full_fields},
	{"answeredAt", FIELD_TIME, 0, STATUS(answered_at),
	 "When the provider gave its id."},
	{"leavingAt", FIELD_TIME, 0, STATUS(leaving_at),
	 "When it was given up."},
	{"observedAt", FIELD_TIME, 0, STATUS(observed_at),
	 "When the provider was last asked how it is."},
	{"observedBy", FIELD_ENUM, 0, STATUS(observed_by), "And how.",
	 .names = observed_names},
	{"staleSince", FIELD_TIME, 0, STATUS(stale_since),
	 "Since when it is not known whether that is still so."},
	{"deadline", FIELD_TIME, 0, STATUS(deadline),
	 "When this state is given up at the latest."},
	{"several", FIELD_BOOL, 0, STATUS(several),
	 "Whether more than one machine was found where there is to be one."},
	{0},
};

static const struct field fields[] = {
	META_UNNAMED_FIELDS,
	{"name", FIELD_STRING, FIELD_READ_ONLY | FIELD_COLUMN, AT(meta.name),
	 "The instance's name."},
	{"instanceId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(instance_id), "The instance it is behind.", &format_uuid,
	 .refers = "instance"},
	{"instanceUid", FIELD_STRING, FIELD_READ_ONLY, AT(instance_uid),
	 "And which life of it."},
	{"regionId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN,
	 AT(region_id), "Where it is.", &format_uuid, .refers = "region"},
	{"networkId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(network_id), "What it is attached to.", &format_uuid,
	 .refers = "network"},
	{"number", FIELD_INT, FIELD_READ_ONLY | FIELD_WIDE, AT(number),
	 "1 for the first of this life of the instance."},
	{"hostKeySeed", FIELD_STRING, FIELD_READ_ONLY | FIELD_SECRET,
	 AT(host_key_seed), "What its host keys follow from.", .max = 64},
	{"rootNumber", FIELD_INT, FIELD_READ_ONLY, AT(disk),
	 "Which root disk it has, or is asked for; 1 is the first.",
	 .fallback = "0"},
	{"asked", FIELD_OBJECT, FIELD_READ_ONLY, AT(asked),
	 "What the provider was last told to make of it.",
	 .fields = asked_fields},
	{"attempt", FIELD_OBJECT, FIELD_READ_ONLY, AT(attempt),
	 "Which try it is.", .fields = attempt_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status), "What was seen.",
	 .fields = status_fields},
	{0},
};

const struct kind server_kind = {
	.name = "server",
	.plural = "servers",
	.title = "Server",
	.doc = "The machine behind an instance; operators see it.",
	.read_only = true,
	.size = sizeof(struct server),
	.fields = fields,
	.unique_within = "id", /* an instance's next has its name */
	.version = 1,
};

void server_id(const char *instance_uid, int64_t number, char out[37])
{
	char name[32];

	snprintf(name, sizeof(name), "server/%lld", (long long)number);
	uuid_v5(instance_uid, name, out);
}

void server_token(const struct server *s, char out[37])
{
	char name[320];

	snprintf(name, sizeof(name), "launch/%lld/%s/%s/%s",
		 (long long)s->attempt.number, s->asked.flavor_id,
		 s->asked.zone ? s->asked.zone : "",
		 market_names[s->asked.market]);
	uuid_v5(s->meta.id, name, out);
}

static const char *kept_uuid(struct arena *a, const char uuid[37])
{
	return arena_strdup(a, uuid);
}

void server_try(struct server *s, const struct instance *i, size_t offering,
		const struct flavor *f, struct arena *a)
{
	struct alternative what = {0};
	char token[37];

	instance_offering(i, offering, &what);
	memset(&s->asked, 0, sizeof(s->asked));
	s->asked.flavor_id = f->meta.id;
	s->asked.image_id = i->spec.image_id;
	s->asked.zone = what.zone;
	s->asked.market = what.market;
	s->asked.root_disk_gib = instance_root_disk(i, f);
	s->asked.root_disk_class = i->spec.root_disk.class;
	s->asked.security_group_ids = i->spec.security_group_ids;
	s->asked.public_ip = i->spec.public_ip;
	s->asked.sources = i->spec.sources;
	s->disk++;
	s->attempt.number++;
	s->attempt.offering = (int64_t)offering;
	s->attempt.spent = false;
	s->attempt.called_at = 0;
	server_token(s, token);
	s->attempt.token = kept_uuid(a, token);
	memset(&s->status, 0, sizeof(s->status));
	s->status.phase = SERVER_INTENDED;
	s->status.state = INSTANCE_PENDING;
}

static const char *make_seed(struct random *r, struct arena *a)
{
	unsigned char seed[SSH_SEED_LEN];
	char *text = arena_alloc(a, BASE64URL_TEXT(sizeof(seed)) + 1);

	random_fill(r, seed, sizeof(seed));
	base64url_encode(seed, sizeof(seed), text);
	explicit_bzero(seed, sizeof(seed));
	return text;
}

bool server_host_key(const char *seed, int64_t disk, struct arena *a,
		     struct ssh_pair *ret)
{
	unsigned char from[SSH_SEED_LEN + 1], key[DIGEST_SHA256_LEN];
	unsigned char check[DIGEST_SHA256_LEN];
	char name[64];

	if (!seed || strlen(seed) != BASE64URL_TEXT(SSH_SEED_LEN) ||
	    base64url_decode(seed, strlen(seed), from) != SSH_SEED_LEN)
		return false;
	snprintf(name, sizeof(name), "host key/%lld", (long long)disk);
	digest_sha256_two(from, SSH_SEED_LEN, name, strlen(name), key);
	/* The same every time, and no secret. */
	digest_sha256(name, strlen(name), check);
	ssh_pair_make(key, check, "", a, ret);
	explicit_bzero(from, sizeof(from));
	explicit_bzero(key, sizeof(key));
	return true;
}

void server_begin(const struct instance *i, const struct flavor *f,
		  int64_t number, struct random *r, struct arena *a,
		  struct server *ret)
{
	char id[37];

	server_id(i->uid, number, id);
	*ret = (struct server){
		.meta = {.id = kept_uuid(a, id), .name = i->meta.name},
		.instance_id = i->meta.id,
		.instance_uid = i->uid,
		.region_id = i->region_id,
		.network_id = i->network_id,
		.number = number,
		.host_key_seed = make_seed(r, a),
	};
	server_try(ret, i, 0, f, a);
}
