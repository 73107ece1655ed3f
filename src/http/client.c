#include "http/client.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "http/client_priv.h"

#define BODY_MOST ((size_t)64 << 20)

enum { CONNECT_MS = 10 * 1000, TIMEOUT_MS = 60 * 1000 };

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

int client_new(const struct client_conf *conf, struct client **out,
	       struct err *err)
{
	size_t len = conf->server ? strlen(conf->server) : 0;
	struct client *c;

	if (!len || (strncasecmp(conf->server, "http://", 7) != 0 &&
		     strncasecmp(conf->server, "https://", 8) != 0))
		return err_set(err, ERR_INVALID,
			       "the server \"%s\" is not http:// or https://",
			       len ? conf->server : "");
	c = xcalloc(1, sizeof(*c));
	c->curl = curl_easy_init();
	if (!c->curl)
		abort(); /* no memory */
	c->server = xstrdup(conf->server);
	while (len && c->server[len - 1] == '/')
		c->server[--len] = '\0';
	c->token = copy(conf->token);
	c->ca_file = copy(conf->ca_file);
	c->agent = copy(conf->agent);
	c->act_as = copy(conf->act_as);
	c->body_most = conf->body_most ? conf->body_most : BODY_MOST;
	c->timeout_ms = conf->timeout_ms ? conf->timeout_ms : TIMEOUT_MS;
	*out = c;
	return 0;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	free(c->server);
	free(c->token);
	free(c->ca_file);
	free(c->agent);
	free(c->act_as);
	free(c);
}

static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
	static const char name[] = "x-request-id:";
	struct running *r = ctx;
	size_t len = size * n, at = sizeof(name) - 1;
	char *id = r->result.request_id;

	if (len <= at || strncasecmp(line, name, at) != 0)
		return len;
	while (at < len && isspace((unsigned char)line[at]))
		at++;
	n = len - at;
	while (n && isspace((unsigned char)line[at + n - 1]))
		n--;
	if (n >= sizeof(r->result.request_id))
		n = sizeof(r->result.request_id) - 1;
	memcpy(id, line + at, n);
	id[n] = '\0';
	return len;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct running *r = ctx;
	size_t len = size * n;
	long status = 0;

	curl_easy_getinfo(r->client->curl, CURLINFO_RESPONSE_CODE, &status);
	if (r->call->data && status >= 200 && status < 300) {
		r->ended = !r->call->data(r->call->ctx, bytes, len);
		return r->ended ? 0 : len;
	}
	buf_add(&r->result.body, bytes, len);
	return buf_ok(&r->result.body) ? len : 0;
}

static void add_header(struct running *r, const char *name, const char *value)
{
	struct buf line = BUF_INIT(64 << 10);

	if (!value)
		return;
	buf_addf(&line, "%s: %s", name, value);
	/* It would become a header of its own. */
	if (!strpbrk(buf_str(&line), "\r\n"))
		r->headers = curl_slist_append(r->headers, buf_str(&line));
	buf_release(&line);
}

static void set_headers(struct running *r)
{
	const struct client_call *call = r->call;
	struct buf bearer = BUF_INIT(64 << 10);

	if (r->client->token) {
		buf_addf(&bearer, "Bearer %s", r->client->token);
		add_header(r, "Authorization", buf_str(&bearer));
		buf_release(&bearer);
	}
	add_header(r, "Muster-Act-As", r->client->act_as);
	add_header(r, "Content-Type", call->content_type);
	add_header(r, "Accept", call->accept);
	add_header(r, "If-Match", call->if_match);
	add_header(r, "Idempotency-Key", call->idempotency_key);
	add_header(r, "Last-Event-ID", call->last_event_id);
	/* Without these libcurl adds its own. */
	if (!call->content_type)
		r->headers = curl_slist_append(r->headers, "Content-Type:");
	r->headers = curl_slist_append(r->headers, "Expect:");
	curl_easy_setopt(r->client->curl, CURLOPT_HTTPHEADER, r->headers);
}

static void set_method(struct running *r)
{
	const struct client_call *call = r->call;
	CURL *curl = r->client->curl;

	if (call->body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, call->body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)call->len);
	} else if (!strcmp(call->method, "HEAD")) {
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
		return;
	} else if (!strcmp(call->method, "POST") ||
		   !strcmp(call->method, "PUT")) {
		/* So that its length, none, is said. */
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, 0L);
	}
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, call->method);
}

static void set_options(struct running *r)
{
	struct client *c = r->client;
	CURL *curl = c->curl;
	unsigned connect_ms =
		c->timeout_ms < CONNECT_MS ? c->timeout_ms : CONNECT_MS;

	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, buf_str(&r->url));
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	/* A redirect is an answer: a token is for one host only. */
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->why);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
	if (!r->call->data)
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)c->timeout_ms);
	if (c->agent)
		curl_easy_setopt(curl, CURLOPT_USERAGENT, c->agent);
	if (c->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca_file);
	set_method(r);
	set_headers(r);
}

/* Why, in the words of the system or of libcurl, beginning small. */
static void describe(struct client *c, CURLcode code, char why[CURL_ERROR_SIZE])
{
	long os = 0;
	const char *text = c->why[0] ? c->why : curl_easy_strerror(code);

	curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &os);
	if (code == CURLE_COULDNT_CONNECT && os)
		text = strerror((int)os);
	snprintf(why, CURL_ERROR_SIZE, "%s", text);
	if (isupper((unsigned char)why[0]) && islower((unsigned char)why[1]))
		why[0] = (char)tolower((unsigned char)why[0]);
}

static int fail(struct running *r, CURLcode code, struct err *err)
{
	struct client *c = r->client;
	curl_off_t connected = 0;
	char why[CURL_ERROR_SIZE];

	describe(c, code, why);
	curl_easy_getinfo(c->curl, CURLINFO_PRETRANSFER_TIME_T, &connected);
	switch (code) {
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return err_set(err, ERR_INVALID, "the address %s: %s",
			       c->server, why);
	case CURLE_WRITE_ERROR:
		return err_set(err, ERR_TOO_LARGE,
			       "the answer of %s is too large", c->server);
	case CURLE_OPERATION_TIMEDOUT:
		if (connected)
			return err_set(err, ERR_TIMEOUT,
				       "%s did not answer in %u ms", c->server,
				       c->timeout_ms);
		break;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return err_set(err, ERR_UNAVAILABLE, "cannot trust %s: %s",
			       c->server, why);
	default:
		break;
	}
	return err_set(err, ERR_UNAVAILABLE, "cannot reach %s: %s", c->server,
		       why);
}

static void take_facts(struct running *r)
{
	const char *type = NULL;
	long status = 0;

	curl_easy_getinfo(r->client->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(r->client->curl, CURLINFO_CONTENT_TYPE, &type);
	r->result.status = (int)status;
	snprintf(r->result.type, sizeof(r->result.type), "%s",
		 type ? type : "");
}

void running_begin(struct running *r)
{
	struct client *c = r->client;

	r->result = (struct client_result){.body = BUF_INIT(c->body_most)};
	r->url = (struct buf)BUF_INIT(64 << 10);
	c->why[0] = '\0';
	buf_addf(&r->url, "%s%s", c->server, r->call->target);
	set_options(r);
}

int running_end(struct running *r, CURLcode code, struct client_result *ret,
		struct err *err)
{
	curl_slist_free_all(r->headers);
	buf_release(&r->url);
	if (code != CURLE_OK && !r->ended) {
		fail(r, code, err);
		buf_release(&r->result.body);
		return -1;
	}
	take_facts(r);
	*ret = r->result;
	return 0;
}

int client_call(struct client *c, const struct client_call *call,
		struct client_result *ret, struct err *err)
{
	struct running r = {.client = c, .call = call};

	running_begin(&r);
	return running_end(&r, curl_easy_perform(c->curl), ret, err);
}

void client_result_release(struct client_result *r)
{
	buf_release(&r->body);
}
