#include "provider/libvirt/guests.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "provider/libvirt/banner.h"
#include "provider/machine.h"

enum {
	WAIT_MS = 250,
	CHECK_MS = 60000,
	TRY_MS = 2000,
	DOUBT_MS = 5000,     /* of one that did not answer and was up */
	DOUBTS_MOST = 3,     /* before it is not */
	FORGET_MS = 1800000, /* without anybody asking */
	IDLE_MS = 3600000,   /* nothing is to be done: until then */
	SLOWER_AFTER = 8,    /* tries in vain: then the wait grows, */
	SLOWER_MOST = 20,    /* to so many times as long */
	LINES_MOST = 256,    /* that are left open */
	AGENT_AFTER = 20,    /* there may be no SSH server where one would be */
};

static const char by_agent[] = "its agent answers";
static const char by_ssh[] = "its SSH server answers";
static const char no_ssh[] = "its SSH server does not answer";
static const char no_agent[] = "its agent does not answer";

struct guest {
	char *machine, *address; /* owned */
	int64_t port;
	struct banner_line line; /* to there */
	int run;
	bool certain, up, heard; /* now, and ever in this run */
	const char *why;
	unsigned failures;    /* in a row */
	uint64_t next, asked; /* when it is its turn; when somebody asked */
};

struct guests {
	struct guests_conf conf;
	pthread_mutex_t lock; /* around the guests */
	struct map by_machine;
	size_t cursor; /* in it: who was asked last */
	size_t lines;  /* that are open between tries */
	pthread_t thread;
	bool running;
	atomic_bool stop;
	int wake, end; /* eventfd: there is something to do; it is over */
};

/* One that is asked, by the thread, without the lock. */
struct attempt {
	char *machine;
	struct banner ssh; /* address NULL: not there */
	int run;
	bool asks_agent, agent;
};

static void hang_up(struct guests *r, struct guest *g)
{
	r->lines -= g->line.open;
	banner_close(&g->line);
}

/* With the lock held, or by who has R alone. */
static void guest_free(struct guests *r, struct guest *g)
{
	if (!g)
		return;
	hang_up(r, g);
	free(g->machine);
	free(g->address);
	free(g);
}

/* A counter that is full wakes as well. */
static void kick(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

/* When the next is due; and nobody asks for some any more. */
static uint64_t next_due(struct guests *r, uint64_t now)
{
	uint64_t next = now + IDLE_MS;
	struct guest *g, *old = NULL;

	for (size_t i = 0; (g = map_next(&r->by_machine, &i));) {
		if (now > g->asked + FORGET_MS)
			old = g;
		if (g->next < next)
			next = g->next;
	}
	if (old) {
		map_remove(&r->by_machine, old->machine);
		guest_free(r, old);
	}
	return next;
}

static void take(struct guests *r, struct guest *g, uint64_t now,
		 struct attempt *ret)
{
	*ret = (struct attempt){
		.machine = xstrdup(g->machine),
		.run = g->run,
		.ssh = {.address = g->address ? xstrdup(g->address) : NULL,
			.port = g->port,
			.line = g->line},
		.asks_agent = !g->certain || g->failures >= AGENT_AFTER,
	};
	r->lines -= g->line.open;
	g->line = (struct banner_line){0};
	g->next = now + IDLE_MS; /* until it is answered */
}

/* Up to MOST whose turn it is, beginning after those that were taken last: those
 * that take long do not keep out the others. */
static size_t take_due(struct guests *r, struct attempt *tries, size_t most,
		       uint64_t now)
{
	size_t n = 0, i = r->cursor;

	for (int round = 0; round < 2; round++, i = 0) {
		struct guest *g;

		while (n < most && (g = map_next(&r->by_machine, &i)))
			if (g->next <= now) {
				take(r, g, now, &tries[n++]);
				r->cursor = i;
			}
	}
	return n;
}

static void ask(struct guests *r, struct attempt *tries, size_t n)
{
	struct banner list[BANNERS_MOST];
	size_t of[BANNERS_MOST], many = 0;

	for (size_t i = 0; i < n; i++)
		if (tries[i].ssh.address) {
			of[many] = i;
			list[many++] = tries[i].ssh;
		}
	if (many)
		banners_ask(list, many, r->conf.try_ms, r->end);
	for (size_t i = 0; i < many; i++)
		tries[of[i]].ssh = list[i];
	for (size_t i = 0; i < n && !r->stop; i++)
		if (tries[i].asks_agent && !tries[i].ssh.answers)
			tries[i].agent =
				r->conf.ping &&
				r->conf.ping(r->conf.ctx, tries[i].machine);
}

/* Who has not answered for long is asked less often. */
static uint64_t slower(unsigned failures)
{
	unsigned times = 1 + failures / SLOWER_AFTER;

	return times < SLOWER_MOST ? times : SLOWER_MOST;
}

/* True when it is news. */
static bool take_answer(const struct guests *r, struct guest *g,
			const struct attempt *t, uint64_t now)
{
	bool was = g->up;

	if (t->agent || t->ssh.answers) {
		g->up = g->heard = true;
		g->failures = 0;
		g->next = now + r->conf.check_ms;
		if (!was)
			g->why = t->agent ? by_agent : by_ssh;
		return !was;
	}
	g->failures++;
	if (was && g->failures < DOUBTS_MOST) {
		g->next = now + (r->conf.check_ms < DOUBT_MS ? r->conf.check_ms
							     : DOUBT_MS);
		return false;
	}
	g->up = false;
	if (was)
		g->why = g->why == by_agent ? no_agent : no_ssh;
	g->next = now + r->conf.wait_ms * slower(g->failures);
	return was;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* The line that T has left open, for the next time. */
static void keep_line(struct guests *r, struct guest *g, struct attempt *t)
{
	if (!t->ssh.line.open || r->lines >= LINES_MOST ||
	    g->port != t->ssh.port || !same(g->address, t->ssh.address))
		return;
	g->line = t->ssh.line;
	r->lines++;
	t->ssh.line = (struct banner_line){0};
}

static void answer(struct guests *r, struct attempt *t)
{
	struct guest *g;
	bool news = false;

	pthread_mutex_lock(&r->lock);
	g = map_get(&r->by_machine, t->machine);
	if (g && g->run == t->run) {
		news = take_answer(r, g, t, clock_mono(&clock_system));
		keep_line(r, g, t);
	}
	pthread_mutex_unlock(&r->lock);
	if (news && r->conf.changed)
		r->conf.changed(r->conf.ctx, t->machine);
}

static void free_attempt(struct attempt *t)
{
	union {
		const char *read;
		char *write;
	} address = {t->ssh.address};

	banner_close(&t->ssh.line);
	free(t->machine);
	free(address.write);
}

/* Until the next is due, or there is something else to do. */
static void rest(struct guests *r, uint64_t ms)
{
	struct pollfd fds[] = {{.fd = r->wake, .events = POLLIN},
			       {.fd = r->end, .events = POLLIN}};
	uint64_t n;

	if (poll(fds, COUNT_OF(fds), (int)ms) > 0 && fds[0].revents &&
	    read(r->wake, &n, sizeof(n)) < 0)
		return;
}

static void *run(void *ctx)
{
	struct guests *r = ctx;
	struct attempt tries[BANNERS_MOST];

	while (!r->stop) {
		uint64_t now = clock_mono(&clock_system), next;
		size_t n;

		pthread_mutex_lock(&r->lock);
		n = take_due(r, tries, BANNERS_MOST, now);
		next = next_due(r, now);
		pthread_mutex_unlock(&r->lock);
		if (n)
			ask(r, tries, n);
		else
			rest(r, next > now ? next - now : 0);
		for (size_t i = 0; i < n; i++) {
			if (!r->stop)
				answer(r, &tries[i]);
			free_attempt(&tries[i]);
		}
	}
	return NULL;
}

/* Signals are for the threads of the program. */
static void begin(struct guests *r)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r->running = pthread_create(&r->thread, NULL, run, r) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct guests *guests_new(const struct guests_conf *conf)
{
	struct guests *r = xcalloc(1, sizeof(*r));

	r->conf = *conf;
	if (!r->conf.wait_ms)
		r->conf.wait_ms = WAIT_MS;
	if (!r->conf.check_ms)
		r->conf.check_ms = CHECK_MS;
	if (!r->conf.try_ms)
		r->conf.try_ms = TRY_MS;
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void guests_free(struct guests *r)
{
	struct guest *g;

	if (!r)
		return;
	r->stop = true;
	kick(r->end);
	if (r->running)
		pthread_join(r->thread, NULL);
	for (size_t i = 0; (g = map_next(&r->by_machine, &i));)
		guest_free(r, g);
	map_release(&r->by_machine);
	pthread_mutex_destroy(&r->lock);
	close(r->wake);
	close(r->end);
	free(r);
}

/* Anew, when it is another run or elsewhere: it is its turn at once. */
static void aim(struct guests *r, struct guest *g, const struct guest_target *t)
{
	if (g->why && g->run == t->run && g->port == t->port &&
	    g->certain == t->certain && same(g->address, t->address))
		return;
	hang_up(r, g);
	free(g->address);
	g->address = t->address ? xstrdup(t->address) : NULL;
	g->port = t->port;
	g->run = t->run;
	g->certain = t->certain;
	g->up = g->heard = false;
	g->failures = 0;
	g->why = no_ssh;
	g->next = 0;
	kick(r->wake);
}

static struct guest *find(struct guests *r, const char *machine)
{
	struct guest *g = map_get(&r->by_machine, machine);

	if (g)
		return g;
	g = xcalloc(1, sizeof(*g));
	g->machine = xstrdup(machine);
	map_add(&r->by_machine, g->machine, g);
	if (!r->running)
		begin(r);
	return g;
}

int guests_look(struct guests *r, const struct guest_target *t,
		const char **ret_why)
{
	struct guest *g;
	int is;

	pthread_mutex_lock(&r->lock);
	g = find(r, t->machine);
	aim(r, g, t);
	g->asked = clock_mono(&clock_system);
	*ret_why = g->why;
	if (g->up)
		is = READY_NOW;
	else if (g->certain || g->heard)
		is = READY_NOT_YET;
	else
		is = READY_UNTOLD;
	if (is == READY_UNTOLD)
		*ret_why = NULL;
	pthread_mutex_unlock(&r->lock);
	return is;
}

void guests_forget(struct guests *r, const char *machine)
{
	struct guest *g;

	pthread_mutex_lock(&r->lock);
	g = map_remove(&r->by_machine, machine);
	guest_free(r, g);
	pthread_mutex_unlock(&r->lock);
}
