#include "http/exchange.h"

#include <assert.h>

const char *exchange_header(struct exchange *x, const char *name)
{
	return x->ops->header(x, name);
}

void exchange_reply(struct exchange *x, const struct reply *r)
{
	x->ops->reply(x, r);
}

void exchange_stream(struct exchange *x, const struct reply *head,
		     const struct stream_source *source)
{
	x->ops->stream(x, head, source);
}

void exchange_wake(struct exchange *x)
{
	x->ops->wake(x);
}

void exchange_after(struct exchange *x, uint64_t ms,
		    void (*fn)(struct exchange *x))
{
	x->ops->after(x, ms, fn);
}

void reply_header(struct reply *r, const char *name, const char *value)
{
	assert(r->n_headers < REPLY_HEADERS_MOST);
	r->headers[r->n_headers++] = (struct header){name, value};
}
