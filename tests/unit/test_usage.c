#include "model/usage.h"

#include "test.h"

static struct gpu h100[] = {{.count = 8}};

static const struct flavor small = {.meta.id = "small",
				    .vcpus = 2,
				    .memory_mib = 4096,
				    .price = {"0.05", "USD", 1},
				    .spot_price = {"0.02", "USD", 1}};
static const struct flavor large = {
	.meta.id = "large",
	.vcpus = 16,
	.memory_mib = 2048,
	.gpus = {h100, 1},
	.price = {"9.5", "USD", 1},
};

static int64_t amount(const struct quota_amount *list, size_t n,
		      const char *kind)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].kind, kind) == 0)
			return list[i].committed;
	return 0;
}

static void one_of_one_flavor_counts_as_that(void)
{
	struct instance i = {.spec = {.flavor_id = "small",
				      .market = MARKET_ON_DEMAND,
				      .public_ip = true}};
	const struct flavor *flavors[] = {&small};
	struct quota_amount out[USAGE_MOST];
	size_t n = usage_of(&i, flavors, 1, out);

	CHECK(n == 5); /* no graphics processors */
	CHECK(amount(out, n, "instances") == 1);
	CHECK(amount(out, n, "vcpus") == 2);
	CHECK(amount(out, n, "memoryMiB") == 4096);
	CHECK(amount(out, n, "publicIps") == 1);
	CHECK(amount(out, n, "spend") == 50);
	i.spec.market = MARKET_SPOT;
	n = usage_of(&i, flavors, 1, out);
	CHECK(amount(out, n, "spend") == 20);
}

static void one_of_several_counts_as_the_most_of_each(void)
{
	static struct alternative other = {.flavor_id = "large"};
	struct instance i = {.spec = {.flavor_id = "small",
				      .market = MARKET_ON_DEMAND,
				      .alternatives = {&other, 1}}};
	const struct flavor *flavors[] = {&small, &large};
	struct quota_amount out[USAGE_MOST];
	size_t n = usage_of(&i, flavors, 2, out);

	CHECK(amount(out, n, "instances") == 1);
	CHECK(amount(out, n, "vcpus") == 16);
	CHECK(amount(out, n, "memoryMiB") == 4096);
	CHECK(amount(out, n, "gpus") == 8);
	CHECK(amount(out, n, "spend") == 9500);
	/* What it came to be. */
	n = usage_of(&i, flavors, 1, out);
	CHECK(amount(out, n, "vcpus") == 2);
}

static void a_flavor_that_is_gone_counts_nothing(void)
{
	struct instance i = {.spec.market = MARKET_ON_DEMAND};
	const struct flavor *gone[] = {NULL}, *two[] = {&small, &large};
	struct quota_amount out[USAGE_MOST];
	size_t n = usage_of(&i, gone, 1, out);

	CHECK(n == 1 && amount(out, n, "instances") == 1);
	/* Nor does one that it has no alternative for. */
	n = usage_of(&i, two, 2, out);
	CHECK(amount(out, n, "vcpus") == 2 && amount(out, n, "gpus") == 0);
}

static void the_most_of_two_is_that_of_each_kind(void)
{
	struct quota_amount a[] = {{"instances", 1, 0}, {"vcpus", 2, 0}};
	struct quota_amount b[] = {
		{"instances", 1, 0}, {"vcpus", 1, 0}, {"publicIps", 1, 0}};
	const struct items first = {a, 2}, second = {b, 3};
	struct quota_amount out[USAGE_MOST];
	size_t n = usage_most(&first, &second, out);

	CHECK(n == 3);
	CHECK(amount(out, n, "instances") == 1);
	CHECK(amount(out, n, "vcpus") == 2);
	CHECK(amount(out, n, "publicIps") == 1);
}

static void a_price_that_is_not_known_costs_nothing(void)
{
	struct flavor f = {.vcpus = 1};
	const struct flavor *flavors[] = {&f, NULL};
	struct instance i = {.spec.market = MARKET_SPOT};
	struct quota_amount out[USAGE_MOST];

	CHECK(amount(out, usage_of(&i, flavors, 1, out), "spend") == 0);
	CHECK(usage_price(&large, MARKET_SPOT) == &large.price);
}

int main(void)
{
	RUN(one_of_one_flavor_counts_as_that);
	RUN(one_of_several_counts_as_the_most_of_each);
	RUN(a_flavor_that_is_gone_counts_nothing);
	RUN(the_most_of_two_is_that_of_each_kind);
	RUN(a_price_that_is_not_known_costs_nothing);
	return test_done();
}
