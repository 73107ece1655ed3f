#include "provider/libvirt/banner.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

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

static void end(struct banner *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}

static void begin(struct banner *b)
{
	union address to;
	socklen_t len = parse(b, &to);

	b->answers = false;
	b->got = 0;
	b->fd = -1;
	if (!len)
		return;
	b->fd = socket(to.any.sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (b->fd >= 0 && connect(b->fd, &to.any, len) < 0 &&
	    errno != EINPROGRESS)
		end(b);
}

/* Something came, or will not come any more. */
static void go_on(struct banner *b)
{
	ssize_t n = read(b->fd, b->text + b->got, sizeof(b->text) - b->got);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		b->got += (size_t)n;
	if (n > 0 && b->got < sizeof(b->text))
		return;
	b->answers = n > 0 && memcmp(b->text, "SSH-", sizeof(b->text)) == 0;
	end(b);
}

/* Those that are still waited for, with STOP before them. */
static nfds_t gather(struct banner *list, size_t n, int stop,
		     struct pollfd fds[], struct banner *of[])
{
	nfds_t many = 1;

	fds[0] = (struct pollfd){.fd = stop, .events = POLLIN};
	for (size_t i = 0; i < n; i++)
		if (list[i].fd >= 0) {
			of[many] = &list[i];
			fds[many++] = (struct pollfd){.fd = list[i].fd,
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
		begin(&list[i]);
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
	for (size_t i = 0; i < n; i++)
		end(&list[i]);
}
