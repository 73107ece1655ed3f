/* Which host gets a machine, and what is said when none does. */
#include "provider/libvirt/place.h"
#include "test.h"

static struct place_host host(const char *name, const char *zone, int64_t cpus,
			      int64_t memory, int64_t disk)
{
	return (struct place_host){
		.name = name, .zone = zone, .room = {cpus, memory, disk}};
}

static const struct place_ask small = {NULL, 1, 512, 5};

static void the_emptiest_or_the_fullest(void)
{
	struct place_host hosts[] = {host("a", NULL, 8, 8192, 100),
				     host("b", NULL, 8, 8192, 100),
				     host("c", NULL, 8, 8192, 100)};
	struct err err = {0};
	size_t at;

	hosts[0].room.memory_taken = 4096;
	hosts[2].room.memory_taken = 7000;
	CHECK(place_choose(hosts, 3, &small, PLACEMENT_SPREAD, &at, &err) == 0);
	CHECK(at == 1);
	CHECK(place_choose(hosts, 3, &small, PLACEMENT_PACK, &at, &err) == 0);
	CHECK(at == 2);
	/* What is scarcest decides. */
	hosts[1].room.disk_taken = 94;
	CHECK(place_choose(hosts, 3, &small, PLACEMENT_SPREAD, &at, &err) == 0);
	CHECK(at == 0);
	CHECK(place_choose(hosts, 3, &small, PLACEMENT_PACK, &at, &err) == 0);
	CHECK(at == 1);
}

static void the_first_of_equals(void)
{
	const struct place_host hosts[] = {host("a", NULL, 8, 8192, 100),
					   host("b", NULL, 8, 8192, 100)};
	struct err err = {0};
	size_t at = 9;

	CHECK(place_choose(hosts, 2, &small, PLACEMENT_SPREAD, &at, &err) == 0);
	CHECK(at == 0);
}

static void what_just_fits_fits(void)
{
	struct place_host hosts[] = {host("a", NULL, 2, 512, 5)};
	struct err err = {0};
	size_t at;

	hosts[0].room.cpus_taken = 1;
	CHECK(place_choose(hosts, 1, &small, PLACEMENT_PACK, &at, &err) == 0);
	hosts[0].room.memory_taken = 1;
	CHECK(place_choose(hosts, 1, &small, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(err.code == ERR_CAPACITY);
}

/* More is taken than there is: of processors that were taken out, say. */
static void less_than_nothing_is_nothing(void)
{
	struct place_host hosts[] = {host("a", NULL, 2, 512, 5)};
	const struct place_ask nothing = {0};
	struct err err = {0};
	size_t at;

	hosts[0].room.cpus_taken = 4;
	CHECK(place_choose(hosts, 1, &nothing, PLACEMENT_PACK, &at, &err) == 0);
	CHECK(place_choose(hosts, 1, &small, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(strstr(err.msg, "has 0 of 2 processors left"));
}

static void each_host_says_why_not(void)
{
	struct place_host hosts[] = {host("a", "north", 8, 100, 100),
				     host("b", "north", 0, 8192, 100),
				     host("c", "north", 8, 8192, 4),
				     host("d", "north", 8, 8192, 100),
				     host("e", "south", 8, 8192, 100)};
	struct place_ask ask = small;
	struct err err = {0};
	size_t at = 9;

	ask.zone = "north";
	hosts[3].why_not = "cannot be asked: no route";
	CHECK(place_choose(hosts, 5, &ask, PLACEMENT_SPREAD, &at, &err) < 0);
	CHECK(err.code == ERR_CAPACITY && err.scope == ERR_SCOPE_ZONE);
	CHECK(strstr(err.msg, "1 processors, 512 MiB and 5 GiB"));
	CHECK(strstr(err.msg, "host a has 100 of 100 MiB memory left"));
	CHECK(strstr(err.msg, "host b has 0 of 0 processors left"));
	CHECK(strstr(err.msg, "host c has 4 of 4 GiB disk left"));
	CHECK(strstr(err.msg, "host d cannot be asked: no route"));
	CHECK(!strstr(err.msg, "host e"));
	CHECK(at == 9);
}

static void many_hosts_are_not_too_much_to_say(void)
{
	struct place_host hosts[64];
	struct err err = {0};
	size_t at;

	for (size_t i = 0; i < 64; i++)
		hosts[i] = host("a-host-with-a-long-name", NULL, 0, 0, 0);
	CHECK(place_choose(hosts, 64, &small, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(err.code == ERR_CAPACITY);
	CHECK(strstr(err.msg, "host a-host-with-a-long-name has 0 of 0 MiB"));
	CHECK(strstr(err.msg, "and 6") != NULL);
}

static void nobody_to_ask_is_no_lack_of_room(void)
{
	struct place_host hosts[] = {host("a", NULL, 8, 8192, 100),
				     host("b", NULL, 8, 8192, 100)};
	struct err err = {0};
	size_t at;

	hosts[0].why_not = hosts[1].why_not = "cannot be asked";
	CHECK(place_choose(hosts, 2, &small, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE);
	hosts[1].why_not = NULL;
	CHECK(place_choose(hosts, 2, &small, PLACEMENT_PACK, &at, &err) == 0);
	CHECK(at == 1);
}

/* It was for minutes: a host that was away for a second, while the others were
 * full, cost everybody who waited five. */
static void a_host_that_is_away_is_asked_again_soon(void)
{
	struct place_host hosts[] = {host("a", NULL, 8, 8192, 100),
				     host("b", NULL, 0, 8192, 100)};
	struct err err = {0};
	size_t at;

	hosts[0].why_not = "cannot be asked";
	CHECK(place_choose(hosts, 2, &small, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(err.code == ERR_CAPACITY && err.retry_after_ms == 5000);
	hosts[0].why_not = NULL;
	hosts[0].room.cpus = 0;
	CHECK(place_choose(hosts, 2, &small, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(err.code == ERR_CAPACITY && err.retry_after_ms == 30000);
}

static void a_zone_that_there_is_not(void)
{
	const struct place_host hosts[] = {host("a", "north", 8, 8192, 100),
					   host("b", NULL, 8, 8192, 100)};
	struct place_ask ask = small;
	struct err err = {0};
	size_t at;

	ask.zone = "west";
	CHECK(place_choose(hosts, 2, &ask, PLACEMENT_PACK, &at, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	ask.zone = "north";
	CHECK(place_choose(hosts, 2, &ask, PLACEMENT_PACK, &at, &err) == 0);
	CHECK(at == 0);
}

int main(void)
{
	RUN(the_emptiest_or_the_fullest);
	RUN(the_first_of_equals);
	RUN(what_just_fits_fits);
	RUN(less_than_nothing_is_nothing);
	RUN(each_host_says_why_not);
	RUN(many_hosts_are_not_too_much_to_say);
	RUN(nobody_to_ask_is_no_lack_of_room);
	RUN(a_host_that_is_away_is_asked_again_soon);
	RUN(a_zone_that_there_is_not);
	return test_done();
}
