#include "base/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "test.h"

static int kept_stderr, pipe_out;
static char text[65536];

/* From here on standard error is a pipe. */
static void catch_stderr(void)
{
	int ends[2];

	kept_stderr = dup(STDERR_FILENO);
	if (pipe(ends) < 0)
		abort();
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	pipe_out = ends[0];
}

/* Standard error as it was; what was written meanwhile is in text. */
static void let_go(void)
{
	size_t len = 0;
	ssize_t n;

	dup2(kept_stderr, STDERR_FILENO);
	close(kept_stderr);
	while (len < sizeof(text) - 1 &&
	       (n = read(pipe_out, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(pipe_out);
}

static size_t lines(void)
{
	size_t n = 0;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	return n;
}

static bool begins_with_time(const char *s)
{
	int64_t ms;

	return strlen(s) > CLOCK_TEXT_LEN &&
	       clock_parse(s, CLOCK_TEXT_LEN, &ms) == 0;
}

static void writes_a_line_for_people(void)
{
	log_setup(LOG_INFO, false);
	catch_stderr();
	log_info("listening", "address=%s", "127.0.0.1:7070");
	log_line(LOG_ERROR, "failed", "req-1", "it broke");
	let_go();
	CHECK(lines() == 2);
	CHECK(begins_with_time(text));
	CHECK(strstr(text, "Z info listening address=127.0.0.1:7070\n"));
	CHECK(strstr(text, "Z error failed request=req-1 it broke\n"));
}

static void writes_only_what_is_wanted(void)
{
	log_setup(LOG_WARN, false);
	catch_stderr();
	log_debug("a", "x");
	log_info("b", "x");
	log_warn("c", "x");
	log_error("d", "x");
	let_go();
	CHECK(lines() == 2);
	CHECK(strstr(text, "warn c") && strstr(text, "error d"));
	CHECK(!log_wants(LOG_INFO) && log_wants(LOG_WARN));
	log_setup(LOG_DEBUG, false);
	CHECK(log_wants(LOG_DEBUG));
}

static void writes_json(void)
{
	struct arena a;
	struct err err;
	struct node *n;

	log_setup(LOG_INFO, true);
	catch_stderr();
	log_line(LOG_WARN, "odd", "req-2", "say \"%s\"\n", "hi\\");
	let_go();
	CHECK(lines() == 1);
	arena_init(&a, 1 << 20);
	n = json_parse(text, strlen(text), &a, &err);
	CHECK(n != NULL);
	if (n) {
		CHECK_STR(node_text(n, "level"), "warn");
		CHECK_STR(node_text(n, "event"), "odd");
		CHECK_STR(node_text(n, "requestId"), "req-2");
		CHECK_STR(node_text(n, "message"), "say \"hi\\\"\n");
		CHECK(begins_with_time(node_text(n, "time")) ||
		      strlen(node_text(n, "time")) == CLOCK_TEXT_LEN);
	}
	arena_release(&a);
}

static void a_line_cannot_be_forged(void)
{
	static const char evil[] =
		"x\n2026-11-15T04:40:28.123Z info login user=root\r\x1b[2J\x7f";

	log_setup(LOG_INFO, false);
	catch_stderr();
	log_info("seen", "name=%s", evil);
	log_line(LOG_INFO, "seen", evil, "by request id");
	let_go();
	CHECK(lines() == 2);
	CHECK(strpbrk(text, "\r\x1b\x7f") == NULL);
	log_setup(LOG_INFO, true);
	catch_stderr();
	log_line(LOG_INFO, "seen", evil, "%s", evil);
	let_go();
	CHECK(lines() == 1);
}

/* Cut in the middle of a character, a message made a line of JSON that no
 * reader takes. */
static void stays_text_when_it_is_cut(void)
{
	struct arena a;
	struct err err;
	char longer[3001];

	for (size_t i = 0; i < 1000; i++)
		memcpy(longer + 3 * i, "\xe2\x82\xac", 3);
	longer[3000] = '\0';
	arena_init(&a, 1 << 20);
	for (int shift = 0; shift < 3; shift++) {
		log_setup(LOG_INFO, true);
		catch_stderr();
		log_info("long", "%.*s%s", shift, "xx", longer);
		let_go();
		CHECK(lines() == 1);
		CHECK(json_parse(text, strlen(text), &a, &err) != NULL);
	}
	log_setup(LOG_INFO, false);
	catch_stderr();
	log_info("raw", "a\xff"
			"b\xc2\x9b"
			"2J");
	let_go();
	CHECK(strstr(text, "\xff") == NULL && strstr(text, "\xc2\x9b") == NULL);
	arena_release(&a);
}

static void *write_some(void *word)
{
	for (int i = 0; i < 50; i++)
		log_info("thread", "%s %s", (const char *)word,
			 (const char *)word);
	return NULL;
}

static void lines_of_threads_do_not_mix(void)
{
	static char words[4][2] = {"a", "b", "c", "d"};
	pthread_t t[4];
	size_t good = 0;

	log_setup(LOG_INFO, false);
	catch_stderr();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, write_some, words[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	let_go();
	CHECK(lines() == 200);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		const char *end = strchr(line, '\n');

		good += (size_t)(end - line) ==
				CLOCK_TEXT_LEN + strlen(" info thread a a") &&
			end[-1] == end[-3];
	}
	CHECK(good == 200);
}

static void knows_its_levels(void)
{
	enum log_level level;

	CHECK(log_level_parse("debug", &level) == 0 && level == LOG_DEBUG);
	CHECK(log_level_parse("error", &level) == 0 && level == LOG_ERROR);
	CHECK(log_level_parse("loud", &level) == -1);
	CHECK(log_level_parse("", &level) == -1);
}

int main(void)
{
	RUN(writes_a_line_for_people);
	RUN(writes_only_what_is_wanted);
	RUN(writes_json);
	RUN(a_line_cannot_be_forged);
	RUN(stays_text_when_it_is_cut);
	RUN(lines_of_threads_do_not_mix);
	RUN(knows_its_levels);
	return test_done();
}
