#include "http/guard.h"

#include <string.h>
#include <strings.h>

#include "base/word.h"

/*
 * libmicrohttpd parses in place: the head lies in one piece of memory, with
 * NULs put over the separators.  A header that begins two bytes behind the end
 * of the one before it was ended by CR LF; anything else (a NUL in a value, a
 * folded line, a bare LF) leaves another distance, and is refused here.
 */
struct walk {
	const char *end; /* of the line before */
	const char *why; /* NULL: good so far */
	const char *expect;
	const char *request_id;
	const char *length;
	unsigned hosts, lengths, encodings;
	bool chunked;
};

enum { IN_TOKEN = 1, IN_TEXT = 2 };

/* What a byte may be part of: one look at each, for there are many. */
static const unsigned char classes[256] = {
	['\t'] = IN_TEXT,
	[' '] = IN_TEXT,
	['!'] = IN_TEXT | IN_TOKEN,
	['"'] = IN_TEXT,
	['#' ... '\''] = IN_TEXT | IN_TOKEN,
	['(' ... ')'] = IN_TEXT,
	['*' ... '+'] = IN_TEXT | IN_TOKEN,
	[','] = IN_TEXT,
	['-' ... '.'] = IN_TEXT | IN_TOKEN,
	['/'] = IN_TEXT,
	['0' ... '9'] = IN_TEXT | IN_TOKEN,
	[':' ... '@'] = IN_TEXT,
	['A' ... 'Z'] = IN_TEXT | IN_TOKEN,
	['[' ... ']'] = IN_TEXT,
	['^' ... 'z'] = IN_TEXT | IN_TOKEN,
	['{'] = IN_TEXT,
	['|'] = IN_TEXT | IN_TOKEN,
	['}'] = IN_TEXT,
	['~'] = IN_TEXT | IN_TOKEN,
	[0x80 ... 0xff] = IN_TEXT,
};

static bool is_all(const char *s, size_t len, unsigned char class)
{
	unsigned char all = class;

	for (size_t i = 0; i < len; i++)
		all &= classes[(unsigned char)s[i]];
	return all != 0;
}

static bool is_token(const char *s, size_t len)
{
	return len > 0 && is_all(s, len, IN_TOKEN);
}

static bool is_text(const char *s, size_t len)
{
	for (; len >= 8 && word_is_plain(word_load(s)); len -= 8)
		s += 8;
	return is_all(s, len, IN_TEXT);
}

static bool is_placed(const struct walk *w, const char *name, size_t name_len,
		      const char *value)
{
	if (name != w->end + 2 || value <= name + name_len)
		return false;
	for (const char *p = name + name_len + 1; p < value; p++)
		if (*p != ' ' && *p != '\t')
			return false;
	return true;
}

static void note(struct walk *w, const char *name, size_t len,
		 const char *value)
{
	switch (len) {
	case 4:
		w->hosts += !strcasecmp(name, "host");
		break;
	case 6:
		if (!strcasecmp(name, "expect"))
			w->expect = value;
		break;
	case 12:
		if (!strcasecmp(name, "x-request-id"))
			w->request_id = value;
		break;
	case 14:
		if (strcasecmp(name, "content-length") != 0)
			break;
		w->lengths++;
		w->length = value;
		break;
	case 17:
		if (strcasecmp(name, "transfer-encoding") != 0)
			break;
		w->encodings++;
		w->chunked = !strcasecmp(value, "chunked");
		break;
	default:
		break;
	}
}

static enum MHD_Result on_header(void *ctx, enum MHD_ValueKind kind,
				 const char *name, size_t name_len,
				 const char *value, size_t value_len)
{
	struct walk *w = ctx;

	(void)kind;
	if (!is_token(name, name_len))
		w->why = "a header's name is malformed";
	else if (!is_placed(w, name, name_len, value))
		w->why = "a header is malformed";
	else if (!is_text(value, value_len))
		w->why = "a header holds a control character";
	if (w->why)
		return MHD_NO;
	note(w, name, name_len, value);
	w->end = value + value_len;
	return MHD_YES;
}

/* Of digits only: libmicrohttpd has seen to that. */
static uint64_t parse_length(const char *s)
{
	uint64_t n = 0;

	for (; *s; s++) {
		if (n > (UINT64_MAX - 9) / 10)
			return UINT64_MAX;
		n = n * 10 + (uint64_t)(*s - '0');
	}
	return n;
}

static const char *check_line(const struct request *r, const char *url,
			      const char *version)
{
	const char *method = r->base.method;

	if (method + strlen(method) + 1 != url ||
	    url + r->target_len + 1 != version ||
	    !is_token(method, strlen(method)) ||
	    !is_text(r->base.target, r->target_len))
		return "the request line is malformed";
	return NULL;
}

static const char *check_framing(const struct walk *w, const char *version)
{
	if (w->hosts > 1)
		return "Host was sent twice";
	if (w->lengths > 1)
		return "Content-Length was sent twice";
	if (w->lengths && w->encodings)
		return "Content-Length and Transfer-Encoding were both sent";
	if (w->encodings > 1 || (w->encodings && !w->chunked))
		return "a Transfer-Encoding other than chunked was sent";
	if (w->encodings && !strcmp(version, "HTTP/1.0"))
		return "HTTP/1.0 has no Transfer-Encoding";
	return NULL;
}

int guard_check(const struct request *r, struct MHD_Connection *mhd,
		const char *url, const char *version,
		struct guard_facts *ret_facts, const char **ret_why)
{
	struct walk w = {.end = version + strlen(version)};
	const union MHD_ConnectionInfo *info;

	w.why = check_line(r, url, version);
	if (!w.why)
		MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, on_header,
					    &w);
	info = MHD_get_connection_info(mhd,
				       MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (!w.why && w.end + 4 != r->base.method + info->header_size)
		w.why = "a header is malformed";
	if (!w.why)
		w.why = check_framing(&w, version);
	*ret_why = w.why;
	if (w.why)
		return 400;
	ret_facts->request_id = w.request_id;
	ret_facts->chunked = w.chunked;
	ret_facts->expects = w.expect != NULL;
	ret_facts->length = w.length ? parse_length(w.length) : 0;
	if (w.expect && strcasecmp(w.expect, "100-continue") != 0) {
		*ret_why = "only 100-continue can be expected";
		return 417;
	}
	if (ret_facts->length > r->server->conf.max_body) {
		*ret_why = "the body is larger than this server takes";
		return 413;
	}
	return 0;
}
