#include "provider/sim_line.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

/* Open at a time; one's bytes on their way back. */
enum { LINES_MOST = 512, HELD_MOST = 64 << 10 };

/* A word that is obeyed. */
enum { WORD_MOST = 16 };

struct line {
	char *machine;
	int fd; /* our end; -1: free */
	struct buf held;
	char word[WORD_MOST];
	size_t word_len;
	bool screen, flooding, deaf, ending;
	bool cut; /* the thread is to hang up */
};

struct sim_lines {
	pthread_mutex_t lock; /* around all but the event */
	pthread_t thread;
	bool runs, stop;
	int event; /* there is something new */
	struct line lines[LINES_MOST];
};

static void poke(const struct sim_lines *s)
{
	uint64_t one = 1;

	if (write(s->event, &one, sizeof(one)) < 0)
		abort(); /* it is ours, and never full */
}

static void hang_up(struct line *l)
{
	close(l->fd);
	buf_release(&l->held);
	free(l->machine);
	*l = (struct line){.fd = -1};
}

/* What the other side typed, in its own words. */
static void obey(struct line *l)
{
	l->word[l->word_len < WORD_MOST ? l->word_len : WORD_MOST - 1] = '\0';
	l->flooding = strcmp(l->word, "flood") == 0;
	l->deaf = strcmp(l->word, "deaf") == 0;
	l->ending = strcmp(l->word, "logout") == 0;
	l->word_len = 0;
}

static void take(struct line *l, const char *bytes, size_t len)
{
	buf_add(&l->held, bytes, len);
	for (size_t i = 0; i < len && !l->screen; i++) {
		if (bytes[i] == '\r' || bytes[i] == '\n') {
			obey(l);
			continue;
		}
		if (l->word_len + 1 < WORD_MOST)
			l->word[l->word_len] = bytes[i];
		l->word_len++;
	}
}

/* Nobody is told that there was more to say to them. */
static void serve(struct line *l, bool alone)
{
	static const char tide[] = "flood flood flood flood flood flood\r\n";
	char piece[4096];
	ssize_t n = 0;

	if (l->cut || (l->deaf && alone)) {
		hang_up(l);
		return;
	}
	while (l->flooding && l->held.len + sizeof(tide) < HELD_MOST)
		buf_adds(&l->held, tide);
	if (l->held.len)
		n = send(l->fd, l->held.data, l->held.len,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		buf_eat(&l->held, (size_t)n);
	if ((n < 0 && errno != EAGAIN) || (l->ending && !l->held.len)) {
		hang_up(l);
		return;
	}
	if (l->deaf || l->held.len + sizeof(piece) > HELD_MOST)
		return;
	n = recv(l->fd, piece, sizeof(piece), MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		hang_up(l);
	else if (n > 0)
		take(l, piece, (size_t)n);
}

static short wants(const struct line *l)
{
	bool full = l->held.len + 4096 > HELD_MOST;

	return (short)((l->deaf || full ? 0 : POLLIN) |
		       (l->held.len || l->flooding ? POLLOUT : 0));
}

static void *run(void *ctx)
{
	struct sim_lines *s = ctx;
	struct pollfd fds[LINES_MOST + 1];
	uint64_t ignored;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		for (size_t i = 0; i < LINES_MOST; i++)
			fds[i] = (struct pollfd){.fd = s->lines[i].fd,
						 .events = wants(&s->lines[i])};
		fds[LINES_MOST] =
			(struct pollfd){.fd = s->event, .events = POLLIN};
		pthread_mutex_unlock(&s->lock);
		(void)!poll(fds, COUNT_OF(fds), -1);
		pthread_mutex_lock(&s->lock);
		if (fds[LINES_MOST].revents)
			(void)!read(s->event, &ignored, sizeof(ignored));
		for (size_t i = 0; i < LINES_MOST; i++)
			if (s->lines[i].fd >= 0)
				serve(&s->lines[i], fds[i].revents & POLLHUP);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct sim_lines *sim_lines_new(void)
{
	struct sim_lines *s = xcalloc(1, sizeof(*s));

	s->event = -1;
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < LINES_MOST; i++)
		s->lines[i].fd = -1;
	return s;
}

void sim_lines_free(struct sim_lines *s)
{
	if (!s)
		return;
	if (s->runs) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_mutex_unlock(&s->lock);
		poke(s);
		pthread_join(s->thread, NULL);
		close(s->event);
	}
	for (size_t i = 0; i < LINES_MOST; i++)
		if (s->lines[i].fd >= 0)
			hang_up(&s->lines[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* The thread is there from the first line on. */
static int begin(struct sim_lines *s, struct err *err)
{
	if (s->runs)
		return 0;
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event >= 0 && pthread_create(&s->thread, NULL, run, s) == 0) {
		s->runs = true;
		return 0;
	}
	if (s->event >= 0)
		close(s->event);
	return err_set(err, ERR_UNAVAILABLE, "no console can be served");
}

static struct line *find_free(struct sim_lines *s)
{
	for (size_t i = 0; i < LINES_MOST; i++)
		if (s->lines[i].fd < 0)
			return &s->lines[i];
	return NULL;
}

static int add(struct sim_lines *s, const char *machine, bool screen,
	       int *ret_fd, struct err *err)
{
	struct line *l = find_free(s);
	int ends[2];

	if (!l)
		return err_set(err, ERR_CAPACITY, "too many consoles are open");
	if (begin(s, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(err, ERR_UNAVAILABLE, "a console: %s",
			       strerror(errno));
	*l = (struct line){.machine = xstrdup(machine),
			   .fd = ends[0],
			   .held = BUF_INIT(HELD_MOST),
			   .screen = screen};
	if (screen)
		buf_adds(&l->held, "RFB 003.008\n");
	else
		buf_addf(&l->held, "\r\nsim: %s\r\nlogin: ", machine);
	*ret_fd = ends[1];
	return 0;
}

int sim_line_open(struct sim_lines *s, const char *machine, bool screen,
		  int *ret_fd, struct err *err)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = add(s, machine, screen, ret_fd, err);
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		poke(s);
	return r;
}

void sim_line_cut(struct sim_lines *s, const char *machine)
{
	bool runs;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < LINES_MOST; i++)
		if (s->lines[i].fd >= 0 &&
		    strcmp(s->lines[i].machine, machine) == 0)
			s->lines[i].cut = true;
	runs = s->runs;
	pthread_mutex_unlock(&s->lock);
	if (runs)
		poke(s);
}
