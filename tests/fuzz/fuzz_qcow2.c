/*
 * A file that says it is a qcow2 image.  Whatever it is, it is taken or refused
 * with a reason; nothing is read that is not in it, and what is taken names no
 * other file and holds a disk that its tables cover.
 */

#include "fuzz/fuzz.h"
#include "provider/libvirt/content.h"
#include "provider/libvirt/qcow2.h"

struct file {
	const uint8_t *data;
	size_t size;
};

static bool read_file(void *ctx, uint64_t at, void *to, size_t len)
{
	const struct file *f = ctx;

	MUST(at <= f->size && len <= f->size - at);
	memcpy(to, f->data + at, len);
	return true;
}

static void check_alone(const struct qcow2 *q)
{
	MUST(!q->backing_at && !q->backing_len && !q->data_file);
	MUST(!q->encrypted && !q->snapshots && !q->corrupt);
	MUST(q->size && q->size % 512 == 0);
	MUST(q->cluster_bits >= 9 && q->cluster_bits <= 21);
	MUST(q->l1_entries && q->l1_offset + q->l1_entries * 8 <= q->file_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file f = {data, size};
	const struct qcow2_source from = {read_file, &f};
	enum disk_format format;
	struct err err = {0};
	struct qcow2 q;

	if (content_format(data, size, &format, &err) < 0)
		MUST(err.code == ERR_INVALID && err.msg[0]);
	err = (struct err){0};
	if (qcow2_parse(data, size, size, &q, &err) < 0 ||
	    qcow2_alone(&q, &err) < 0) {
		MUST(err.code == ERR_INVALID && err.msg[0]);
		return 0;
	}
	check_alone(&q);
	if (qcow2_whole(&q, &from, &err) < 0)
		MUST(err.code == ERR_INVALID && err.msg[0]);
	return 0;
}
