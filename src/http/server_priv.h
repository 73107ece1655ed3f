/*
 * server_priv - the server and its connections, for the server's own files.
 *
 *   server.c   start, stop, the turn of the loop, deadlines
 *   listen.c   accepting, limits, connections
 *   request.c  libmicrohttpd's calls: a request from its first line to its end
 *   guard.c    what a request's head must look like
 *   answer.c   replies, and the table behind exchange.h
 *   stream.c   replies that go on
 */
#pragma once

#include <microhttpd.h>
#include <netinet/in.h>

#include "base/list.h"
#include "base/map.h"
#include "http/server.h"
#include "http/tls.h"
#include "loop/loop.h"

struct request;

struct server {
	struct loop *loop;
	struct server_conf conf; /* with the defaults filled in */
	struct MHD_Daemon *mhd;
	struct poller *epoll; /* libmicrohttpd's descriptors, as one */
	struct poller *listen;
	int listen_fd;       /* -1 once closed */
	struct tls *tls;     /* NULL: plain */
	bool ran;            /* libmicrohttpd ran since the last sleep */
	uint64_t turn_ms;    /* when it first did */
	uint64_t last_ms;    /* how long that took the time before */
	unsigned working;    /* requests that the handler works on */
	uint64_t worked_ms;  /* when it began, or was last done with one */
	uint64_t enough_ms;  /* when enough was last done at a time */
	uint64_t crowded_ms; /* since when there is no room; 0: there is */
	unsigned awake;      /* held, and not suspended */
	bool moved;          /* when it last ran, answers went out */
	bool dirty;          /* something was resumed: it must run */
	bool paused;         /* out of descriptors: no accepting until a tick */
	bool dead;           /* being freed: everything is turned away */
	bool stopping;       /* answer what is here, then close */
	uint64_t tick_ms;    /* how often deadlines are looked at */
	uint64_t fresh_until;
	uint64_t welcomed_ms; /* when guests were last let in */
	unsigned welcome;     /* how many may be now */
	struct timer *tick, *again, *pace, *grace, *breath;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
	struct list conns;     /* all */
	struct list waiting;   /* between requests, longest first */
	struct list receiving; /* in the middle of one, longest first */
	struct list held;      /* requests without an answer yet */
	struct list streams;   /* the one quiet for longest first */
	struct list resting;   /* streams just filled, the first one first */
	struct list spare;     /* requests for reuse */
	size_t n_spare;
	struct list websockets;
	struct map peers;    /* addresses, when they have a limit */
	struct conn *adding; /* while libmicrohttpd is given it */
	struct server_stats stats;
	uint64_t next_id;
	char id_prefix[9];
	char address[INET6_ADDRSTRLEN + 16];
};

/* A client's connection, until both libmicrohttpd and TLS are done. */
struct conn {
	struct server *server;
	struct list link;               /* in conns */
	struct list due;                /* in waiting or receiving, or alone */
	uint64_t since;                 /* in that list */
	struct MHD_Connection *mhd;     /* NULL: not yet, or no longer */
	struct tls_link *tls;           /* NULL: plain, or no longer */
	struct request *request;        /* being received or answered */
	struct peer *peer;              /* NULL: not counted */
	int fd;                         /* what libmicrohttpd has of it */
	bool fresh;                     /* without a request so far */
	bool guest;                     /* came when there was no room */
	bool dismissed;                 /* answered, and nothing follows */
	struct sockaddr_in6 from;       /* or an IPv4 one */
	char address[INET6_ADDRSTRLEN]; /* its text */
};

/* server.c: have libmicrohttpd run before the loop sleeps. */
void server_poke(struct server *s);

/* Milliseconds that libmicrohttpd has run for since the last sleep: it goes
 * through whatever came before, so whoever is late in that has waited. */
uint64_t server_turn(const struct server *s);

/* listen.c */
int listen_open(struct server *s, struct err *err);
void listen_close(struct server *s);
void listen_take(struct server *s); /* whatever waits to be accepted */
void listen_breathed(void *server); /* the breath's timer */
void listen_pause(struct server *s, bool pause);
void listen_note(struct server *s); /* whether there is room, every turn */
bool listen_sheds(const struct request *r); /* its client has to go */

/* Put C in waiting or receiving, counted from now; NULL: no deadline. */
void conn_due(struct conn *c, struct list *list);
void conn_shut(struct conn *c);
bool conn_has_ended(const struct conn *c); /* closed by its client */

/* Answer past libmicrohttpd, before a whole request has arrived.  Then close; or
 * have the rest read, for who sends all of it before looking for an answer. */
void conn_refuse(struct conn *c, int status, const char *why);
void conn_dismiss(struct conn *c, int status, const char *why);

/* libmicrohttpd has begun with a connection, or is done with it. */
void conn_notify(void *ctx, struct MHD_Connection *mhd, void **conn,
		 enum MHD_ConnectionNotificationCode what);

/* The body of an answer that never reaches the handler. */
void server_refusal(struct server *s, int status, const char *why,
		    struct buf *body, const char **ret_type);
