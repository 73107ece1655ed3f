#include "store/line.h"

#include <stdlib.h>
#include <string.h>

/* The word at *P up to STOP, into TO; false when it does not fit or there is
 * no STOP before END. */
static bool word(const char **p, const char *end, char stop, char *to,
		 size_t room)
{
	const char *hit = memchr(*p, stop, (size_t)(end - *p));
	size_t len;

	if (!hit)
		return false;
	len = (size_t)(hit - *p);
	if (!len || len >= room)
		return false;
	memcpy(to, *p, len);
	to[len] = '\0';
	*p = hit + 1;
	return true;
}

static bool read_version(const char *text, unsigned *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*ret = (unsigned)v;
	return !*end && v >= 1 && v < 1000;
}

static bool read_write(const char *p, const char *end, struct line *l)
{
	char version[8];

	if (!word(&p, end, '@', l->kind, sizeof(l->kind)) ||
	    !word(&p, end, ' ', version, sizeof(version)) ||
	    !read_version(version, &l->version))
		return false;
	if (l->type == '-')
		return word(&p, end + 1, '\n', l->id, sizeof(l->id));
	if (!word(&p, end, ' ', l->id, sizeof(l->id)))
		return false;
	l->json = p;
	l->len = (size_t)(end - p);
	return l->len > 0;
}

static bool read_memo(const char *p, const char *end, struct line *l)
{
	return word(&p, end, ' ', l->key, sizeof(l->key)) &&
	       word(&p, end, ' ', l->digest, sizeof(l->digest)) &&
	       word(&p, end, ' ', l->kind, sizeof(l->kind)) &&
	       word(&p, end + 1, '\n', l->id, sizeof(l->id));
}

int line_read(const char **data, const char *end, struct line *ret,
	      struct err *err)
{
	const char *p = *data, *stop;
	bool ok = false;

	if (p == end)
		return 0;
	stop = memchr(p, '\n', (size_t)(end - p));
	if (!stop)
		return err_set(err, ERR_INTERNAL, "a line is cut short");
	ret->type = *p++;
	if (ret->type == '+' || ret->type == '-')
		ok = read_write(p, stop, ret);
	else if (ret->type == '=')
		ok = read_memo(p, stop, ret);
	if (!ok)
		return err_set(
			err, ERR_INTERNAL, "a line that cannot be read: %.*s",
			stop - *data < 40 ? (int)(stop - *data) : 40, *data);
	*data = stop + 1;
	return 1;
}

void line_begin(struct buf *b, char type, const char *kind, unsigned version,
		const char *id)
{
	buf_addc(b, type);
	buf_adds(b, kind);
	buf_addc(b, '@');
	buf_addi(b, version);
	buf_addc(b, ' ');
	buf_adds(b, id);
}

void line_memo(struct buf *b, const char *key, const char *digest,
	       const char *kind, const char *id)
{
	buf_addc(b, '=');
	buf_adds(b, key);
	buf_addc(b, ' ');
	buf_adds(b, digest);
	buf_addc(b, ' ');
	buf_adds(b, kind);
	buf_addc(b, ' ');
	buf_adds(b, id);
	buf_addc(b, '\n');
}
