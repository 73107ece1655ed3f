/* test_live - what only the provider can tell of a machine, while somebody
 * waits for it. */
#include "reconcile/live.h"

#include <fcntl.h>
#include <unistd.h>

#include "model/region.h"
#include "provider/driver.h"
#include "provider/sim.h"
#include "test.h"
#include "yard.h"

#define MINUTE 60000

/* One who asks, and what they were told. */
struct asker {
	struct live_call call; /* first */
	unsigned answers;
	enum err_code code;
	char text[256];
	int fd; /* the stream that they were given, which is closed; or -1 */
};

static void told(struct live_call *c, const struct err *err, const char *text,
		 size_t len)
{
	struct asker *a = (struct asker *)c;

	a->answers++;
	a->code = err ? err->code : ERR_NONE;
	snprintf(a->text, sizeof(a->text), "%.*s", (int)len, text);
	a->fd = c->fd;
	if (c->fd >= 0)
		CHECK(close(c->fd) == 0);
}

static struct asker asker(void)
{
	return (struct asker){.call = {told, -1}, .fd = -1};
}

static const char *begin(struct yard *y, const char *options)
{
	struct instance i;
	const char *id;

	yard_open(y, options);
	i = yard_spec(y, "web-1");
	id = yard_create(y, &i);
	yard_run(y, MINUTE);
	CHECK(yard_instance(y, id)->status.state == INSTANCE_RUNNING);
	return id;
}

static enum err_code console(struct yard *y, const char *id, struct asker *a)
{
	*a = asker();
	live_console(y->engine, id, CONSOLE_SERIAL, &a->call);
	yard_run(y, 1000);
	CHECK(a->answers == 1);
	return a->code;
}

static void what_a_machine_has_printed_is_shown(void)
{
	struct asker all = asker(), little = asker();
	struct yard y;
	const char *id = begin(&y, NULL);

	live_console_output(y.engine, id, 4096, &all.call);
	live_console_output(y.engine, id, 0, &little.call);
	CHECK(!all.answers && !little.answers);
	yard_run(&y, 1000);
	CHECK(all.answers == 1 && all.code == ERR_NONE);
	CHECK(strlen(all.text) > 1);
	CHECK(little.answers == 1 && little.code == ERR_NONE);
	CHECK(strlen(little.text) <= 1);
	yard_close(&y);
}

static void a_console_has_an_address_or_is_a_stream(void)
{
	struct asker a;
	struct yard y;
	const char *id = begin(&y, "{\"consoleUrl\":true}");

	CHECK(console(&y, id, &a) == ERR_NONE);
	CHECK(strstr(a.text, "://") && a.fd == -1);
	yard_options(&y, "{}");
	yard_run(&y, 1000);
	CHECK(console(&y, id, &a) == ERR_NONE);
	CHECK(!a.text[0] && a.fd >= 0);
	yard_close(&y);
}

static int pause_region(struct tx *tx, void *ctx, struct err *err)
{
	struct region r =
		*(const struct region *)tx_get(tx, &region_kind, YARD_REGION);

	(void)ctx;
	r.spec.paused = true;
	return tx_put(tx, &region_kind, &r, err);
}

static void nobody_is_asked_where_nobody_can_be(void)
{
	struct asker a;
	struct instance i;
	struct yard y;
	const char *id = begin(&y, NULL), *young;
	uint64_t calls;

	CHECK(console(&y, YARD_VOLUME, &a) == ERR_NOT_FOUND);
	i = yard_spec(&y, "web-2");
	i.spec.paused = true;
	young = yard_create(&y, &i);
	CHECK(console(&y, young, &a) == ERR_CONFLICT);
	yard_transact(&y, pause_region, NULL);
	calls = y.calls;
	CHECK(console(&y, id, &a) == ERR_UNAVAILABLE);
	CHECK(y.calls == calls);
	yard_close(&y);
}

static void nor_while_the_region_is_being_opened(void)
{
	struct asker a = asker();
	struct yard y;
	const char *id = begin(&y, NULL);

	yard_crash(&y);
	live_console(y.engine, id, CONSOLE_VNC, &a.call);
	CHECK(a.answers == 1 && a.code == ERR_UNAVAILABLE);
	yard_close(&y);
}

static void what_the_provider_refuses_is_passed_on(void)
{
	struct asker a;
	struct yard y;
	const char *id = begin(&y, "{\"faults\":[{\"call\":\"console\",\"action"
				   "\":\"fail\",\"code\":\"forbidden\"}]}");

	CHECK(console(&y, id, &a) == ERR_FORBIDDEN);
	yard_options(&y, "{\"faults\":[{\"call\":\"console\",\"action\":"
			 "\"fail\",\"code\":\"not_found\"}]}");
	yard_run(&y, 1000);
	CHECK(console(&y, id, &a) == ERR_CONFLICT); /* the instance is there */
	yard_options(&y, "{\"lacks\":[\"console\"]}");
	yard_run(&y, 1000);
	CHECK(console(&y, id, &a) == ERR_UNSUPPORTED);
	yard_close(&y);
}

static int streams[2]; /* that the provider gives, */
static size_t n_streams;
static const char *address; /* and this beside them */

static int give_stream(struct provider *p, const char *id,
		       enum console_kind kind, struct arena *a,
		       struct console *ret, struct err *err)
{
	(void)p;
	(void)id;
	(void)kind;
	(void)a;
	(void)err;
	/* Numbers that nobody else gets meanwhile. */
	streams[n_streams] =
		fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 700 + (int)n_streams);
	*ret = (struct console){.url = address, .fd = streams[n_streams++]};
	return 0;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* One whose provider gives streams to nothing. */
static const char *begin_streams(struct yard *y, const char *options,
				 const char *url)
{
	static struct machine_ops machines;
	static struct driver driver;
	const char *id = begin(y, options);

	machines = *sim_driver.machines;
	driver = sim_driver;
	machines.console = give_stream;
	driver.machines = &machines;
	yard_provider(y)->driver = &driver;
	address = url;
	n_streams = 0;
	return id;
}

static void beside_an_address_no_stream_is_kept(void)
{
	struct asker a;
	struct yard y;
	const char *id = begin_streams(&y, NULL, "wss://its.own");

	CHECK(console(&y, id, &a) == ERR_NONE);
	CHECK_STR(a.text, "wss://its.own");
	CHECK(n_streams == 1 && a.fd == -1 && !is_open(streams[0]));
	yard_close(&y);
}

/* Every stream that a provider gave is closed, whatever became of the call. */
static void no_stream_is_lost_with_an_answer(void)
{
	struct asker a = asker();
	struct yard y;
	const char *id = begin_streams(&y,
				       "{\"faults\":[{\"call\":\"console\""
				       ",\"action\":\"duplicate\"}]}",
				       NULL);

	CHECK(console(&y, id, &a) == ERR_NONE);
	CHECK(n_streams == 2 && a.fd == streams[1]);
	CHECK(!is_open(streams[0]) && !is_open(streams[1]));
	yard_close(&y);
	id = begin_streams(&y,
			   "{\"faults\":[{\"call\":\"console\",\"action\":"
			   "\"lose\"}]}",
			   NULL);
	CHECK(console(&y, id, &a) == ERR_TIMEOUT);
	CHECK(n_streams == 1 && !is_open(streams[0]));
	yard_close(&y);
	id = begin_streams(&y, NULL, NULL);
	a = asker();
	live_console(y.engine, id, CONSOLE_SERIAL, &a.call);
	yard_call(&y, false);
	CHECK(n_streams == 1 && is_open(streams[0]));
	yard_crash(&y);
	CHECK(!a.answers && !is_open(streams[0]));
	yard_close(&y);
}

/* So many wait at most; when they have been answered, others may. */
static void too_many_are_refused(void)
{
	enum { MOST = 256 };
	struct asker many[MOST], more;
	struct yard y;
	const char *id = begin(&y, NULL);

	for (int n = 0; n < MOST; n++) {
		many[n] = asker();
		live_console(y.engine, id, CONSOLE_SERIAL, &many[n].call);
		CHECK(!many[n].answers);
	}
	more = asker();
	live_console(y.engine, id, CONSOLE_SERIAL, &more.call);
	CHECK(more.answers == 1 && more.code == ERR_UNAVAILABLE);
	yard_run(&y, MINUTE);
	for (int n = 0; n < MOST; n++)
		CHECK(many[n].answers == 1 && many[n].code == ERR_NONE);
	CHECK(console(&y, id, &more) == ERR_NONE);
	yard_close(&y);
}

/* The sanitizers see that nothing is left of them. */
static void whoever_still_waits_when_the_engine_goes_hears_nothing(void)
{
	struct asker asked = asker(), waiting = asker();
	struct yard y;
	const char *id = begin(&y, NULL);

	live_console(y.engine, id, CONSOLE_SERIAL, &asked.call);
	live_console_output(y.engine, id, 100, &waiting.call);
	yard_call(&y, false);
	yard_crash(&y);
	yard_run(&y, MINUTE);
	CHECK(!asked.answers && !waiting.answers);
	yard_close(&y);
}

/* A look at the machine that somebody waits for; its code. */
static enum err_code look(struct yard *y, const char *id, struct asker *a)
{
	*a = asker();
	live_look(y->engine, id, y->now, &a->call);
	yard_run(y, 1000);
	CHECK(a->answers == 1);
	return a->code;
}

static void each_hears_of_what_they_asked_for(void)
{
	struct asker first = asker(), second = asker();
	struct instance i;
	struct yard y;
	const char *id = begin(&y, NULL), *other;

	i = yard_spec(&y, "web-2");
	other = yard_create(&y, &i);
	yard_run(&y, MINUTE);
	live_look(y.engine, id, y.now, &first.call);
	live_look(y.engine, other, y.now, &second.call);
	for (int n = 0; n < 100 && !first.answers && !second.answers; n++)
		yard_step(&y);
	CHECK(first.answers + second.answers == 1);
	yard_run(&y, 1000);
	CHECK(first.answers == 1 && !first.code);
	CHECK(second.answers == 1 && !second.code);
	yard_close(&y);
}

static void a_look_that_cannot_be_had_is_refused(void)
{
	struct asker a;
	struct yard y;
	const char *id =
		begin(&y, "{\"consistencyMs\":3600000,\"faults\":[{\"call\":"
			  "\"describe\",\"action\":\"fail\",\"code\":"
			  "\"not_found\"}]}");

	/* It was just made: that it cannot be seen says nothing. */
	CHECK(look(&y, id, &a) == ERR_UNAVAILABLE);
	CHECK(yard_instance(&y, id)->status.state == INSTANCE_RUNNING);
	yard_options(&y, "{"); /* nobody can be asked */
	yard_run(&y, MINUTE);
	CHECK(look(&y, id, &a) == ERR_UNAVAILABLE);
	CHECK(look(&y, YARD_VOLUME, &a) == ERR_NOT_FOUND);
	yard_transact(&y, pause_region, NULL);
	CHECK(look(&y, id, &a) == ERR_UNAVAILABLE);
	yard_close(&y);
}

static void so_many_wait_for_a_look_and_no_more(void)
{
	enum { MOST = 4096 };
	static struct asker many[MOST];
	struct asker more = asker();
	struct yard y;
	const char *id = begin(&y, NULL);
	uint64_t calls = y.calls;

	for (int n = 0; n < MOST; n++) {
		many[n] = asker();
		live_look(y.engine, id, y.now, &many[n].call);
	}
	live_look(y.engine, id, y.now, &more.call);
	CHECK(more.answers == 1 && more.code == ERR_UNAVAILABLE);
	yard_run(&y, 1000);
	for (int n = 0; n < MOST; n++)
		CHECK(many[n].answers == 1 && !many[n].code);
	CHECK(y.calls == calls + 1); /* one look is enough for all */
	live_look(y.engine, id, y.now, &more.call);
	yard_crash(&y);
	yard_run(&y, 1000);
	CHECK(more.answers == 1); /* who waits when it goes hears nothing */
	yard_close(&y);
}

int main(void)
{
	RUN(each_hears_of_what_they_asked_for);
	RUN(a_look_that_cannot_be_had_is_refused);
	RUN(so_many_wait_for_a_look_and_no_more);
	RUN(what_a_machine_has_printed_is_shown);
	RUN(a_console_has_an_address_or_is_a_stream);
	RUN(nobody_is_asked_where_nobody_can_be);
	RUN(nor_while_the_region_is_being_opened);
	RUN(what_the_provider_refuses_is_passed_on);
	RUN(beside_an_address_no_stream_is_kept);
	RUN(no_stream_is_lost_with_an_answer);
	RUN(too_many_are_refused);
	RUN(whoever_still_waits_when_the_engine_goes_hears_nothing);
	return test_done();
}
