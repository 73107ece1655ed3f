#include "base/clock.h"

#include <time.h>

#include "base/attr.h"
#include "base/random.h"
#include "test.h"

#define DAY_MS INT64_C(86400000)

/* The last moment that has four digits for its year. */
#define LAST_MS INT64_C(253402300799999)

static void formats_known_moments(void)
{
	static const struct {
		int64_t ms;
		const char *text;
	} t[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{1, "1970-01-01T00:00:00.001Z"},
		{951782399999, "2000-02-28T23:59:59.999Z"},
		{951782400000, "2000-02-29T00:00:00.000Z"},
		{1078012800000, "2004-02-29T00:00:00.000Z"},
		{1709164800000, "2024-02-29T00:00:00.000Z"},
		{1234567890123, "2009-02-13T23:31:30.123Z"},
		{1794717628123, "2026-11-15T04:40:28.123Z"},
		{4107542400000, "2100-03-01T00:00:00.000Z"},
		{LAST_MS, "9999-12-31T23:59:59.999Z"},
		{-1, "1969-12-31T23:59:59.999Z"},
	};
	char got[CLOCK_TEXT_LEN + 1];

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		clock_format(t[i].ms, got);
		CHECK_STR(got, t[i].text);
	}
}

static int64_t parsed(const char *text)
{
	int64_t ms = -77;

	return clock_parse(text, strlen(text), &ms) == 0 ? ms : -1;
}

static void parses_known_moments(void)
{
	CHECK(parsed("1970-01-01T00:00:00Z") == 0);
	CHECK(parsed("2009-02-13T23:31:30Z") == 1234567890000);
	CHECK(parsed("2009-02-13T23:31:30.1Z") == 1234567890100);
	CHECK(parsed("2009-02-13T23:31:30.123Z") == 1234567890123);
	CHECK(parsed("2009-02-13T23:31:30.123456789Z") == 1234567890123);
	CHECK(parsed("2009-02-14T00:31:30.123+01:00") == 1234567890123);
	CHECK(parsed("2009-02-13T18:01:30-05:30") == 1234567890000);
	CHECK(parsed("2009-02-13T23:31:30+00:00") == 1234567890000);
	CHECK(parsed("2009-02-13T23:31:30-00:00") == 1234567890000);
	CHECK(parsed("1970-01-01T01:00:00+01:00") == 0);
}

static void refuses_what_is_no_time(void)
{
	static const char *const bad[] = {
		"",
		"2009",
		"2009-02-13",
		"2009-02-13T23:31:30",
		"2009-02-13 23:31:30Z",
		"2009-02-13t23:31:30z",
		"2009-02-13T23:31:30.Z",
		"2009-02-13T23:31:30,5Z",
		"2009-02-13T23:31:30.1234567890Z",
		"2009-02-13T23:31:30ZZ",
		"2009-02-13T23:31:30Z ",
		" 2009-02-13T23:31:30Z",
		"2009-02-13T23:31:30+0100",
		"2009-02-13T23:31:30+01",
		"2009-02-13T23:31:30+24:00",
		"2009-02-13T23:31:30+01:60",
		"2009-00-13T23:31:30Z",
		"2009-13-13T23:31:30Z",
		"2009-02-00T23:31:30Z",
		"2009-02-29T23:31:30Z",
		"1900-02-29T00:00:00Z",
		"2100-02-29T00:00:00Z",
		"2009-04-31T00:00:00Z",
		"2009-02-13T24:00:00Z",
		"2009-02-13T23:60:30Z",
		"2009-02-13T23:31:60Z",
		"+009-02-13T23:31:30Z",
		"20090213T233130Z",
		"1969-12-31T23:59:59Z",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(parsed(bad[i]) == -1);
	CHECK(parsed("2024-02-29T00:00:00Z") == 1709164800000);
	CHECK(parsed("2000-02-29T00:00:00Z") == 951782400000);
}

/* With an offset they named moments that clock_format() cannot write, so that
 * a document we had stored could not be read again. */
static void offsets_cannot_leave_the_calendar(void)
{
	CHECK(parsed("1970-01-01T00:00:00+00:01") == -1);
	CHECK(parsed("1970-01-01T00:59:59+01:00") == -1);
	CHECK(parsed("9999-12-31T23:59:59-00:01") == -1);
	CHECK(parsed("9999-12-31T23:59:59.999Z") == LAST_MS);
}

/* The C library's own calendar, day by day over four centuries. */
static void agrees_with_gmtime(void)
{
	char got[CLOCK_TEXT_LEN + 1], want[64];

	for (int64_t day = 0; day < 146097 + 10; day++) {
		int64_t ms = day * DAY_MS + day % DAY_MS;
		time_t seconds = (time_t)(ms / 1000);
		struct tm tm;
		size_t n;

		gmtime_r(&seconds, &tm);
		n = strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(want + n, sizeof(want) - n, ".%03dZ",
			 (int)(ms % 1000));
		clock_format(ms, got);
		CHECK_STR(got, want);
	}
}

static void every_moment_comes_back(void)
{
	char text[64];
	struct random_seeded r;

	random_seed(&r, 12);
	for (int i = 0; i < 100000; i++) {
		int64_t ms = (int64_t)random_below(&r.base, LAST_MS + 1);
		int minutes = (int)random_below(&r.base, 1440);
		int64_t shown = ms + (int64_t)minutes * 60000;

		clock_format(ms, text);
		CHECK(parsed(text) == ms);
		if (shown > LAST_MS)
			continue;
		clock_format(shown, text);
		snprintf(text + CLOCK_TEXT_LEN - 1, 32, "+%02d:%02d",
			 minutes / 60, minutes % 60);
		CHECK(parsed(text) == ms);
	}
}

static int64_t fixed_wall(const struct clock *c)
{
	(void)c;
	return 123;
}

static uint64_t fixed_mono(const struct clock *c)
{
	(void)c;
	return 456;
}

static void can_be_replaced(void)
{
	static const struct clock fixed = {fixed_wall, fixed_mono};

	CHECK(clock_wall(&fixed) == 123);
	CHECK(clock_mono(&fixed) == 456);
}

static void the_systems_goes_forward(void)
{
	uint64_t before = clock_mono(&clock_system);
	int64_t wall = clock_wall(&clock_system);

	CHECK(clock_mono(&clock_system) >= before);
	CHECK(wall > 1700000000000 && wall < LAST_MS);
}

int main(void)
{
	RUN(formats_known_moments);
	RUN(parses_known_moments);
	RUN(refuses_what_is_no_time);
	RUN(offsets_cannot_leave_the_calendar);
	RUN(agrees_with_gmtime);
	RUN(every_moment_comes_back);
	RUN(can_be_replaced);
	RUN(the_systems_goes_forward);
	return test_done();
}
