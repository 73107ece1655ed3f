#include "model/usage.h"

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

size_t usage_of(const struct instance *i, const struct flavor *const flavors[],
		size_t n, struct quota_amount out[USAGE_MOST])
{
	struct quota_amount all[USAGE_MOST] = {
		{"instances", 1, 0}, {"vcpus", 0, 0},     {"memoryMiB", 0, 0},
		{"gpus", 0, 0},      {"publicIps", 0, 0}, {"spend", 0, 0},
	};
	struct alternative what;
	size_t used = 0;

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
	for (size_t k = 0; k < USAGE_MOST; k++)
		if (all[k].committed)
			out[used++] = all[k];
	return used;
}
