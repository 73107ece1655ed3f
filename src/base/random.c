#include "base/random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Small wants come from a pool, so that an id does not cost a system call;
 * the pool is the thread's own, and what is handed out is wiped from it. */
static void system_fill(struct random *r, void *to, size_t len)
{
	static _Thread_local unsigned char pool[256];
	static _Thread_local size_t left;

	(void)r;
	if (len > sizeof(pool)) {
		for (size_t done = 0; done < len; done += 256) {
			size_t n = len - done < 256 ? len - done : 256;

			if (getrandom((char *)to + done, n, 0) != (ssize_t)n)
				abort();
		}
		return;
	}
	if (left < len) {
		if (getrandom(pool, sizeof(pool), 0) != sizeof(pool))
			abort();
		left = sizeof(pool);
	}
	left -= len;
	memcpy(to, pool + left, len);
	memset(pool + left, 0, len);
}

struct random random_system = {system_fill};

void random_fill(struct random *r, void *to, size_t len)
{
	r->fill(r, to, len);
}

uint64_t random_below(struct random *r, uint64_t n)
{
	uint64_t x;

	random_fill(r, &x, sizeof(x));
	return x % n;
}

static uint64_t seeded_next(struct random_seeded *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15U;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
	return z ^ (z >> 31);
}

static void seeded_fill(struct random *r, void *to, size_t len)
{
	char *p = to;

	while (len) {
		uint64_t x = seeded_next((struct random_seeded *)r);
		size_t n = len < sizeof(x) ? len : sizeof(x);

		memcpy(p, &x, n);
		p += n;
		len -= n;
	}
}

void random_seed(struct random_seeded *r, uint64_t seed)
{
	r->base.fill = seeded_fill;
	r->state = seed;
}
