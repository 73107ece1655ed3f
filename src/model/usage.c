#include "model/usage.h"

#include <string.h>

const struct price *usage_price(const struct flavor *f, int market)
{
	return market == MARKET_SPOT && f->spot_price.amount ? &f->spot_price
							     : &f->price;
}

static void most(int64_t *to, int64_t n)
{
	if (n > *to)
		*to = n;
}

static const struct quota_amount nothing[USAGE_MOST] = {
	{"instances", 0, 0}, {"vcpus", 0, 0},     {"memoryMiB", 0, 0},
	{"gpus", 0, 0},      {"publicIps", 0, 0}, {"spend", 0, 0},
};

static size_t keep_used(const struct quota_amount all[USAGE_MOST],
			struct quota_amount out[USAGE_MOST])
{
	size_t used = 0;

	for (size_t k = 0; k < USAGE_MOST; k++)
		if (all[k].committed)
			out[used++] = all[k];
	return used;
}

size_t usage_of(const struct instance *i, const struct flavor *const flavors[],
		size_t n, struct quota_amount out[USAGE_MOST])
{
	struct quota_amount all[USAGE_MOST];
	struct alternative what;

	memcpy(all, nothing, sizeof(all));
	all[0].committed = 1;
	all[4].committed = i->spec.public_ip;
	for (size_t k = 0; k < n && instance_offering(i, k, &what); k++) {
		const struct flavor *f = flavors[k];

		if (!f)
			continue;
		most(&all[1].committed, f->vcpus);
		most(&all[2].committed, f->memory_mib);
		most(&all[3].committed, flavor_gpus(f));
		most(&all[5].committed,
		     price_thousandths(usage_price(f, what.market)));
	}
	return keep_used(all, out);
}

static int64_t amount_of(const struct items *list, const char *kind)
{
	const struct quota_amount *at = list->at;

	for (size_t k = 0; k < list->n; k++)
		if (strcmp(at[k].kind, kind) == 0)
			return at[k].committed;
	return 0;
}

size_t usage_most(const struct items *a, const struct items *b,
		  struct quota_amount out[USAGE_MOST])
{
	struct quota_amount all[USAGE_MOST];

	memcpy(all, nothing, sizeof(all));
	for (size_t k = 0; k < USAGE_MOST; k++) {
		most(&all[k].committed, amount_of(a, all[k].kind));
		most(&all[k].committed, amount_of(b, all[k].kind));
	}
	return keep_used(all, out);
}
