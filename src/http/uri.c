#include "http/uri.h"

#include <stdbool.h>
#include <string.h>

#include "base/attr.h"

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* What may stand unescaped in a path segment or a query (RFC 3986). */
static const bool plain[256] = {
	['!'] = true,         ['$'] = true, ['&' ... ';'] = true, ['='] = true,
	['?' ... 'Z'] = true, ['_'] = true, ['a' ... 'z'] = true, ['~'] = true,
};

/* How many bytes follow the first of a UTF-8 sequence, and the least code
 * point that needs so many; -1: not a first byte. */
static int follows(unsigned char c, unsigned *ret_bits, unsigned *ret_least)
{
	if (c < 0x80) {
		*ret_bits = c;
		*ret_least = 0;
		return 0;
	}
	if (c >= 0xc2 && c <= 0xdf) {
		*ret_bits = c & 0x1fU;
		*ret_least = 0x80;
		return 1;
	}
	if (c >= 0xe0 && c <= 0xef) {
		*ret_bits = c & 0xfU;
		*ret_least = 0x800;
		return 2;
	}
	if (c >= 0xf0 && c <= 0xf4) {
		*ret_bits = c & 7U;
		*ret_least = 0x10000;
		return 3;
	}
	return -1;
}

/* UTF-8 without control characters, C1's among them. */
static bool is_text(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len) {
		unsigned code, least;
		int more = follows((unsigned char)s[i++], &code, &least);

		if (more < 0 || (size_t)more > len - i)
			return false;
		while (more-- > 0) {
			unsigned char c = (unsigned char)s[i++];

			if ((c & 0xc0) != 0x80)
				return false;
			code = code << 6 | (c & 0x3fU);
		}
		if (code < least || code > 0x10ffff || code < 0x20 ||
		    (code >= 0x7f && code < 0xa0) ||
		    (code >= 0xd800 && code < 0xe000))
			return false;
	}
	return true;
}

static int bad(struct err *err, const char *why)
{
	return err_set(err, ERR_INVALID, "the request target %s", why);
}

/* 1: something of it was escaped; 0: it stands as it came. */
static int decode(const char *from, size_t len, struct arena *a,
		  const char **ret, struct err *err)
{
	char *to = arena_try(a, len + 1);
	bool escaped = false;
	size_t n = 0;

	if (!to)
		return err_set(err, ERR_TOO_LARGE, "the request is too large");
	while (n < len && plain[(unsigned char)from[n]])
		n++;
	memcpy(to, from, n);
	for (size_t i = n; i < len; i++) {
		int hi, lo;

		if (from[i] != '%') {
			if (!plain[(unsigned char)from[i]])
				return bad(err, "holds a character that must "
						"be escaped");
			to[n++] = from[i];
			continue;
		}
		hi = i + 2 < len ? hex(from[i + 1]) : -1;
		lo = i + 2 < len ? hex(from[i + 2]) : -1;
		if (hi < 0 || lo < 0)
			return bad(err, "holds a bad escape");
		to[n++] = (char)(hi << 4 | lo);
		i += 2;
		escaped = true;
	}
	to[n] = '\0';
	if (escaped && !is_text(to, n))
		return bad(err, "is not UTF-8 text");
	*ret = to;
	return escaped;
}

static bool is_dots(const char *s)
{
	return s[0] == '.' && (!s[1] || (s[1] == '.' && !s[2]));
}

static int add_segment(struct uri *u, const char *from, size_t len,
		       struct arena *a, struct err *err)
{
	const char *text = "";
	int escaped;

	if (u->n_segments == URI_SEGMENTS_MOST)
		return bad(err, "has too many segments");
	escaped = decode(from, len, a, &text, err);
	if (escaped < 0)
		return -1;
	if (!*text)
		return bad(err, "has an empty segment");
	if (is_dots(text))
		return bad(err, "has a dot segment");
	if (escaped && strchr(text, '/'))
		return bad(err, "holds an escaped slash");
	u->segments[u->n_segments++] = text;
	return 0;
}

static int parse_path(const char *path, struct arena *a, struct uri *u,
		      struct err *err)
{
	const char *p = path;

	if (*p != '/')
		return bad(err, "does not begin with a slash");
	if (!p[1])
		return 0; /* the root has no segments */
	while (*p == '/') {
		const char *end = strchrnul(++p, '/');

		if (add_segment(u, p, (size_t)(end - p), a, err))
			return -1;
		p = end;
	}
	return 0;
}

static bool may_come(const struct uri *u, const char *name,
		     const char *const *repeatable)
{
	if (!uri_query(u, name))
		return true;
	for (; repeatable && *repeatable; repeatable++)
		if (!strcmp(*repeatable, name))
			return true;
	return false;
}

static int read_pair(const char *from, size_t len, struct arena *a,
		     struct uri_pair *ret, struct err *err)
{
	const char *equals = memchr(from, '=', len);
	size_t name_len = equals ? (size_t)(equals - from) : len;

	if (decode(from, name_len, a, &ret->name, err) < 0)
		return -1;
	if (!*ret->name)
		return bad(err, "has a query word without a name");
	if (!equals)
		return 0;
	if (decode(equals + 1, len - name_len - 1, a, &ret->value, err) < 0)
		return -1;
	return 0;
}

static int parse_query(const char *p, const char *const *repeatable,
		       struct arena *a, struct uri *u, struct err *err)
{
	if (!*p)
		return 0;
	for (;; p++) {
		size_t len = (size_t)(strchrnul(p, '&') - p);
		struct uri_pair pair = {"", ""};

		if (u->n_query == URI_QUERY_MOST)
			return bad(err, "has too many query words");
		if (read_pair(p, len, a, &pair, err))
			return -1;
		if (!may_come(u, pair.name, repeatable))
			return bad(err, "has a query word twice");
		u->query[u->n_query++] = pair;
		p += len;
		if (!*p)
			return 0;
	}
}

int uri_parse(const char *target, const char *const *repeatable,
	      struct arena *a, struct uri *ret, struct err *err)
{
	size_t len = strlen(target);
	size_t path_len = (size_t)(strchrnul(target, '?') - target);
	char *path;

	ret->path = NULL;
	ret->n_segments = ret->n_query = 0;
	if (len > URI_LENGTH_MOST)
		return bad(err, "is too long");
	if (strchr(target, '#'))
		return bad(err, "has a fragment");
	path = arena_try(a, path_len + 1);
	if (!path)
		return err_set(err, ERR_TOO_LARGE, "the request is too large");
	memcpy(path, target, path_len);
	path[path_len] = '\0';
	ret->path = path;
	if (parse_path(path, a, ret, err))
		return -1;
	if (target[path_len] == '?' &&
	    parse_query(target + path_len + 1, repeatable, a, ret, err))
		return -1;
	return 0;
}

const char *uri_query(const struct uri *u, const char *name)
{
	for (size_t i = 0; i < u->n_query; i++)
		if (!strcmp(u->query[i].name, name))
			return u->query[i].value;
	return NULL;
}

void uri_add_escaped(struct buf *b, const char *text)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || strchr("-._~", c)) {
			buf_addc(b, *text);
			continue;
		}
		buf_addc(b, '%');
		buf_addc(b, digits[c >> 4]);
		buf_addc(b, digits[c & 15]);
	}
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* HOST, and then the end, a port or a path. */
static bool is_host(const char *s, const char *host)
{
	return starts(s, host) && strchr(":/?", s[strlen(host)]);
}

bool uri_is_trusty(const char *url)
{
	bool tls = starts(url, "https://");
	const char *host = url + (tls ? 8 : 7);
	size_t len;

	if (strlen(url) > URI_LENGTH_MOST || (!tls && !starts(url, "http://")))
		return false;
	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p > '~' || *p == '#' || *p == '\\')
			return false;
	len = strcspn(host, "/?");
	if (!len || memchr(host, '@', len))
		return false;
	return tls || is_host(host, "127.0.0.1") ||
	       is_host(host, "localhost") || is_host(host, "[::1]");
}
