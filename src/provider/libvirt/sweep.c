#include "provider/libvirt/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/file.h"
#include "provider/libvirt/group.h"
#include "provider/libvirt/intent.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/nic.h"
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
	const char *folder = arena_join(a, h->folder, DISK_FOLDER, NULL);
	struct items names = {0};
	const char *const *name;
	struct err err;

	if (file_names(folder, a, &names, &err) < 0)
		return; /* there was none yet */
	name = names.at;
	for (size_t i = 0; i < names.n; i++) {
		char uuid[UUID_LEN + 1];

		if (!is_machines(name[i], uuid) || !is_nobodys(h, uuid))
			continue;
		log_info("libvirt", "host %s: %s is nobody's, and removed",
			 h->name, name[i]);
		if (unlink(arena_join(a, folder, "/", name[i], NULL)) < 0)
			log_warn("libvirt", "%s: %s", name[i], strerror(errno));
	}
}

/* A launch that was not finished. */
struct left {
	struct list list;
	struct host *host;
	char uuid[VIR_UUID_STRING_BUFLEN];
	uint64_t since; /* when it is certain what became of it */
};

static struct left *find_left(const struct lv *lv, const struct host *h,
			      const char *uuid)
{
	for (struct list *l = lv->left.next; l != &lv->left; l = l->next) {
		struct left *one = CONTAINER_OF(l, struct left, list);

		if (one->host == h && strcmp(one->uuid, uuid) == 0)
			return one;
	}
	return NULL;
}

static void note_left(struct host *h, const char *uuid, bool sent)
{
	struct lv *lv = h->lv;
	struct left *one;

	pthread_mutex_lock(&lv->placing);
	one = find_left(lv, h, uuid);
	if (!one) {
		one = xcalloc(1, sizeof(*one));
		one->host = h;
		memcpy(one->uuid, uuid, sizeof(one->uuid));
		list_add(&lv->left, &one->list);
	}
	one->since = clock_mono(lv->conf->clock) +
		     (sent ? lv->base.facts.call_ms : 0);
	pthread_mutex_unlock(&lv->placing);
}

void sweep_later(struct host *h, const char *uuid, bool sent)
{
	struct arena a;

	arena_init(&a, (size_t)1 << 20);
	intent_leave(h, uuid, &a);
	arena_release(&a);
	note_left(h, uuid, sent);
}

void sweep_release(struct lv *lv)
{
	struct list *next;

	for (struct list *l = lv->left.next; l != &lv->left; l = next) {
		next = l->next;
		free(CONTAINER_OF(l, struct left, list));
	}
	list_init(&lv->left);
}

/* True when there is nothing of it any more, or somebody has it. */
static bool clean(const struct left *one, struct arena *a)
{
	auto_domain virDomainPtr domain = NULL;
	struct host *h = one->host, *begun;
	struct err err = {0};

	if (host_domain(h, one->uuid, &domain, &err) == 0)
		return true;
	if (err.code != ERR_NOT_FOUND ||
	    nic_drop(h->lv, h, one->uuid, &err) < 0 ||
	    machine_remove_files(h, one->uuid, a, &err) < 0)
		return false;
	log_info("libvirt",
		 "host %s: of an unfinished launch, %s, nothing is left",
		 h->name, one->uuid);
	if (intent_read(h->lv, one->uuid, &begun) == INTENT_HOST && begun == h)
		intent_drop(h->lv, one->uuid);
	return true;
}

static void sweep_left(struct lv *lv, uint64_t now, struct arena *a)
{
	struct list *next;

	for (struct list *l = lv->left.next; l != &lv->left; l = next) {
		struct left *one = CONTAINER_OF(l, struct left, list);

		next = l->next;
		if (now < one->since || !clean(one, a))
			continue;
		intent_left_none(one->host, one->uuid, a);
		list_remove(l);
		free(one);
	}
}

/* Begun by a process before this one, and not finished as it seems: perhaps what
 * that has sent is still on its way, or the launch is being repeated. */
static void suspect(struct host *h, const char *uuid)
{
	auto_domain virDomainPtr domain = NULL;
	struct err none;

	if (host_domain(h, uuid, &domain, &none) < 0)
		note_left(h, uuid, true);
}

static void recall(struct lv *lv)
{
	struct arena a;

	if (atomic_exchange(&lv->recalled, true))
		return;
	arena_init(&a, (size_t)64 << 20);
	intent_each(lv, &a, suspect);
	arena_release(&a);
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

	recall(lv);
	/* Nobody begins to launch meanwhile. */
	pthread_mutex_lock(&lv->placing);
	if (now >= lv->sweep_at && !is_launching(lv)) {
		lv->sweep_at = now + EVERY_MS;
		arena_init(&a, (size_t)16 << 20);
		for (size_t i = 0; i < lv->n_hosts; i++)
			if (lv->hosts[i]->embedded)
				sweep_host(lv->hosts[i], &a);
		sweep_left(lv, now, &a);
		arena_release(&a);
	}
	pthread_mutex_unlock(&lv->placing);
	group_catch_up(lv);
}
