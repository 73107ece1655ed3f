/*
 * qcow2 - the header and the tables of a qcow2 file, read with suspicion.
 *
 * The bytes come from anyone: nothing in them is believed before it was looked
 * at, and nothing outside the file is ever named by it.  What is refused is
 * ERR_INVALID with words for whoever sent it.  Pure: reads only what it is
 * given, from any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What of a file is looked at as its head: the largest cluster there is. */
enum { QCOW2_HEAD = 2 << 20 };

struct qcow2 {
	unsigned version, cluster_bits;
	uint64_t size; /* of the disk that is in it, in bytes */
	uint64_t l1_offset;
	uint32_t l1_entries; /* as many as the size needs */
	uint64_t refcount_offset;
	uint64_t refcount_len;
	uint32_t snapshots;
	bool extended_l2; /* entries of 16 bytes */
	bool encrypted, data_file, corrupt;
	uint64_t backing_at; /* of the name in the head; 0: there is none */
	uint32_t backing_len;
	uint64_t file_len;
};

/* Where the bytes are; false when they cannot be had. */
struct qcow2_source {
	bool (*read)(void *ctx, uint64_t at, void *to, size_t len);
	void *ctx;
};

bool qcow2_is(const void *head, size_t len);

/* Of HEAD, the first LEN bytes of a file of FILE_LEN: all of them, or
 * QCOW2_HEAD. */
int qcow2_parse(const void *head, size_t len, uint64_t file_len,
		struct qcow2 *ret, struct err *err) MUST_CHECK;

/* It is all of the disk, and readable: no other file behind it or beside it,
 * no encryption, no snapshots inside, and not marked as broken. */
int qcow2_alone(const struct qcow2 *q, struct err *err) MUST_CHECK;

/* Everything that the tables name lies in the file: nothing was cut off, and
 * nothing is there twice.  Of one that is alone. */
int qcow2_whole(const struct qcow2 *q, const struct qcow2_source *from,
		struct err *err) MUST_CHECK;
