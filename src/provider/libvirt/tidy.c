#include "provider/libvirt/tidy.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/machine.h"

#define ARENA_MOST ((size_t)16 << 20)

enum { LOG_MOST = 16 << 20, LOG_KEPT = 1 << 20 };

/* NAME is what disk_name() makes: a UUID, and what it is. */
static bool is_machines(const char *name)
{
	static const char *const what[] = {DISK_ROOT, DISK_SEED, DISK_LOCAL,
					   DISK_CONSOLE};
	size_t len = strnlen(name, UUID_LEN);

	if (len < UUID_LEN || !uuid_valid(name, UUID_LEN) ||
	    name[UUID_LEN] != '-')
		return false;
	for (size_t i = 0; i < COUNT_OF(what); i++)
		if (strcmp(name + UUID_LEN + 1, what[i]) == 0)
			return true;
	return false;
}

/* It is known that there is no such machine. */
static bool is_gone(struct host *h, const char *uuid)
{
	auto_domain virDomainPtr d = NULL;
	struct err err = {0};

	return host_domain(h, uuid, &d, &err) < 0 && err.code == ERR_NOT_FOUND;
}

static bool is_old(const struct host *h, const struct disk_info *d)
{
	int64_t age = clock_wall(h->lv->conf->clock) - d->changed_at;

	return d->changed_at && age > (int64_t)h->lv->base.facts.launch_ms;
}

/* What a machine has said is kept to its end: it may say a lot, and QEMU writes
 * it all.  Where there is a virtlogd, that sees to it. */
static void trim(struct host *h, const char *name, struct arena *a)
{
	struct buf end = BUF_INIT(LOG_KEPT + 1);
	auto_close int fd = -1;
	const char *path;
	struct err err;

	if (h->disks->path(h, name, a, &path, &err) == 0 &&
	    h->disks->tail(h, name, LOG_KEPT, &end, &err) == 0)
		fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && ftruncate(fd, 0) == 0)
		(void)!write(fd, buf_str(&end), end.len);
	buf_release(&end);
}

static bool is_long_log(const struct host *h, const struct disk_info *d)
{
	return h->embedded && d->bytes > LOG_MOST &&
	       strcmp(d->name + UUID_LEN + 1, DISK_CONSOLE) == 0;
}

void tidy_files(struct host *h)
{
	const struct disk_info *d;
	struct items disks;
	struct arena a;
	struct err err;

	if (h->fake)
		return;
	arena_init(&a, ARENA_MOST);
	if (h->disks->list(h, &a, &disks, &err) == 0) {
		d = disks.at;
		for (size_t i = 0; i < disks.n; i++) {
			char uuid[UUID_LEN + 1] = "";

			if (!is_machines(d[i].name))
				continue;
			if (is_long_log(h, &d[i]))
				trim(h, d[i].name, &a);
			if (h->embedded || !is_old(h, &d[i]))
				continue;
			memcpy(uuid, d[i].name, UUID_LEN);
			if (is_gone(h, uuid))
				(void)!h->disks->remove(h, d[i].name, &err);
		}
	}
	arena_release(&a);
}
