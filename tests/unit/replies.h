/* replies - HTTP replies as a test's client reads them off its wire. */
#pragma once

#include <stdlib.h>
#include <strings.h>

#include "wire.h"

/* Released by the caller; its texts stay until then. */
struct reply_read {
	int status; /* 0: none came whole */
	struct buf head, body;
};

static inline void reply_release(struct reply_read *r)
{
	buf_release(&r->head);
	buf_release(&r->body);
}

/* The value of the header NAME, up to the line's end; "" without one. */
static inline const char *reply_value(const struct reply_read *r,
				      const char *name, char value[128])
{
	const char *p = strcasestr(buf_str(&r->head), name);
	size_t len;

	if (!p)
		return "";
	p += strlen(name) + 2;
	len = strcspn(p, "\r");
	len = len < 127 ? len : 127;
	memcpy(value, p, len);
	value[len] = '\0';
	return value;
}

/* One chunk onto the end of R's body: its size, 0 for the last, -1 when the
 * wire ends. */
static inline long reply_chunk(struct wire *w, struct reply_read *r)
{
	size_t size;
	char *end;

	if (!wire_await(w, "\r\n"))
		return -1;
	size = strtoul(w->in.data, &end, 16);
	buf_eat(&w->in, (size_t)(end + 2 - w->in.data));
	while (w->in.len < size + 2)
		if (!wire_more(w))
			return -1;
	buf_add(&r->body, w->in.data, size);
	buf_eat(&w->in, size + 2);
	return (long)size;
}

/* Only the head, for a stream. */
static inline struct reply_read reply_head(struct wire *w)
{
	struct reply_read r = {.head = BUF_INIT(64 << 10),
			       .body = BUF_INIT(64 << 20)};
	const char *end;

	if (!wire_await(w, "\r\n\r\n"))
		return r;
	end = strstr(buf_str(&w->in), "\r\n\r\n") + 4;
	buf_add(&r.head, w->in.data, (size_t)(end - w->in.data));
	buf_eat(&w->in, r.head.len);
	r.status = (int)strtol(buf_str(&r.head) + 9, NULL, 10);
	return r;
}

static inline struct reply_read reply_read(struct wire *w)
{
	struct reply_read r = reply_head(w);
	char text[128];
	size_t len;

	len = strtoul(reply_value(&r, "Content-Length", text), NULL, 10);
	while (w->in.len < len)
		if (!wire_more(w)) {
			r.status = 0;
			return r;
		}
	buf_add(&r.body, w->in.data, len);
	buf_eat(&w->in, len);
	return r;
}

/* Send REQUEST; the status that comes back, 0 when none does. */
static inline int reply_status(struct wire *w, const char *request)
{
	struct reply_read r = {0};
	int status;

	if (wire_puts(w, request))
		r = reply_read(w);
	status = r.status;
	reply_release(&r);
	return status;
}

/* The same on a connection of its own. */
static inline int reply_once(const char *address, const char *request)
{
	struct wire w = wire_open(address);
	int status = reply_status(&w, request);

	wire_close(&w);
	return status;
}
