/*
 * pool - a host's storage pool while it is used, and the bytes that go to and
 * from its volumes.
 */
#pragma once

#include <libvirt/libvirt.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct host;

struct pool_at {
	struct host *host;
	virConnectPtr conn;
	virStoragePoolPtr pool;
};

/* The one that the host's options name, started when it is not, and made when it
 * is the default. */
int pool_open(struct host *h, struct pool_at *ret, struct err *err) MUST_CHECK;
void pool_close(struct pool_at *p);
#define auto_pool __attribute__((cleanup(pool_close)))

/* ERR_NOT_FOUND.  RET is given back by auto_volume. */
int pool_find(struct pool_at *p, const char *name, virStorageVolPtr *ret,
	      struct err *err) MUST_CHECK;
/* The same of one that somebody else may have made. */
int pool_find_any(struct pool_at *p, const char *name, virStorageVolPtr *ret,
		  struct err *err) MUST_CHECK;
void pool_drop(virStorageVolPtr *v);
#define auto_volume __attribute__((cleanup(pool_drop)))

/* The folder that it is, there. */
int pool_folder(struct pool_at *p, struct arena *a, const char **ret,
		struct err *err) MUST_CHECK;

int pool_file_len(int fd, int64_t *ret, struct err *err) MUST_CHECK;

/* All of FD, of LEN bytes; holes are told, not sent. */
int pool_send(struct pool_at *p, virStorageVolPtr v, int fd, int64_t len,
	      const atomic_bool *stop, struct err *err) MUST_CHECK;
int pool_send_bytes(struct pool_at *p, virStorageVolPtr v, const void *bytes,
		    size_t len, struct err *err) MUST_CHECK;

/* Into an empty file. */
int pool_receive(struct pool_at *p, virStorageVolPtr v, int fd,
		 const atomic_bool *stop, struct err *err) MUST_CHECK;
int pool_receive_tail(struct pool_at *p, virStorageVolPtr v, size_t length,
		      struct buf *out, struct err *err) MUST_CHECK;
