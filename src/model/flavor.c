#include "model/flavor.h"

#include <string.h>

const char *const architecture_names[] = {NULL, "x86_64", "aarch64", NULL};
const char *const market_names[] = {NULL, "onDemand", "spot", NULL};
const char *const disk_model_names[] = {NULL, "fixed", "resizable", "volume",
					NULL};

#define AT(member)   offsetof(struct flavor, member)
#define ROOT(member) (AT(root_disk.member) - AT(root_disk))

static const struct field gpu_fields[] = {
	{"vendor", FIELD_STRING, FIELD_REQUIRED, offsetof(struct gpu, vendor),
	 "Who makes it: \"nvidia\"."},
	{"model", FIELD_STRING, FIELD_REQUIRED, offsetof(struct gpu, model),
	 "Which one: \"H100\"."},
	{"memoryMiB", FIELD_INT, 0, offsetof(struct gpu, memory_mib),
	 "Memory of one of them."},
	{"count", FIELD_INT, FIELD_REQUIRED, offsetof(struct gpu, count),
	 "How many there are.", .min = 1, .max = 1024},
	{"interconnect", FIELD_STRING, 0, offsetof(struct gpu, interconnect),
	 "How they are joined: \"nvlink\"."},
	{0},
};

static const struct field local_disk_fields[] = {
	{"sizeGiB", FIELD_INT, FIELD_REQUIRED,
	 offsetof(struct local_disk, size_gib), "The size of one."},
	{"count", FIELD_INT, FIELD_REQUIRED, offsetof(struct local_disk, count),
	 "How many there are."},
	{"media", FIELD_STRING, 0, offsetof(struct local_disk, media),
	 "What it is made of: \"nvme\"."},
	{0},
};

const struct field price_fields[] = {
	{"amount", FIELD_STRING, 0, offsetof(struct price, amount),
	 "What an hour costs, as a decimal number."},
	{"currency", FIELD_STRING, 0, offsetof(struct price, currency),
	 "In which currency: \"USD\"."},
	{"asOf", FIELD_TIME, 0, offsetof(struct price, as_of),
	 "When it was read from the provider."},
	{0},
};

static const struct field shortage_fields[] = {
	{"zone", FIELD_STRING, 0, offsetof(struct shortage, zone),
	 "Where; absent: in the whole region."},
	{"market", FIELD_ENUM, 0, offsetof(struct shortage, market),
	 "For which market; absent: for all.", .names = market_names},
	{"until", FIELD_TIME, 0, offsetof(struct shortage, until),
	 "When it is tried again at the earliest."},
	{"message", FIELD_STRING, 0, offsetof(struct shortage, message),
	 "What was found."},
	{0},
};

static const struct field root_disk_fields[] = {
	{"model", FIELD_ENUM, 0, ROOT(model),
	 "Whether its size is the flavor's or the instance's.",
	 .names = disk_model_names},
	{"sizeGiB", FIELD_INT, 0, ROOT(size_gib), "What comes with it.",
	 .fallback = "0"},
	{"minGiB", FIELD_INT, 0, ROOT(least),
	 "The least an instance can ask for.", .fallback = "0"},
	{"maxGiB", FIELD_INT, 0, ROOT(most),
	 "The most an instance can ask for.", .fallback = "0"},
	{"classes", FIELD_LIST, 0, ROOT(classes),
	 "The classes an instance can ask for.", .item = FIELD_STRING,
	 .size = sizeof(const char *)},
	{0},
};

static const struct field fields[] = {
	META_UNNAMED_FIELDS,
	{"name", FIELD_STRING, FIELD_READ_ONLY | FIELD_COLUMN, AT(meta.name),
	 "What the provider calls it.", &format_text, .min = 1, .max = 128},
	{"regionId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN,
	 AT(region_id), "The region that offers it.", &format_uuid,
	 .refers = "region"},
	{"providerId", FIELD_STRING, FIELD_READ_ONLY, AT(provider_id),
	 "Its id at the provider."},
	{"vcpus", FIELD_INT, FIELD_READ_ONLY | FIELD_COLUMN, AT(vcpus),
	 "Virtual processors."},
	{"memoryMiB", FIELD_INT, FIELD_READ_ONLY | FIELD_COLUMN, AT(memory_mib),
	 "Memory."},
	{"architecture", FIELD_ENUM,
	 FIELD_READ_ONLY | FIELD_INDEX | FIELD_COLUMN, AT(architecture),
	 "What its processors are.", .names = architecture_names},
	{"cpuFamily", FIELD_STRING, FIELD_READ_ONLY | FIELD_WIDE,
	 AT(cpu_family), "Which processors, in the provider's words."},
	{"rootDisk", FIELD_OBJECT, FIELD_READ_ONLY, AT(root_disk),
	 "The disk it boots from.", .fields = root_disk_fields},
	{"localDisks", FIELD_LIST, FIELD_READ_ONLY, AT(local_disks),
	 "Disks whose contents go with the machine.", .item = FIELD_OBJECT,
	 .fields = local_disk_fields, .size = sizeof(struct local_disk)},
	{"gpus", FIELD_LIST, FIELD_READ_ONLY, AT(gpus), "Graphics processors.",
	 .item = FIELD_OBJECT, .fields = gpu_fields,
	 .size = sizeof(struct gpu)},
	{"bareMetal", FIELD_BOOL, FIELD_READ_ONLY | FIELD_WIDE, AT(bare_metal),
	 "A machine of its own, not a virtual one."},
	{"price", FIELD_OBJECT, FIELD_READ_ONLY, AT(price), "What it costs.",
	 .fields = price_fields},
	{"spotPrice", FIELD_OBJECT, FIELD_READ_ONLY, AT(spot_price),
	 "What it costs where it can be taken away again.",
	 .fields = price_fields},
	{"zones", FIELD_LIST, FIELD_READ_ONLY | FIELD_WIDE, AT(zones),
	 "The zones that offer it; none: all of them.", .item = FIELD_STRING,
	 .size = sizeof(const char *)},
	{"shortages", FIELD_LIST, FIELD_READ_ONLY, AT(shortages),
	 "Where it was found to be sold out.", .item = FIELD_OBJECT,
	 .fields = shortage_fields, .size = sizeof(struct shortage)},
	{"deploySeconds", FIELD_INT, FIELD_READ_ONLY, AT(deploy_seconds),
	 "About how long a launch takes."},
	{"retiredAt", FIELD_TIME, FIELD_READ_ONLY | FIELD_WIDE, AT(retired_at),
	 "When the provider was found not to offer it any more."},
	{0},
};

const struct kind flavor_kind = {
	.name = "flavor",
	.plural = "flavors",
	.title = "Flavor",
	.doc = "A size of machine that a region offers.",
	.read_only = true,
	.open = true,
	.size = sizeof(struct flavor),
	.fields = fields,
	.unique_within = "id", /* the provider's names may repeat */
	.version = 1,
};

int64_t flavor_gpus(const struct flavor *f)
{
	const struct gpu *gpus = f->gpus.at;
	int64_t n = 0;

	for (size_t i = 0; i < f->gpus.n; i++)
		n += gpus[i].count;
	return n;
}

const struct shortage *flavor_shortage(const struct flavor *f, const char *zone,
				       int market, int64_t now)
{
	const struct shortage *s = f->shortages.at;

	for (size_t i = 0; i < f->shortages.n; i++) {
		if (s[i].until <= now ||
		    (s[i].market && market && s[i].market != market))
			continue;
		if (!s[i].zone || (zone && strcmp(s[i].zone, zone) == 0))
			return &s[i];
	}
	return NULL;
}

/* More than this would not fit with three digits and one more behind it. */
#define AMOUNT_MOST (INT64_MAX / 100000)

int64_t price_thousandths(const struct price *p)
{
	int64_t n = 0;
	int digits = -1; /* behind the point; -1: before it */

	for (const char *c = p->amount ? p->amount : ""; *c; c++) {
		if (*c == '.' && digits < 0) {
			digits = 0;
			continue;
		}
		if (*c < '0' || *c > '9' || n > AMOUNT_MOST)
			return 0;
		if (digits >= 3) {
			if (*c == '0')
				continue;
			return n + 1;
		}
		n = n * 10 + (*c - '0');
		digits += digits >= 0;
	}
	for (digits = digits < 0 ? 0 : digits; digits < 3; digits++)
		n *= 10;
	return n;
}
