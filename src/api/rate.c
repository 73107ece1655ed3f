#include "api/rate.h"

#include <string.h>

void rate_init(struct rate *r, double per_second, double burst)
{
	memset(r, 0, sizeof(*r));
	r->per_second = per_second;
	r->burst = burst;
	for (int i = 0; i < RATE_BUCKETS; i++)
		r->buckets[i].left = burst;
}

static unsigned bucket_of(const char *name)
{
	uint32_t h = 2166136261U;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619U;
	return (h ^ h >> 16) % RATE_BUCKETS;
}

static double left_at(const struct rate *r, unsigned i, uint64_t now_ms)
{
	double left = r->buckets[i].left;

	if (now_ms > r->buckets[i].at_ms)
		left += (double)(now_ms - r->buckets[i].at_ms) * r->per_second /
			1000;
	return left > r->burst ? r->burst : left;
}

bool rate_take(struct rate *r, const char *name, uint64_t now_ms,
	       uint32_t *ret_wait_ms)
{
	unsigned i;

	*ret_wait_ms = 0;
	if (r->per_second <= 0)
		return true;
	i = bucket_of(name);
	r->buckets[i].left = left_at(r, i, now_ms);
	r->buckets[i].at_ms = now_ms;
	if (r->buckets[i].left >= 1) {
		r->buckets[i].left -= 1;
		return true;
	}
	*ret_wait_ms =
		(uint32_t)((1 - r->buckets[i].left) * 1000 / r->per_second) + 1;
	return false;
}
