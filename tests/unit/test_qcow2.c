#include "provider/libvirt/qcow2.h"

#include <stdlib.h>

#include "base/attr.h"
#include "provider/libvirt/content.h"
#include "test.h"

/* A small one: clusters of 512 bytes; the header, the count of references, the
 * first table, one of the second level, and a cluster with data. */
enum {
	CLUSTER = 512,
	AT_REFCOUNT = 1 * CLUSTER,
	AT_L1 = 2 * CLUSTER,
	AT_L2 = 3 * CLUSTER,
	AT_DATA = 4 * CLUSTER,
	LEN = 5 * CLUSTER,
	SIZE = 64 << 10, /* two tables of the second level */
};

struct file {
	unsigned char bytes[LEN];
	size_t len;
};

static void put32(struct file *f, size_t at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		f->bytes[at + (size_t)i] = (unsigned char)(v >> (24 - 8 * i));
}

static void put64(struct file *f, size_t at, uint64_t v)
{
	put32(f, at, (uint32_t)(v >> 32));
	put32(f, at + 4, (uint32_t)v);
}

static struct file small(void)
{
	struct file f = {.len = LEN};

	memcpy(f.bytes, "QFI\xfb", 4);
	put32(&f, 4, 3);
	put32(&f, 20, 9); /* cluster bits */
	put64(&f, 24, SIZE);
	put32(&f, 36, 2); /* entries of the first table */
	put64(&f, 40, AT_L1);
	put64(&f, 48, AT_REFCOUNT);
	put32(&f, 56, 1);
	put32(&f, 96, 4);
	put32(&f, 100, 104);
	put64(&f, AT_L1, AT_L2 | UINT64_C(1) << 63);
	put64(&f, AT_L2, AT_DATA | UINT64_C(1) << 63);
	return f;
}

static bool read_file(void *ctx, uint64_t at, void *to, size_t len)
{
	const struct file *f = ctx;

	CHECK(at <= f->len && len <= f->len - at);
	memcpy(to, f->bytes + at, len);
	return true;
}

/* What is said of it: "" when it is taken. */
static const char *verdict(struct file *f)
{
	const struct qcow2_source from = {read_file, f};
	static struct err err;
	struct qcow2 q;

	err = (struct err){0};
	if (qcow2_parse(f->bytes, f->len, f->len, &q, &err) < 0 ||
	    qcow2_alone(&q, &err) < 0 || qcow2_whole(&q, &from, &err) < 0)
		CHECK(err.code == ERR_INVALID);
	return err.msg;
}

static void a_small_one_is_taken(void)
{
	struct file f = small();
	struct err err = {0};
	struct qcow2 q;

	CHECK_STR(verdict(&f), "");
	CHECK(qcow2_parse(f.bytes, f.len, f.len, &q, &err) == 0);
	CHECK(q.size == SIZE && q.version == 3 && q.l1_entries == 2);
	put32(&f, 4, 2);
	CHECK_STR(verdict(&f), "");
	/* Dirty, with lazy references: harmless to who reads. */
	f = small();
	put64(&f, 72, 1);
	CHECK_STR(verdict(&f), "");
	/* The last cluster need not be whole. */
	f = small();
	f.len = LEN - 100;
	CHECK_STR(verdict(&f), "");
}

/* Each is one change of the small one. */
static const struct {
	const char *name;
	size_t at;
	int bytes; /* 4 or 8 */
	uint64_t value;
	const char *says;
} wrong[] = {
	{"magic", 0, 4, 0x514649fa, "not a qcow2"},
	{"version 1", 4, 4, 1, "version"},
	{"version 4", 4, 4, 4, "version"},
	{"backing file", 8, 8, 0x1c0, "names a backing file"},
	{"backing file beyond the head", 8, 8, 0x4000, "odd place"},
	{"backing file far away", 8, 8, UINT64_MAX, "odd place"},
	{"length of a backing file alone", 16, 4, 5, "names a backing file"},
	{"clusters too small", 20, 4, 8, "odd size"},
	{"clusters too large", 20, 4, 22, "odd size"},
	{"no disk", 24, 8, 0, "odd size"},
	{"half a sector", 24, 8, SIZE + 1, "odd size"},
	{"a negative size", 24, 8, UINT64_C(1) << 63, "odd size"},
	{"an enormous size", 24, 8, INT64_MAX & ~511, "does not fit its size"},
	{"more than its table has", 24, 8, SIZE + 512, "does not fit its size"},
	{"AES", 32, 4, 1, "encrypted"},
	{"LUKS", 32, 4, 2, "encrypted"},
	{"a table too short", 36, 4, 1, "does not fit its size"},
	{"an enormous table", 36, 4, UINT32_MAX, "does not fit its size"},
	{"a table beyond the end", 40, 8, LEN, "cut off"},
	{"a table far beyond", 40, 8, UINT64_MAX - 511, "cut off"},
	{"a table at an odd place", 40, 8, AT_L1 + 8, "odd places"},
	{"no table", 40, 8, 0, "odd places"},
	{"no count", 56, 4, 0, "odd places"},
	{"an enormous count", 56, 4, UINT32_MAX, "odd places"},
	{"a count that is cut", 56, 4, 5, "cut off"},
	{"snapshots", 60, 4, 1, "snapshots"},
	{"corrupt", 72, 8, 2, "corrupt"},
	{"data elsewhere", 72, 8, 4, "another file"},
	{"an odd compression", 72, 8, 8, "compressed"},
	{"small clusters, extended", 72, 8, 16, "too small"},
	{"an unknown feature", 72, 8, 32, "not known"},
	{"the last unknown feature", 72, 8, UINT64_C(1) << 63, "not known"},
	{"an odd count", 96, 4, 7, "odd way"},
	{"a header too short", 100, 4, 96, "odd length"},
	{"a header too long", 100, 4, 1024, "odd length"},
	{"data elsewhere, by name", 104, 8, UINT64_C(0x4441544100000008),
	 "another file"},
	{"LUKS, by its header", 104, 8, UINT64_C(0x0537be7700000010),
	 "encrypted"},
	{"an endless record", 104, 8, UINT64_C(0x12345678ffffffff),
	 "ends too early"},
	{"a table of the second level that is cut", AT_L1, 8, LEN, "cut off"},
	{"one at an odd place", AT_L1, 8, AT_L2 + 0x200 - 1, ""},
	{"the same table twice", AT_L1 + 8, 8, AT_L2, ""},
	{"data beyond the end", AT_L2, 8, LEN, "cut off"},
	{"data far beyond", AT_L2, 8, UINT64_C(0x00fffffffffffe00), "cut off"},
	{"compressed, in the file", AT_L2, 8, UINT64_C(1) << 62 | AT_DATA, ""},
	{"compressed, beyond the end", AT_L2, 8, UINT64_C(1) << 62 | LEN,
	 "cut off"},
	{"compressed, over the end", AT_L2, 8, UINT64_C(3) << 61 | AT_DATA,
	 "cut off"},
};

static void what_is_wrong_is_refused(void)
{
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct file f = small();
		const char *got;

		if (wrong[i].bytes == 4)
			put32(&f, wrong[i].at, (uint32_t)wrong[i].value);
		else
			put64(&f, wrong[i].at, wrong[i].value);
		got = verdict(&f);
		if (wrong[i].says[0] ? strstr(got, wrong[i].says) != NULL
				     : !got[0])
			continue;
		printf("# %s: \"%s\"\n", wrong[i].name, got);
		CHECK(!"what is said of it");
	}
}

static void what_is_cut_is_refused(void)
{
	for (size_t len = 0; len <= AT_DATA; len++) {
		struct file f = small();

		f.len = len;
		CHECK(verdict(&f)[0]);
	}
}

/* A short file that would be a long disk with data everywhere. */
static void one_cluster_in_many_places_is_refused(void)
{
	struct file f = small();

	for (size_t i = 0; i < CLUSTER / 8; i++)
		put64(&f, AT_L2 + 8 * i, AT_DATA);
	CHECK(strstr(verdict(&f), "in many places"));
}

static const struct {
	const char *name;
	size_t at;
	const char *bytes;
	const char *says; /* "" for a raw disk */
} kinds[] = {
	{"nothing", 0, "", "neither"},
	{"a disk", 510, "\x55\xaa", ""},
	{"gzip", 0, "\x1f\x8b", "gzip"},
	{"VMDK", 0, "KDMV", "VMware"},
	{"a descriptor", 0, "# Disk DescriptorFile\nversion=1\n", "VMware"},
	{"VHDX", 0, "vhdxfile", "VHDX"},
	{"LUKS", 0, "LUKS\xba\xbe", "encrypted"},
	{"a page", 0, "<!DOCTYPE html>", "web page"},
};

static void other_formats_are_refused(void)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		unsigned char head[4096] = {0};
		struct err err = {0};
		enum disk_format format = DISK_QCOW2;

		memcpy(head + kinds[i].at, kinds[i].bytes,
		       strlen(kinds[i].bytes));
		if (content_format(head, sizeof(head), &format, &err) == 0)
			CHECK(!kinds[i].says[0] && format == DISK_RAW);
		else
			CHECK(kinds[i].says[0] &&
			      strstr(err.msg, kinds[i].says));
	}
}

int main(void)
{
	RUN(a_small_one_is_taken);
	RUN(what_is_wrong_is_refused);
	RUN(what_is_cut_is_refused);
	RUN(one_cluster_in_many_places_is_refused);
	RUN(other_formats_are_refused);
	return test_done();
}
