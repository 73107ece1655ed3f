#include "http/download.h"

#include <curl/curl.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"

enum {
	CONNECT_MS = 15 * 1000,
	REDIRECTS_MOST = 5,
	PIECE = 512 << 10, /* at a time; curl's most */
	SLOW = 16 << 10,   /* bytes a second, which is as good as nothing */
	HEADS_MOST = 128 << 10, /* of all answers on the way */
};

/* One while it runs. */
struct run {
	const struct download *d;
	CURL *curl;
	struct curl_slist *headers;
	uint64_t at; /* where the next bytes go */
	uint64_t range_from;
	uint64_t length; /* of this answer, as it says; 0: not told */
	char etag[DOWNLOAD_VERSION_LEN + 1];
	char modified[DOWNLOAD_VERSION_LEN + 1];
	char host[256];
	char why[CURL_ERROR_SIZE];
	size_t heads; /* bytes of them so far */
	bool has_begun, forbidden, too_large, no_room;
	int error; /* of writing */
};

/* The value of header NAME (with its colon), when LINE is one, into TO. */
static void take(const char *line, size_t len, const char *name, char *to,
		 size_t room)
{
	size_t at = strlen(name);

	if (len < at || strncasecmp(line, name, at) != 0)
		return;
	while (at < len && strchr(" \t", line[at]))
		at++;
	while (len > at && strchr(" \t\r\n", line[len - 1]))
		len--;
	if (len - at >= room)
		return;
	memcpy(to, line + at, len - at);
	to[len - at] = '\0';
}

/* Every answer on the way, redirects too, begins with its own status. */
static size_t on_header(char *line, size_t size, size_t n, void *ctx)
{
	struct run *r = ctx;
	char range[64] = "";
	size_t len = size * n;

	r->heads += len;
	if (r->heads > HEADS_MOST)
		return 0;
	if (len > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		r->etag[0] = r->modified[0] = '\0';
		r->range_from = 0;
	}
	take(line, len, "etag:", r->etag, sizeof(r->etag));
	take(line, len, "last-modified:", r->modified, sizeof(r->modified));
	take(line, len, "content-range:", range, sizeof(range));
	if (strncasecmp(range, "bytes ", 6) == 0)
		r->range_from = strtoull(range + 6, NULL, 10);
	return len;
}

/* A weak tag does not promise the same bytes. */
static const char *version_of(const struct run *r)
{
	if (r->etag[0] == '"')
		return r->etag;
	return r->etag[0] ? "" : r->modified;
}

/* The first bytes of the file itself: from its beginning, unless the server
 * goes on where we are. */
static bool begin(struct run *r, long status)
{
	curl_off_t length = -1;

	if (status == 206 && r->range_from != r->d->have)
		return false;
	r->at = status == 206 ? r->d->have : 0;
	if (ftruncate(r->d->fd, (off_t)r->at) < 0) {
		r->error = errno;
		return false;
	}
	curl_easy_getinfo(r->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	r->length = length > 0 ? (uint64_t)length : 0;
	r->has_begun = true;
	if (r->length > r->d->most || r->at + r->length > r->d->most) {
		r->too_large = true;
		return false;
	}
	r->no_room = !r->d->begun(r->d->ctx, version_of(r), r->at,
				  r->length ? r->at + r->length : 0);
	return !r->no_room;
}

static bool put(struct run *r, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = pwrite(r->d->fd, bytes, len, (off_t)r->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r->error = errno;
			return false;
		}
		r->at += (uint64_t)n;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct run *r = ctx;
	size_t len = size * n;
	long status = 0;

	curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200 && status != 206)
		return len; /* a page that says why, for nobody */
	if (!r->has_begun && !begin(r, status))
		return 0;
	if (len > r->d->most - r->at) {
		r->too_large = true;
		return 0;
	}
	if (!put(r, bytes, len))
		return 0;
	r->no_room = !r->d->grew(r->d->ctx, r->at);
	return r->no_room ? 0 : len;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c,
		       curl_off_t d)
{
	const struct run *r = ctx;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return r->d->stop && atomic_load(r->d->stop);
}

static bool is_link_local(const struct sockaddr *sa)
{
	const struct sockaddr_in *in = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const unsigned char *p;

	if (sa->sa_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 16 == 0xa9fe;
	if (sa->sa_family != AF_INET6)
		return false;
	p = in6->sin6_addr.s6_addr;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr))
		return p[12] == 169 && p[13] == 254;
	return IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr);
}

static curl_socket_t on_socket(void *ctx, curlsocktype why,
			       struct curl_sockaddr *to)
{
	struct run *r = ctx;

	(void)why;
	if (is_link_local(&to->addr)) {
		r->forbidden = true;
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Go on where we are, if it is the same file. */
static void ask_for_rest(struct run *r)
{
	struct buf line = BUF_INIT(1024);
	char range[32];

	snprintf(range, sizeof(range), "%llu-", (unsigned long long)r->d->have);
	curl_easy_setopt(r->curl, CURLOPT_RANGE, range);
	buf_addf(&line, "If-Range: %s", r->d->version);
	r->headers = curl_slist_append(r->headers, buf_str(&line));
	buf_release(&line);
	curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER, r->headers);
}

static void set_limits(struct run *r)
{
	const struct download *d = r->d;
	CURL *curl = r->curl;

	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)d->timeout_ms);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
			 (long)(d->idle_ms + 999) / 1000);
	curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)REDIRECTS_MOST);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR,
			 strncasecmp(d->url, "https:", 6) == 0 ? "https"
							       : "http,https");
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, r);
}

static void set_options(struct run *r)
{
	const struct download *d = r->d;
	CURL *curl = r->curl;

	curl_easy_setopt(curl, CURLOPT_URL, d->url);
	curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)PIECE);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, r->why);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, r);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	if (d->agent)
		curl_easy_setopt(curl, CURLOPT_USERAGENT, d->agent);
	if (d->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, d->ca_file);
	set_limits(r);
	if (d->have && d->version && d->version[0])
		ask_for_rest(r);
}

/* What can be shown of an address: not who asks, nor what for. */
static void name_host(struct run *r)
{
	CURLU *u = curl_url();
	char *host = NULL;

	snprintf(r->host, sizeof(r->host), "the server");
	if (u && !curl_url_set(u, CURLUPART_URL, r->d->url, 0) &&
	    !curl_url_get(u, CURLUPART_HOST, &host, 0))
		snprintf(r->host, sizeof(r->host), "%.200s", host);
	curl_free(host);
	curl_url_cleanup(u);
}

static int judge_status(const struct run *r, struct err *err)
{
	long status = 0;

	curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
	if ((status == 200 || status == 206) && r->has_begun)
		return 0;
	if (status == 200 || status == 206)
		return err_set(err, ERR_INVALID, "%s sent nothing", r->host);
	/* The file is shorter than what we have of it: from its beginning. */
	if (status == 416 && ftruncate(r->d->fd, 0) < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s", strerror(errno));
	if (status == 408 || status == 416 || status == 425 || status == 429 ||
	    status >= 500)
		return err_set(err, ERR_UNAVAILABLE, "%s answered with %ld",
			       r->host, status);
	return err_set(err, ERR_INVALID, "%s answered with %ld", r->host,
		       status);
}

static int judge_write(const struct run *r, struct err *err)
{
	if (r->too_large)
		return err_set(err, ERR_TOO_LARGE,
			       "the file at %s is of more than %llu MiB, "
			       "which is the limit here",
			       r->host, (unsigned long long)(r->d->most >> 20));
	if (r->no_room) {
		err_set(err, ERR_CAPACITY,
			"there is no room for the file of %s", r->host);
		err->retry = ERR_RETRY_LATER;
		return -1;
	}
	if (r->heads > HEADS_MOST)
		return err_set(err, ERR_INVALID, "%s sends no end of headers",
			       r->host);
	if (r->error)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot keep the file of %s: %s", r->host,
			       strerror(r->error));
	return err_set(err, ERR_UNAVAILABLE,
		       "%s sent another part than was asked for", r->host);
}

static int judge(const struct run *r, CURLcode code, struct err *err)
{
	if (r->forbidden)
		return err_set(err, ERR_INVALID,
			       "%s is at a link-local address, where nothing "
			       "is asked for",
			       r->host);
	switch (code) {
	case CURLE_OK:
		return judge_status(r, err);
	case CURLE_WRITE_ERROR:
		return judge_write(r, err);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return err_set(err, ERR_INVALID,
			       "%s is not at an address of http or https",
			       r->host);
	case CURLE_TOO_MANY_REDIRECTS:
		return err_set(err, ERR_INVALID, "%s redirects too often",
			       r->host);
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(err, ERR_TIMEOUT, "%s is too slow", r->host);
	case CURLE_PARTIAL_FILE:
		return err_set(err, ERR_UNAVAILABLE,
			       "%s ended before the file did", r->host);
	case CURLE_ABORTED_BY_CALLBACK:
		return err_set(err, ERR_UNAVAILABLE,
			       "the download from %s was stopped", r->host);
	default:
		return err_set(err, ERR_UNAVAILABLE, "cannot fetch from %s: %s",
			       r->host,
			       r->why[0] ? r->why : curl_easy_strerror(code));
	}
}

int download(const struct download *d, struct err *err)
{
	struct run r = {.d = d, .curl = curl_easy_init()};
	int rc;

	if (!r.curl)
		abort(); /* no memory */
	name_host(&r);
	set_options(&r);
	rc = judge(&r, curl_easy_perform(r.curl), err);
	curl_slist_free_all(r.headers);
	curl_easy_cleanup(r.curl);
	return rc;
}
