#include "provider/libvirt/bridge.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* What is held on the way, each way. */
enum { HELD_MOST = 64 << 10, PIECE = 4 << 10 };

enum {
	READABLE = VIR_STREAM_EVENT_READABLE,
	WRITABLE = VIR_STREAM_EVENT_WRITABLE,
};

struct bridge {
	pthread_mutex_t lock;
	unsigned users;      /* libvirt's two callbacks, and whoever began */
	virStreamPtr stream; /* NULL: it has ended */
	int fd, watch;
	struct buf in, out; /* from the machine, and to it */
};

/* The lock is held, and given back. */
static void leave(struct bridge *b)
{
	bool last = --b->users == 0;

	pthread_mutex_unlock(&b->lock);
	if (!last)
		return;
	buf_release(&b->in);
	buf_release(&b->out);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* libvirt has let go of a callback: maybe while it is being told to. */
static void let_go(void *ctx)
{
	struct bridge *b = ctx;

	pthread_mutex_lock(&b->lock);
	leave(b);
}

static void end(struct bridge *b)
{
	virStreamPtr stream = b->stream;
	int watch = b->watch, fd = b->fd;

	if (!stream)
		return;
	b->stream = NULL;
	b->users++;
	pthread_mutex_unlock(&b->lock);
	if (watch >= 0)
		virEventRemoveHandle(watch);
	(void)virStreamEventRemoveCallback(stream);
	(void)virStreamAbort(stream);
	(void)virStreamFree(stream);
	close(fd);
	pthread_mutex_lock(&b->lock);
	b->users--; /* whoever calls this is one, too */
}

static bool has_room(const struct buf *b)
{
	return b->len + PIECE <= HELD_MOST;
}

/* From the machine; false at its end. */
static bool read_stream(struct bridge *b)
{
	char piece[PIECE];

	while (has_room(&b->in)) {
		int n = virStreamRecv(b->stream, piece, sizeof(piece));

		if (n == -2)
			return true;
		if (n <= 0)
			return false;
		buf_add(&b->in, piece, (size_t)n);
	}
	return true;
}

static bool write_stream(struct bridge *b)
{
	while (b->out.len) {
		int n = virStreamSend(b->stream, b->out.data, b->out.len);

		if (n == -2)
			return true;
		if (n < 0)
			return false;
		buf_eat(&b->out, (size_t)n);
	}
	return true;
}

static bool read_socket(struct bridge *b)
{
	char piece[PIECE];

	while (has_room(&b->out)) {
		ssize_t n = recv(b->fd, piece, sizeof(piece), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		buf_add(&b->out, piece, (size_t)n);
	}
	return true;
}

static bool write_socket(struct bridge *b)
{
	while (b->in.len) {
		ssize_t n = send(b->fd, b->in.data, b->in.len,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n < 0)
			return false;
		buf_eat(&b->in, (size_t)n);
	}
	return true;
}

static int wants(const struct buf *from, const struct buf *to)
{
	return (has_room(from) ? READABLE : 0) | (to->len ? WRITABLE : 0);
}

/* Carry what can be carried, then wait for what cannot. */
static void carry(struct bridge *b)
{
	bool machine = read_stream(b) && write_stream(b);
	bool client = read_socket(b) && write_socket(b);

	if (machine && client && b->out.len)
		machine = write_stream(b);
	if (!machine || !client) {
		/* What either said last is still told, if it can be. */
		if (client)
			(void)write_socket(b);
		if (machine)
			(void)write_stream(b);
		end(b);
		return;
	}
	(void)virStreamEventUpdateCallback(b->stream, wants(&b->in, &b->out));
	virEventUpdateHandle(b->watch, wants(&b->out, &b->in));
}

static void on_stream(virStreamPtr stream, int events, void *ctx)
{
	struct bridge *b = ctx;

	(void)stream;
	pthread_mutex_lock(&b->lock);
	b->users++;
	if (b->stream)
		carry(b);
	if (b->stream &&
	    events & (VIR_STREAM_EVENT_ERROR | VIR_STREAM_EVENT_HANGUP))
		end(b);
	leave(b);
}

static void on_socket(int watch, int fd, int events, void *ctx)
{
	struct bridge *b = ctx;

	(void)watch;
	(void)fd;
	pthread_mutex_lock(&b->lock);
	b->users++;
	if (b->stream)
		carry(b);
	if (b->stream &&
	    events & (VIR_EVENT_HANDLE_ERROR | VIR_EVENT_HANDLE_HANGUP))
		end(b);
	leave(b);
}

/* Both sides are watched, or neither; the lock is held. */
static bool begin(struct bridge *b)
{
	b->watch = virEventAddHandle(b->fd, READABLE, on_socket, b, let_go);
	if (b->watch < 0)
		return false;
	b->users++;
	if (virStreamEventAddCallback(b->stream, READABLE, on_stream, b,
				      let_go) < 0)
		return false;
	b->users++;
	return true;
}

int bridge_begin(virStreamPtr stream, int *ret_fd, struct err *err)
{
	struct bridge *b;
	bool good;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		(void)virStreamAbort(stream);
		(void)virStreamFree(stream);
		return err_set(err, ERR_UNAVAILABLE, "a console: %s",
			       strerror(errno));
	}
	b = xcalloc(1, sizeof(*b));
	pthread_mutex_init(&b->lock, NULL);
	b->users = 1;
	b->stream = stream;
	b->fd = ends[0];
	b->in = BUF_INIT(HELD_MOST);
	b->out = BUF_INIT(HELD_MOST);
	pthread_mutex_lock(&b->lock);
	good = begin(b);
	if (!good)
		end(b);
	leave(b);
	if (good) {
		*ret_fd = ends[1];
		return 0;
	}
	close(ends[1]);
	return err_set(err, ERR_UNAVAILABLE, "the console cannot be watched");
}
