/*
 * Disks as files in a folder of an embedded host's, made by qemu-img.
 *
 * Each is made as "NAME.part" and then renamed.  An overlay names its base
 * without a folder, so that all of them can be moved together.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/file.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/qcow2.h"
#include "provider/libvirt/run.h"

#define PART       DISK_PART
#define ARENA_MOST ((size_t)1 << 20)

/* A few files are written; a copy may be of a large disk. */
enum { MAKE_MS = 60 * 1000, COPY_MS = 6 * 3600 * 1000 };

static int fail(const char *what, const char *name, struct err *err)
{
	err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE,
		"cannot %s %s: %s", what, name, strerror(errno));
	return -1;
}

static int no_disk(const char *name, struct err *err)
{
	err_set(err, ERR_INVALID, "\"%.64s\" is no disk", name);
	return -1;
}

/* The folder, made when it is not there.  QEMU, which is another user, must be
 * able to go through it. */
static int folder(struct host *h, struct arena *a, const char **ret,
		  struct err *err)
{
	const char *path = arena_join(a, h->folder, "/disks", NULL);

	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return fail("make the folder", path, err);
	*ret = path;
	return 0;
}

static int files_path(struct host *h, const char *name, struct arena *a,
		      const char **ret, struct err *err)
{
	const char *dir;

	if (!disk_name_valid(name))
		return no_disk(name, err);
	if (folder(h, a, &dir, err) < 0)
		return -1;
	*ret = arena_join(a, dir, "/", name, NULL);
	return 0;
}

/* What is being made: the place of its own, and that in the meantime. */
struct making {
	struct arena a;
	const char *name, *path, *part;
};

static int begin(struct making *m, struct host *h, const char *name,
		 struct err *err)
{
	arena_init(&m->a, ARENA_MOST);
	m->name = name;
	if (files_path(h, name, &m->a, &m->path, err) < 0) {
		arena_release(&m->a);
		return -1;
	}
	m->part = arena_join(&m->a, m->path, PART, NULL);
	unlink(m->part); /* of an attempt that did not end */
	return 0;
}

/* Whole and on the disk, then under its name; or not at all. */
static int finish(struct making *m, int rc, struct err *err)
{
	if (rc == 0)
		rc = file_publish(m->part, m->path, err);
	if (rc < 0)
		unlink(m->part);
	arena_release(&m->a);
	return rc;
}

static int tool(const char *const *argv, unsigned ms, const atomic_bool *stop,
		struct err *err)
{
	const struct run r = {argv, ms, stop};

	return run(&r, err);
}

static int read_head(int fd, const struct stat *st, struct arena *a,
		     struct disk_info *info, struct err *err)
{
	auto_free char *head = xmalloc(QCOW2_HEAD);
	const char *base;
	struct qcow2 q;
	ssize_t n = pread(fd, head, QCOW2_HEAD, 0);

	if (n < 0)
		return fail("read", info->name, err);
	if (qcow2_parse(head, (size_t)n, (uint64_t)st->st_size, &q, err) < 0)
		return err_wrap(err, "%s", info->name);
	info->bytes = (int64_t)q.size;
	if (!q.backing_at)
		return 0;
	base = arena_memdup(a, head + q.backing_at, q.backing_len);
	info->base = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
	return 0;
}

static int look_at(const char *path, const char *name, struct arena *a,
		   struct disk_info *ret, struct err *err)
{
	struct disk_info info = {.name = arena_strdup(a, name)};
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail("open", name, err);
	info.bytes = st.st_size;
	info.allocated = (int64_t)st.st_blocks * 512;
	info.changed_at = (int64_t)st.st_mtim.tv_sec * 1000 +
			  st.st_mtim.tv_nsec / 1000000;
	if (strcmp(disk_format(name), "qcow2") == 0 &&
	    read_head(fd, &st, a, &info, err) < 0)
		return -1;
	*ret = info;
	return 0;
}

static int files_look(struct host *h, const char *name, struct arena *a,
		      struct disk_info *ret, struct err *err)
{
	const char *path;

	if (files_path(h, name, a, &path, err) < 0)
		return -1;
	return look_at(path, name, a, ret, err);
}

/* 1 when NAME is there, on BASE and of BYTES at least; what is there and is
 * something else is in the way. */
static int is_made(struct making *m, const char *base, int64_t bytes,
		   struct err *err)
{
	struct disk_info info;
	struct err why = {0};

	if (look_at(m->path, m->name, &m->a, &info, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : (*err = why, -1);
	if (info.bytes < bytes || !base != !info.base ||
	    (base && strcmp(base, info.base) != 0))
		return err_set(err, ERR_CONFLICT,
			       "there is another disk %s already", m->name);
	return 1;
}

static int files_overlay(struct host *h, const char *name, const char *base,
			 int64_t bytes, struct err *err)
{
	struct making m;
	const char *argv[] = {
		"qemu-img", "create", "-q", "-f", "qcow2",
		"-b",       base,     "-F", NULL, /* part and size */ NULL,
		NULL,       NULL};
	int rc;

	if (!disk_name_valid(base))
		return no_disk(base, err);
	if (begin(&m, h, name, err) < 0)
		return -1;
	argv[8] = disk_format(base);
	argv[9] = m.part;
	argv[10] = arena_printf(&m.a, "%lld", (long long)bytes);
	rc = is_made(&m, base, bytes, err);
	if (rc != 0) {
		arena_release(&m.a);
		return rc < 0 ? -1 : 0;
	}
	return finish(&m, tool(argv, MAKE_MS, NULL, err), err);
}

static int make_raw(struct making *m, int64_t bytes, struct err *err)
{
	auto_close int fd =
		open(m->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, bytes) < 0)
		return fail("make", m->name, err);
	return 0;
}

static int files_blank(struct host *h, const char *name, int64_t bytes,
		       struct err *err)
{
	struct making m;
	const char *argv[] = {"qemu-img", "create", "-q", "-f",
			      "qcow2",    NULL,     NULL, NULL};
	int rc;

	if (begin(&m, h, name, err) < 0)
		return -1;
	rc = is_made(&m, NULL, bytes, err);
	if (rc != 0) {
		arena_release(&m.a);
		return rc < 0 ? -1 : 0;
	}
	if (strcmp(disk_format(name), "raw") == 0)
		return finish(&m, make_raw(&m, bytes, err), err);
	argv[5] = m.part;
	argv[6] = arena_printf(&m.a, "%lld", (long long)bytes);
	return finish(&m, tool(argv, MAKE_MS, NULL, err), err);
}

/* In place: what is cut off by a crash is a size that is old or new. */
static int grow(const char *name, const char *path, int64_t bytes,
		struct arena *a, struct err *err)
{
	const char *argv[] = {"qemu-img", "resize", "-q", "-f",
			      "qcow2",    path,     NULL, NULL};
	struct disk_info info;

	if (look_at(path, name, a, &info, err) < 0)
		return -1;
	if (info.bytes == bytes)
		return 0;
	if (info.bytes > bytes)
		return err_set(err, ERR_INVALID,
			       "a disk of %lld GiB cannot become smaller",
			       (long long)(info.bytes / DISK_GIB));
	if (strcmp(disk_format(name), "raw") == 0)
		return truncate(path, bytes) < 0 ? fail("grow", name, err) : 0;
	argv[6] = arena_printf(a, "%lld", (long long)bytes);
	return tool(argv, MAKE_MS, NULL, err);
}

static int files_grow(struct host *h, const char *name, int64_t bytes,
		      struct err *err)
{
	struct arena a;
	const char *path;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = files_path(h, name, &a, &path, err);
	if (rc == 0)
		rc = grow(name, path, bytes, &a, err);
	arena_release(&a);
	return rc;
}

static int files_remove(struct host *h, const char *name, struct err *err)
{
	struct making m;
	int rc = 0;

	if (begin(&m, h, name, err) < 0)
		return -1;
	if (unlink(m.path) < 0 && errno != ENOENT)
		rc = fail("remove", name, err);
	arena_release(&m.a);
	return rc;
}

static int files_write(struct host *h, const char *name, const void *bytes,
		       size_t len, struct err *err)
{
	struct making m;

	if (begin(&m, h, name, err) < 0)
		return -1;
	return finish(&m, file_write(m.part, bytes, len, err), err);
}

/* Another name for the same file when it lies on the same file system. */
static int files_upload(struct host *h, const char *name, int fd,
			const atomic_bool *stop, struct err *err)
{
	char link[64];
	struct making m;
	int rc = 0;

	if (begin(&m, h, name, err) < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, m.part, AT_SYMLINK_FOLLOW) < 0)
		rc = file_copy(fd, m.part, stop, err);
	return finish(&m, rc, err);
}

static int files_download(struct host *h, const char *name, int fd,
			  const atomic_bool *stop, struct err *err)
{
	struct arena a;
	const char *path;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = files_path(h, name, &a, &path, err);
	if (rc == 0) {
		auto_close int from =
			open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		rc = from < 0 ? fail("open", name, err)
			      : file_copy_to(from, fd, stop, err);
	}
	arena_release(&a);
	return rc;
}

static int files_copy(struct host *h, const char *from, const char *name,
		      const atomic_bool *stop, struct err *err)
{
	struct making m;
	const char *source;
	int rc;

	if (begin(&m, h, name, err) < 0)
		return -1;
	rc = files_path(h, from, &m.a, &source, err);
	if (rc == 0) {
		const char *argv[] = {"qemu-img",
				      "convert",
				      "-q",
				      "-f",
				      disk_format(from),
				      "-O",
				      disk_format(name),
				      source,
				      m.part,
				      NULL};

		rc = tool(argv, COPY_MS, stop, err);
	}
	return finish(&m, rc, err);
}

static int files_tail(struct host *h, const char *name, size_t length,
		      struct buf *out, struct err *err)
{
	struct arena a;
	const char *path;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = files_path(h, name, &a, &path, err);
	if (rc == 0)
		rc = file_tail(path, length, out, err);
	arena_release(&a);
	return rc;
}

static bool is_part(const char *name)
{
	size_t len = strlen(name), part = strlen(PART);

	return len >= part && strcmp(name + len - part, PART) == 0;
}

/* One that goes meanwhile, or cannot be read, is left out. */
static void add_info(const char *dir, const char *name, struct arena *a,
		     struct buf *infos)
{
	struct disk_info info;
	struct err err = {0};

	if (!disk_name_valid(name) || is_part(name))
		return;
	if (look_at(arena_join(a, dir, "/", name, NULL), name, a, &info,
		    &err) == 0)
		buf_add(infos, &info, sizeof(info));
}

static int files_list(struct host *h, struct arena *a, struct items *ret,
		      struct err *err)
{
	struct buf infos = BUF_INIT((size_t)64 << 20);
	struct items names;
	const char *dir;

	if (folder(h, a, &dir, err) < 0 || file_names(dir, a, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		add_info(dir, ((const char **)names.at)[i], a, &infos);
	ret->n = infos.len / sizeof(struct disk_info);
	ret->at = arena_alloc(a, infos.len + 1);
	if (infos.len)
		memcpy(ret->at, infos.data, infos.len);
	buf_release(&infos);
	return 0;
}

static int files_room(struct host *h, int64_t *ret_total, int64_t *ret_free,
		      struct err *err)
{
	struct statvfs s;

	if (statvfs(h->folder, &s) < 0)
		return fail("look at", h->folder, err);
	*ret_total = (int64_t)(s.f_blocks * s.f_frsize);
	*ret_free = (int64_t)(s.f_bavail * s.f_frsize);
	return 0;
}

const struct disk_ops disk_files = {
	.overlay = files_overlay,
	.blank = files_blank,
	.grow = files_grow,
	.remove = files_remove,
	.write = files_write,
	.upload = files_upload,
	.download = files_download,
	.copy = files_copy,
	.tail = files_tail,
	.look = files_look,
	.list = files_list,
	.path = files_path,
	.room = files_room,
};
