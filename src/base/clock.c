#include "base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* 9999-12-31T23:59:59.999Z: a year has four digits. */
#define LAST_MS INT64_C(253402300799999)

static int64_t read_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t system_wall(const struct clock *c)
{
	(void)c;
	return read_ms(CLOCK_REALTIME);
}

static uint64_t system_mono(const struct clock *c)
{
	(void)c;
	return (uint64_t)read_ms(CLOCK_MONOTONIC);
}

const struct clock clock_system = {system_wall, system_mono};

int64_t clock_wall(const struct clock *c)
{
	return c->wall_ms(c);
}

uint64_t clock_mono(const struct clock *c)
{
	return c->mono_ms(c);
}

/* Days since 1970-01-01 of a date, and back: the usual shift of the year to
 * begin in March, so that the leap day is its last. */
static int64_t days_of(int64_t y, unsigned m, unsigned d)
{
	int64_t era;
	unsigned yoe, doy;

	y -= m <= 2;
	era = (y >= 0 ? y : y - 399) / 400;
	yoe = (unsigned)(y - era * 400);
	doy = (153 * (m + (m > 2 ? -3U : 9U)) + 2) / 5 + d - 1;
	return era * 146097 + (int64_t)(yoe * 365 + yoe / 4 - yoe / 100 + doy) -
	       719468;
}

static void date_of(int64_t days, int *y, unsigned *m, unsigned *d)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;

	*d = doy - (153 * mp + 2) / 5 + 1;
	*m = mp < 10 ? mp + 3 : mp - 9;
	*y = (int)((int64_t)yoe + era * 400 + (*m <= 2));
}

static char *digits(char *p, unsigned value, int width, char after)
{
	for (int i = width - 1; i >= 0; i--) {
		p[i] = (char)('0' + value % 10);
		value /= 10;
	}
	p[width] = after;
	return p + width + 1;
}

void clock_format(int64_t wall_ms, char text[CLOCK_TEXT_LEN + 1])
{
	int64_t days = wall_ms / 86400000, ms = wall_ms % 86400000;
	unsigned m, d, t;
	int y;
	char *p = text;

	if (ms < 0) {
		ms += 86400000;
		days--;
	}
	date_of(days, &y, &m, &d);
	t = (unsigned)ms;
	p = digits(p, (unsigned)y, 4, '-');
	p = digits(p, m, 2, '-');
	p = digits(p, d, 2, 'T');
	p = digits(p, t / 3600000, 2, ':');
	p = digits(p, t / 60000 % 60, 2, ':');
	p = digits(p, t / 1000 % 60, 2, '.');
	p = digits(p, t % 1000, 3, 'Z');
	*p = '\0';
}

/* WIDTH digits at *P, then the character AFTER unless that is 0. */
static bool take(const char **p, const char *end, int width, char after,
		 unsigned *ret)
{
	unsigned value = 0;

	if (end - *p < width + (after != 0))
		return false;
	for (int i = 0; i < width; i++, (*p)++) {
		if (**p < '0' || **p > '9')
			return false;
		value = value * 10 + (unsigned)(**p - '0');
	}
	if (after && *(*p)++ != after)
		return false;
	*ret = value;
	return true;
}

static bool take_fraction(const char **p, const char *end, unsigned *ret_ms)
{
	unsigned scale = 100, n = 0;

	*ret_ms = 0;
	if (*p == end || **p != '.')
		return true;
	for ((*p)++; *p < end && **p >= '0' && **p <= '9'; (*p)++, n++) {
		*ret_ms += (unsigned)(**p - '0') * scale;
		scale /= 10;
	}
	return n > 0 && n <= 9;
}

static bool take_offset(const char **p, const char *end, int64_t *ret_ms)
{
	unsigned h, m;
	char sign;

	*ret_ms = 0;
	if (*p == end)
		return false;
	sign = *(*p)++;
	if (sign == 'Z')
		return *p == end;
	if ((sign != '+' && sign != '-') || !take(p, end, 2, ':', &h) ||
	    !take(p, end, 2, 0, &m) || h > 23 || m > 59)
		return false;
	*ret_ms = (int64_t)(h * 60 + m) * 60000 * (sign == '-' ? 1 : -1);
	return *p == end;
}

static unsigned days_in(unsigned y, unsigned m)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30,
					     31, 31, 30, 31, 30, 31};

	if (m == 2 && ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0))
		return 29;
	return days[m - 1];
}

int clock_parse(const char *text, size_t len, int64_t *ret_wall_ms)
{
	const char *p = text, *end = text + len;
	unsigned y, mo, d, h, mi, s, ms;
	int64_t offset, ms_of;

	if (!take(&p, end, 4, '-', &y) || !take(&p, end, 2, '-', &mo) ||
	    !take(&p, end, 2, 'T', &d) || !take(&p, end, 2, ':', &h) ||
	    !take(&p, end, 2, ':', &mi) || !take(&p, end, 2, 0, &s) ||
	    !take_fraction(&p, end, &ms) || !take_offset(&p, end, &offset))
		return -1;
	if (y < 1970 || mo < 1 || mo > 12 || d < 1 || d > days_in(y, mo) ||
	    h > 23 || mi > 59 || s > 59)
		return -1;
	ms_of = ((days_of(y, mo, d) * 24 + h) * 60 + mi) * 60000 +
		(int64_t)s * 1000 + ms + offset;
	if (ms_of < 0 || ms_of > LAST_MS)
		return -1;
	*ret_wall_ms = ms_of;
	return 0;
}
