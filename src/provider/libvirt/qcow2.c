#include "provider/libvirt/qcow2.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The format's names for places in the header, and QEMU's limits. */
enum {
	AT_VERSION = 4,
	AT_BACKING = 8,
	AT_BACKING_LEN = 16,
	AT_CLUSTER_BITS = 20,
	AT_SIZE = 24,
	AT_CRYPT = 32,
	AT_L1_ENTRIES = 36,
	AT_L1 = 40,
	AT_REFCOUNT = 48,
	AT_REFCOUNT_CLUSTERS = 56,
	AT_SNAPSHOTS = 60,
	HEADER_2 = 72,
	AT_INCOMPATIBLE = 72,
	AT_REFCOUNT_ORDER = 96,
	AT_LENGTH = 100,
	HEADER_3 = 104,
	AT_COMPRESSION = 104,
	CLUSTER_BITS_LEAST = 9,
	CLUSTER_BITS_MOST = 21,
	L1_ENTRIES_MOST = (32 << 20) / 8,
	REFCOUNT_MOST = 8 << 20,
	BACKING_MOST = 1023,
	SECTOR = 512,
};

enum {
	FEATURE_DIRTY = 1, /* harmless to who only reads */
	FEATURE_CORRUPT = 2,
	FEATURE_DATA_FILE = 4,
	FEATURE_COMPRESSION = 8,
	FEATURE_EXTENDED_L2 = 16,
	FEATURES = 31,
};

#define EXTENSION_END        UINT32_C(0)
#define EXTENSION_ENCRYPTION UINT32_C(0x0537be77)
#define EXTENSION_DATA_FILE  UINT32_C(0x44415441)

#define OFFSET_MASK UINT64_C(0x00fffffffffffe00)
#define COMPRESSED  (UINT64_C(1) << 62)

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static uint64_t be64(const unsigned char *p)
{
	return (uint64_t)be32(p) << 32 | be32(p + 4);
}

static int bad(struct err *err, const char *what)
{
	return err_set(err, ERR_INVALID, "the qcow2 file %s", what);
}

static int cut(struct err *err)
{
	return bad(err, "is cut off: not all that it names is in it");
}

/* LEN bytes at AT end within the file, without running over. */
static bool has(const struct qcow2 *q, uint64_t at, uint64_t len)
{
	return at <= q->file_len && len <= q->file_len - at;
}

bool qcow2_is(const void *head, size_t len)
{
	return len >= 4 && memcmp(head, "QFI\xfb", 4) == 0;
}

static uint64_t cluster(const struct qcow2 *q)
{
	return UINT64_C(1) << q->cluster_bits;
}

static unsigned entry_len(const struct qcow2 *q)
{
	return q->extended_l2 ? 16 : 8;
}

/* After the header come records of a type and a length, up to an end, the name
 * of a backing file, or the end of the cluster. */
static int read_extensions(struct qcow2 *q, const unsigned char *p, size_t at,
			   size_t end, struct err *err)
{
	while (at < end) {
		uint32_t type, len;

		if (end - at < 8)
			return bad(err, "has a header that ends too early");
		type = be32(p + at);
		len = be32(p + at + 4);
		at += 8;
		if (type == EXTENSION_END)
			return 0;
		if (len > end - at)
			return bad(err, "has a header that ends too early");
		if (type == EXTENSION_ENCRYPTION)
			q->encrypted = true;
		if (type == EXTENSION_DATA_FILE)
			q->data_file = true;
		at += ((size_t)len + 7) & ~(size_t)7;
	}
	return 0;
}

/* What version 3 has more: features, and where the extensions begin. */
static int read_features(struct qcow2 *q, const unsigned char *p, size_t len,
			 size_t *ret_at, struct err *err)
{
	uint64_t features;
	uint32_t header;

	if (len < HEADER_3)
		return cut(err);
	features = be64(p + AT_INCOMPATIBLE);
	header = be32(p + AT_LENGTH);
	if (features & ~(uint64_t)FEATURES)
		return bad(err, "needs features that are not known here");
	if (header < HEADER_3 || header % 8 || header > cluster(q))
		return bad(err, "has a header of an odd length");
	if (header > len)
		return cut(err);
	if (be32(p + AT_REFCOUNT_ORDER) > 6)
		return bad(err, "counts references in an odd way");
	if (features & FEATURE_COMPRESSION &&
	    (header <= AT_COMPRESSION || p[AT_COMPRESSION] > 1))
		return bad(err, "is compressed in a way not known here");
	q->corrupt = features & FEATURE_CORRUPT;
	q->data_file = features & FEATURE_DATA_FILE;
	q->extended_l2 = features & FEATURE_EXTENDED_L2;
	if (q->extended_l2 && q->cluster_bits < 14)
		return bad(err, "has clusters that are too small");
	*ret_at = header;
	return 0;
}

static int read_backing(struct qcow2 *q, const unsigned char *p, size_t len,
			struct err *err)
{
	q->backing_at = be64(p + AT_BACKING);
	q->backing_len = be32(p + AT_BACKING_LEN);
	if (!q->backing_at)
		return 0;
	if (q->backing_len > BACKING_MOST || q->backing_at > cluster(q) ||
	    q->backing_len > cluster(q) - q->backing_at ||
	    q->backing_at > len || q->backing_len > len - q->backing_at)
		return bad(err, "has the name of another file at an odd place");
	return 0;
}

static int read_tables(struct qcow2 *q, const unsigned char *p, struct err *err)
{
	uint64_t covers = cluster(q) * (cluster(q) / entry_len(q));
	uint64_t need;

	if (!q->size || q->size % SECTOR || q->size > INT64_MAX)
		return bad(err, "has a disk of an odd size in it");
	need = (q->size - 1) / covers + 1;
	q->l1_offset = be64(p + AT_L1);
	if (need > L1_ENTRIES_MOST || need > be32(p + AT_L1_ENTRIES) ||
	    be32(p + AT_L1_ENTRIES) > L1_ENTRIES_MOST)
		return bad(err, "has a table that does not fit its size");
	q->l1_entries = (uint32_t)need;
	q->refcount_offset = be64(p + AT_REFCOUNT);
	q->refcount_len = be32(p + AT_REFCOUNT_CLUSTERS) * cluster(q);
	if (!q->refcount_len || q->refcount_len > REFCOUNT_MOST ||
	    !q->refcount_offset || !q->l1_offset ||
	    (q->refcount_offset | q->l1_offset) & (cluster(q) - 1))
		return bad(err, "has tables at odd places");
	/* The last cluster of a file need not be whole. */
	if (!has(q, q->l1_offset,
		 (uint64_t)be32(p + AT_L1_ENTRIES) * sizeof(uint64_t)) ||
	    !has(q, q->refcount_offset, q->refcount_len - cluster(q) + 1))
		return cut(err);
	return 0;
}

int qcow2_parse(const void *head, size_t len, uint64_t file_len,
		struct qcow2 *ret, struct err *err)
{
	const unsigned char *p = head;
	struct qcow2 q = {.file_len = file_len};
	size_t at = HEADER_2, end;

	if (!qcow2_is(p, len))
		return err_set(err, ERR_INVALID, "it is not a qcow2 file");
	if (len < HEADER_2)
		return cut(err);
	q.version = be32(p + AT_VERSION);
	q.cluster_bits = be32(p + AT_CLUSTER_BITS);
	q.size = be64(p + AT_SIZE);
	q.snapshots = be32(p + AT_SNAPSHOTS);
	q.encrypted = be32(p + AT_CRYPT) != 0;
	if (q.version != 2 && q.version != 3)
		return bad(err, "is of a version other than 2 and 3");
	if (q.cluster_bits < CLUSTER_BITS_LEAST ||
	    q.cluster_bits > CLUSTER_BITS_MOST)
		return bad(err, "has clusters of an odd size");
	if (q.version == 3 && read_features(&q, p, len, &at, err) < 0)
		return -1;
	if (read_backing(&q, p, len, err) < 0 || read_tables(&q, p, err) < 0)
		return -1;
	end = q.backing_at ? (size_t)q.backing_at : (size_t)cluster(&q);
	if (end > len)
		end = len;
	if (read_extensions(&q, p, at, end, err) < 0)
		return -1;
	*ret = q;
	return 0;
}

int qcow2_alone(const struct qcow2 *q, struct err *err)
{
	if (q->backing_at || q->backing_len)
		return bad(err, "names a backing file, which is not allowed");
	if (q->data_file)
		return bad(err, "keeps its data in another file, which is not "
				"allowed");
	if (q->encrypted)
		return bad(err, "is encrypted, which is not allowed");
	if (q->snapshots)
		return bad(err, "has snapshots in it, which is not allowed");
	if (q->corrupt)
		return bad(err, "is marked as corrupt");
	return 0;
}

/* How far the tables have been walked. */
struct walk {
	const struct qcow2 *q;
	const struct qcow2_source *from;
	unsigned char *table; /* a part of one of the second level */
	uint64_t tables;      /* of the second level */
	uint64_t clusters;    /* that are not compressed */
};

enum { TABLE_PART = 64 << 10, L1_PART = 4096 };

static int check_compressed(const struct qcow2 *q, uint64_t entry,
			    struct err *err)
{
	unsigned shift = 62 - (q->cluster_bits - 8);
	uint64_t at = entry & ((UINT64_C(1) << shift) - 1);
	uint64_t sectors = ((entry & (COMPRESSED - 1)) >> shift) + 1;
	uint64_t end = at / SECTOR * SECTOR + sectors * SECTOR;

	/* Its end is rounded up to a sector. */
	if (at >= q->file_len || end >= q->file_len + SECTOR)
		return cut(err);
	return 0;
}

static int check_entry(struct walk *w, uint64_t entry, struct err *err)
{
	const struct qcow2 *q = w->q;
	uint64_t at = entry & OFFSET_MASK;

	if (entry & COMPRESSED)
		return check_compressed(q, entry, err);
	if (!at)
		return 0;
	if (at & (cluster(q) - 1))
		return bad(err, "has a cluster at an odd place");
	if (at >= q->file_len)
		return cut(err);
	if (++w->clusters > q->file_len / cluster(q) + 1)
		return bad(err, "has the same cluster in many places");
	return 0;
}

static int check_table(struct walk *w, uint64_t at, struct err *err)
{
	const struct qcow2 *q = w->q;
	uint64_t len = cluster(q), n;

	if (at & (cluster(q) - 1))
		return bad(err, "has a table at an odd place");
	if (!has(q, at, len))
		return cut(err);
	if (++w->tables > q->file_len / len)
		return bad(err, "has the same table in many places");
	for (uint64_t done = 0; done < len; done += n) {
		n = len - done < TABLE_PART ? len - done : TABLE_PART;
		if (!w->from->read(w->from->ctx, at + done, w->table,
				   (size_t)n))
			return cut(err);
		for (uint64_t i = 0; i < n; i += entry_len(q))
			if (check_entry(w, be64(w->table + i), err) < 0)
				return -1;
	}
	return 0;
}

int qcow2_whole(const struct qcow2 *q, const struct qcow2_source *from,
		struct err *err)
{
	auto_free unsigned char *table = xmalloc(TABLE_PART);
	struct walk w = {.q = q, .from = from, .table = table};
	unsigned char part[L1_PART];
	uint64_t at = q->l1_offset, left = (uint64_t)q->l1_entries * 8, n;

	for (; left; left -= n, at += n) {
		n = left < L1_PART ? left : L1_PART;
		if (!from->read(from->ctx, at, part, (size_t)n))
			return cut(err);
		for (uint64_t i = 0; i < n; i += 8) {
			uint64_t entry = be64(part + i) & OFFSET_MASK;

			if (entry && check_table(&w, entry, err) < 0)
				return -1;
		}
	}
	return 0;
}
