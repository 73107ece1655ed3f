#include "cli/sse.h"

#include <stdio.h>
#include <string.h>

void sse_init(struct sse *s, sse_handler *handler, void *ctx)
{
	*s = (struct sse){
		.handler = handler,
		.ctx = ctx,
		.line = BUF_INIT(SSE_LINE_MOST),
		.data = BUF_INIT(SSE_LINE_MOST),
	};
}

void sse_release(struct sse *s)
{
	buf_release(&s->line);
	buf_release(&s->data);
}

static void next_event(struct sse *s)
{
	buf_clear(&s->data);
	s->event[0] = '\0';
	s->has_data = s->has_id = false;
}

static void dispatch(struct sse *s)
{
	struct sse_event e = {
		.event = s->event[0] ? s->event : "message",
		.id = s->has_id ? s->id : NULL,
		.data = buf_str(&s->data),
		.len = s->data.len,
	};

	/* An event without data is none. */
	if (s->has_data && !s->handler(s->ctx, &e))
		s->ended = true;
	next_event(s);
}

/* A word too long for its place is as good as none. */
static bool set_word(char to[SSE_WORD_MOST], const char *value, size_t len)
{
	if (len >= SSE_WORD_MOST || memchr(value, '\0', len))
		return false;
	memcpy(to, value, len);
	to[len] = '\0';
	return true;
}

static bool is_named(const char *line, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(line, name, len) == 0;
}

static void take_line(struct sse *s, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : len;
	const char *value = line + name + (colon ? 1 : 0);
	size_t rest = len - (size_t)(value - line);

	if (rest && *value == ' ') {
		value++;
		rest--;
	}
	if (is_named(line, name, "data")) {
		if (s->has_data)
			buf_addc(&s->data, '\n');
		buf_add(&s->data, value, rest);
		s->has_data = true;
	} else if (is_named(line, name, "event")) {
		if (!set_word(s->event, value, rest))
			s->event[0] = '\0';
	} else if (is_named(line, name, "id")) {
		s->has_id = set_word(s->id, value, rest);
	}
}

static void end_line(struct sse *s)
{
	const char *line = buf_str(&s->line);
	size_t len = s->line.len;

	/* A byte order mark may begin the stream. */
	if (!s->begun && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
		line += 3;
		len -= 3;
	}
	s->begun = true;
	if (!buf_ok(&s->line))
		s->ended = true;
	else if (len == 0)
		dispatch(s);
	else
		take_line(s, line, len);
	if (!buf_ok(&s->data))
		s->ended = true;
	buf_clear(&s->line);
}

static size_t plain_run(const char *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && bytes[i] != '\n' && bytes[i] != '\r')
		i++;
	return i;
}

bool sse_feed(struct sse *s, const char *bytes, size_t len)
{
	while (len && !s->ended) {
		size_t n = plain_run(bytes, len);

		buf_add(&s->line, bytes, n);
		if (!buf_ok(&s->line))
			s->ended = true;
		if (n)
			s->after_cr = false;
		if (n == len || s->ended)
			break;
		/* The LF of a CR LF ends no second line. */
		if (bytes[n] == '\r' || !s->after_cr)
			end_line(s);
		s->after_cr = bytes[n] == '\r';
		bytes += n + 1;
		len -= n + 1;
	}
	return !s->ended;
}
