#include "provider/libvirt/place.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/* A part of what there is, in millionths. */
enum { WHOLE = 1000000 };

/* Bytes of a message after which hosts are only counted. */
enum { OBSTACLES_MOST = 150 };

/* When it is worth asking again: a host that does not answer may be back any
 * moment, and looking for room costs little. */
enum { BACK_MS = 5000, ROOM_MS = 30000 };

static bool in_zone(const struct place_host *h, const struct place_ask *ask)
{
	return !ask->zone || (h->zone && strcmp(h->zone, ask->zone) == 0);
}

static int64_t left(int64_t all, int64_t taken)
{
	return all > taken ? all - taken : 0;
}

bool place_obstacle(const struct place_host *h, const struct place_ask *ask,
		    char *out, size_t size)
{
	const struct host_room *r = &h->room;
	int64_t cpus = left(r->cpus, r->cpus_taken);
	int64_t memory = left(r->memory_mib, r->memory_taken);
	int64_t disk = left(r->disk_gib, r->disk_taken);

	if (!in_zone(h, ask))
		snprintf(out, size, "is in another zone");
	else if (h->why_not)
		snprintf(out, size, "%s", h->why_not);
	else if (memory < ask->memory_mib)
		snprintf(out, size, "has %lld of %lld MiB memory left",
			 (long long)memory, (long long)r->memory_mib);
	else if (cpus < ask->cpus)
		snprintf(out, size, "has %lld of %lld processors left",
			 (long long)cpus, (long long)r->cpus);
	else if (disk < ask->disk_gib)
		snprintf(out, size, "has %lld of %lld GiB disk left",
			 (long long)disk, (long long)r->disk_gib);
	else
		return false;
	return true;
}

static int64_t part(int64_t of, int64_t all)
{
	if (all <= 0)
		return WHOLE;
	/* Both are small enough: at most 2^40 and 2^20. */
	return of * WHOLE / all;
}

/* How full it would be, by what would be the scarcest. */
static int64_t fullness(const struct place_host *h, const struct place_ask *ask)
{
	const struct host_room *r = &h->room;
	int64_t cpus = part(r->cpus_taken + ask->cpus, r->cpus);
	int64_t memory = part(r->memory_taken + ask->memory_mib, r->memory_mib);
	int64_t disk = part(r->disk_taken + ask->disk_gib, r->disk_gib);
	int64_t most = cpus > memory ? cpus : memory;

	return disk > most ? disk : most;
}

static bool better(int64_t full, int64_t best, int how)
{
	return how == PLACEMENT_PACK ? full > best : full < best;
}

/* What is in the way on each of those in the zone, as far as there is room to
 * say it. */
static void add_obstacles(const struct place_host *hosts, size_t n,
			  const struct place_ask *ask, struct buf *b)
{
	size_t more = 0;

	for (size_t i = 0; i < n; i++) {
		char why[128];

		if (!in_zone(&hosts[i], ask))
			continue;
		place_obstacle(&hosts[i], ask, why, sizeof(why));
		if (more || b->len > OBSTACLES_MOST)
			more++;
		else
			buf_addf(b, "; host %s %s", hosts[i].name, why);
	}
	if (more)
		buf_addf(b, "; and %zu more", more);
}

static int refuse(const struct place_host *hosts, size_t n,
		  const struct place_ask *ask, struct err *err)
{
	struct buf b = BUF_INIT(sizeof(err->msg));
	size_t zoned = 0, deaf = 0;

	for (size_t i = 0; i < n; i++)
		if (in_zone(&hosts[i], ask)) {
			zoned++;
			deaf += hosts[i].why_not != NULL;
		}
	add_obstacles(hosts, n, ask, &b);
	if (!zoned)
		err_set(err, ERR_INVALID, "there is no zone %s", ask->zone);
	else
		err_set(err, deaf == zoned ? ERR_UNAVAILABLE : ERR_CAPACITY,
			"no host has room for %lld processors, %lld MiB and "
			"%lld GiB%s",
			(long long)ask->cpus, (long long)ask->memory_mib,
			(long long)ask->disk_gib, buf_str(&b));
	err->scope = ask->zone ? ERR_SCOPE_ZONE : ERR_SCOPE_REGION;
	if (err->code == ERR_CAPACITY)
		err->retry_after_ms = deaf ? BACK_MS : ROOM_MS;
	buf_release(&b);
	return -1;
}

int place_choose(const struct place_host *hosts, size_t n,
		 const struct place_ask *ask, int how, size_t *ret,
		 struct err *err)
{
	int64_t best = 0;
	size_t at = n;
	char why[128];

	for (size_t i = 0; i < n; i++) {
		int64_t full;

		if (place_obstacle(&hosts[i], ask, why, sizeof(why)))
			continue;
		full = fullness(&hosts[i], ask);
		if (at == n || better(full, best, how)) {
			at = i;
			best = full;
		}
	}
	if (at == n)
		return refuse(hosts, n, ask, err);
	*ret = at;
	return 0;
}
