#include "cli/knock.h"

#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

enum { PAUSE_MS = 200, HOLD_MS = 60000 };

enum answer {
	ANSWER_DROPPED, /* it was taken, and nothing came of it */
	ANSWER_YES,
	ANSWER_NO, /* there is no such way */
};

/* For long: each connection that is given up is one more that a guest has to
 * answer once it can.  But one that was restarted meanwhile knows of none. */
static enum answer listen_to(int fd, uint64_t ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	if (poll(&p, 1, (int)(ms < HOLD_MS ? ms : HOLD_MS)) <= 0)
		return ANSWER_DROPPED;
	return recv(fd, &byte, 1, MSG_PEEK) == 1 ? ANSWER_YES : ANSWER_DROPPED;
}

static enum answer ask(const struct addrinfo *at, uint64_t ms)
{
	auto_close int fd =
		socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP);

	if (fd < 0 || connect(fd, at->ai_addr, at->ai_addrlen) < 0)
		return ANSWER_NO;
	return listen_to(fd, ms);
}

static enum answer ask_any(const struct addrinfo *list, uint64_t ms)
{
	enum answer got = ANSWER_NO;

	for (; list && got == ANSWER_NO; list = list->ai_next)
		got = ask(list, ms);
	return got;
}

bool knock(const struct clock *clock, const char *address, int64_t port,
	   uint64_t most_ms)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
	uint64_t now = clock_mono(clock), until = now + most_ms;
	struct addrinfo *list;
	char service[24];
	bool dropped = true;

	snprintf(service, sizeof(service), "%lld", (long long)port);
	if (getaddrinfo(address, service, &hints, &list) != 0)
		return true;
	for (; dropped && now < until; now = clock_mono(clock)) {
		dropped = ask_any(list, until - now) == ANSWER_DROPPED;
		if (dropped)
			nanosleep(&pause, NULL);
	}
	freeaddrinfo(list);
	return !dropped;
}
