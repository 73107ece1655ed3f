#include "provider/libvirt/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"

/* How long a look is good for; before "there is no room" there is a new one. */
enum { LOOK_MS = 5000 };

/* What a host may have beside its machines, of eight parts. */
enum { OWN_PART = 8 };

static int64_t or_else(int64_t told, int64_t found)
{
	return told == FIELD_NONE ? found : told;
}

static int look_at_node(struct host *h, virConnectPtr conn,
			struct host_room *ret, struct err *err)
{
	const struct host_options *o = h->options;
	virNodeInfo info;
	int64_t memory;

	if (virNodeGetInfo(conn, &info) < 0)
		return host_err(h, "ask what the host has", err);
	memory = (int64_t)(info.memory / 1024);
	ret->cpus = or_else(o->cpus, info.cpus) * o->overcommit / 100;
	ret->memory_mib = or_else(o->memory_mib, memory - memory / OWN_PART);
	return 0;
}

/* Also of those that are off: they may be started at any time. */
static int look_at_domains(struct host *h, virConnectPtr conn,
			   struct host_room *ret, struct err *err)
{
	virDomainPtr *domains;
	int n = virConnectListAllDomains(conn, &domains, 0);

	if (n < 0)
		return host_err(h, "list the machines", err);
	for (int i = 0; i < n; i++) {
		virDomainInfo info;

		/* One may be gone by now. */
		if (virDomainGetInfo(domains[i], &info) == 0) {
			ret->cpus_taken += info.nrVirtCpu;
			ret->memory_taken += (int64_t)(info.maxMem / 1024);
		}
		host_domain_drop(&domains[i]);
	}
	free(domains);
	return 0;
}

static int look_at_disks(struct host *h, struct host_room *ret, struct err *err)
{
	int64_t total, free_bytes;
	struct items disks;
	struct arena a;
	int r = -1;

	ret->disk_gib = or_else(h->options->disk_gib, INT32_MAX);
	if (h->fake)
		return 0;
	arena_init(&a, (size_t)16 << 20);
	if (h->disks->room(h, &total, &free_bytes, err) == 0 &&
	    h->disks->list(h, &a, &disks, err) == 0) {
		const struct disk_info *d = disks.at;
		int64_t allocated = 0, promised = 0;

		for (size_t i = 0; i < disks.n; i++) {
			allocated += d[i].allocated;
			promised += d[i].bytes;
		}
		ret->disk_gib =
			or_else(h->options->disk_gib,
				(free_bytes + allocated) / DISK_GIB *
					h->options->disk_overcommit / 100);
		ret->disk_taken = promised / DISK_GIB;
		r = 0;
	}
	arena_release(&a);
	return r;
}

int host_room(struct host *h, struct host_room *ret, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	struct host_room room = {0};

	if (host_take(h, &conn, err) < 0 ||
	    look_at_node(h, conn, &room, err) < 0 ||
	    look_at_domains(h, conn, &room, err) < 0 ||
	    look_at_disks(h, &room, err) < 0)
		return -1;
	*ret = room;
	return 0;
}

/* What was held on H and is in the look at it that begins now. */
static void forget_seen(struct lv *lv, const struct host *h)
{
	struct list *next;

	for (struct list *l = lv->holds.next; l != &lv->holds; l = next) {
		struct hold *hold = CONTAINER_OF(l, struct hold, list);

		next = l->next;
		if (!hold->seen || hold->host != h)
			continue;
		list_remove(l);
		free(hold);
	}
}

static void look(struct lv *lv, struct host *h, struct place_host *to,
		 bool anew)
{
	uint64_t now = clock_mono(lv->conf->clock);
	struct err err;

	to->name = h->name;
	to->zone = h->options->zone;
	to->why_not = NULL;
	if (!anew && h->looked_at && now < h->looked_at + LOOK_MS)
		return;
	forget_seen(lv, h);
	h->looked_at = now;
	h->deaf[0] = '\0';
	if (host_room(h, &h->room, &err) < 0)
		snprintf(h->deaf, sizeof(h->deaf), "cannot be asked: %.100s",
			 err.provider_msg[0] ? err.provider_msg : err.msg);
}

static void count_holds(const struct lv *lv, const struct host *h,
			struct host_room *room)
{
	for (struct list *l = lv->holds.next; l != &lv->holds; l = l->next) {
		const struct hold *hold = CONTAINER_OF(l, struct hold, list);

		if (hold->host != h)
			continue;
		room->cpus_taken += hold->ask.cpus;
		room->memory_taken += hold->ask.memory_mib;
		room->disk_taken += hold->ask.disk_gib;
	}
}

static int choose(struct lv *lv, const struct place_ask *ask,
		  const struct host *only, bool anew, size_t *ret,
		  struct err *err)
{
	struct place_host *hosts = xcalloc(lv->n_hosts, sizeof(*hosts));
	size_t n = 0, *which = xcalloc(lv->n_hosts, sizeof(*which)), at;
	int r;

	for (size_t i = 0; i < lv->n_hosts; i++) {
		struct host *h = lv->hosts[i];

		if (only && h != only)
			continue;
		look(lv, h, &hosts[n], anew);
		hosts[n].why_not = h->deaf[0] ? h->deaf : NULL;
		hosts[n].room = h->room;
		count_holds(lv, h, &hosts[n].room);
		which[n++] = i;
	}
	r = place_choose(hosts, n, ask, lv->options.placement, &at, err);
	if (r == 0)
		*ret = which[at];
	free(hosts);
	free(which);
	return r;
}

int room_take(struct lv *lv, const struct place_ask *ask,
	      const struct host *only, struct hold **ret, struct err *err)
{
	struct hold *hold;
	size_t at;
	int r;

	pthread_mutex_lock(&lv->placing);
	r = choose(lv, ask, only, false, &at, err);
	if (r < 0 && err->code != ERR_INVALID)
		r = choose(lv, ask, only, true, &at, err);
	if (r == 0) {
		*ret = hold = xcalloc(1, sizeof(*hold));
		hold->host = lv->hosts[at];
		hold->ask = *ask;
		list_add(&lv->holds, &hold->list);
	}
	pthread_mutex_unlock(&lv->placing);
	return r;
}

void room_end(struct lv *lv, struct hold *hold, bool made)
{
	if (!hold)
		return;
	pthread_mutex_lock(&lv->placing);
	hold->ask.zone = NULL;
	hold->seen = true;
	if (!made) {
		hold->host->looked_at = 0; /* it may not be as it was */
		list_remove(&hold->list);
		free(hold);
	}
	pthread_mutex_unlock(&lv->placing);
}

void room_release(struct lv *lv)
{
	struct list *next;

	for (struct list *l = lv->holds.next; l != &lv->holds; l = next) {
		next = l->next;
		free(CONTAINER_OF(l, struct hold, list));
	}
	list_init(&lv->holds);
}
