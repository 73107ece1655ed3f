#include "setting.h"

#include <stdio.h>

#include "rig.h"

/* Clouds as they are when they are well; launches are given up soon, so that
 * histories are short. */
static const char *const clouds[] = {
	"{\"launchLimitMs\":20000}",
	"{\"launchTokens\":false,\"consistencyMs\":3000,"
	"\"launchLimitMs\":20000}",
	"{\"launchTokens\":false,\"tags\":false,\"launchLimitMs\":20000}",
	"{\"launchMs\":4000,\"stopMs\":2000,\"startMs\":2000,"
	"\"terminateMs\":3000,\"consistencyMs\":5000,\"jitterPercent\":100,"
	"\"pageSize\":2,\"launchLimitMs\":30000}",
	"{\"launchMs\":1000,\"zones\":[\"a\",\"b\"],\"launchLimitMs\":20000,"
	"\"stopLimitMs\":20000,\"startLimitMs\":20000}",
	"{\"callsPerSecond\":20,\"burst\":5,\"tellsLimit\":false,"
	"\"keepsAddresses\":false,\"launchLimitMs\":20000}",
	"{\"lacks\":[\"resize\",\"rebuild\",\"access\"],\"backingMs\":1500,"
	"\"launchLimitMs\":20000,\"pageSize\":3}",
	"{\"resizeLive\":true,\"consistencyMs\":2000,\"terminateMs\":1000,"
	"\"launchLimitMs\":20000,\"pageSize\":1}",
};

enum { CLOUDS = sizeof(clouds) / sizeof(clouds[0]) };

static uint32_t digit(uint32_t *number, uint32_t base)
{
	uint32_t d = *number % base;

	*number /= base;
	return d;
}

void setting_read(uint32_t number, struct setting *ret)
{
	*ret = (struct setting){0};
	ret->cloud = digit(&number, CLOUDS);
	ret->removes = digit(&number, 2);
	ret->tight = digit(&number, 2);
	ret->observe_seconds = digit(&number, 2) ? 60 : 10;
	ret->forgets = digit(&number, 2);
	ret->batch = 1 + digit(&number, 8);
	ret->guests = digit(&number, 4);
}

void setting_options(const struct setting *s, char out[512])
{
	static const char *const guests[] = {
		"", "",
		"\"tellsReady\":true,\"readyMs\":3000,\"publish\":[22],",
		"\"tellsReady\":true,\"readyMs\":3000,\"tellsChanges\":true,"};

	snprintf(out, 512, "{%s%s", guests[s->guests], clouds[s->cloud] + 1);
}

struct sim_options setting_weather(const struct start *s, uint32_t what)
{
	static struct sim_capacity little = {.flavor = "sim.small", .count = 2};
	struct sim_options o = *s->options;

	switch (what % 10) {
	case 0:
		o.failure_rate = 200;
		break;
	case 1:
		o.lost_answer_rate = 200;
		break;
	case 2:
		o.boot_failure_rate = 300;
		break;
	case 3:
		o.stuck_rate = 200;
		o.stop_ignored_rate = 300;
		break;
	case 4:
		o.capacity = (struct items){&little, 1};
		break;
	case 5:
		o.account_quota = 2;
		break;
	case 6:
		o.calls_per_second = 5;
		o.burst = 3;
		break;
	case 7:
		o.failure_rate = 1000;
		break;
	case 8:
		o.partial_list_rate = 500;
		o.failure_rate = 50;
		o.lost_answer_rate = 50;
		break;
	default: /* it is well again */
		break;
	}
	return o;
}
