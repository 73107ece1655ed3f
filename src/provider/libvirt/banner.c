#include "provider/libvirt/banner.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_LEAST_MS = 2000, LINE_MOST_MS = 60000 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t parse(const struct banner *b, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (b->port < 1 || b->port > 65535)
		return 0;
	if (inet_pton(AF_INET, b->address, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)b->port);
		return sizeof(ret->v4);
	}
	if (inet_pton(AF_INET6, b->address, &ret->v6.sin6_addr) == 1) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons((uint16_t)b->port);
		return sizeof(ret->v6);
	}
	return 0;
}

void banner_close(struct banner_line *l)
{
	if (l->open)
		close(l->fd);
	*l = (struct banner_line){0};
}

static bool is_old(const struct banner_line *l, uint64_t now)
{
	uint64_t most = (l->since - l->first) / 2;

	if (most < LINE_LEAST_MS)
		most = LINE_LEAST_MS;
	if (most > LINE_MOST_MS)
		most = LINE_MOST_MS;
	return now >= l->since + most;
}

static void begin(struct banner *b, uint64_t now)
{
	struct banner_line *l = &b->line;
	union address to;
	socklen_t len = parse(b, &to);
	uint64_t first = l->open ? l->first : now;

	b->answers = false;
	if (l->open && !is_old(l, now))
		return;
	banner_close(l);
	if (!len)
		return;
	l->fd = socket(to.any.sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	l->open = l->fd >= 0;
	l->first = first;
	l->since = now;
	if (l->open && connect(l->fd, &to.any, len) < 0 && errno != EINPROGRESS)
		banner_close(l);
}

/* Something came, or will not come any more. */
static void go_on(struct banner *b)
{
	struct banner_line *l = &b->line;
	ssize_t n = read(l->fd, l->text + l->got, sizeof(l->text) - l->got);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		l->got += (size_t)n;
	if (n > 0 && l->got < sizeof(l->text))
		return;
	b->answers = n > 0 && memcmp(l->text, "SSH-", sizeof(l->text)) == 0;
	banner_close(l);
}

/* Those that are still waited for, with STOP before them. */
static nfds_t gather(struct banner *list, size_t n, int stop,
		     struct pollfd fds[], struct banner *of[])
{
	nfds_t many = 1;

	fds[0] = (struct pollfd){.fd = stop, .events = POLLIN};
	for (size_t i = 0; i < n; i++)
		if (list[i].line.open) {
			of[many] = &list[i];
			fds[many++] = (struct pollfd){.fd = list[i].line.fd,
						      .events = POLLIN};
		}
	return many;
}

void banners_ask(struct banner *list, size_t n, uint32_t ms, int stop)
{
	struct pollfd fds[BANNERS_MOST + 1];
	struct banner *of[BANNERS_MOST + 1];
	uint64_t now = clock_mono(&clock_system), until = now + ms;

	assert(n <= BANNERS_MOST);
	for (size_t i = 0; i < n; i++)
		begin(&list[i], now);
	for (; now < until; now = clock_mono(&clock_system)) {
		nfds_t many = gather(list, n, stop, fds, of);

		if (many == 1)
			break;
		if (poll(fds, many, (int)(until - now)) < 0 && errno != EINTR)
			break;
		if (fds[0].revents)
			break;
		for (nfds_t i = 1; i < many; i++)
			if (fds[i].revents)
				go_on(of[i]);
	}
}
