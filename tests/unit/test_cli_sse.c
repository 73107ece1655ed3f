#include "cli/sse.h"

#include <stdlib.h>

#include "test.h"

/* Events as text, one a line: "event|id|data". */
static bool note(void *ctx, const struct sse_event *e)
{
	buf_addf(ctx, "%s|%s|%s\n", e->event, e->id ? e->id : "", e->data);
	return strcmp(e->event, "stop") != 0;
}

static struct buf got = BUF_INIT(65536);

/* Feed TEXT in pieces of SIZE bytes. */
static bool feed(const char *text, size_t size)
{
	struct sse s;
	bool go_on = true;
	size_t len = strlen(text);

	buf_clear(&got);
	sse_init(&s, note, &got);
	for (size_t i = 0; i < len; i += size)
		go_on = sse_feed(&s, text + i, len - i < size ? len - i : size);
	sse_release(&s);
	return go_on;
}

static void reads_events(void)
{
	CHECK(feed("event: put\nid: 7\ndata: {\"a\":1}\n\n"
		   "data: x\n\n",
		   1000));
	CHECK_STR(buf_str(&got), "put|7|{\"a\":1}\nmessage||x\n");
}

static void reads_the_same_however_it_is_cut(void)
{
	static const char text[] = "\xef\xbb\xbf: hello\r\nevent: put\r\n"
				   "data: a\rdata:b\n\r\n: beat\n\n"
				   "id\ndata\n\nevent: x\n\ndata:  c\n\n";

	for (size_t size = 1; size < sizeof(text); size++) {
		CHECK(feed(text, size));
		CHECK_STR(buf_str(&got), "put||a\nb\nmessage||\nmessage|| c\n");
	}
}

static void passes_over_what_it_does_not_know(void)
{
	CHECK(feed(": c\nretry: 10\nfoo: bar\nDATA: x\n\n", 3));
	CHECK_STR(buf_str(&got), "");
}

static void an_unfinished_event_is_none(void)
{
	CHECK(feed("data: a\n", 3));
	CHECK_STR(buf_str(&got), "");
}

static void ends_when_told_to(void)
{
	CHECK(!feed("event: stop\ndata: a\n\ndata: b\n\n", 1000));
	CHECK_STR(buf_str(&got), "stop||a\n");
}

static void a_word_too_long_is_none(void)
{
	char text[256] = "id: ";

	memset(text + 4, '1', 100);
	memcpy(text + 104, "\ndata: a\n\n", 11);
	CHECK(feed(text, 1000));
	CHECK_STR(buf_str(&got), "message||a\n");
}

static void ends_at_a_line_too_long(void)
{
	struct sse s;
	char *much = calloc(1, 65536);
	size_t fed = 0;

	memset(much, 'x', 65536);
	buf_clear(&got);
	sse_init(&s, note, &got);
	while (sse_feed(&s, much, 65536) && fed < 2 * (size_t)SSE_LINE_MOST)
		fed += 65536;
	CHECK(fed <= SSE_LINE_MOST);
	CHECK(!sse_feed(&s, "\n", 1));
	sse_release(&s);
	free(much);
}

int main(void)
{
	RUN(reads_events);
	RUN(reads_the_same_however_it_is_cut);
	RUN(passes_over_what_it_does_not_know);
	RUN(an_unfinished_event_is_none);
	RUN(ends_when_told_to);
	RUN(a_word_too_long_is_none);
	RUN(ends_at_a_line_too_long);
	buf_release(&got);
	return test_done();
}
