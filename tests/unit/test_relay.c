#include "http/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "frames.h"
#include "handler.h"
#include "test.h"

#define UPGRADE                                                                \
	"GET /ws HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n"                   \
	"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"                 \
	"Sec-WebSocket-Protocol: chat, binary\r\n"                             \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

/* No side can have taken more than this while the other took nothing: what is
 * held on the way, and what the kernel does. */
enum { HALTS = 32 << 20 };

static atomic_int begun, ended;
static struct relay *relay;
static struct relay_conf conf;
static struct relay_facts facts; /* of the one that ended last */
static char why[64];
static int far; /* the machine's end */

static void on_ended(void *ctx, const struct relay_facts *f)
{
	CHECK(ctx == &conf);
	facts = *f;
	snprintf(why, sizeof(why), "%s", f->why);
	atomic_fetch_add(&ended, 1);
}

static void handle_relay(void *ctx, struct exchange *x)
{
	struct serving *s = ctx;
	struct err err;
	int ends[2];

	conf.loop = s->loop;
	conf.ended = on_ended;
	conf.ctx = &conf;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	conf.fd = ends[0];
	far = ends[1];
	if (relay_begin(x, &conf, &relay, &err) == 0) {
		atomic_fetch_add(&begun, 1);
		return;
	}
	close(ends[0]);
	close(ends[1]);
	answer(x, 400, err.msg, strlen(err.msg));
}

static struct wire begin(struct serving *s)
{
	struct timeval limit = {.tv_sec = WIRE_SECONDS};
	struct reply_read r;
	struct wire w;
	char text[128];

	atomic_store(&begun, 0);
	atomic_store(&ended, 0);
	s->conf.handle = handle_relay;
	s->conf.ctx = s;
	serving_start(s);
	w = wire_open(s->address);
	wire_puts(&w, UPGRADE);
	r = reply_head(&w);
	CHECK(r.status == 101);
	CHECK_STR(reply_value(&r, "Sec-WebSocket-Protocol", text), "binary");
	reply_release(&r);
	CHECK(reaches(&begun, 1));
	setsockopt(far, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return w;
}

static void finish(struct serving *s, struct wire *w)
{
	wire_close(w);
	CHECK(reaches(&ended, 1));
	close(far);
	serving_stop(s, 5000);
	CHECK(ended == 1);
	conf = (struct relay_conf){0};
}

/* What comes of LEN bytes at the machine. */
static bool far_reads(const char *bytes, size_t len)
{
	char *got = xmalloc(len);
	bool same = recv(far, got, len, MSG_WAITALL) == (ssize_t)len &&
		    memcmp(got, bytes, len) == 0;

	free(got);
	return same;
}

static void bytes_go_both_ways(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);

	put(&w, FIN | BINARY, "\0\1\xff", 3);
	CHECK(far_reads("\0\1\xff", 3));
	put(&w, FIN | TEXT, "text", 4);
	CHECK(far_reads("text", 4));
	CHECK(send(far, "\xff\0back", 6, 0) == 6);
	expect(&w, FIN | BINARY, "\xff\0back", 6);
	put(&w, FIN | CLOSE, "\x03\xe8", 2);
	expect_close(&w, 1000);
	CHECK(reaches(&ended, 1));
	CHECK(facts.received == 7 && facts.sent == 6);
	CHECK_STR(why, "the client left");
	CHECK(recv(far, (char[1]){0}, 1, 0) == 0);
	finish(&s, &w);
}

/* Nothing that was said before is lost. */
static void the_machine_hangs_up(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);

	CHECK(send(far, "bye", 3, 0) == 3);
	shutdown(far, SHUT_RDWR);
	expect(&w, FIN | BINARY, "bye", 3);
	expect_close(&w, 1000);
	finish(&s, &w);
	CHECK_STR(why, "the console was closed");
}

static void the_client_dies(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);

	finish(&s, &w);
	CHECK_STR(why, "the client left");
}

/* So many bytes are taken before nothing more is for a while. */
static size_t fill_far(void)
{
	char piece[4096];
	size_t all = 0;

	memset(piece, 'x', sizeof(piece));
	while (all < HALTS) {
		struct pollfd p = {.fd = far, .events = POLLOUT};
		ssize_t n;

		if (poll(&p, 1, 500) == 0)
			break;
		n = send(far, piece, sizeof(piece), MSG_DONTWAIT);
		all += n > 0 ? (size_t)n : 0;
	}
	return all;
}

static void a_client_that_does_not_read_stops_the_machine(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);
	struct buf body = BUF_INIT(1 << 20);
	size_t sent = fill_far(), got = 0;

	CHECK(sent < HALTS);
	while (got < sent && get(&w, &body) == (FIN | BINARY))
		got += body.len;
	CHECK(got == sent);
	CHECK(send(far, "on", 2, 0) == 2);
	expect(&w, FIN | BINARY, "on", 2);
	buf_release(&body);
	finish(&s, &w);
}

/* So many bytes of messages are taken. */
static size_t fill_client(struct wire *w)
{
	static const char head[] = "\x82\xfe\x10\0\0\0\0";
	static char message[8 + 4096];
	size_t at = 0, all = 0;

	memcpy(message, head, 8);
	memset(message + 8, 'y', 4096);
	while (all < HALTS) {
		struct pollfd p = {.fd = w->fd, .events = POLLOUT};
		ssize_t n;

		if (poll(&p, 1, 500) == 0)
			break;
		n = send(w->fd, message + at, sizeof(message) - at,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		at += n > 0 ? (size_t)n : 0;
		if (at == sizeof(message)) {
			at = 0;
			all += 4096;
		}
	}
	return at ? all + 4096 - (sizeof(message) - at) : all;
}

static size_t drain_far(size_t want)
{
	static char piece[1 << 16];
	size_t got = 0;

	while (got < want) {
		ssize_t n = recv(far, piece, sizeof(piece), 0);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (piece[i] != 'y')
				return 0;
		got += (size_t)n;
	}
	return got;
}

/* Its pongs are not read meanwhile; that is not its fault. */
static void a_machine_that_does_not_read_stops_the_client(void)
{
	struct serving s = {.conf = {.heartbeat_ms = 50}};
	struct wire w = begin(&s);
	size_t sent = fill_client(&w), whole = sent / 4096 * 4096;

	CHECK(sent < HALTS);
	CHECK(ended == 0);
	CHECK(whole && drain_far(whole) >= whole);
	finish(&s, &w);
}

static void a_client_that_dies_behind_its_flood_is_noticed(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);
	struct linger hard = {.l_onoff = 1};

	CHECK(fill_client(&w) < HALTS);
	setsockopt(w.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	finish(&s, &w);
}

static void limits_end_it(void)
{
	struct serving s = {0};
	struct wire w;

	conf.idle_ms = 30;
	w = begin(&s);
	expect_close(&w, 1008);
	finish(&s, &w);
	CHECK_STR(why, "nothing was said for too long");
	s = (struct serving){0};
	conf.idle_ms = 60000;
	conf.total_ms = 30;
	w = begin(&s);
	expect_close(&w, 1008);
	finish(&s, &w);
	CHECK_STR(why, "it was open for as long as one may be");
}

static void end_it(struct serving *s)
{
	(void)s;
	relay_end(relay, 4000, "enough");
	relay_end(relay, 4001, "and again");
}

static void whoever_began_it_can_end_it(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);

	serving_do(&s, end_it);
	CHECK(recv(far, (char[1]){0}, 1, 0) == 0);
	expect_close(&w, 4000);
	finish(&s, &w);
	CHECK_STR(why, "enough");
}

static void what_is_no_stream_is_refused(void)
{
	struct relay_conf odd = {.fd = open("/dev/null", O_RDWR | O_CLOEXEC)};
	struct relay *none = NULL;
	struct err err;

	CHECK(relay_begin(NULL, &odd, &none, &err) < 0);
	CHECK(err.code == ERR_PROVIDER && !none);
	CHECK(close(odd.fd) == 0);
}

static void freeing_the_server_ends_it(void)
{
	struct serving s = {0};
	struct wire w = begin(&s);

	serving_stop(&s, 1);
	CHECK(ended == 1);
	CHECK(recv(far, (char[1]){0}, 1, 0) == 0);
	wire_close(&w);
	close(far);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	RUN(bytes_go_both_ways);
	RUN(the_machine_hangs_up);
	RUN(the_client_dies);
	RUN(a_client_that_does_not_read_stops_the_machine);
	RUN(a_machine_that_does_not_read_stops_the_client);
	RUN(a_client_that_dies_behind_its_flood_is_noticed);
	RUN(limits_end_it);
	RUN(whoever_began_it_can_end_it);
	RUN(what_is_no_stream_is_refused);
	RUN(freeing_the_server_ends_it);
	return test_done();
}
