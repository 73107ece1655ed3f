#include "model/image.h"

#include <string.h>
#include <strings.h>

const char *const virtualization_names[] = {NULL, "virtualized", "bareMetal",
					    "any", NULL};
const char *const image_source_names[] = {NULL,       "provider", "import",
					  "snapshot", "volume",   NULL};
const char *const consistency_names[] = {NULL, "offline", "frozen", "crash",
					 NULL};

#define AT(member)     offsetof(struct image, member)
#define SPEC(member)   (AT(spec.member) - AT(spec))
#define OS(member)     (AT(spec.os.member) - AT(spec.os))
#define DRIVER(member) (AT(spec.gpu_driver.member) - AT(spec.gpu_driver))
#define STATUS(member) (AT(status.member) - AT(status))

static const struct field os_fields[] = {
	{"kernel", FIELD_STRING, 0, OS(kernel), "Such as \"linux\".",
	 &format_text, .max = 63},
	{"family", FIELD_STRING, 0, OS(family), "Such as \"debian\".",
	 &format_text, .max = 63},
	{"distro", FIELD_STRING, FIELD_COLUMN, OS(distro),
	 "Such as \"ubuntu\".", &format_text, .max = 63},
	{"variant", FIELD_STRING, 0, OS(variant), "Such as \"server\".",
	 &format_text, .max = 63},
	{"codename", FIELD_STRING, 0, OS(codename), "Such as \"bookworm\".",
	 &format_text, .max = 63},
	{"version", FIELD_STRING, FIELD_COLUMN, OS(version), "Such as \"12\".",
	 &format_text, .max = 63},
	{0},
};

static const struct field driver_fields[] = {
	{"vendor", FIELD_STRING, 0, DRIVER(vendor),
	 "Whose graphics processors it drives.", &format_text, .max = 63},
	{"version", FIELD_STRING, 0, DRIVER(version), "Which version it is.",
	 &format_text, .max = 63},
	{"models", FIELD_LIST, 0, DRIVER(models),
	 "Which models it drives; none: all of the vendor's.", &format_text,
	 .item = FIELD_STRING, .size = sizeof(const char *), .max = 64},
	{0},
};

static const struct field spec_fields[] = {
	{"uri", FIELD_STRING, FIELD_IMMUTABLE, SPEC(uri),
	 "Where it is imported from.", &format_text, .max = 1024},
	{"checksum", FIELD_STRING, FIELD_IMMUTABLE, SPEC(checksum),
	 "What it must be: \"sha256:\" and 64 hexadecimal digits.",
	 &format_text, .max = 71},
	{"architecture", FIELD_ENUM,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 SPEC(architecture), "What it runs on.", .names = architecture_names},
	{"minDiskGiB", FIELD_INT, FIELD_IMMUTABLE | FIELD_COLUMN,
	 SPEC(min_disk_gib), "The least root disk it fits on.", .max = 1048576,
	 .fallback = "0"},
	{"virtualization", FIELD_ENUM, FIELD_IMMUTABLE, SPEC(virtualization),
	 "What kind of machine it is for.", .names = virtualization_names,
	 .fallback = "\"any\""},
	{"os", FIELD_OBJECT, 0, SPEC(os), "What is in it.",
	 .fields = os_fields},
	{"user", FIELD_STRING, 0, SPEC(user),
	 "Who logs in to what boots it, such as \"debian\".", &format_user,
	 .min = 1, .max = 32},
	{"software", FIELD_TAGS, 0, SPEC(software),
	 "What is installed besides: names and versions."},
	{"gpuDriver", FIELD_OBJECT, 0, SPEC(gpu_driver),
	 "The driver for graphics processors in it.", .fields = driver_fields},
	{0},
};

static const struct field status_fields[] = {
	{.type = FIELD_INCLUDE,
	 .fields = backed_fields,
	 .offset = STATUS(backed)},
	{"source", FIELD_ENUM, FIELD_INDEX | FIELD_WIDE, STATUS(source),
	 "Where it came from.", .names = image_source_names},
	{"instanceId", FIELD_STRING, FIELD_INDEX, STATUS(instance_id),
	 "The instance that it was made of, which may be gone.", &format_uuid},
	{"volumeId", FIELD_STRING, FIELD_INDEX, STATUS(volume_id),
	 "The volume that it was made of, which may be gone.", &format_uuid},
	{"consistency", FIELD_ENUM, 0, STATUS(consistency),
	 "How sure it is that what was being written is in it.",
	 .names = consistency_names},
	{"sizeBytes", FIELD_INT, FIELD_WIDE, STATUS(size_bytes),
	 "How much is stored."},
	{"retiredAt", FIELD_TIME, 0, STATUS(retired_at),
	 "When the provider was found not to offer it any more."},
	{0},
};

static const struct field fields[] = {
	META_UNNAMED_FIELDS,
	{"name", FIELD_STRING, FIELD_REQUIRED | FIELD_COLUMN, AT(meta.name),
	 "What people call it.", &format_text, .min = 1, .max = 128},
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of its project.", &format_uuid,
	 .refers = "organization"},
	{"projectId", FIELD_STRING, FIELD_IMMUTABLE | FIELD_INDEX | FIELD_WIDE,
	 AT(project_id), "Whose it is; absent: the region's own.", &format_uuid,
	 .refers = "project"},
	{"regionId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(region_id), "The region it is in.", &format_uuid,
	 .refers = "region"},
	{"spec", FIELD_OBJECT, FIELD_REQUIRED, AT(spec), "What it is.",
	 .fields = spec_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status), "What was seen.",
	 .fields = status_fields},
	{0},
};

const struct kind image_kind = {
	.name = "image",
	.plural = "images",
	.title = "Image",
	.doc = "What a machine boots.",
	.open = true,
	.backed = true,
	.size = sizeof(struct image),
	.organization_at = offsetof(struct image, organization_id),
	.project_at = offsetof(struct image, project_id),
	.fields = fields,
	.unique_within = "id", /* providers' names repeat */
	.version = 1,
};

bool image_is_for(const struct image *i, const char *region_id,
		  const char *project_id)
{
	return strcmp(i->region_id, region_id) == 0 &&
	       (!i->project_id || strcmp(i->project_id, project_id) == 0);
}

int image_ready(const struct image *i, const char *pointer, struct err *err)
{
	if (i->status.backed.state == BACKED_READY && !i->status.retired_at)
		return 0;
	return err_at(err, ERR_INVALID, pointer,
		      "image \"%s\" is not ready: it is %s", i->meta.name,
		      i->status.retired_at
			      ? "retired"
			      : backed_names[i->status.backed.state]);
}

static const struct gpu *undriven(const struct image *i, const struct flavor *f)
{
	const char *const *models = i->spec.gpu_driver.models.at;
	const struct gpu *gpus = f->gpus.at;

	for (size_t n = 0; n < f->gpus.n; n++) {
		bool driven = !i->spec.gpu_driver.models.n;

		if (strcasecmp(gpus[n].vendor, i->spec.gpu_driver.vendor) != 0)
			return &gpus[n];
		for (size_t m = 0; m < i->spec.gpu_driver.models.n; m++)
			driven |= strcasecmp(models[m], gpus[n].model) == 0;
		if (!driven)
			return &gpus[n];
	}
	return NULL;
}

/* An image without a driver may still be what is wanted on a machine with
 * graphics processors: one with the wrong driver is not. */
int image_fits(const struct image *i, const struct flavor *f,
	       int64_t root_disk_gib, const char *pointer, struct err *err)
{
	const struct gpu *gpu;

	if (i->spec.architecture != f->architecture)
		return err_at(
			err, ERR_INVALID, pointer,
			"image \"%s\" is for %s, flavor \"%s\" is %s",
			i->meta.name, architecture_names[i->spec.architecture],
			f->meta.name, architecture_names[f->architecture]);
	if (i->spec.min_disk_gib > root_disk_gib)
		return err_at(
			err, ERR_INVALID, pointer,
			"image \"%s\" needs a root disk of %lld GiB, this "
			"one has %lld",
			i->meta.name, (long long)i->spec.min_disk_gib,
			(long long)root_disk_gib);
	if (i->spec.virtualization == (f->bare_metal
					       ? VIRTUALIZATION_VIRTUALIZED
					       : VIRTUALIZATION_BARE_METAL))
		return err_at(err, ERR_INVALID, pointer,
			      "image \"%s\" is for %s machines, flavor \"%s\" "
			      "is %s",
			      i->meta.name,
			      virtualization_names[i->spec.virtualization],
			      f->meta.name,
			      f->bare_metal ? "bare metal" : "virtual");
	if (!i->spec.gpu_driver.vendor)
		return 0;
	gpu = undriven(i, f);
	if (gpu)
		return err_at(
			err, ERR_INVALID, pointer,
			"image \"%s\" has a driver for %s, which does not "
			"drive the %s %s of flavor \"%s\"",
			i->meta.name, i->spec.gpu_driver.vendor, gpu->vendor,
			gpu->model, f->meta.name);
	return 0;
}
