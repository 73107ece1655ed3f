/* Bytes to and from volumes, with their holes. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider/libvirt/file.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/pool.h"

enum { PIECE = 65536 };

/* What is being sent or received. */
struct flow {
	int fd;
	int64_t at, len;
	const atomic_bool *stop;
};

static bool is_stopped(const struct flow *f)
{
	return f->stop && atomic_load(f->stop);
}

static int fail(const struct pool_at *p, const struct flow *f, const char *what,
		struct err *err)
{
	if (is_stopped(f))
		return err_set(err, ERR_UNAVAILABLE, "the copy was stopped");
	return host_err(p->host, what, err);
}

int pool_file_len(int fd, int64_t *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_INTERNAL, "cannot look at the file: %s",
			       strerror(errno));
	*ret = st.st_size;
	return 0;
}

static int take_some(virStreamPtr s, char *to, size_t room, void *ctx)
{
	struct flow *f = ctx;
	int64_t left = f->len - f->at;
	ssize_t n;

	(void)s;
	if (is_stopped(f))
		return -1;
	if ((int64_t)room > left)
		room = (size_t)left;
	do
		n = pread(f->fd, to, room, f->at);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		f->at += n;
	return (int)n;
}

/* What is at F: data, or a hole, and up to where. */
static int next_hole(virStreamPtr s, int *ret_in_data, long long *ret_length,
		     void *ctx)
{
	struct flow *f = ctx;
	int64_t begin, until;

	(void)s;
	*ret_in_data = 0;
	*ret_length = f->len - f->at;
	if (!file_next_data(f->fd, f->at, f->len, &begin, &until))
		return 0;
	*ret_in_data = begin == f->at;
	*ret_length = (*ret_in_data ? until : begin) - f->at;
	return 0;
}

static int skip(virStreamPtr s, long long length, void *ctx)
{
	struct flow *f = ctx;

	(void)s;
	f->at += length;
	return 0;
}

static int end(struct pool_at *p, virStreamPtr s, int rc, const struct flow *f,
	       const char *what, struct err *err)
{
	if (rc == 0 && virStreamFinish(s) < 0)
		rc = -1;
	if (rc < 0) {
		fail(p, f, what, err);
		virStreamAbort(s); /* it may not be over yet */
	}
	virStreamFree(s);
	return rc;
}

int pool_send(struct pool_at *p, virStorageVolPtr v, int fd, int64_t len,
	      const atomic_bool *stop, struct err *err)
{
	virStreamPtr s = virStreamNew(p->conn, 0);
	struct flow f = {fd, 0, len, stop};
	int rc;

	if (!s)
		return host_err(p->host, "send a disk", err);
	rc = virStorageVolUpload(v, s, 0, (unsigned long long)len,
				 VIR_STORAGE_VOL_UPLOAD_SPARSE_STREAM);
	if (rc == 0)
		rc = virStreamSparseSendAll(s, take_some, next_hole, skip, &f);
	return end(p, s, rc, &f, "send a disk", err);
}

int pool_send_bytes(struct pool_at *p, virStorageVolPtr v, const void *bytes,
		    size_t len, struct err *err)
{
	virStreamPtr s = virStreamNew(p->conn, 0);
	const struct flow f = {.fd = -1};
	const char *from = bytes;
	int rc, n;

	if (!s)
		return host_err(p->host, "send a file", err);
	rc = virStorageVolUpload(v, s, 0, len, 0);
	for (size_t done = 0; rc == 0 && done < len; done += (size_t)n) {
		n = virStreamSend(s, from + done, len - done);
		if (n < 0)
			rc = -1;
	}
	return end(p, s, rc, &f, "send a file", err);
}

static int put_some(virStreamPtr s, const char *from, size_t len, void *ctx)
{
	struct flow *f = ctx;
	ssize_t n;

	(void)s;
	if (is_stopped(f))
		return -1;
	do
		n = pwrite(f->fd, from, len, f->at);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		f->at += n;
	return (int)n;
}

/* A hole is where nothing was written. */
static int put_hole(virStreamPtr s, long long length, void *ctx)
{
	struct flow *f = ctx;

	(void)s;
	f->at += length;
	return ftruncate(f->fd, f->at) < 0 ? -1 : 0;
}

int pool_receive(struct pool_at *p, virStorageVolPtr v, int fd,
		 const atomic_bool *stop, struct err *err)
{
	virStreamPtr s = virStreamNew(p->conn, 0);
	struct flow f = {fd, 0, 0, stop};
	int rc;

	if (!s)
		return host_err(p->host, "receive a disk", err);
	rc = virStorageVolDownload(v, s, 0, 0,
				   VIR_STORAGE_VOL_DOWNLOAD_SPARSE_STREAM);
	if (rc == 0)
		rc = virStreamSparseRecvAll(s, put_some, put_hole, &f);
	return end(p, s, rc, &f, "receive a disk", err);
}

/* No more than LEFT bytes: whoever writes them may go on doing so. */
static int receive_into(const struct pool_at *p, virStreamPtr s, size_t left,
			struct buf *out, struct err *err)
{
	while (left) {
		size_t part = left < PIECE ? left : PIECE;
		char *to = buf_reserve(out, part);
		int n;

		if (!to)
			return err_set(err, ERR_TOO_LARGE,
				       "a file is too large");
		n = virStreamRecv(s, to, part);
		if (n < 0)
			return host_err(p->host, "read a file", err);
		if (n == 0)
			break;
		buf_grew(out, (size_t)n);
		left -= (size_t)n;
	}
	if (virStreamFinish(s) < 0)
		return host_err(p->host, "read a file", err);
	return 0;
}

static int receive_part(struct pool_at *p, virStorageVolPtr v, int64_t at,
			size_t len, struct buf *out, struct err *err)
{
	virStreamPtr s = virStreamNew(p->conn, 0);
	int rc = -1;

	if (!s)
		return host_err(p->host, "read a file", err);
	if (virStorageVolDownload(v, s, (unsigned long long)at, len, 0) < 0)
		host_err(p->host, "read a file", err);
	else
		rc = receive_into(p, s, len, out, err);
	if (rc < 0)
		virStreamAbort(s);
	virStreamFree(s);
	return rc;
}

int pool_receive_tail(struct pool_at *p, virStorageVolPtr v, size_t length,
		      struct buf *out, struct err *err)
{
	virStorageVolInfo seen;
	size_t there;

	if (virStorageVolGetInfo(v, &seen) < 0)
		return host_err(p->host, "read a file", err);
	there = (size_t)seen.capacity;
	if (length > there)
		length = there;
	/* None asked for would be all that there is. */
	if (!length)
		return 0;
	return receive_part(p, v, (int64_t)(there - length), length, out, err);
}
