/* The bridge between two ends that we play: libvirt's stream and its loop are
 * the functions here, in place of the library's. */
#include "provider/libvirt/bridge.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "test.h"

enum { MUCH = 1 << 20, PIECE = 1000, LOTS = 1 << 30 };

/* A machine's serial line. */
struct _virStream {
	size_t says, said; /* bytes that it has to say, and those that it has */
	size_t takes;      /* how many more it takes */
	bool ends, breaks;
	struct buf heard;
	int refs, aborted;

	int wanted;
	virStreamEventCallback fn;
	virFreeCallback let_go;
	void *ctx;
	bool told; /* a callback of it runs */
};

static struct _virStream line;

/* The one handle that libvirt's loop watches. */
static struct {
	bool there, gone;
	int fd, wanted;
	virEventHandleCallback fn;
	virFreeCallback let_go;
	void *ctx;
} handle;

static bool no_handle, no_callback;

/* What comes n-th in either direction. */
static char nth(size_t n)
{
	return (char)('a' + n % 23);
}

int virStreamRecv(virStreamPtr s, char *data, size_t n)
{
	CHECK(s->refs == 1);
	if (s->breaks)
		return -1;
	if (s->said == s->says)
		return s->ends ? 0 : -2;
	if (n > PIECE)
		n = PIECE;
	for (size_t i = 0; i < n; i++) {
		data[i] = nth(s->said++);
		if (s->said == s->says)
			return (int)i + 1;
	}
	return (int)n;
}

int virStreamSend(virStreamPtr s, const char *data, size_t n)
{
	CHECK(s->refs == 1);
	if (s->breaks)
		return -1;
	if (!s->takes)
		return -2;
	if (n > s->takes)
		n = s->takes;
	s->takes -= n;
	buf_add(&s->heard, data, n);
	return (int)n;
}

int virStreamEventAddCallback(virStreamPtr s, int events,
			      virStreamEventCallback cb, void *opaque,
			      virFreeCallback ff)
{
	if (no_callback)
		return -1;
	s->wanted = events;
	s->fn = cb;
	s->ctx = opaque;
	s->let_go = ff;
	return 0;
}

int virStreamEventUpdateCallback(virStreamPtr s, int events)
{
	CHECK(s->fn);
	s->wanted = events;
	return 0;
}

/* Who is being told is let go of afterwards, as libvirt does. */
int virStreamEventRemoveCallback(virStreamPtr s)
{
	if (!s->fn)
		return -1;
	s->fn = NULL;
	if (!s->told)
		s->let_go(s->ctx);
	return 0;
}

int virStreamAbort(virStreamPtr s)
{
	s->aborted++;
	return 0;
}

int virStreamFree(virStreamPtr s)
{
	s->refs--;
	return 0;
}

int virEventAddHandle(int fd, int events, virEventHandleCallback cb,
		      void *opaque, virFreeCallback ff)
{
	if (no_handle)
		return -1;
	handle.there = true;
	handle.fd = fd;
	handle.wanted = events;
	handle.fn = cb;
	handle.ctx = opaque;
	handle.let_go = ff;
	return 7;
}

void virEventUpdateHandle(int watch, int events)
{
	CHECK(watch == 7 && handle.there && !handle.gone);
	handle.wanted = events;
}

int virEventRemoveHandle(int watch)
{
	CHECK(watch == 7 && handle.there && !handle.gone);
	handle.gone = true;
	return 0;
}

static int line_events(void)
{
	int events = 0;

	if (line.said < line.says || line.ends)
		events |= VIR_STREAM_EVENT_READABLE;
	if (line.takes)
		events |= VIR_STREAM_EVENT_WRITABLE;
	events &= line.wanted;
	return line.breaks ? events | VIR_STREAM_EVENT_ERROR : events;
}

static bool turn_line(void)
{
	int events = line.fn ? line_events() : 0;

	if (!events)
		return false;
	line.told = true;
	line.fn(&line, events, line.ctx);
	line.told = false;
	if (!line.fn)
		line.let_go(line.ctx);
	return true;
}

static bool turn_handle(void)
{
	struct pollfd p = {.fd = handle.fd};
	int events = 0;

	if (!handle.there || handle.gone)
		return false;
	p.events = (short)((handle.wanted & VIR_EVENT_HANDLE_READABLE ? POLLIN
								      : 0) |
			   (handle.wanted & VIR_EVENT_HANDLE_WRITABLE ? POLLOUT
								      : 0));
	if (poll(&p, 1, 0) <= 0)
		return false;
	events = (p.revents & POLLIN ? VIR_EVENT_HANDLE_READABLE : 0) |
		 (p.revents & POLLOUT ? VIR_EVENT_HANDLE_WRITABLE : 0) |
		 (p.revents & POLLHUP ? VIR_EVENT_HANDLE_HANGUP : 0);
	handle.fn(7, handle.fd, events, handle.ctx);
	return true;
}

/* Until nothing more happens; a loop that turns for nothing is an error. */
static void turn(void)
{
	int most = 10000;
	bool line_did, handle_did;

	do {
		line_did = turn_line();
		handle_did = turn_handle();
	} while (--most && (line_did || handle_did));
	CHECK(most > 0);
	if (handle.there && handle.gone) {
		handle.there = handle.gone = false;
		handle.let_go(handle.ctx);
	}
}

/* The end that a caller gets. */
static int begin(void)
{
	struct err err;
	int fd = -1;

	line = (struct _virStream){.refs = 1, .heard = BUF_INIT(LOTS)};
	CHECK(bridge_begin(&line, &fd, &err) == 0);
	return fd;
}

static void is_over(void)
{
	CHECK(line.refs == 0 && line.aborted == 1 && !line.fn);
	CHECK(!handle.there);
	buf_release(&line.heard);
}

static void finish(int fd)
{
	close(fd);
	turn();
	is_over();
}

/* All that there is to read; FROM is which byte comes first. */
static size_t read_all(int fd, size_t from, bool *ret_end)
{
	char piece[4096];
	size_t got = 0;
	ssize_t n;

	while ((n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (piece[i] != nth(from + got++))
				CHECK(!"in order");
	CHECK(n == 0 || errno == EAGAIN);
	*ret_end = n == 0;
	return got;
}

static size_t write_some(int fd, size_t from, size_t most)
{
	size_t done = 0;

	while (done < most) {
		size_t len = most - done < PIECE ? most - done : PIECE;
		char piece[PIECE];
		ssize_t n;

		for (size_t i = 0; i < len; i++)
			piece[i] = nth(from + done + i);
		n = send(fd, piece, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return done;
}

static void check_heard(size_t n)
{
	CHECK(line.heard.len == n);
	for (size_t i = 0; i < line.heard.len; i++)
		if (line.heard.data[i] != nth(i)) {
			CHECK(!"in order");
			break;
		}
}

static void both_sides_are_carried(void)
{
	int fd = begin();
	bool ended;

	line.says = 5;
	line.takes = LOTS;
	CHECK(write_some(fd, 0, 3) == 3);
	turn();
	CHECK(read_all(fd, 0, &ended) == 5 && !ended);
	check_heard(3);
	line.says = 6;
	turn();
	CHECK(read_all(fd, 5, &ended) == 1 && !ended);
	finish(fd);
}

static void a_machine_is_read_as_fast_as_somebody_reads(void)
{
	int fd = begin();
	size_t got = 0, held;
	bool ended;

	line.says = 4 * MUCH;
	turn();
	held = line.said;
	CHECK(held < MUCH && !(line.wanted & VIR_STREAM_EVENT_READABLE));
	turn();
	CHECK(line.said == held);
	for (int i = 0; i < 1000 && got < line.says; i++) {
		got += read_all(fd, got, &ended);
		turn();
	}
	CHECK(got == line.says && !ended);
	CHECK(line.wanted == VIR_STREAM_EVENT_READABLE);
	finish(fd);
}

static void a_machine_is_told_as_fast_as_it_listens(void)
{
	int fd = begin();
	size_t sent = 0;

	for (int i = 0; i < 100 && sent < MUCH; i++) {
		size_t n = write_some(fd, sent, MUCH - sent);

		sent += n;
		turn();
		if (!n)
			break;
	}
	CHECK(sent < MUCH && !(handle.wanted & VIR_EVENT_HANDLE_READABLE));
	CHECK(line.wanted & VIR_STREAM_EVENT_WRITABLE);
	for (int i = 0; i < 10000 && sent < MUCH; i++) {
		line.takes = PIECE;
		turn();
		sent += write_some(fd, sent, MUCH - sent);
	}
	line.takes = LOTS;
	turn();
	check_heard(MUCH);
	CHECK(line.wanted == VIR_STREAM_EVENT_READABLE);
	finish(fd);
}

static void what_a_machine_said_last_is_told(void)
{
	int fd = begin();
	bool ended;

	line.says = 3 * PIECE;
	line.ends = true;
	turn();
	CHECK(read_all(fd, 0, &ended) == 3 * PIECE && ended);
	is_over();
	close(fd);
}

/* The words and the end may be there at once. */
static void what_was_typed_last_is_told(void)
{
	int fd = begin();

	line.takes = LOTS;
	CHECK(write_some(fd, 0, 9) == 9);
	close(fd);
	turn();
	check_heard(9);
	is_over();
}

static void a_line_that_breaks_ends_it(void)
{
	int fd = begin();
	bool ended;

	line.breaks = true;
	turn();
	CHECK(read_all(fd, 0, &ended) == 0 && ended);
	is_over();
	close(fd);
}

static void one_that_cannot_be_watched_is_given_back(void)
{
	struct err err = {0};
	int fd = -1;

	line = (struct _virStream){.refs = 1, .heard = BUF_INIT(LOTS)};
	no_handle = true;
	CHECK(bridge_begin(&line, &fd, &err) < 0 && fd == -1);
	CHECK(err.code == ERR_UNAVAILABLE);
	no_handle = false;
	is_over();
	line = (struct _virStream){.refs = 1, .heard = BUF_INIT(LOTS)};
	no_callback = true;
	CHECK(bridge_begin(&line, &fd, &err) < 0 && fd == -1);
	no_callback = false;
	turn();
	is_over();
}

/* Whether all that it had open is closed. */
static void nothing_is_left_open(void)
{
	int before = dup(0);

	close(before);
	for (int i = 0; i < 3; i++)
		finish(begin());
	one_that_cannot_be_watched_is_given_back();
	CHECK(dup(0) == before);
	close(before);
}

int main(void)
{
	RUN(both_sides_are_carried);
	RUN(a_machine_is_read_as_fast_as_somebody_reads);
	RUN(a_machine_is_told_as_fast_as_it_listens);
	RUN(what_a_machine_said_last_is_told);
	RUN(what_was_typed_last_is_told);
	RUN(a_line_that_breaks_ends_it);
	RUN(one_that_cannot_be_watched_is_given_back);
	RUN(nothing_is_left_open);
	return test_done();
}
