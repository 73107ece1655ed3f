#include "api/consoles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "http/relay.h"
#include "loop/loop.h"
#include "model/instance.h"
#include "store/tx.h"

/* How often it is looked whether they may still be open. */
enum { TICK_MS = 1000, RETRY_MS = 5000 };

enum { CODE_REFUSED = 1008 };

/* One console: it waits, then it is relayed. */
struct line {
	struct list link; /* in the consoles' */
	struct consoles *all;
	char digest[65]; /* of its ticket */
	char instance[37];
	char *machine;
	int fd;              /* -1: it is the relay's */
	struct relay *relay; /* NULL: it waits */
	uint64_t until;      /* it waits so long; on the clock */
	struct err why;      /* it is to end */

	/* Who opened it, and what they brought: asked again and again. */
	char *who, *name;
	char *header, *tls_subject, *act_as;
};

/* What became of one, on its way to the instance's events. */
struct note {
	struct txn txn;
	struct list link; /* in the consoles' */
	char instance[37];
	char text[240];
};

struct consoles {
	struct api *api;
	struct list lines, notes;
	struct timer *timer; /* NULL: there was none yet */
	size_t relayed;
};

struct consoles *consoles_new(struct api *api)
{
	struct consoles *s = xcalloc(1, sizeof(*s));

	s->api = api;
	list_init(&s->lines);
	list_init(&s->notes);
	return s;
}

static void forget_secret(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

static void line_free(struct line *l)
{
	list_remove(&l->link);
	if (l->fd >= 0)
		close(l->fd);
	free(l->machine);
	free(l->who);
	free(l->name);
	forget_secret(l->header);
	free(l->tls_subject);
	free(l->act_as);
	free(l);
}

static struct line *line_at(struct list *l)
{
	return CONTAINER_OF(l, struct line, link);
}

void consoles_drain(struct consoles *s)
{
	struct list *next;

	for (struct list *l = s->lines.next; l != &s->lines; l = next) {
		next = l->next;
		if (!line_at(l)->relay)
			line_free(line_at(l));
	}
}

void consoles_free(struct consoles *s)
{
	struct list *next;

	consoles_drain(s);
	for (struct list *l = s->notes.next; l != &s->notes; l = next) {
		next = l->next;
		free(CONTAINER_OF(l, struct note, link));
	}
	timer_free(s->timer);
	free(s);
}

size_t consoles_relayed(const struct consoles *s)
{
	return s->relayed;
}

/* The one who opened L is still who they were, and may have it. */
static int check_caller(const struct line *l, const struct instance *i,
			struct err *err)
{
	struct credentials brought = {l->header, l->tls_subject, l->act_as};
	int noun = (int)kind_index(&instance_kind);
	struct owner owner = kind_owner(&instance_kind, i);
	const struct principal *who;
	int rc = access_check(l->all->api->access, &brought, &who, err);

	/* What cannot be told now was so a moment ago. */
	if (rc > 0 || (rc < 0 && err->code == ERR_UNAVAILABLE))
		return 0;
	if (rc < 0)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "what it was opened with is not good any more");
	if (!access_may(who, noun, VERB_READ, owner) ||
	    !access_may(who, noun, VERB_CONSOLE, owner))
		return err_set(err, ERR_FORBIDDEN,
			       "who opened it may not any more");
	return 0;
}

static int check_line(const struct line *l, struct err *err)
{
	const struct instance *i;
	struct record r;

	if (!store_get(l->all->api->conf.store, 0, &instance_kind, l->instance,
		       &r))
		return err_set(err, ERR_GONE, "the instance was deleted");
	i = r.object;
	if (i->meta.deleted_at)
		return err_set(err, ERR_GONE, "the instance is being deleted");
	if (!i->status.provider_id ||
	    strcmp(i->status.provider_id, l->machine) != 0)
		return err_set(err, ERR_GONE,
			       "the machine is not the instance's any more");
	return check_caller(l, i, err);
}

static void line_end(struct line *l, const struct err *err)
{
	if (l->why.code)
		return;
	l->why = *err;
	relay_end(l->relay, CODE_REFUSED, l->why.msg);
}

static void on_tick(void *ctx)
{
	struct consoles *s = ctx;
	uint64_t now = clock_mono(s->api->conf.clock);
	struct list *next;
	struct err err;

	for (struct list *i = s->lines.next; i != &s->lines; i = next) {
		struct line *l = line_at(i);

		next = i->next;
		if (!l->relay && now >= l->until)
			line_free(l);
		else if (l->relay && check_line(l, &err) < 0)
			line_end(l, &err);
	}
	if (!list_empty(&s->lines))
		timer_set(s->timer, TICK_MS);
}

int consoles_check(const struct call *c, struct err *err)
{
	const struct api_conf *conf = &c->api->conf;
	struct consoles *s = c->api->consoles;
	size_t n = 0, own = 0;

	for (struct list *l = s->lines.next; l != &s->lines; l = l->next) {
		n++;
		own += strcmp(line_at(l)->who, c->who->id) == 0;
	}
	if (c->api->draining)
		return err_set(err, ERR_UNAVAILABLE, "the server is stopping");
	if (own < conf->consoles_each && n < conf->consoles_most)
		return 0;
	if (own >= conf->consoles_each)
		err_set(err, ERR_RATE, "you have %zu consoles open", own);
	else
		err_set(err, ERR_UNAVAILABLE, "too many consoles are open");
	err->retry_after_ms = RETRY_MS;
	return -1;
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static bool is_host(const char *s)
{
	return s && *s &&
	       strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789.-_:[]") == strlen(s);
}

/* As the caller reached us.  A proxy that speaks TLS in our place says so; a
 * caller that lies about it is told what it wants to hear. */
static const char *address_of(struct call *c, const char *ticket)
{
	const char *host = exchange_header(c->x, "Host");
	const char *proto = exchange_header(c->x, "X-Forwarded-Proto");
	bool secure = c->x->secure || (proto && strcmp(proto, "https") == 0);

	return arena_join(c->x->arena, secure ? "wss://" : "ws://",
			  is_host(host) ? host : "localhost", "/v1/instances/",
			  c->id, "/console?ticket=", ticket, NULL);
}

static struct line *make_line(struct call *c, const char *machine, int fd)
{
	struct line *l = xcalloc(1, sizeof(*l));

	l->all = c->api->consoles;
	snprintf(l->instance, sizeof(l->instance), "%s", c->id);
	l->machine = xstrdup(machine);
	l->fd = fd;
	l->who = xstrdup(c->who->id);
	l->name = xstrdup(c->who->name);
	l->header = copy(exchange_header(c->x, "Authorization"));
	l->tls_subject = copy(c->x->tls_subject);
	l->act_as = copy(exchange_header(c->x, "Muster-Act-As"));
	return l;
}

int consoles_keep(struct call *c, int fd, const char **ret_url,
		  int64_t *ret_expires, struct err *err)
{
	const struct api_conf *conf = &c->api->conf;
	struct consoles *s = c->api->consoles;
	char ticket[TOKEN_LEN + 1];
	const struct instance *i;
	struct record r;
	struct line *l;

	if (!conf->loop)
		return err_set(err, ERR_UNSUPPORTED,
			       "this server cannot relay consoles");
	if (consoles_check(c, err) < 0)
		return -1;
	if (!store_get(conf->store, 0, &instance_kind, c->id, &r))
		return err_set(err, ERR_NOT_FOUND, "there is no instance %s",
			       c->id);
	i = r.object;
	if (!i->status.provider_id)
		return err_set(err, ERR_CONFLICT, "it has no machine now");
	token_make(conf->random, ticket);
	l = make_line(c, i->status.provider_id, fd);
	token_digest(ticket, strlen(ticket), l->digest);
	l->until = clock_mono(conf->clock) + conf->console_ticket_ms;
	*ret_expires =
		clock_wall(conf->clock) + (int64_t)conf->console_ticket_ms;
	*ret_url = address_of(c, ticket);
	explicit_bzero(ticket, sizeof(ticket));
	list_add(&s->lines, &l->link);
	if (!s->timer)
		s->timer = timer_new(conf->loop, on_tick, s);
	timer_set(s->timer, TICK_MS);
	return 0;
}

static int write_note(struct tx *tx, void *ctx, struct err *err)
{
	const struct note *n = ctx;

	(void)err;
	if (tx_get(tx, &instance_kind, n->instance))
		tx_event(tx, &instance_kind, n->instance, "consoleClosed", "%s",
			 n->text);
	return 0;
}

/* One that cannot be written is in the log. */
static void note_written(struct txn *t, const struct err *err)
{
	struct note *n = t->ctx;

	(void)err;
	list_remove(&n->link);
	free(n);
}

static void tell(struct line *l, const struct relay_facts *f)
{
	struct consoles *s = l->all;
	struct note *n;

	log_info("console",
		 "instance=%s who=%s closed after_ms=%llu sent=%llu "
		 "received=%llu %s",
		 l->instance, l->name, (unsigned long long)f->ms,
		 (unsigned long long)f->sent, (unsigned long long)f->received,
		 f->why);
	if (s->api->draining)
		return;
	n = xcalloc(1, sizeof(*n));
	memcpy(n->instance, l->instance, sizeof(n->instance));
	snprintf(n->text, sizeof(n->text),
		 "the console of %s was closed after %llu s: %s", l->name,
		 (unsigned long long)f->ms / 1000, f->why);
	n->txn = (struct txn){.fn = write_note, .done = note_written, .ctx = n};
	list_add(&s->notes, &n->link);
	store_transact(s->api->conf.store, &n->txn);
}

static void ended(void *ctx, const struct relay_facts *facts)
{
	struct line *l = ctx;

	l->all->relayed--;
	tell(l, facts);
	line_free(l);
}

/* The one that waits for TICKET. */
static struct line *find(const struct consoles *s, const char *instance,
			 const char *ticket)
{
	uint64_t now = clock_mono(s->api->conf.clock);
	char digest[65];

	token_digest(ticket, strlen(ticket), digest);
	for (struct list *i = s->lines.next; i != &s->lines; i = i->next) {
		struct line *l = line_at(i);

		if (!l->relay && now < l->until &&
		    strcmp(l->instance, instance) == 0 &&
		    strcmp(l->digest, digest) == 0)
			return l;
	}
	return NULL;
}

/* Guesses are counted as those at tokens are. */
static void refuse(struct call *c)
{
	struct api *api = c->api;
	uint32_t wait;
	struct err err;

	err_set(&err, ERR_UNAUTHENTICATED,
		"the ticket is not known: it may have been used, or be too "
		"old; open the console again");
	if (!rate_take(&api->strangers, c->x->peer, clock_mono(api->conf.clock),
		       &wait)) {
		api->limited++;
		err_set(&err, ERR_RATE, "too many wrong tickets from %s",
			c->x->peer);
		err.retry_after_ms = wait;
	}
	call_fail(c, &err);
}

void handle_console_connect(struct call *c)
{
	const char *ticket = call_arg(c, "ticket");
	const struct api_conf *conf = &c->api->conf;
	struct line *l = find(c->api->consoles, c->id, ticket ? ticket : "");
	struct relay_conf relay = {
		.loop = conf->loop,
		.idle_ms = conf->console_idle_ms,
		.total_ms = conf->console_ms,
		.ended = ended,
		.ctx = l,
	};
	struct err err;

	if (!l) {
		refuse(c);
		return;
	}
	relay.fd = l->fd;
	if (check_line(l, &err) < 0 ||
	    relay_begin(c->x, &relay, &l->relay, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	l->fd = -1;
	c->api->consoles->relayed++;
	c->api->in_flight--;
	log_info("console", "instance=%s who=%s from=%s connected", l->instance,
		 l->name, c->x->peer);
}
