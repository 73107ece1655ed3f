/* Addresses to hand out, and what is due when. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/sim_priv.h"

/* Of an IPv4 prefix; all zero when TEXT is none. */
static void read_prefix(const char *text, uint32_t *ret_first,
			uint32_t *ret_count)
{
	const char *slash = strchr(text, '/');
	long bits = slash ? strtol(slash + 1, NULL, 10) : 32;
	struct in_addr in;
	char host[16];

	*ret_first = *ret_count = 0;
	snprintf(host, sizeof(host), "%.*s", slash ? (int)(slash - text) : 15,
		 text);
	if (bits < 8 || bits > 32 || inet_pton(AF_INET, host, &in) != 1)
		return;
	*ret_count = (uint32_t)1 << (32 - bits);
	*ret_first = ntohl(in.s_addr) & ~(*ret_count - 1);
}

void sim_pool_init(struct sim_pool *p, const char *prefix)
{
	*p = (struct sim_pool){.next = 2};
	read_prefix(prefix, &p->first, &p->count);
}

/* The network, its gateway and the last are never handed out. */
static void need_bits(struct sim_pool *p)
{
	if (p->bits || !p->count)
		return;
	p->bits = xcalloc(1, p->count / 8 + 1);
	p->bits[0] |= 3;
	p->bits[(p->count - 1) / 8] |= (unsigned char)(1 << (p->count - 1) % 8);
	p->used = p->count > 2 ? 3 : p->count;
}

static void set_bit(struct sim_pool *p, uint32_t i, bool on)
{
	unsigned char bit = (unsigned char)(1 << i % 8);
	bool was = p->bits[i / 8] & bit;

	if (was == on)
		return;
	p->bits[i / 8] ^= bit;
	p->used += on ? 1 : (uint32_t)-1;
}

bool sim_pool_take(struct sim_pool *p, char out[16])
{
	struct in_addr in;

	need_bits(p);
	if (p->used >= p->count)
		return false;
	while (p->bits[p->next / 8] & 1 << p->next % 8)
		p->next = p->next + 1 < p->count ? p->next + 1 : 0;
	set_bit(p, p->next, true);
	in.s_addr = htonl(p->first + p->next);
	inet_ntop(AF_INET, &in, out, 16);
	p->next = p->next + 1 < p->count ? p->next + 1 : 0;
	return true;
}

static void mark(struct sim_pool *p, const char *prefix, bool on)
{
	uint32_t first, count;

	need_bits(p);
	read_prefix(prefix, &first, &count);
	for (uint32_t i = 0; i < count; i++)
		if (first + i >= p->first && first + i - p->first < p->count)
			set_bit(p, first + i - p->first, on);
}

void sim_pool_mark(struct sim_pool *p, const char *prefix)
{
	mark(p, prefix, true);
}

void sim_pool_give(struct sim_pool *p, const char *address)
{
	mark(p, address, false);
}

static void put(struct sim_heap *h, size_t i, struct sim_item *item)
{
	h->at[i] = item;
	item->place = i + 1;
}

static void sift_up(struct sim_heap *h, size_t i)
{
	struct sim_item *item = h->at[i];

	for (; i && item->due < h->at[(i - 1) / 2]->due; i = (i - 1) / 2)
		put(h, i, h->at[(i - 1) / 2]);
	put(h, i, item);
}

static void sift_down(struct sim_heap *h, size_t i)
{
	struct sim_item *item = h->at[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < h->n &&
		    h->at[child + 1]->due < h->at[child]->due)
			child++;
		if (child >= h->n || item->due <= h->at[child]->due)
			break;
		put(h, i, h->at[child]);
		i = child;
	}
	put(h, i, item);
}

static void heap_remove(struct sim_heap *h, struct sim_item *i)
{
	size_t at = i->place - 1;
	struct sim_item *last;

	if (!i->place)
		return;
	i->place = 0;
	last = h->at[--h->n];
	if (last == i)
		return;
	put(h, at, last);
	sift_up(h, at);
	sift_down(h, last->place - 1);
}

void sim_heap_set(struct sim_heap *h, struct sim_item *i, int64_t due)
{
	heap_remove(h, i);
	i->due = due;
	if (!due)
		return;
	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 64;
		h->at = xrealloc(h->at, h->room, sizeof(struct sim_item *));
	}
	put(h, h->n++, i);
	sift_up(h, h->n - 1);
}

struct sim_item *sim_heap_pop(struct sim_heap *h, int64_t now)
{
	struct sim_item *i;

	if (!h->n || h->at[0]->due > now)
		return NULL;
	i = h->at[0];
	heap_remove(h, i);
	return i;
}
