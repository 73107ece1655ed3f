/*
 * Server-sent events.  The first byte is a seed; the rest is a stream, which is
 * read whole, byte by byte and in pieces: the events are the same.
 */

#include "base/random.h"
#include "cli/sse.h"
#include "fuzz/fuzz.h"

static bool keep(void *ctx, const struct sse_event *e)
{
	struct buf *log = ctx;

	MUST(e->event[0] && strlen(e->event) < SSE_WORD_MOST);
	MUST(!strpbrk(e->event, "\r\n"));
	MUST(!e->id || !strpbrk(e->id, "\r\n"));
	MUST(e->data[e->len] == '\0');
	MUST(!memchr(e->data, '\r', e->len));
	buf_addf(log, "%s|%s|%zu|", e->event, e->id ? e->id : "-", e->len);
	buf_add(log, e->data, e->len);
	buf_addc(log, '\n');
	return true;
}

/* STEP 0: pieces of random length. */
static bool read_in(const char *bytes, size_t size, size_t step, uint64_t seed,
		    struct buf *log)
{
	struct random_seeded r;
	struct sse s;
	bool ok = true;

	random_seed(&r, seed);
	sse_init(&s, keep, log);
	while (size && ok) {
		size_t n = step ? step : 1 + random_below(&r.base, 20);

		n = n < size ? n : size;
		ok = sse_feed(&s, bytes, n);
		bytes += n;
		size -= n;
	}
	sse_release(&s);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT((size_t)8 << 20);
	struct buf single = BUF_INIT((size_t)8 << 20);
	struct buf pieces = BUF_INIT((size_t)8 << 20);
	const char *bytes = (const char *)data + 1;
	bool ok;

	if (!size)
		return 0;
	ok = read_in(bytes, size - 1, size, 0, &whole);
	MUST(read_in(bytes, size - 1, 1, 0, &single) == ok);
	MUST(read_in(bytes, size - 1, 0, data[0], &pieces) == ok);
	MUST(whole.len == single.len && whole.len == pieces.len);
	MUST(!whole.len || !memcmp(whole.data, single.data, whole.len));
	MUST(!whole.len || !memcmp(whole.data, pieces.data, whole.len));
	buf_release(&whole);
	buf_release(&single);
	buf_release(&pieces);
	return 0;
}
