#include "provider/libvirt/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "model/image.h"
#include "provider/libvirt/file.h"
#include "provider/libvirt/job.h"
#include "provider/libvirt/records.h"

#define ARENA_MOST ((size_t)1 << 20)

/* Many, for most of them wait for some server or disk, and who serves an image
 * slowly is not to keep others from theirs. */
enum { JOBS_MOST = 32 };

struct library {
	char *folder;
	struct records records;
	struct jobs *jobs;
};

static const char *const stage_names[] = {NULL, "making", "ready", NULL};

#define AT(member) offsetof(struct image_record, member)

static const struct field fields[] = {
	{"id", FIELD_STRING, FIELD_REQUIRED, AT(id), "", &format_uuid},
	{"installation", FIELD_STRING, 0, AT(installation), "", &format_text},
	{"name", FIELD_STRING, 0, AT(name), "", &format_text},
	{"stage", FIELD_ENUM, FIELD_REQUIRED, AT(stage), "",
	 .names = stage_names},
	{"uri", FIELD_STRING, 0, AT(uri), "", &format_text, .max = 4096},
	{"machine", FIELD_STRING, 0, AT(machine), "", &format_text},
	{"version", FIELD_STRING, 0, AT(version), "", &format_text},
	{"format", FIELD_ENUM, 0, AT(format), "", .names = disk_format_names},
	{"bytes", FIELD_INT, FIELD_SPARSE, AT(bytes), "", .max = INT64_MAX},
	{"stored", FIELD_INT, FIELD_SPARSE, AT(stored), "", .max = INT64_MAX},
	{"consistency", FIELD_ENUM, 0, AT(consistency), "",
	 .names = consistency_names},
	{"createdAt", FIELD_TIME, 0, AT(created_at), ""},
	{"everyones", FIELD_BOOL, 0, AT(everyones), ""},
	{0},
};

int library_open(const char *folder, struct library **ret, struct err *err)
{
	struct library *l = xcalloc(1, sizeof(*l));

	l->folder = xstrdup(folder);
	l->records = (struct records){l->folder, fields,
				      sizeof(struct image_record)};
	l->jobs = jobs_new(JOBS_MOST);
	if (records_open(&l->records, err) < 0) {
		library_close(l);
		return -1;
	}
	*ret = l;
	return 0;
}

void library_close(struct library *l)
{
	if (!l)
		return;
	jobs_free(l->jobs);
	free(l->folder);
	free(l);
}

struct jobs *library_jobs(struct library *l)
{
	return l->jobs;
}

const char *library_path(const struct library *l, const char *id,
			 const char *end, struct arena *a)
{
	return records_path(&l->records, id, end, a);
}

int library_get(struct library *l, const char *id, struct arena *a,
		struct image_record *ret, struct err *err)
{
	if (records_get(&l->records, id, a, ret, err) == 0)
		return 0;
	if (err->code == ERR_NOT_FOUND)
		err_set(err, ERR_NOT_FOUND, "there is no image %.64s", id);
	return -1;
}

int library_put(struct library *l, const struct image_record *r,
		struct err *err)
{
	return records_put(&l->records, r->id, r, err);
}

int library_list(struct library *l, struct arena *a, struct items *ret,
		 struct err *err)
{
	return records_list(&l->records, a, ret, err);
}

int library_remove(struct library *l, const char *id, struct err *err)
{
	static const char *const ends[] = {"part", "qcow2", "raw"};
	struct arena a;
	int rc = 0;

	if (!uuid_valid(id, strlen(id)))
		return 0;
	arena_init(&a, ARENA_MOST);
	for (size_t i = 0; rc == 0 && i < COUNT_OF(ends); i++)
		if (unlink(library_path(l, id, ends[i], &a)) < 0 &&
		    errno != ENOENT)
			rc = err_set(err, ERR_UNAVAILABLE,
				     "cannot remove image %s: %s", id,
				     strerror(errno));
	arena_release(&a);
	return rc < 0 ? -1 : records_remove(&l->records, id, err);
}

int library_finish(struct library *l, struct image_record *r, uint64_t most,
		   struct arena *a, struct err *err)
{
	const char *part = library_path(l, r->id, "part", a), *path;
	auto_close int fd = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct content c;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot open image %s: %s",
			       r->id, strerror(errno));
	if (content_check(fd, most, &c, err) < 0)
		return -1;
	path = library_path(l, r->id, disk_format_names[c.format], a);
	if (file_publish(part, path, err) < 0)
		return -1;
	r->stage = IMAGE_READY;
	r->format = (int)c.format;
	r->bytes = (int64_t)c.size;
	r->stored = (int64_t)st.st_blocks * 512;
	r->version = r->machine = NULL;
	return library_put(l, r, err);
}

int library_room(const struct library *l, uint64_t *ret, struct err *err)
{
	struct statvfs s;

	if (statvfs(l->folder, &s) < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", l->folder,
			       strerror(errno));
	*ret = (uint64_t)s.f_bavail * s.f_frsize;
	return 0;
}
