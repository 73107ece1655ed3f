#include "http/tls.h"

#include <openssl/err.h>
#include <signal.h>
#include <time.h>

#include "certs.h"
#include "handler.h"
#include "test.h"

/* The files, in a directory of their own. */
static char cert_file[64], key_file[64], ca_file[64];
static struct cert first, other, authority, person, stranger;

static struct serving secure(void)
{
	struct serving s = {
		.conf = {.tls_cert = cert_file, .tls_key = key_file}};

	cert_write(&first, cert_file, key_file);
	return s;
}

static struct wire dial(struct serving *s)
{
	struct wire w = wire_open(s->address);

	CHECK(cert_connect(&w, 0, NULL));
	return w;
}

static void requests_come_through(void)
{
	struct serving s = secure();
	const unsigned char *alpn;
	struct reply_read r;
	struct wire w;
	unsigned len;

	start(&s);
	w = dial(&s);
	SSL_get0_alpn_selected(w.ssl, &alpn, &len);
	CHECK(len == 8 && !memcmp(alpn, "http/1.1", 8));
	for (int i = 0; i < 50; i++)
		CHECK(reply_status(&w, GET) == 200);
	wire_puts(&w,
		  "PUT /x HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc");
	r = reply_read(&w);
	CHECK_STR(buf_str(&r.body), "PUT /x 127.0.0.1 - abc");
	reply_release(&r);
	CHECK(reply_status(&w, "POST /later HTTP/1.1\r\n" HOST
			       "Content-Length: 1\r\n\r\nx") == 201);
	wire_puts(&w, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	r = reply_read(&w);
	CHECK(r.body.len == 3 << 20);
	reply_release(&r);
	wire_close(&w);
	serving_stop(&s, 5000);
}

static bool version_works(struct serving *s, int version)
{
	struct wire w = wire_open(s->address);
	bool ok = cert_connect(&w, version, NULL);

	if (ok)
		ok = reply_status(&w, GET) == 200 &&
		     SSL_version(w.ssl) == version;
	wire_close(&w);
	ERR_clear_error();
	return ok;
}

static void only_new_versions_are_spoken(void)
{
	struct serving s = secure();

	start(&s);
	CHECK(version_works(&s, TLS1_3_VERSION));
	CHECK(version_works(&s, TLS1_2_VERSION));
	CHECK(!version_works(&s, TLS1_1_VERSION));
	CHECK(!version_works(&s, TLS1_VERSION));
	CHECK(reply_once(s.address, GET) == 0);
	CHECK(drains(&s, 0));
	serving_stop(&s, 5000);
}

static void the_end_is_said(void)
{
	struct serving s = secure();
	struct wire w;

	start(&s);
	w = dial(&s);
	CHECK(reply_status(&w, "GET / HTTP/1.1\r\n" HOST
			       "Connection: close\r\n\r\n") == 200);
	CHECK(!wire_more(&w));
	CHECK(SSL_get_shutdown(w.ssl) & SSL_RECEIVED_SHUTDOWN);
	wire_close(&w);
	CHECK(drains(&s, 0));
	serving_stop(&s, 5000);
}

static void a_client_that_leaves_is_seen(void)
{
	struct serving s = secure();
	struct wire w;

	start(&s);
	w = dial(&s);
	CHECK(reply_status(&w, GET) == 200);
	SSL_shutdown(w.ssl);
	CHECK(wire_ends(&w));
	wire_close(&w);
	w = dial(&s);
	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
	CHECK(drains(&s, 0));
	serving_stop(&s, 5000);
}

static void handshakes_have_a_deadline(void)
{
	struct serving s = secure();
	struct wire w;

	s.conf.request_ms = 100;
	start(&s);
	w = wire_open(s.address);
	wire_write(&w, "\x16\x03\x01", 3);
	CHECK(wire_ends(&w));
	wire_close(&w);
	serving_stop(&s, 5000);
}

static void late_requests_are_told_so(void)
{
	struct serving s = secure();
	struct wire w;

	s.conf.request_ms = 1000;
	start(&s);
	w = dial(&s);
	CHECK(reply_status(&w, "GET / HTTP/1.1\r\nX: ") == 408);
	CHECK(wire_ends(&w));
	wire_close(&w);
	serving_stop(&s, 5000);
}

/* Slowly, so that it is not read to its end in the time a goodbye takes. */
static void who_sends_too_much_first_still_reads_why(void)
{
	struct serving s = secure();
	struct timespec pause = {.tv_nsec = 100000000};
	static const char piece[1 << 20];
	struct wire w;

	s.conf.max_body = 1024;
	start(&s);
	w = dial(&s);
	wire_puts(&w,
		  "PUT / HTTP/1.1\r\n" HOST "Content-Length: 15728640\r\n\r\n");
	for (int i = 0; i < 15; i++) {
		CHECK(wire_write(&w, piece, sizeof(piece)));
		nanosleep(&pause, NULL);
	}
	CHECK(reply_status(&w, "") == 413);
	CHECK(wire_ends(&w));
	wire_close(&w);
	serving_stop(&s, 5000);
	CHECK(seen.handled == 0);
}

static void the_clients_address_counts(void)
{
	struct serving s = secure();
	struct wire a, b;

	s.conf.max_per_address = 1;
	start(&s);
	a = dial(&s);
	CHECK(reply_status(&a, GET) == 200);
	b = wire_open(s.address);
	CHECK(!cert_connect(&b, 0, NULL));
	wire_close(&b);
	wire_close(&a);
	ERR_clear_error();
	serving_stop(&s, 5000);
}

static void reload(struct serving *s)
{
	s->failed = server_reload(s->server, &s->err) != 0;
}

static bool shows(struct serving *s, const struct cert *want)
{
	struct wire w = dial(s);
	bool same = !X509_cmp(SSL_get0_peer_certificate(w.ssl), want->x509);

	CHECK(reply_status(&w, GET) == 200);
	wire_close(&w);
	return same;
}

static void a_new_certificate_is_picked_up(void)
{
	struct serving s = secure();
	struct wire old;
	FILE *f;

	start(&s);
	CHECK(shows(&s, &first));
	old = dial(&s);
	cert_write(&other, cert_file, key_file);
	CHECK(shows(&s, &first));
	serving_do(&s, reload);
	CHECK(!s.failed);
	CHECK(shows(&s, &other));
	CHECK(reply_status(&old, GET) == 200);
	wire_close(&old);
	f = fopen(key_file, "w");
	fputs("not a key\n", f);
	fclose(f);
	serving_do(&s, reload);
	CHECK(s.failed);
	CHECK(strstr(s.err.msg, key_file) != NULL);
	CHECK(shows(&s, &other));
	serving_stop(&s, 5000);
}

static atomic_bool subject_seen;

static void tell_subject(void *ctx, struct exchange *x)
{
	struct reply r = {.status = 200, .type = "text/plain"};

	(void)ctx;
	atomic_store(&subject_seen, x->tls_subject != NULL);
	r.body = x->tls_subject ? x->tls_subject : "nobody";
	r.len = strlen(r.body);
	exchange_reply(x, &r);
}

static int ask_subject(struct serving *s, const struct cert *mine,
		       const char *want)
{
	struct wire w = wire_open(s->address);
	struct reply_read r = {0};

	if (cert_connect(&w, 0, mine) && wire_puts(&w, GET))
		r = reply_read(&w);
	if (r.status)
		CHECK_STR(buf_str(&r.body), want);
	reply_release(&r);
	wire_close(&w);
	ERR_clear_error();
	return r.status;
}

static void clients_may_show_certificates(void)
{
	struct serving s = secure();

	s.conf.tls_client_ca = ca_file;
	s.conf.handle = tell_subject;
	cert_write(&authority, ca_file, NULL);
	serving_start(&s);
	CHECK(ask_subject(&s, &person, "CN=person") == 200);
	CHECK(ask_subject(&s, NULL, "nobody") == 200);
	CHECK(ask_subject(&s, &stranger, "") == 0);
	serving_stop(&s, 5000);
}

static void streams_and_stops_work_the_same(void)
{
	struct serving s = secure();
	struct reply_read r;
	struct wire w, held;

	s.grace_ms = 10000;
	start(&s);
	w = dial(&s);
	wire_puts(&w, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
	r = reply_head(&w);
	CHECK(r.status == 200);
	held = dial(&s);
	wire_puts(&held, "GET /held HTTP/1.1\r\n" HOST "\r\n");
	CHECK(reaches(&seen.handled, 2));
	serving_do(&s, serving_begin_stop);
	while (reply_chunk(&w, &r) > 0)
		;
	CHECK(wire_ends(&w));
	reply_release(&r);
	serving_do(&s, answer_the_held);
	CHECK(reply_status(&held, "") == 201);
	CHECK(wire_ends(&held));
	wire_close(&held);
	wire_close(&w);
	pthread_join(s.thread, NULL);
	CHECK(seen.gone == 1);
}

static void bad_files_are_errors(void)
{
	struct serving s = secure();

	s.conf.tls_cert = "/nonexistent/cert.pem";
	start(&s);
	CHECK(s.failed);
	CHECK(strstr(s.err.msg, "/nonexistent/cert.pem") != NULL);
	pthread_join(s.thread, NULL);
}

int main(void)
{
	char dir[] = "/tmp/muster-tls-XXXXXX";

	/* A TLS library on a blocking socket raises it. */
	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(dir))
		return 1;
	snprintf(cert_file, sizeof(cert_file), "%s/cert.pem", dir);
	snprintf(key_file, sizeof(key_file), "%s/key.pem", dir);
	snprintf(ca_file, sizeof(ca_file), "%s/ca.pem", dir);
	first = cert_make("first", NULL, false);
	other = cert_make("other", NULL, false);
	authority = cert_make("authority", NULL, true);
	person = cert_make("person", &authority, false);
	stranger = cert_make("stranger", NULL, false);
	RUN(requests_come_through);
	RUN(only_new_versions_are_spoken);
	RUN(the_end_is_said);
	RUN(a_client_that_leaves_is_seen);
	RUN(handshakes_have_a_deadline);
	RUN(late_requests_are_told_so);
	RUN(who_sends_too_much_first_still_reads_why);
	RUN(the_clients_address_counts);
	RUN(a_new_certificate_is_picked_up);
	RUN(clients_may_show_certificates);
	RUN(streams_and_stops_work_the_same);
	RUN(bad_files_are_errors);
	cert_release(&first);
	cert_release(&other);
	cert_release(&authority);
	cert_release(&person);
	cert_release(&stranger);
	unlink(cert_file);
	unlink(key_file);
	unlink(ca_file);
	rmdir(dir);
	return test_done();
}
