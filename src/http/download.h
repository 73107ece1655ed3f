/*
 * download - a file from a web server, however large, with limits on all that
 * the server could do to us.
 *
 * Blocks; any thread may call.  A download that was cut off goes on where it
 * ended when the server still has the same file.  Redirects are followed, but
 * not from https to http.  Nobody is asked at a link-local address, which is
 * where clouds keep secrets for machines.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* What tells one version of a file from the next. */
enum { DOWNLOAD_VERSION_LEN = 127 };

struct download {
	const char *url; /* http or https */
	const char *agent;
	const char *ca_file; /* PEM; NULL: the system's */
	int fd;              /* where it goes */
	uint64_t have;       /* so many bytes are there already, */
	const char *version; /* of this version; or NULL */
	uint64_t most;       /* a longer one is refused */
	unsigned idle_ms;    /* given up when so long hardly anything came */
	unsigned timeout_ms; /* and after all of this time */
	const atomic_bool *stop; /* ends it; or NULL */

	/* The file begins at byte AT of TOTAL (0: not told); VERSION is "" when
	 * it cannot go on another time.  Then, after each piece, there are
	 * BYTES of it.  False: there is no room for it, and it is left. */
	bool (*begun)(void *ctx, const char *version, uint64_t at,
		      uint64_t total);
	bool (*grew)(void *ctx, uint64_t bytes);
	void *ctx;
};

/* 0 when all of the file is there, and nothing else.  ERR_INVALID when the
 * address or what is there is no good, ERR_TOO_LARGE, ERR_CAPACITY when there
 * is no room, ERR_TIMEOUT, or ERR_UNAVAILABLE: it may go on later. */
int download(const struct download *d, struct err *err) MUST_CHECK;
