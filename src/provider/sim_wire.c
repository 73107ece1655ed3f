#include "provider/sim_wire.h"

#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "model/reach.h"

#define TEXTS .item = FIELD_STRING, .size = sizeof(const char *)

#define TEXT(name, member)                                                     \
	{                                                                      \
		name, FIELD_STRING, 0, AT(member), .max = 1 << 20              \
	}
#define NUMBER(name, member)                                                   \
	{                                                                      \
		name, FIELD_INT, 0, AT(member)                                 \
	}
#define YES(name, member)                                                      \
	{                                                                      \
		name, FIELD_BOOL, 0, AT(member)                                \
	}
#define MOMENT(name, member)                                                   \
	{                                                                      \
		name, FIELD_TIME, 0, AT(member)                                \
	}
#define LIST(name, member)                                                     \
	{                                                                      \
		name, FIELD_LIST, 0, AT(member), TEXTS, .max = 256             \
	}
#define TAGS(name, member)                                                     \
	{                                                                      \
		name, FIELD_TAGS, 0, AT(member)                                \
	}
#define OBJECTS(name, member, table, type)                                     \
	{                                                                      \
		name, FIELD_LIST, FIELD_ALWAYS, AT(member),                    \
			.item = FIELD_OBJECT, .fields = (table),               \
			.size = sizeof(type), .max = 100000                    \
	}

#define AT(member) offsetof(struct sim_machine, member)

const struct field sim_machine_fields[] = {
	TEXT("id", id),
	TEXT("token", token),
	TEXT("name", name),
	TEXT("flavor", flavor),
	TEXT("image", image),
	TEXT("zone", zone),
	TEXT("network", network),
	YES("spot", spot),
	YES("hasPublicIp", has_public),
	NUMBER("rootDiskGiB", root_disk_gib),
	TEXT("rootDiskClass", root_disk_class),
	LIST("groups", groups),
	LIST("sources", sources),
	LIST("sshKeys", ssh_keys),
	TAGS("tags", tags),
	TEXT("userData", user_data),
	TEXT("userDataDigest", user_data_digest),
	TEXT("privateIp", private_ip),
	TEXT("privateIp6", private_ip6),
	TEXT("publicIp", public_ip),
	TEXT("mac", mac),
	{"ports", FIELD_LIST, 0, AT(ports), .item = FIELD_OBJECT,
	 .fields = port_fields, .size = sizeof(struct port)},
	TEXT("hostKey", host_key),
	TEXT("guest", guest),
	MOMENT("upAt", up_at),
	YES("hung", hung),
	TEXT("state", state),
	TEXT("reason", reason),
	TEXT("next", next),
	MOMENT("due", due),
	MOMENT("createdAt", created_at),
	NUMBER("boots", boots),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_thing, member)

const struct field sim_thing_fields[] = {
	TEXT("id", id),
	TEXT("kind", kind),
	TEXT("ours", ours),
	TEXT("name", name),
	TEXT("owner", owner),
	TEXT("state", state),
	TEXT("reason", reason),
	TEXT("next", next),
	MOMENT("due", due),
	MOMENT("createdAt", created_at),
	TEXT("prefix", prefix),
	TEXT("prefix6", prefix6),
	TEXT("gateway", gateway),
	LIST("reserved", reserved),
	TEXT("network", network),
	LIST("rules", rules),
	TEXT("class", class),
	TEXT("zone", zone),
	NUMBER("sizeGiB", size_gib),
	TEXT("machine", machine),
	TEXT("device", device),
	TEXT("architecture", architecture),
	NUMBER("minDiskGiB", min_disk_gib),
	NUMBER("bytes", bytes),
	TEXT("source", source),
	TEXT("consistency", consistency),
	YES("bareMetal", bare_metal),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_act, member)

const struct field sim_act_fields[] = {
	TEXT("id", id),           YES("hard", hard),
	TEXT("flavor", flavor),   NUMBER("gib", gib),
	NUMBER("length", length), TAGS("tags", tags),
	TEXT("key", key),         TEXT("value", value),
	TEXT("page", page),       TEXT("volume", volume),
	TEXT("kind", kind),       TEXT("ours", ours),
	TEXT("console", console), {0},
};

#undef AT
#define AT(member) offsetof(struct sim_page, member)

const struct field sim_page_fields[] = {
	OBJECTS("machines", machines, sim_machine_fields, struct sim_machine),
	TEXT("next", next),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_things, member)

const struct field sim_things_fields[] = {
	OBJECTS("things", things, sim_thing_fields, struct sim_thing),
	TEXT("next", next),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_text, member)

const struct field sim_text_fields[] = {
	TEXT("text", text),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_gpu, member)

static const struct field gpu_fields[] = {
	TEXT("vendor", vendor),
	TEXT("model", model),
	NUMBER("count", count),
	NUMBER("memoryMiB", memory_mib),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_flavor, member)

static const struct field flavor_fields[] = {
	TEXT("id", id),
	TEXT("name", name),
	TEXT("architecture", architecture),
	TEXT("cpu", cpu),
	NUMBER("vcpus", vcpus),
	NUMBER("memoryMiB", memory_mib),
	NUMBER("diskGiB", disk_gib),
	NUMBER("localGiB", local_gib),
	YES("bareMetal", bare_metal),
	YES("fixedDisk", fixed_disk),
	{"gpu", FIELD_OBJECT, 0, AT(gpu), .fields = gpu_fields},
	TEXT("price", price),
	TEXT("spotPrice", spot_price),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_image, member)

static const struct field image_fields[] = {
	TEXT("id", id),
	TEXT("name", name),
	TEXT("architecture", architecture),
	TEXT("distro", distro),
	TEXT("version", version),
	TEXT("codename", codename),
	TEXT("gpuDriver", gpu_driver),
	NUMBER("minDiskGiB", min_disk_gib),
	YES("bareMetal", bare_metal),
	{0},
};

#undef AT
#define AT(member) offsetof(struct sim_offers, member)

const struct field sim_offers_fields[] = {
	OBJECTS("flavors", flavors, flavor_fields, struct sim_flavor),
	OBJECTS("images", images, image_fields, struct sim_image),
	LIST("zones", zones),
	{0},
};

/* An err as it is sent. */
struct refusal {
	const char *code, *message, *scope, *retry;
	int64_t retry_after_ms;
	const char *native, *native_message;
};

#undef AT
#define AT(member) offsetof(struct refusal, member)

static const struct field refusal_fields[] = {
	TEXT("code", code),
	TEXT("message", message),
	TEXT("scope", scope),
	TEXT("retry", retry),
	NUMBER("retryAfterMs", retry_after_ms),
	TEXT("native", native),
	TEXT("nativeMessage", native_message),
	{0},
};

void sim_err_write(const struct err *err, struct buf *out)
{
	struct refusal r = {
		.code = err_name(err->code),
		.message = err->msg,
		.scope = err_scope_name(err->scope),
		.retry = err_retry_name(err->retry),
		.retry_after_ms = err->retry_after_ms,
		.native = err->provider_code,
		.native_message = err->provider_msg,
	};

	field_encode(refusal_fields, &r, FIELD_FULL, out);
}

static const char *text(const struct node *n, const char *key)
{
	const char *s = node_text(n, key);

	return s ? s : "";
}

void sim_err_read(const struct node *n, struct err *ret)
{
	const struct node *after = node_get(n, "retryAfterMs");
	enum err_code code = ERR_PROVIDER;

	for (int i = ERR_NONE + 1; i < ERR_CODE_COUNT; i++)
		if (strcmp(text(n, "code"), err_name((enum err_code)i)) == 0)
			code = (enum err_code)i;
	err_set(ret, code, "%s", text(n, "message"));
	for (int i = ERR_SCOPE_REQUEST; i <= ERR_SCOPE_PROVIDER; i++)
		if (strcmp(text(n, "scope"),
			   err_scope_name((enum err_scope)i)) == 0)
			ret->scope = (enum err_scope)i;
	for (int i = ERR_RETRY_NEVER; i <= ERR_RETRY_ELSEWHERE; i++)
		if (strcmp(text(n, "retry"),
			   err_retry_name((enum err_retry)i)) == 0)
			ret->retry = (enum err_retry)i;
	if (after && node_type(after) == NODE_INT)
		ret->retry_after_ms = (uint32_t)node_int(after);
	snprintf(ret->provider_code, sizeof(ret->provider_code), "%s",
		 text(n, "native"));
	snprintf(ret->provider_msg, sizeof(ret->provider_msg), "%s",
		 text(n, "nativeMessage"));
}
