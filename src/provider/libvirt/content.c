#include "provider/libvirt/content.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/qcow2.h"

const char *const disk_format_names[] = {NULL, "raw", "qcow2", NULL};

enum { SECTOR = 512, BOOT_MARK = 510 };

#define GIB (UINT64_C(1) << 30)

/* What people send that is not a disk, or not one that is taken. */
static const struct {
	size_t at, len;
	const char *bytes, *what;
} others[] = {
	{0, 2, "\x1f\x8b", "compressed by gzip: unpack it first"},
	{0, 6,
	 "\xfd"
	 "7zXZ\0",
	 "compressed by xz: unpack it first"},
	{0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd: unpack it first"},
	{0, 3, "BZh", "compressed by bzip2: unpack it first"},
	{0, 4, "PK\3\4", "a zip archive: unpack it first"},
	{0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"},
	{257, 5, "ustar", "a tar archive: unpack it first"},
	{0, 4, "KDMV", "of VMware's format: convert it to qcow2 first"},
	{0, 4, "COWD", "of VMware's format: convert it to qcow2 first"},
	{0, 21, "# Disk DescriptorFile",
	 "of VMware's format: convert it to qcow2 first"},
	{0x40, 4, "\x7f\x10\xda\xbe",
	 "of VirtualBox' format: convert it to qcow2 first"},
	{0, 8, "conectix", "of the VHD format: convert it to qcow2 first"},
	{0, 8, "vhdxfile", "of the VHDX format: convert it to qcow2 first"},
	{0, 4, "QED\0", "of the QED format: convert it to qcow2 first"},
	{0, 6, "LUKS\xba\xbe", "encrypted, which is not allowed"},
	{0, 16, "WithoutFreeSpace",
	 "of Parallels' format: convert it to qcow2 first"},
	{0, 16, "WithouFreSpacExt",
	 "of Parallels' format: convert it to qcow2 first"},
	{0, 2, "<!", "a web page, not a disk"},
	{0, 5, "<html", "a web page, not a disk"},
};

static bool has_at(const unsigned char *head, size_t len, size_t at,
		   const void *bytes, size_t n)
{
	return len >= at && len - at >= n && memcmp(head + at, bytes, n) == 0;
}

int content_format(const void *head, size_t len, enum disk_format *ret,
		   struct err *err)
{
	if (qcow2_is(head, len)) {
		*ret = DISK_QCOW2;
		return 0;
	}
	for (size_t i = 0; i < COUNT_OF(others); i++)
		if (has_at(head, len, others[i].at, others[i].bytes,
			   others[i].len))
			return err_set(err, ERR_INVALID, "the file is %s",
				       others[i].what);
	if (!has_at(head, len, BOOT_MARK, "\x55\xaa", 2))
		return err_set(err, ERR_INVALID,
			       "the file is neither qcow2 nor a disk with a "
			       "boot sector");
	*ret = DISK_RAW;
	return 0;
}

static bool read_at(void *ctx, uint64_t at, void *to, size_t len)
{
	const int *fd = ctx;
	char *p = to;

	while (len) {
		ssize_t n = pread(*fd, p, len, (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

static int check_size(uint64_t size, uint64_t most, struct err *err)
{
	const unsigned long long gib = size / GIB + (size % GIB != 0);

	if (size % SECTOR)
		return err_set(err, ERR_INVALID,
			       "the disk is cut off: it ends within a sector");
	if (size > most)
		return err_set(err, ERR_INVALID,
			       "the disk in the file is of %llu GiB; at most "
			       "%llu are allowed here",
			       gib, (unsigned long long)most / GIB);
	return 0;
}

/* As much of a file as is looked at first. */
struct head {
	int fd;
	uint64_t file_len;
	size_t len;
	unsigned char *bytes;
};

static int read_head(struct head *h, struct err *err)
{
	struct stat st;

	if (fstat(h->fd, &st) < 0)
		return err_set(err, ERR_INTERNAL, "cannot look at the file: %s",
			       strerror(errno));
	h->file_len = (uint64_t)st.st_size;
	h->len = h->file_len < QCOW2_HEAD ? (size_t)h->file_len : QCOW2_HEAD;
	if (!read_at(&h->fd, 0, h->bytes, h->len))
		return err_set(err, ERR_UNAVAILABLE, "cannot read the file: %s",
			       strerror(errno));
	return 0;
}

/* The size before the tables, whose length follows from it. */
static int check_qcow2(struct head *h, uint64_t most, uint64_t *ret_size,
		       struct err *err)
{
	const struct qcow2_source from = {read_at, &h->fd};
	struct qcow2 q;

	if (qcow2_parse(h->bytes, h->len, h->file_len, &q, err) < 0 ||
	    qcow2_alone(&q, err) < 0 || check_size(q.size, most, err) < 0)
		return -1;
	*ret_size = q.size;
	return qcow2_whole(&q, &from, err);
}

int content_check(int fd, uint64_t most, struct content *ret, struct err *err)
{
	auto_free unsigned char *bytes = xmalloc(QCOW2_HEAD);
	struct head h = {.fd = fd, .bytes = bytes};
	struct content c = {0};

	if (read_head(&h, err) < 0 ||
	    content_format(bytes, h.len, &c.format, err) < 0)
		return -1;
	c.size = h.file_len;
	if ((c.format == DISK_QCOW2 ? check_qcow2(&h, most, &c.size, err)
				    : check_size(c.size, most, err)) < 0)
		return -1;
	*ret = c;
	return 0;
}
