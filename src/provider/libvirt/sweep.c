#include "provider/libvirt/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/uuid.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/room.h"

enum { EVERY_MS = 10000 };

/* The UUID of the machine whose disk that is, whole or half made. */
static bool is_machines(const char *name, char ret[UUID_LEN + 1])
{
	static const char *const what[] = {DISK_ROOT, DISK_SEED, DISK_LOCAL,
					   DISK_CONSOLE};

	if (strlen(name) <= UUID_LEN + 1 || name[UUID_LEN] != '-')
		return false;
	memcpy(ret, name, UUID_LEN);
	ret[UUID_LEN] = '\0';
	if (!uuid_valid(ret, UUID_LEN))
		return false;
	for (size_t i = 0; i < COUNT_OF(what); i++) {
		size_t len = strlen(what[i]);
		const char *end = name + UUID_LEN + 1 + len;

		if (strncmp(end - len, what[i], len) == 0 &&
		    (!*end || strcmp(end, DISK_PART) == 0))
			return true;
	}
	return false;
}

static bool is_nobodys(struct host *h, const char *uuid)
{
	auto_domain virDomainPtr domain = NULL;
	struct err err = {0};

	return host_domain(h, uuid, &domain, &err) < 0 &&
	       err.code == ERR_NOT_FOUND;
}

static void sweep_host(struct host *h, struct arena *a)
{
	DIR *d = opendir(arena_join(a, h->folder, DISK_FOLDER, NULL));
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		char uuid[UUID_LEN + 1];

		if (!is_machines(entry->d_name, uuid) || !is_nobodys(h, uuid))
			continue;
		log_info("libvirt", "host %s: %s is nobody's, and removed",
			 h->name, entry->d_name);
		if (unlinkat(dirfd(d), entry->d_name, 0) < 0)
			log_warn("libvirt", "%s: %s", entry->d_name,
				 strerror(errno));
	}
	if (d)
		closedir(d);
}

static bool is_launching(struct lv *lv)
{
	for (struct list *l = lv->holds.next; l != &lv->holds; l = l->next)
		if (!CONTAINER_OF(l, struct hold, list)->seen)
			return true;
	return false;
}

void sweep(struct lv *lv)
{
	uint64_t now = clock_mono(lv->conf->clock);
	struct arena a;

	/* Nobody begins to launch meanwhile. */
	pthread_mutex_lock(&lv->placing);
	if (now >= lv->sweep_at && !is_launching(lv)) {
		lv->sweep_at = now + EVERY_MS;
		arena_init(&a, (size_t)16 << 20);
		for (size_t i = 0; i < lv->n_hosts; i++)
			if (lv->hosts[i]->embedded)
				sweep_host(lv->hosts[i], &a);
		arena_release(&a);
	}
	pthread_mutex_unlock(&lv->placing);
}
