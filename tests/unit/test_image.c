/* Which machines an image boots on, and what a flavor is to be had for. */

#include "model/image.h"

#include "base/attr.h"
#include "test.h"

static struct gpu two_kinds[] = {{.vendor = "NVIDIA", .model = "H100"},
				 {.vendor = "nvidia", .model = "L4"}};
static const char *h100[] = {"h100"};
static const char *both[] = {"L4", "H100"};

#define DRIVER(who, ...)                                                       \
	{                                                                      \
		.spec = {                                                      \
			.architecture = ARCHITECTURE_X86_64,                   \
			.virtualization = VIRTUALIZATION_ANY,                  \
			.gpu_driver = {.vendor = who, __VA_ARGS__},            \
		},                                                             \
	}

static const struct {
	struct image image;
	struct flavor flavor;
	int64_t disk;
	const char *words; /* of the refusal; NULL: it fits */
} fits[] = {
	{DRIVER(NULL), {.architecture = ARCHITECTURE_X86_64}, 10, NULL},
	{DRIVER(NULL),
	 {.architecture = ARCHITECTURE_AARCH64},
	 10,
	 "is for x86_64, flavor \"f\" is aarch64"},
	{{.spec = {.architecture = 1, .min_disk_gib = 10}},
	 {.architecture = 1},
	 10,
	 NULL},
	{{.spec = {.architecture = 1, .min_disk_gib = 11}},
	 {.architecture = 1},
	 10,
	 "needs a root disk of 11 GiB, this one has 10"},
	{{.spec = {.architecture = 1,
		   .virtualization = VIRTUALIZATION_BARE_METAL}},
	 {.architecture = 1},
	 10,
	 "for bareMetal machines, flavor \"f\" is virtual"},
	{{.spec = {.architecture = 1,
		   .virtualization = VIRTUALIZATION_BARE_METAL}},
	 {.architecture = 1, .bare_metal = true},
	 10,
	 NULL},
	{{.spec = {.architecture = 1,
		   .virtualization = VIRTUALIZATION_VIRTUALIZED}},
	 {.architecture = 1, .bare_metal = true},
	 10,
	 "for virtualized machines, flavor \"f\" is bare metal"},
	{{.spec = {.architecture = 1,
		   .virtualization = VIRTUALIZATION_VIRTUALIZED}},
	 {.architecture = 1},
	 10,
	 NULL},
	/* No driver may be what is wanted; a wrong one is not. */
	{DRIVER(NULL), {.architecture = 1, .gpus = {two_kinds, 2}}, 10, NULL},
	{DRIVER("nvidia"), {.architecture = 1}, 10, NULL},
	{DRIVER("nvidia"),
	 {.architecture = 1, .gpus = {two_kinds, 2}},
	 10,
	 NULL},
	{DRIVER("amd"),
	 {.architecture = 1, .gpus = {two_kinds, 2}},
	 10,
	 "a driver for amd, which does not drive the NVIDIA H100"},
	{DRIVER("nvidia", .models = {h100, 1}),
	 {.architecture = 1, .gpus = {two_kinds, 1}},
	 10,
	 NULL},
	{DRIVER("nvidia", .models = {h100, 1}),
	 {.architecture = 1, .gpus = {two_kinds, 2}},
	 10,
	 "does not drive the nvidia L4"},
	{DRIVER("nvidia", .models = {both, 2}),
	 {.architecture = 1, .gpus = {two_kinds, 2}},
	 10,
	 NULL},
};

static void an_image_boots_where_it_fits(void)
{
	for (size_t i = 0; i < COUNT_OF(fits); i++) {
		struct image image = fits[i].image;
		struct flavor flavor = fits[i].flavor;
		struct err err = {0};
		int rc;

		image.meta.name = "i";
		flavor.meta.name = "f";
		rc = image_fits(&image, &flavor, fits[i].disk, "/x", &err);
		CHECK((rc < 0) == (fits[i].words != NULL));
		if (rc == 0 || !fits[i].words)
			continue;
		CHECK(err.code == ERR_INVALID);
		CHECK_STR(err.field, "/x");
		CHECK(strstr(err.msg, fits[i].words));
		if (!strstr(err.msg, fits[i].words))
			printf("# %zu: %s\n", i, err.msg);
	}
}

static void only_an_image_that_is_ready_can_be_had(void)
{
	struct image i = {.meta.name = "debian"};
	struct err err = {0};

	for (int s = BACKED_PENDING; s <= BACKED_DELETING; s++) {
		bool ready = s == BACKED_READY;

		i.status.backed.state = s;
		CHECK((image_ready(&i, "/x", &err) == 0) == ready);
		if (!ready)
			CHECK(strstr(err.msg, backed_names[s]));
	}
	i.status.backed.state = BACKED_READY;
	i.status.retired_at = 1;
	CHECK(image_ready(&i, "/x", &err) < 0);
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "retired"));
	CHECK_STR(err.field, "/x");
}

static void an_image_is_its_projects_or_everyones_in_the_region(void)
{
	struct image i = {.region_id = "here"};

	CHECK(image_is_for(&i, "here", "p"));
	CHECK(!image_is_for(&i, "there", "p"));
	i.project_id = "p";
	CHECK(image_is_for(&i, "here", "p"));
	CHECK(!image_is_for(&i, "here", "q"));
	CHECK(!image_is_for(&i, "there", "p"));
}

#define SPOT MARKET_SPOT
#define BOTH 0

/* What is short until 100, and whether something is at a time. */
static const struct {
	struct shortage shortage;
	const char *zone;
	int market;
	int64_t now;
	bool is;
} shortages[] = {
	{{NULL, BOTH, 100, NULL}, "a", SPOT, 99, true},
	{{NULL, BOTH, 100, NULL}, "a", SPOT, 100, false},
	{{NULL, BOTH, 100, NULL}, NULL, SPOT, 99, true},
	{{"a", BOTH, 100, NULL}, "a", SPOT, 99, true},
	{{"a", BOTH, 100, NULL}, "b", SPOT, 99, false},
	{{"a", BOTH, 100, NULL}, NULL, SPOT, 99, false}, /* in some zone */
	{{"a", SPOT, 100, NULL}, "a", SPOT, 99, true},
	{{"a", SPOT, 100, NULL}, "a", MARKET_ON_DEMAND, 99, false},
	{{"a", SPOT, 100, NULL}, "a", BOTH, 99, true},
};

static void what_is_sold_out_is_so_there_and_for_a_time(void)
{
	for (size_t i = 0; i < COUNT_OF(shortages); i++) {
		struct shortage list[] = {{"z", BOTH, 1000, NULL},
					  shortages[i].shortage};
		struct flavor f = {.shortages = {list, 2}};
		const struct shortage *got =
			flavor_shortage(&f, shortages[i].zone,
					shortages[i].market, shortages[i].now);

		CHECK(got == (shortages[i].is ? &list[1] : NULL));
	}
}

static const struct {
	const char *amount;
	int64_t thousandths;
} prices[] = {
	{NULL, 0},
	{"", 0},
	{"0", 0},
	{"1", 1000},
	{"12.5", 12500},
	{"0.0416", 42},
	{"0.0400", 40},
	{"0.0001", 1},
	{".5", 500},
	{"3.", 3000},
	{"1,5", 0},
	{"-1", 0},
	{"1e3", 0},
	{"1.2.3", 0},
	{"922337203685.477", 922337203685477},
	/* These would not fit when they are counted in thousandths. */
	{"900000000000000000", 0},
	{"9223372036854775807", 0},
	{"99999999999999999999999999", 0},
};

static void a_price_is_rounded_up_and_otherwise_not_known(void)
{
	for (size_t i = 0; i < COUNT_OF(prices); i++) {
		struct price p = {.amount = prices[i].amount};
		int64_t got = price_thousandths(&p);

		CHECK(got == prices[i].thousandths);
		if (got != prices[i].thousandths)
			printf("# %s: %lld\n", p.amount, (long long)got);
	}
}

int main(void)
{
	RUN(an_image_boots_where_it_fits);
	RUN(only_an_image_that_is_ready_can_be_had);
	RUN(an_image_is_its_projects_or_everyones_in_the_region);
	RUN(what_is_sold_out_is_so_there_and_for_a_time);
	RUN(a_price_is_rounded_up_and_otherwise_not_known);
	return test_done();
}
