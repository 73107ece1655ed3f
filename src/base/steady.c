#include "base/steady.h"

/* The clocks may differ by so much, and by a thousandth, without a leap: they
 * are of milliseconds.  What is more makes a window short by as much. */
#define SLACK_MS 2

/* It is AT now, or later by what has passed. */
static void go_on(struct steady *s, int64_t at)
{
	uint64_t mono = clock_mono(s->clock);
	int64_t passed = mono > s->mono ? (int64_t)(mono - s->mono) : 0;

	s->at += passed;
	s->mono = mono;
	if (at <= s->at)
		return;
	if (at - s->at > SLACK_MS + passed / 1000)
		s->even = at;
	s->at = at;
}

void steady_init(struct steady *s, const struct clock *clock)
{
	int64_t now = clock_wall(clock);

	*s = (struct steady){clock, now, clock_mono(clock), now};
}

void steady_reach(struct steady *s, int64_t at)
{
	go_on(s, at);
}

int64_t steady_now(struct steady *s)
{
	go_on(s, clock_wall(s->clock));
	return s->at;
}

int64_t steady_even_since(struct steady *s)
{
	go_on(s, clock_wall(s->clock));
	return s->even;
}
