#include "base/gunzip.h"

#define ZLIB_CONST
#include <zlib.h>

#define PIECE ((size_t)16 << 10)
#define GZIP  (15 + 16) /* windowBits: gzip and nothing else, any window */

/* One file; Z_OK or what zlib says is wrong. */
static int unpack(z_stream *z, struct buf *out)
{
	int rc = Z_OK;

	while (rc == Z_OK) {
		char piece[PIECE];

		z->next_out = (unsigned char *)piece;
		z->avail_out = PIECE;
		rc = inflate(z, Z_NO_FLUSH);
		buf_add(out, piece, PIECE - z->avail_out);
		if (!buf_ok(out))
			return Z_BUF_ERROR;
	}
	return rc == Z_STREAM_END ? Z_OK : rc;
}

/* Zeroes may follow a file, as on tapes. */
static void skip_zeroes(z_stream *z)
{
	while (z->avail_in && !*z->next_in) {
		z->next_in++;
		z->avail_in--;
	}
}

int gunzip(const void *p, size_t len, struct buf *out)
{
	z_stream z = {0};
	int rc;

	if (len > UINT32_MAX || inflateInit2(&z, GZIP) != Z_OK)
		return -1;
	z.next_in = p;
	z.avail_in = (unsigned int)len;
	do {
		rc = unpack(&z, out);
		skip_zeroes(&z);
	} while (rc == Z_OK && z.avail_in && inflateReset(&z) == Z_OK);
	inflateEnd(&z);
	return rc == Z_OK ? 0 : -1;
}
