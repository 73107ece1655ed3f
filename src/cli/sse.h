/*
 * sse - a stream of server-sent events, read as it comes.
 *
 * Bytes go in as they arrive, cut anywhere; each finished event is handed to a
 * function.  Lines end with LF, CR LF or CR; comments (heartbeats) and unknown
 * fields are passed over, as the WHATWG HTML standard has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct sse_event {
	const char *event; /* "message" when the stream says nothing else */
	const char *id;    /* of this event, or NULL */
	const char *data;  /* lines joined by LF; NUL-ended */
	size_t len;
};

/* False ends the reading. */
typedef bool sse_handler(void *ctx, const struct sse_event *e);

enum { SSE_LINE_MOST = 4 << 20, SSE_WORD_MOST = 64 };

struct sse {
	sse_handler *handler;
	void *ctx;
	struct buf line, data;
	char event[SSE_WORD_MOST], id[SSE_WORD_MOST];
	bool has_data, has_id, after_cr, begun, ended;
};

void sse_init(struct sse *s, sse_handler *handler, void *ctx);
void sse_release(struct sse *s);

/* False when the handler said so, now or before, or when a line or an event
 * is longer than any server of ours sends. */
bool sse_feed(struct sse *s, const char *bytes, size_t len);
