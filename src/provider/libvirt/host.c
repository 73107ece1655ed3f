#include "provider/libvirt/host.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "http/uri.h"
#include "provider/libvirt/connect.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/embed.h"
#include "provider/libvirt/event.h"
#include "provider/libvirt/probe.h"

/* After a failure it is not tried again for so long: many wait for it. */
enum { RETRY_MS = 2000 };

/* A daemon works at five calls of a connection at a time, unless it is told
 * otherwise, and on twenty of all. */
enum { LINES = 6 };

#define EMBED "qemu:///embed?root="

struct host_priv {
	pthread_mutex_t lock; /* of what follows */
	/* Calls take turns on them; NULL: there is none now.  We are told what
	 * happens on the first, without which there is no other. */
	virConnectPtr lines[LINES];
	unsigned n_lines, turn;
	uint64_t no_more_before; /* another line was not to be had */
	struct host_ear ears[HOST_EARS];
	bool silent;        /* nobody is to be told any more */
	uint64_t failed_at; /* on the monotonic clock; 0: it did not */
	struct err failure;
	pthread_mutex_t trying; /* of the powers, which take a while */
	bool tried;
	struct host_powers powers;
	char why[PROBE_WHY];
	pthread_mutex_t facts; /* one change at a time: see facts.h */
};

static uint64_t now(const struct host *h)
{
	return clock_mono(h->lv->conf->clock);
}

/* The folder that the URI of an embedded one names. */
static int folder_of(struct host *h, struct err *err)
{
	const char *rest = h->options->uri + strlen("qemu://");
	struct uri uri;

	if (uri_parse(rest, NULL, &h->lv->arena, &uri, err) < 0)
		return err_wrap(err, "uri");
	h->folder = uri_query(&uri, "root");
	if (!h->folder || h->folder[0] != '/')
		return err_set(err, ERR_INVALID,
			       "the root of an embedded libvirt must be an "
			       "absolute path");
	return 0;
}

static int choose_kind(struct host *h, struct err *err)
{
	const char *uri = h->options->uri;

	if (strncmp(uri, EMBED, strlen(EMBED)) == 0) {
		h->embedded = true;
		h->disks = &disk_files;
		return folder_of(h, err);
	}
	if (strncmp(uri, "test:", 5) == 0)
		h->fake = true;
	else if (strncmp(uri, "qemu:", 5) != 0 && strncmp(uri, "qemu+", 5) != 0)
		return err_set(err, ERR_INVALID,
			       "the URI must begin with qemu: or qemu+");
	/* It would be run by a shell on this machine. */
	if (strstr(uri, "command=") || strstr(uri, "netcat="))
		return err_set(err, ERR_INVALID, "the URI may name no command");
	h->disks = &disk_pool;
	return 0;
}

/* In our own process one is enough; by SSH each would be a login. */
static unsigned lines_of(const struct host *h)
{
	const char *plus = strchr(h->uri, '+'), *end = strstr(h->uri, "://");
	bool ssh = plus && end && plus < end &&
		   (strncmp(plus, "+ssh", 4) == 0 ||
		    strncmp(plus, "+libssh", 7) == 0);

	return h->embedded || h->fake || ssh ? 1 : LINES;
}

int host_open(struct lv *lv, const struct host_options *o, struct host **ret,
	      struct err *err)
{
	struct host *h = arena_alloc(&lv->arena, sizeof(*h));

	h->lv = lv;
	h->options = o;
	h->name = o->name;
	h->uri = o->uri;
	if (choose_kind(h, err) < 0 || event_loop(err) < 0)
		return -1;
	if (h->embedded && embed_prepare(h, err) < 0)
		return -1;
	h->priv = xcalloc(1, sizeof(*h->priv));
	pthread_mutex_init(&h->priv->lock, NULL);
	pthread_mutex_init(&h->priv->trying, NULL);
	pthread_mutex_init(&h->priv->facts, NULL);
	h->priv->n_lines = lines_of(h);
	*ret = h;
	return 0;
}

static void disconnect(struct host *h)
{
	struct host_priv *p = h->priv;

	if (p->lines[0])
		event_deafen(p->lines[0], p->ears);
	for (unsigned i = 0; i < p->n_lines; i++)
		host_drop(&p->lines[i]);
}

void host_deafen(struct host *h)
{
	struct host_priv *p = h->priv;

	pthread_mutex_lock(&p->lock);
	if (p->lines[0])
		event_deafen(p->lines[0], p->ears);
	p->silent = true;
	pthread_mutex_unlock(&p->lock);
}

void host_close(struct host *h)
{
	if (!h || !h->priv)
		return;
	disconnect(h);
	pthread_mutex_destroy(&h->priv->lock);
	pthread_mutex_destroy(&h->priv->trying);
	pthread_mutex_destroy(&h->priv->facts);
	free(h->priv);
}

/* With the lock held. */
static int reconnect(struct host *h, struct err *err)
{
	struct host_priv *p = h->priv;

	if (p->failed_at && now(h) < p->failed_at + RETRY_MS) {
		*err = p->failure;
		return -1;
	}
	if (connect_open(h, &p->lines[0], err) == 0 &&
	    (p->silent || event_listen(h, p->lines[0], p->ears, err) == 0)) {
		p->failed_at = 0;
		return 0;
	}
	host_drop(&p->lines[0]);
	p->failed_at = now(h);
	p->failure = *err;
	return -1;
}

/* Whose turn it is, with the lock held; the first is there. */
static virConnectPtr next_line(struct host *h)
{
	struct host_priv *p = h->priv;
	virConnectPtr *line = &p->lines[p->turn++ % p->n_lines];
	struct err none;

	if (*line && virConnectIsAlive(*line) != 1)
		host_drop(line);
	if (!*line && now(h) >= p->no_more_before &&
	    connect_open(h, line, &none) < 0)
		p->no_more_before = now(h) + RETRY_MS;
	return *line ? *line : p->lines[0];
}

int host_take(struct host *h, virConnectPtr *ret, struct err *err)
{
	struct host_priv *p = h->priv;
	int r = 0;

	pthread_mutex_lock(&p->lock);
	if (p->lines[0] && virConnectIsAlive(p->lines[0]) != 1)
		disconnect(h);
	if (!p->lines[0])
		r = reconnect(h, err);
	if (r == 0) {
		*ret = next_line(h);
		virConnectRef(*ret);
	}
	pthread_mutex_unlock(&p->lock);
	return r;
}

void host_drop(virConnectPtr *conn)
{
	if (*conn)
		virConnectClose(*conn);
	*conn = NULL;
}

int host_domain(struct host *h, const char *uuid, virDomainPtr *ret,
		struct err *err)
{
	auto_conn virConnectPtr conn = NULL;

	if (host_take(h, &conn, err) < 0)
		return -1;
	*ret = virDomainLookupByUUIDString(conn, uuid);
	return *ret ? 0 : host_err(h, "look for the machine", err);
}

void host_domain_drop(virDomainPtr *domain)
{
	if (*domain)
		virDomainFree(*domain);
	*domain = NULL;
}

int host_powers(struct host *h, struct host_powers *ret, struct err *err)
{
	struct host_priv *p = h->priv;
	int r = 0;

	pthread_mutex_lock(&p->trying);
	if (!p->tried) {
		r = probe_powers(h, &p->powers, p->why, err);
		p->tried = r == 0;
	}
	*ret = p->powers;
	pthread_mutex_unlock(&p->trying);
	return r;
}

pthread_mutex_t *host_facts_lock(struct host *h)
{
	return &h->priv->facts;
}

const char *host_machine_id(const struct host *h, const char *uuid,
			    struct arena *a)
{
	return arena_join(a, uuid, "@", h->name, NULL);
}

struct host *host_of_machine(struct lv *lv, const char *id,
			     char ret_uuid[VIR_UUID_STRING_BUFLEN],
			     bool *ret_other)
{
	size_t len = VIR_UUID_STRING_BUFLEN - 1;

	*ret_other = false;
	if (!uuid_valid(id, strnlen(id, len)) || id[len] != '@')
		return NULL;
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (strcmp(lv->hosts[i]->name, id + len + 1) == 0) {
			memcpy(ret_uuid, id, len);
			ret_uuid[len] = '\0';
			return lv->hosts[i];
		}
	*ret_other = true;
	return NULL;
}
