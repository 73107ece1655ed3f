/*
 * Disks as volumes of a storage pool (a folder) of a host's libvirt, which may
 * be far away: all goes through its library, nothing by a path of ours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/pool.h"
#include "provider/libvirt/xml.h"

#define XML_MOST   ((size_t)1 << 20)
#define ARENA_MOST ((size_t)4 << 20)

static int valid(const char *name, struct err *err)
{
	if (disk_name_valid(name))
		return 0;
	return err_set(err, ERR_INVALID, "\"%.64s\" is no disk", name);
}

/* A volume as it is to be made. */
struct wish {
	const char *name;
	const char *format; /* of its bytes as they come */
	int64_t bytes;
	const char *base; /* the path of what it lies on, or NULL */
	const char *base_format;
};

static int write_wish(const struct wish *w, struct buf *out, struct err *err)
{
	struct xml *x = xml_new();

	xml_begin(x, "volume");
	xml_leaf(x, "name", w->name);
	xml_leaf_int(x, "capacity", w->bytes);
	xml_leaf_int(x, "allocation", 0);
	xml_begin(x, "target");
	xml_begin(x, "format");
	xml_attr(x, "type", w->format);
	xml_end(x);
	xml_end(x);
	if (w->base) {
		xml_begin(x, "backingStore");
		xml_leaf(x, "path", w->base);
		xml_begin(x, "format");
		xml_attr(x, "type", w->base_format);
		xml_end(x);
		xml_end(x);
	}
	xml_end(x);
	return xml_finish(x, out, err);
}

static int make(struct pool_at *p, const struct wish *w, virStorageVolPtr from,
		virStorageVolPtr *ret, struct err *err)
{
	struct buf xml = BUF_INIT(XML_MOST);
	int rc = write_wish(w, &xml, err);

	if (rc == 0) {
		*ret = from ? virStorageVolCreateXMLFrom(p->pool, buf_str(&xml),
							 from, 0)
			    : virStorageVolCreateXML(p->pool, buf_str(&xml), 0);
		rc = *ret ? 0 : host_err(p->host, "make a disk", err);
	}
	buf_release(&xml);
	return rc;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static int64_t changed_at(const struct xml_node *volume, struct arena *a)
{
	const char *text =
		xml_value(xml_child(volume, "target/timestamps/mtime"), a);

	return text ? (int64_t)(strtod(text, NULL) * 1000) : 0;
}

/* libvirt says them in bytes. */
static int64_t bytes_of(const struct xml_node *volume, const char *what,
			struct arena *a)
{
	const char *text = xml_value(xml_child(volume, what), a);

	return text ? strtoll(text, NULL, 10) : 0;
}

static int describe(struct host *h, virStorageVolPtr v, struct arena *a,
		    struct disk_info *ret, struct err *err)
{
	struct disk_info info = {
		.name = arena_strdup(a, virStorageVolGetName(v))};
	auto_free char *xml = virStorageVolGetXMLDesc(v, 0);
	struct xml_doc *doc;

	if (!xml) {
		host_err(h, "look at a disk", err);
		return -1;
	}
	doc = xml_parse(xml, strlen(xml), err);
	if (!doc)
		return -1;
	info.bytes = bytes_of(xml_root(doc), "capacity", a);
	info.allocated = bytes_of(xml_root(doc), "allocation", a);
	info.changed_at = changed_at(xml_root(doc), a);
	info.base = base_name(
		xml_value(xml_child(xml_root(doc), "backingStore/path"), a));
	xml_free(doc);
	*ret = info;
	return 0;
}

static int pool_look(struct host *h, const char *name, struct arena *a,
		     struct disk_info *ret, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    pool_find(&p, name, &v, err) < 0)
		return -1;
	return describe(h, v, a, ret, err);
}

/* 1 when it is there as it should be; 0 when it is not there, or was half made
 * and is gone now. */
static int is_made(struct pool_at *p, const char *name, const char *base,
		   int64_t bytes, struct err *err)
{
	auto_volume virStorageVolPtr v = NULL;
	struct disk_info info;
	struct err why = {0};
	struct arena a;
	int rc;

	if (pool_find(p, name, &v, &why) < 0)
		return why.code == ERR_NOT_FOUND ? 0 : (*err = why, -1);
	arena_init(&a, ARENA_MOST);
	rc = describe(p->host, v, &a, &info, err);
	if (rc == 0 && info.bytes >= bytes && !base == !info.base &&
	    (!base || strcmp(base, info.base) == 0))
		rc = 1;
	arena_release(&a);
	if (rc == 0 && virStorageVolDelete(v, 0) < 0)
		return host_err(p->host, "remove a disk", err);
	return rc;
}

static int pool_overlay(struct host *h, const char *name, const char *base,
			int64_t bytes, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL, made = NULL;
	struct wish w = {.name = name,
			 .format = disk_format(name),
			 .bytes = bytes,
			 .base_format = disk_format(base)};
	auto_free char *path = NULL;
	int rc;

	if (valid(name, err) < 0 || valid(base, err) < 0 ||
	    pool_open(h, &p, err) < 0)
		return -1;
	rc = is_made(&p, name, base, bytes, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (pool_find(&p, base, &v, err) < 0)
		return -1;
	w.base = path = virStorageVolGetPath(v);
	if (!path)
		return host_err(h, "find a disk", err);
	return make(&p, &w, NULL, &made, err);
}

static int pool_blank(struct host *h, const char *name, int64_t bytes,
		      struct err *err)
{
	const struct wish w = {
		.name = name, .format = disk_format(name), .bytes = bytes};
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr made = NULL;
	int rc;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0)
		return -1;
	rc = is_made(&p, name, NULL, bytes, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	return make(&p, &w, NULL, &made, err);
}

static int pool_grow(struct host *h, const char *name, int64_t bytes,
		     struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL;
	virStorageVolInfo seen;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    pool_find(&p, name, &v, err) < 0)
		return -1;
	if (virStorageVolGetInfo(v, &seen) < 0)
		return host_err(h, "look at a disk", err);
	if ((int64_t)seen.capacity == bytes)
		return 0;
	if ((int64_t)seen.capacity > bytes)
		return err_set(err, ERR_INVALID,
			       "a disk of %lld GiB cannot become smaller",
			       (long long)((int64_t)seen.capacity / DISK_GIB));
	if (virStorageVolResize(v, (unsigned long long)bytes, 0) < 0)
		return host_err(h, "grow a disk", err);
	return 0;
}

/* What a machine writes itself the pool does not know of before it looks. */
static bool is_log(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".log") == 0;
}

static int drop(struct pool_at *p, const char *name, struct err *err)
{
	auto_volume virStorageVolPtr v = NULL;
	struct err why = {0};

	if ((is_log(name) ? pool_find_any : pool_find)(p, name, &v, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		*err = why;
		return -1;
	}
	if (virStorageVolDelete(v, 0) == 0)
		return 0;
	host_err(p->host, "remove a disk", &why);
	if (why.code == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

static int pool_remove(struct host *h, const char *name, struct err *err)
{
	auto_pool struct pool_at p = {0};

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0)
		return -1;
	return drop(&p, name, err);
}

/* As raw bytes, whatever its name says: they are the file. */
static int make_room(struct pool_at *p, const char *name, int64_t bytes,
		     virStorageVolPtr *ret, struct err *err)
{
	const struct wish w = {.name = name, .format = "raw", .bytes = bytes};

	if (drop(p, name, err) < 0)
		return -1;
	return make(p, &w, NULL, ret, err);
}

static int pool_write(struct host *h, const char *name, const void *bytes,
		      size_t len, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    make_room(&p, name, (int64_t)len, &v, err) < 0)
		return -1;
	return pool_send_bytes(&p, v, bytes, len, err);
}

static int pool_upload(struct host *h, const char *name, int fd,
		       const atomic_bool *stop, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL;
	int64_t len;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    pool_file_len(fd, &len, err) < 0 ||
	    make_room(&p, name, len, &v, err) < 0)
		return -1;
	if (pool_send(&p, v, fd, len, stop, err) == 0)
		return 0;
	virStorageVolDelete(v, 0);
	return -1;
}

static int pool_download(struct host *h, const char *name, int fd,
			 const atomic_bool *stop, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    pool_find(&p, name, &v, err) < 0)
		return -1;
	return pool_receive(&p, v, fd, stop, err);
}

/* libvirt runs qemu-img there, which cannot be stopped from here. */
static int pool_copy(struct host *h, const char *from, const char *name,
		     const atomic_bool *stop, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL, made = NULL;
	struct wish w = {.name = name, .format = disk_format(name)};
	virStorageVolInfo seen;

	(void)stop;
	if (valid(name, err) < 0 || valid(from, err) < 0 ||
	    pool_open(h, &p, err) < 0 || pool_find(&p, from, &v, err) < 0 ||
	    drop(&p, name, err) < 0)
		return -1;
	if (virStorageVolGetInfo(v, &seen) < 0)
		return host_err(h, "look at a disk", err);
	w.bytes = (int64_t)seen.capacity;
	return make(&p, &w, v, &made, err);
}

static int pool_tail(struct host *h, const char *name, size_t length,
		     struct buf *out, struct err *err)
{
	auto_pool struct pool_at p = {0};
	auto_volume virStorageVolPtr v = NULL;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    pool_find_any(&p, name, &v, err) < 0)
		return -1;
	return pool_receive_tail(&p, v, length, out, err);
}

/* One that goes meanwhile is left out. */
static int pool_list(struct host *h, struct arena *a, struct items *ret,
		     struct err *err)
{
	auto_pool struct pool_at p = {0};
	virStorageVolPtr *all = NULL;
	struct disk_info *infos;
	size_t n = 0;
	int count;

	if (pool_open(h, &p, err) < 0)
		return -1;
	count = virStoragePoolListAllVolumes(p.pool, &all, 0);
	if (count < 0)
		return host_err(h, "list the disks", err);
	infos = arena_alloc(a, (size_t)count * sizeof(*infos) + 1);
	for (int i = 0; i < count; i++) {
		struct err gone = {0};

		if (disk_name_valid(virStorageVolGetName(all[i])) &&
		    describe(h, all[i], a, &infos[n], &gone) == 0)
			n++;
		virStorageVolFree(all[i]);
	}
	free(all);
	*ret = (struct items){infos, n};
	return 0;
}

static int pool_path(struct host *h, const char *name, struct arena *a,
		     const char **ret, struct err *err)
{
	auto_pool struct pool_at p = {0};
	const char *folder;

	if (valid(name, err) < 0 || pool_open(h, &p, err) < 0 ||
	    pool_folder(&p, a, &folder, err) < 0)
		return -1;
	*ret = arena_join(a, folder, "/", name, NULL);
	return 0;
}

static int pool_room(struct host *h, int64_t *ret_total, int64_t *ret_free,
		     struct err *err)
{
	auto_pool struct pool_at p = {0};
	virStoragePoolInfo seen;

	if (pool_open(h, &p, err) < 0)
		return -1;
	if (virStoragePoolGetInfo(p.pool, &seen) < 0)
		return host_err(h, "look at the pool", err);
	*ret_total = (int64_t)seen.capacity;
	*ret_free = (int64_t)seen.available;
	return 0;
}

const struct disk_ops disk_pool = {
	.overlay = pool_overlay,
	.blank = pool_blank,
	.grow = pool_grow,
	.remove = pool_remove,
	.write = pool_write,
	.upload = pool_upload,
	.download = pool_download,
	.copy = pool_copy,
	.tail = pool_tail,
	.look = pool_look,
	.list = pool_list,
	.path = pool_path,
	.room = pool_room,
};
