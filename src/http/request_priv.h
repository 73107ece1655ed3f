/*
 * request_priv - one request inside the server: the exchange behind exchange.h.
 *
 * Made when its first line has come, kept until libmicrohttpd is done with it,
 * then used again.  A request that is held when its client or its server goes
 * becomes an orphan, which lives until its handler answers it.
 */
#pragma once

#include "http/server_priv.h"

struct websocket;

enum phase {
	PHASE_NEW,       /* its first line has come */
	PHASE_RECEIVING, /* its head was accepted */
	PHASE_CALLED,    /* in the handler */
	PHASE_HELD,      /* the handler came back without an answer */
	PHASE_ANSWERED,
	PHASE_DISMISSED, /* answered past libmicrohttpd; the rest is dropped */
	PHASE_STREAM,
	PHASE_UPGRADE,
	PHASE_ORPHAN,
};

struct kept_header {
	struct kept_header *next;
	const char *name, *value;
};

struct request {
	struct exchange base;  /* first: cast from struct exchange */
	struct server *server; /* NULL: it is gone */
	struct conn *conn;     /* NULL: its client left */
	struct list link;      /* in held, streams, websockets or spare */
	enum phase phase;
	bool known;     /* libmicrohttpd may still name this orphan */
	bool over;      /* this orphan has been answered */
	bool last;      /* its connection takes no other after it */
	bool works;     /* held, and counted in the server's working */
	bool awake;     /* held, and not suspended */
	uint64_t since; /* when it was held */
	unsigned status;
	struct MHD_Response *response; /* of one held, until it is asked for */
	struct kept_header *kept;      /* an orphan's */
	size_t dropped;                /* of a body that nobody wants */
	size_t target_len;
	char target[192];
	struct arena arena;
	struct buf body;
	struct buf out; /* the reply's; a stream's, filled and not yet taken */
	struct timer *timer;
	void (*after)(struct exchange *x);
	struct websocket *websocket;
	char id[65];

	/* A stream's own. */
	struct stream_source source;
	struct list rest; /* in resting, or alone */
	size_t taken;     /* of out */
	uint64_t filled;  /* when, for the pace */
	uint64_t spoke;   /* when, for the heartbeat */
	bool pushed;      /* its head is out */
	bool suspended;   /* until it is woken */
	bool woken;       /* there may be something to fill with */
	bool beat;        /* a comment is due */
	bool ending;      /* after out */
	bool doomed;      /* at once */
};

/* request.c: libmicrohttpd's callbacks. */
void *request_begin(void *ctx, const char *target, struct MHD_Connection *mhd);
enum MHD_Result request_call(void *ctx, struct MHD_Connection *mhd,
			     const char *url, const char *method,
			     const char *version, const char *upload,
			     size_t *upload_size, void **request);
void request_done(void *ctx, struct MHD_Connection *mhd, void **request,
		  enum MHD_RequestTerminationCode why);

/* A held request is about to go on.  False: its connection is suspended. */
bool request_wake(struct request *r);

/* R no longer works: it is answered, or waits for something else. */
void request_rest(struct request *r);

/* The server goes: from now on R, which is held, is its handler's alone. */
void request_orphan(struct request *r);
void request_free(struct request *r);

/* answer.c */
extern const struct exchange_ops answer_ops;

/* Queue RESPONSE, now or by waking the held connection; takes it over. */
void answer_send(struct request *r, unsigned status,
		 struct MHD_Response *response);
void answer_header(struct MHD_Response *response, const char *name,
		   const char *value);

/* The headers that every answer has. */
void answer_common(struct request *r, struct MHD_Response *response);

/* Answer in the handler's place, and close. */
void answer_refuse(struct request *r, int status, const char *why);

/* stream.c */
void stream_begin(struct request *r, const struct reply *head,
		  const struct stream_source *source);
void stream_wake(struct request *r);
void stream_beat(struct server *s);     /* comments that are due */
void stream_rested(void *server);       /* the pace's timer */
void stream_end(struct request *r);     /* after what is in out */
void stream_doom(struct request *r);    /* now */
void stream_release(struct request *r); /* calls gone() */

/* websocket.c: the server's side of an upgrade. */
void websocket_abort(struct websocket *w);
