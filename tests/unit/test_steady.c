#include "base/steady.h"

#include "test.h"

static int64_t wall;
static uint64_t mono;

static int64_t tell_wall(const struct clock *c)
{
	(void)c;
	return wall;
}

static uint64_t tell_mono(const struct clock *c)
{
	(void)c;
	return mono;
}

static const struct clock hands = {tell_wall, tell_mono};

static void begin(struct steady *s)
{
	wall = 1000000;
	mono = 500;
	steady_init(s, &hands);
}

static void pass(int64_t ms)
{
	wall += ms;
	mono += (uint64_t)ms;
}

static void it_is_the_wall_clock_s_time(void)
{
	struct steady s;

	begin(&s);
	CHECK(steady_now(&s) == 1000000);
	pass(3600000);
	CHECK(steady_now(&s) == wall);
	CHECK(steady_even_since(&s) == 1000000);
	/* Hands that differ a little are no leap. */
	wall += 20;
	pass(20000);
	CHECK(steady_now(&s) == wall);
	CHECK(steady_even_since(&s) == 1000000);
}

static void it_goes_on_when_the_clock_is_put_back(void)
{
	struct steady s;

	begin(&s);
	wall -= 10000;
	CHECK(steady_now(&s) == 1000000);
	pass(4000);
	CHECK(steady_now(&s) == 1004000);
	CHECK(steady_even_since(&s) == 1000000);
	/* Until the clock is right again. */
	wall += 10000;
	pass(1);
	CHECK(steady_now(&s) == 1004001);
	CHECK(steady_now(&s) == wall);
	CHECK(steady_even_since(&s) == 1000000);
}

static void it_tells_of_a_leap(void)
{
	struct steady s;

	begin(&s);
	pass(100);
	wall += 5000;
	CHECK(steady_now(&s) == 1005100);
	CHECK(steady_even_since(&s) == 1005100);
	pass(7000);
	CHECK(steady_now(&s) == 1012100);
	CHECK(steady_even_since(&s) == 1005100);
}

static void it_is_not_before_what_has_happened(void)
{
	struct steady s;

	begin(&s);
	steady_reach(&s, 900000);
	CHECK(steady_now(&s) == 1000000);
	steady_reach(&s, 1060000);
	CHECK(steady_now(&s) == 1060000);
	CHECK(steady_even_since(&s) == 1060000);
	pass(1000);
	CHECK(steady_now(&s) == 1061000);
}

int main(void)
{
	RUN(it_is_the_wall_clock_s_time);
	RUN(it_goes_on_when_the_clock_is_put_back);
	RUN(it_tells_of_a_leap);
	RUN(it_is_not_before_what_has_happened);
	return test_done();
}
