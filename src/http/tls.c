#include "http/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"

/* A record's worth of plain bytes. */
#define RECORD ((size_t)16 << 10)

/* How long a client has to take our goodbye. */
enum { LINGER_MS = 1000 };

struct tls {
	struct loop *loop;
	struct tls_conf conf;
	SSL_CTX *ctx;
	char scratch[RECORD];
};

/* Bytes that one side gave and the other did not take yet. */
struct rest {
	char *data;
	size_t at, len;
};

enum stage {
	STAGE_AGREEING, /* the handshake */
	STAGE_PASSING,
	STAGE_ENDING,    /* our side is done: say goodbye */
	STAGE_LINGERING, /* said; wait for the client's end */
};

struct tls_link {
	struct tls *tls;
	SSL *ssl;
	enum stage stage;
	int net_fd, pair_fd;
	struct poller *net, *pair;
	struct timer *linger;
	struct rest in, out; /* from the client; to it */
	bool client_ended;
	bool deaf;        /* the server does not read any more */
	bool wants_write; /* OpenSSL has something to send */
	char *subject;
	void (*ready)(void *ctx, int fd);
	void (*closed)(void *ctx);
	void *ctx;
};

static int fail(struct err *err, const char *what, const char *file)
{
	unsigned long e = ERR_peek_error();
	const char *why = ERR_SYSTEM_ERROR(e) ? strerror(ERR_GET_REASON(e))
					      : ERR_reason_error_string(e);

	err_set(err, ERR_INVALID, "TLS: %s %s: %s", what, file,
		why ? why : "it holds none");
	ERR_clear_error();
	return -1;
}

static int pick_protocol(SSL *ssl, const unsigned char **out,
			 unsigned char *out_len, const unsigned char *offered,
			 unsigned offered_len, void *ctx)
{
	static const unsigned char http[] = "\x08http/1.1";
	unsigned char *found;

	(void)ssl;
	(void)ctx;
	if (SSL_select_next_proto(&found, out_len, http, sizeof(http) - 1,
				  offered,
				  offered_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

static void set_policy(SSL_CTX *ctx)
{
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20");
	SSL_CTX_set_options(ctx, SSL_OP_CIPHER_SERVER_PREFERENCE |
					 SSL_OP_PRIORITIZE_CHACHA |
					 SSL_OP_NO_RENEGOTIATION |
					 SSL_OP_NO_COMPRESSION);
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
				      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
				      SSL_MODE_RELEASE_BUFFERS);
	/* One system call a record rather than two. */
	SSL_CTX_set_read_ahead(ctx, 1);
	/* Tickets resume sessions; nothing is kept here. */
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_num_tickets(ctx, 1);
	SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"muster", 6);
	SSL_CTX_set_alpn_select_cb(ctx, pick_protocol, NULL);
}

static int load_client_ca(SSL_CTX *ctx, const char *file, struct err *err)
{
	STACK_OF(X509_NAME) * names;

	if (!SSL_CTX_load_verify_locations(ctx, file, NULL))
		return fail(err, "cannot read", file);
	names = SSL_load_client_CA_file(file);
	if (!names)
		return fail(err, "cannot read", file);
	SSL_CTX_set_client_CA_list(ctx, names);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	return 0;
}

static int load(const struct tls_conf *conf, SSL_CTX **out, struct err *err)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	int bad = 0;

	if (!ctx)
		abort(); /* no memory */
	ERR_clear_error();
	set_policy(ctx);
	if (SSL_CTX_use_certificate_chain_file(ctx, conf->cert) != 1)
		bad = fail(err, "cannot use the certificate", conf->cert);
	else if (SSL_CTX_use_PrivateKey_file(ctx, conf->key,
					     SSL_FILETYPE_PEM) != 1)
		bad = fail(err, "cannot use the key", conf->key);
	else if (conf->client_ca)
		bad = load_client_ca(ctx, conf->client_ca, err);
	if (bad)
		SSL_CTX_free(ctx);
	else
		*out = ctx;
	return bad;
}

int tls_new(struct loop *l, const struct tls_conf *conf, struct tls **out,
	    struct err *err)
{
	struct tls *t;
	SSL_CTX *ctx;

	if (!conf->key)
		return err_set(err, ERR_INVALID,
			       "TLS: a certificate without a key");
	if (load(conf, &ctx, err))
		return -1;
	/* OpenSSL writes to sockets in a way that would raise it. */
	(void)signal(SIGPIPE, SIG_IGN);
	t = xcalloc(1, sizeof(*t));
	t->loop = l;
	t->conf = *conf;
	t->ctx = ctx;
	*out = t;
	return 0;
}

void tls_free(struct tls *t)
{
	if (!t)
		return;
	SSL_CTX_free(t->ctx);
	free(t);
}

int tls_reload(struct tls *t, struct err *err)
{
	SSL_CTX *ctx;

	if (load(&t->conf, &ctx, err))
		return -1;
	/* Links that began with the old one hold on to it. */
	SSL_CTX_free(t->ctx);
	t->ctx = ctx;
	return 0;
}

static void keep(struct rest *r, const char *bytes, size_t len)
{
	if (len)
		*r = (struct rest){xmemdup(bytes, len), 0, len};
}

static void eat(struct rest *r, size_t n)
{
	r->at += n;
	if (r->at < r->len)
		return;
	free(r->data);
	*r = (struct rest){0};
}

static void link_free(struct tls_link *k)
{
	void (*closed)(void *ctx) = k->closed;
	void *ctx = k->ctx;

	poller_free(k->net);
	poller_free(k->pair);
	timer_free(k->linger);
	SSL_free(k->ssl);
	close(k->net_fd);
	if (k->pair_fd >= 0)
		close(k->pair_fd);
	free(k->in.data);
	free(k->out.data);
	free(k->subject);
	free(k);
	closed(ctx);
}

/* What a call into OpenSSL came to: false when the link is broken. */
static bool bearable(struct tls_link *k, int result)
{
	switch (SSL_get_error(k->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return true;
	case SSL_ERROR_WANT_WRITE:
		k->wants_write = true;
		return true;
	case SSL_ERROR_ZERO_RETURN:
		k->client_ended = true;
		return true;
	default:
		ERR_clear_error();
		return false;
	}
}

/* Plain bytes to the server: how many it took. */
static size_t give(struct tls_link *k, const char *bytes, size_t len)
{
	ssize_t n = send(k->pair_fd, bytes, len, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN) {
		k->deaf = true;
		return len;
	}
	return n < 0 ? 0 : (size_t)n;
}

/* From the client to the server, as much as is here and the pair's buffer
 * takes.  False: the link is broken. */
static bool pass_in(struct tls_link *k)
{
	if (k->in.data)
		eat(&k->in,
		    give(k, k->in.data + k->in.at, k->in.len - k->in.at));
	while (!k->in.data && !k->client_ended && !k->deaf) {
		int n = SSL_read(k->ssl, k->tls->scratch, RECORD);
		size_t taken;

		if (n <= 0 && !bearable(k, n))
			return false;
		if (n <= 0)
			break;
		taken = give(k, k->tls->scratch, (size_t)n);
		keep(&k->in, k->tls->scratch + taken, (size_t)n - taken);
		/* The rest lies in the socket, which tells of it again. */
		if (!SSL_has_pending(k->ssl))
			break;
	}
	if (k->client_ended && !k->in.data)
		shutdown(k->pair_fd, SHUT_WR);
	return true;
}

/* To the client: how much OpenSSL took; -1 when the link is broken. */
static ssize_t put(struct tls_link *k, const char *bytes, size_t len)
{
	int n = SSL_write(k->ssl, bytes, (int)len);

	if (n > 0)
		return n;
	return bearable(k, n) ? 0 : -1;
}

/* From the server to the client.  False: the link is broken. */
static bool pass_out(struct tls_link *k)
{
	ssize_t taken = 0;

	if (k->out.data)
		taken = put(k, k->out.data + k->out.at, k->out.len - k->out.at);
	if (k->out.data && taken > 0)
		eat(&k->out, (size_t)taken);
	while (!k->out.data && taken >= 0) {
		ssize_t got = recv(k->pair_fd, k->tls->scratch, RECORD, 0);

		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0) {
			k->stage = STAGE_ENDING;
			break;
		}
		taken = put(k, k->tls->scratch, (size_t)got);
		if (taken < 0)
			break;
		keep(&k->out, k->tls->scratch + taken, (size_t)(got - taken));
		if ((size_t)got < RECORD)
			break;
	}
	return taken >= 0;
}

static char *name_subject(SSL *ssl)
{
	X509 *cert = SSL_get0_peer_certificate(ssl);
	BIO *bio;
	char *text, *subject;
	long len;

	if (!cert || SSL_get_verify_result(ssl) != X509_V_OK)
		return NULL;
	bio = BIO_new(BIO_s_mem());
	if (!bio)
		abort(); /* no memory */
	X509_NAME_print_ex(bio, X509_get_subject_name(cert), 0,
			   XN_FLAG_RFC2253);
	len = BIO_get_mem_data(bio, &text);
	subject = xmemdup(text, (size_t)len);
	BIO_free(bio);
	return subject;
}

static void on_pair(void *ctx, int events);

static bool agree(struct tls_link *k)
{
	int n = SSL_accept(k->ssl);
	int pair[2];

	if (n <= 0)
		return bearable(k, n) && !k->client_ended;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
		       pair))
		return false;
	k->subject = name_subject(k->ssl);
	k->stage = STAGE_PASSING;
	k->pair_fd = pair[0];
	k->pair = poller_new(k->tls->loop, k->pair_fd, on_pair, k);
	k->ready(k->ctx, pair[1]);
	return !SSL_has_pending(k->ssl) || pass_in(k);
}

static void on_linger(void *ctx)
{
	link_free(ctx);
}

/* Say goodbye, then wait for the client to hang up: closing with bytes unread
 * would take back what it has not read yet.  False: over. */
static bool say_goodbye(struct tls_link *k)
{
	int n;

	k->wants_write = false;
	n = SSL_shutdown(k->ssl);
	if (n < 0 && (!bearable(k, n) || k->wants_write))
		return k->wants_write;
	if (k->client_ended)
		return false;
	shutdown(k->net_fd, SHUT_WR);
	k->stage = STAGE_LINGERING;
	k->linger = timer_new(k->tls->loop, on_linger, k);
	timer_set(k->linger, LINGER_MS);
	return true;
}

static bool discard(struct tls_link *k)
{
	ssize_t n = recv(k->net_fd, k->tls->scratch, RECORD, 0);

	return n > 0 || (n < 0 && errno == EAGAIN);
}

static int net_wants(const struct tls_link *k)
{
	int events = k->wants_write ? POLLER_WRITE : 0;

	if (k->stage == STAGE_LINGERING ||
	    (!k->client_ended && !k->in.data && !k->deaf))
		events |= POLLER_READ;
	return events;
}

static int pair_wants(const struct tls_link *k)
{
	if (k->stage != STAGE_PASSING)
		return 0;
	return (k->out.data ? 0 : POLLER_READ) |
	       (k->in.data ? POLLER_WRITE : 0);
}

/* After each event: go on to the next stage, or end. */
static void settle(struct tls_link *k, bool alive)
{
	if (alive && k->stage == STAGE_ENDING)
		alive = say_goodbye(k);
	if (!alive) {
		link_free(k);
		return;
	}
	poller_want(k->net, net_wants(k));
	if (k->pair)
		poller_want(k->pair, pair_wants(k));
}

static void on_net(void *ctx, int events)
{
	struct tls_link *k = ctx;
	bool alive = true;

	ERR_clear_error();
	if (events & POLLER_WRITE)
		k->wants_write = false;
	switch (k->stage) {
	case STAGE_AGREEING:
		alive = agree(k);
		break;
	case STAGE_PASSING:
		if (events & POLLER_WRITE)
			alive = pass_out(k);
		if (alive && k->stage == STAGE_PASSING)
			alive = pass_in(k);
		break;
	case STAGE_ENDING:
		break;
	case STAGE_LINGERING:
		alive = discard(k);
		break;
	}
	settle(k, alive);
}

static void on_pair(void *ctx, int events)
{
	struct tls_link *k = ctx;
	bool alive = true;

	ERR_clear_error();
	if (events & POLLER_WRITE)
		alive = pass_in(k);
	if (alive && (events & POLLER_READ))
		alive = pass_out(k);
	settle(k, alive);
}

struct tls_link *tls_accept(struct tls *t, int fd,
			    void (*ready)(void *ctx, int fd),
			    void (*closed)(void *ctx), void *ctx)
{
	struct tls_link *k = xcalloc(1, sizeof(*k));

	k->tls = t;
	k->net_fd = fd;
	k->pair_fd = -1;
	k->ready = ready;
	k->closed = closed;
	k->ctx = ctx;
	k->ssl = SSL_new(t->ctx);
	if (!k->ssl || !SSL_set_fd(k->ssl, fd))
		abort(); /* no memory */
	k->net = poller_new(t->loop, fd, on_net, k);
	poller_want(k->net, POLLER_READ);
	return k;
}

void tls_link_abort(struct tls_link *k)
{
	if (k)
		link_free(k);
}

const char *tls_link_subject(const struct tls_link *k)
{
	return k->subject;
}
