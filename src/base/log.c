#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"

static const char *const names[] = {"debug", "info", "warn", "error"};

static _Atomic int least_level = LOG_INFO;
static _Atomic bool as_json;

void log_setup(enum log_level least, bool json)
{
	least_level = (int)least;
	as_json = json;
}

bool log_wants(enum log_level level)
{
	return (int)level >= least_level;
}

int log_level_parse(const char *word, enum log_level *ret)
{
	for (int i = 0; i <= LOG_ERROR; i++)
		if (strcmp(names[i], word) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	return -1;
}

/* A control character in a message could forge a line or drive a terminal; it
 * becomes a space, and what is not UTF-8 a question mark. */
static void add_plain(struct buf *b, const char *s)
{
	size_t len = strlen(s), n;
	uint32_t c;

	for (; len; s += n, len -= n) {
		n = utf8_take(s, len, &c);
		if (n && c >= ' ' && (c < 0x7f || c > 0x9f)) {
			buf_add(b, s, n);
			continue;
		}
		buf_addc(b, n ? ' ' : '?');
		n = n ? n : 1;
	}
}

static void write_json(struct buf *b, const char *time, enum log_level level,
		       const char *const words[3])
{
	static const char *const keys[] = {"event", "requestId", "message"};

	buf_addf(b, "{\"time\":\"%s\",\"level\":\"%s\"", time, names[level]);
	for (int i = 0; i < 3; i++) {
		if (!words[i])
			continue;
		buf_addf(b, ",\"%s\":", keys[i]);
		json_add_string(b, words[i], strlen(words[i]));
	}
	buf_addc(b, '}');
}

static void write_text(struct buf *b, const char *time, enum log_level level,
		       const char *const words[3])
{
	buf_addf(b, "%s %s %s", time, names[level], words[0]);
	if (words[1]) {
		buf_adds(b, " request=");
		add_plain(b, words[1]);
	}
	buf_addc(b, ' ');
	add_plain(b, words[2]);
}

void log_line(enum log_level level, const char *event, const char *request,
	      const char *fmt, ...)
{
	char time[CLOCK_TEXT_LEN + 1], message[1024];
	const char *words[3] = {event, request, message};
	struct buf b = BUF_INIT((size_t)8 << 10);
	va_list ap;

	if (!log_wants(level))
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	clock_format(clock_wall(&clock_system), time);
	if (as_json)
		write_json(&b, time, level, words);
	else
		write_text(&b, time, level, words);
	buf_addc(&b, '\n');
	/* One write a line, so that lines of threads do not mix; a log that
	 * cannot be written has nowhere to be reported. */
	if (write(STDERR_FILENO, b.data, b.len) < 0) {
	}
	buf_release(&b);
}
