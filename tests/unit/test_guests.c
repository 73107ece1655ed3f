#include "provider/libvirt/guests.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "provider/libvirt/banner.h"
#include "provider/machine.h"
#include "test.h"

enum { MANY = 200 };

/* A guest: what is at its port, and how it answers. */
struct guest {
	int fd, port;
	const char *says; /* NULL: it takes connections and says nothing */
	pthread_t thread;
};

static sem_t news;
static atomic_int told, pings;
static atomic_bool agent;

static void changed(void *ctx, const char *machine)
{
	(void)ctx;
	(void)machine;
	told++;
	sem_post(&news);
}

static bool ping(void *ctx, const char *machine)
{
	(void)ctx;
	(void)machine;
	pings++;
	return agent;
}

static const struct guests_conf quick = {.ping = ping,
					 .changed = changed,
					 .wait_ms = 2,
					 .check_ms = 2,
					 .try_ms = 5000};

static void *serve(void *arg)
{
	struct guest *g = arg;
	int fd;

	while ((fd = accept(g->fd, NULL, NULL)) >= 0) {
		if (g->says && write(fd, g->says, strlen(g->says)) < 0)
			break;
		close(fd);
	}
	return NULL;
}

static int listen_at(int *ret_port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&at, &len) == 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* It has an address, and nobody listens yet. */
static void guest_make(struct guest *g, const char *says)
{
	*g = (struct guest){.says = says};
	g->fd = listen_at(&g->port);
}

static void guest_boot(struct guest *g)
{
	CHECK(listen(g->fd, 64) == 0);
	CHECK(pthread_create(&g->thread, NULL, serve, g) == 0);
}

static void guest_end(struct guest *g)
{
	shutdown(g->fd, SHUT_RDWR);
	pthread_join(g->thread, NULL);
	close(g->fd);
}

static int look(struct guests *r, const struct guest *g, bool certain,
		const char **why)
{
	const struct guest_target t = {.machine = "m",
				       .run = 1,
				       .address = g ? "127.0.0.1" : NULL,
				       .port = g ? g->port : 0,
				       .certain = certain};

	return guests_look(r, &t, why);
}

static void one_that_boots_is_found_to_be_up(void)
{
	struct guests *r = guests_new(&quick);
	struct guest g;
	const char *why;

	agent = false;
	told = 0;
	guest_make(&g, "SSH-2.0-tiny\r\n");
	CHECK(look(r, &g, true, &why) == READY_NOT_YET);
	CHECK_STR(why, "its SSH server does not answer");
	CHECK(look(r, &g, true, &why) == READY_NOT_YET);
	guest_boot(&g);
	sem_wait(&news);
	CHECK(look(r, &g, true, &why) == READY_NOW);
	CHECK_STR(why, "its SSH server answers");
	CHECK(told == 1);
	/* And that it is not any more. */
	guest_end(&g);
	sem_wait(&news);
	CHECK(look(r, &g, true, &why) == READY_NOT_YET);
	CHECK_STR(why, "its SSH server does not answer");
	guests_free(r);
}

static void what_is_no_ssh_server_is_not_up(void)
{
	static const char *const says[] = {"HTTP/1.1 400 Bad\r\n", "SS", "",
					   NULL};

	for (size_t i = 0; i < COUNT_OF(says); i++) {
		struct banner b = {.address = "127.0.0.1"};
		struct guest g;
		int end[2];

		CHECK(pipe(end) == 0);
		guest_make(&g, says[i]);
		guest_boot(&g);
		b.port = g.port;
		banners_ask(&b, 1, 200, end[0]);
		CHECK(!b.answers && !b.line.open);
		guest_end(&g);
		close(end[0]);
		close(end[1]);
	}
}

/* It takes long to boot; and would have to answer all who ever came. */
static void one_that_is_slow_is_asked_on_one_line(void)
{
	struct guests_conf conf = quick;
	struct guests *r;
	struct guest g;
	const char *why;
	int fd, n = 0, line = -1;

	conf.try_ms = 2;
	agent = false;
	r = guests_new(&conf);
	guest_make(&g, NULL);
	CHECK(listen(g.fd, 64) == 0);
	CHECK(fcntl(g.fd, F_SETFL, O_NONBLOCK) == 0);
	pings = 0;
	CHECK(look(r, &g, false, &why) == READY_UNTOLD);
	while (pings < 10)
		usleep(1000);
	for (; (fd = accept(g.fd, NULL, NULL)) >= 0; n++)
		line = fd;
	CHECK(n == 1);
	if (n == 1) {
		CHECK(write(line, "SSH-2.0-at last\r\n", 17) == 17);
		sem_wait(&news);
		CHECK(look(r, &g, false, &why) == READY_NOW);
	}
	guests_free(r);
	close(line);
	close(g.fd);
}

static void addresses_that_are_none_do_not_answer(void)
{
	struct banner list[] = {
		{.address = "", .port = 22},
		{.address = "localhost; reboot", .port = 22},
		{.address = "127.0.0.1", .port = 0},
		{.address = "127.0.0.1", .port = 65536},
		{.address = "::1", .port = -1},
	};

	banners_ask(list, COUNT_OF(list), 1000, -1);
	for (size_t i = 0; i < COUNT_OF(list); i++)
		CHECK(!list[i].answers && !list[i].line.open);
}

/* Rules may keep us out, or there is no agent: then nobody knows. */
static void where_no_answer_says_nothing_it_is_not_told(void)
{
	struct guests *r = guests_new(&quick);
	struct guest g;
	const char *why = "";

	agent = false;
	guest_make(&g, "SSH-2.0-tiny\r\n");
	CHECK(look(r, &g, false, &why) == READY_UNTOLD && !why);
	guest_boot(&g);
	sem_wait(&news);
	CHECK(look(r, &g, false, &why) == READY_NOW);
	guest_end(&g);
	sem_wait(&news);
	/* It was heard of: now it says something. */
	CHECK(look(r, &g, false, &why) == READY_NOT_YET);
	guests_free(r);
}

static void an_agent_is_as_good(void)
{
	struct guests *r = guests_new(&quick);
	struct guest g;
	const char *why;

	agent = false;
	CHECK(look(r, NULL, false, &why) == READY_UNTOLD);
	agent = true;
	sem_wait(&news);
	CHECK(look(r, NULL, false, &why) == READY_NOW);
	CHECK_STR(why, "its agent answers");
	agent = false;
	sem_wait(&news);
	CHECK(look(r, NULL, false, &why) == READY_NOT_YET);
	CHECK_STR(why, "its agent does not answer");
	guests_free(r);
	/* Also where an SSH server would be, and is not. */
	r = guests_new(&quick);
	guest_make(&g, NULL);
	agent = true;
	CHECK(look(r, &g, true, &why) == READY_NOT_YET);
	sem_wait(&news);
	CHECK(look(r, &g, true, &why) == READY_NOW);
	CHECK_STR(why, "its agent answers");
	guests_free(r);
	close(g.fd);
}

static void another_run_begins_anew(void)
{
	struct guests *r = guests_new(&quick);
	struct guest g;
	struct guest_target t;
	const char *why;

	agent = false;
	guest_make(&g, "SSH-2.0-tiny\r\n");
	guest_boot(&g);
	t = (struct guest_target){"m", 1, "127.0.0.1", g.port, true};
	CHECK(guests_look(r, &t, &why) == READY_NOT_YET);
	sem_wait(&news);
	CHECK(guests_look(r, &t, &why) == READY_NOW);
	t.run = 2;
	CHECK(guests_look(r, &t, &why) == READY_NOT_YET);
	sem_wait(&news);
	CHECK(guests_look(r, &t, &why) == READY_NOW);
	guests_forget(r, "m");
	guests_forget(r, "m");
	CHECK(guests_look(r, &t, &why) == READY_NOT_YET);
	sem_wait(&news);
	CHECK(guests_look(r, &t, &why) == READY_NOW);
	guest_end(&g);
	guests_free(r);
}

/* An agent that answers as it is written: '+', '-', or 'w' and then '+' when it
 * is let.  At the end it has no answer, and says so. */
struct script {
	const char *lines;
	atomic_size_t at;
	sem_t asked, let;
};

static bool play(void *ctx, const char *machine)
{
	struct script *s = ctx;
	char line = s->lines[s->at];

	(void)machine;
	if (line)
		s->at++;
	if (line == '+' || line == '-')
		return line == '+';
	sem_post(&s->asked);
	if (line)
		sem_wait(&s->let);
	return line != 0;
}

static struct guests *begin_play(struct script *s, const char *lines)
{
	struct guests_conf conf = quick;

	s->lines = lines;
	s->at = 0;
	sem_init(&s->asked, 0, 0);
	sem_init(&s->let, 0, 0);
	conf.ping = play;
	conf.ctx = s;
	told = 0;
	return guests_new(&conf);
}

static void an_answer_that_is_missing_is_no_news(void)
{
	struct guest_target t = {.machine = "m", .run = 1};
	struct script s;
	struct guests *r = begin_play(&s, "+--+--+w-w---");
	const char *why;

	CHECK(guests_look(r, &t, &why) == READY_UNTOLD);
	sem_wait(&s.asked);
	sem_wait(&news);
	CHECK(told == 1 && guests_look(r, &t, &why) == READY_NOW);
	sem_post(&s.let);
	sem_wait(&s.asked);
	CHECK(told == 1 && guests_look(r, &t, &why) == READY_NOW);
	sem_post(&s.let);
	sem_wait(&s.asked);
	/* But three in a row are. */
	sem_wait(&news);
	CHECK(told == 2 && guests_look(r, &t, &why) == READY_NOT_YET);
	guests_free(r);
}

static void what_was_asked_of_another_run_is_no_answer(void)
{
	struct guest_target t = {.machine = "m", .run = 1};
	struct script s;
	struct guests *r = begin_play(&s, "w");
	const char *why;

	CHECK(guests_look(r, &t, &why) == READY_UNTOLD);
	sem_wait(&s.asked);
	t.run = 2;
	CHECK(guests_look(r, &t, &why) == READY_UNTOLD);
	sem_post(&s.let);
	sem_wait(&s.asked);
	CHECK(told == 0 && guests_look(r, &t, &why) == READY_UNTOLD);
	guests_free(r);
}

/* More than are asked at a time; those that never answer hold up nobody for
 * longer than a try takes. */
static void many_are_asked_at_a_time(void)
{
	struct guests_conf conf = quick;
	struct guests *r;
	struct guest up, dumb;
	char name[32];
	const char *why;
	int now = 0;

	conf.try_ms = 100;
	conf.check_ms = 3600000;
	r = guests_new(&conf);
	agent = false;
	guest_make(&up, "SSH-2.0-tiny\r\n");
	guest_make(&dumb, NULL);
	guest_boot(&up);
	CHECK(listen(dumb.fd, 4096) == 0);
	for (int i = 0; i < MANY; i++) {
		struct guest_target t = {name, 1, "127.0.0.1",
					 i % 2 ? up.port : dumb.port, true};

		snprintf(name, sizeof(name), "m-%d", i);
		guests_look(r, &t, &why);
	}
	for (int i = 0; i < MANY / 2; i++)
		sem_wait(&news);
	for (int i = 0; i < MANY; i++) {
		struct guest_target t = {name, 1, "127.0.0.1",
					 i % 2 ? up.port : dumb.port, true};

		snprintf(name, sizeof(name), "m-%d", i);
		now += guests_look(r, &t, &why) == READY_NOW;
	}
	CHECK(now == MANY / 2);
	guest_end(&up);
	guests_free(r);
	close(dumb.fd);
}

/* Nobody waits for a try to end. */
static void the_end_does_not_wait(void)
{
	struct guests_conf slow = quick;
	struct guests *r;
	struct guest dumb;
	const char *why;

	slow.try_ms = 3600000;
	r = guests_new(&slow);
	guest_make(&dumb, NULL);
	CHECK(listen(dumb.fd, 16) == 0);
	CHECK(look(r, &dumb, true, &why) == READY_NOT_YET);
	close(accept(dumb.fd, NULL, NULL)); /* it is being asked */
	guests_free(r);
	guests_free(NULL);
	close(dumb.fd);
}

int main(void)
{
	sem_init(&news, 0, 0);
	RUN(one_that_boots_is_found_to_be_up);
	RUN(what_is_no_ssh_server_is_not_up);
	RUN(one_that_is_slow_is_asked_on_one_line);
	RUN(addresses_that_are_none_do_not_answer);
	RUN(where_no_answer_says_nothing_it_is_not_told);
	RUN(an_agent_is_as_good);
	RUN(another_run_begins_anew);
	RUN(an_answer_that_is_missing_is_no_news);
	RUN(what_was_asked_of_another_run_is_no_answer);
	RUN(many_are_asked_at_a_time);
	RUN(the_end_does_not_wait);
	return test_done();
}
