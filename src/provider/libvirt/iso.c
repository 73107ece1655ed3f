#include "provider/libvirt/iso.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <stdint.h>
#include <string.h>

/* Where things are, by ECMA-119 8.4 and 9.1: what is counted from 1 there is
 * from 0 here. */
enum {
	SECTOR = 2048,
	VOLUME = 16 * SECTOR, /* its descriptor */
	LABEL = 40,
	LABEL_LEN = 32,
	ROOT = 156,  /* the root folder's record, in the descriptor */
	DATES = 813, /* four of them */
	DATE_LEN = 17,
	EXTENT = 2, /* in a record: its sector, */
	EXTENT_LEN = 10,
	MOMENT = 18, /* when it was written, */
	MOMENT_LEN = 7,
	NAME_LEN = 32, /* and how long its name is, which follows */
	STAMPS = 5,    /* in Rock Ridge's TF: the first of its moments */
	/* Who looks for file systems of other sorts first reads so far, and
	 * does not look on when there is no more. */
	LEAST = 64 * SECTOR,
};

static const unsigned char epoch[MOMENT_LEN] = {70, 1, 1, 0, 0, 0, 0};

static la_ssize_t take(struct archive *a, void *ctx, const void *bytes,
		       size_t len)
{
	struct buf *out = ctx;

	(void)a;
	buf_add(out, bytes, len);
	return buf_ok(out) ? (la_ssize_t)len : -1;
}

static bool add_file(struct archive *a, const struct iso_file *f)
{
	struct archive_entry *e = archive_entry_new();
	la_ssize_t len = (la_ssize_t)f->bytes.len;
	bool good;

	archive_entry_set_pathname(e, f->name);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0400);
	archive_entry_set_size(e, len);
	archive_entry_set_mtime(e, 0, 0);
	archive_entry_set_atime(e, 0, 0);
	archive_entry_set_ctime(e, 0, 0);
	good = archive_write_header(a, e) == ARCHIVE_OK &&
	       (!len ||
		archive_write_data(a, f->bytes.data, f->bytes.len) == len);
	archive_entry_free(e);
	return good;
}

static bool add_all(struct archive *a, const char *label,
		    const struct iso_file *files, size_t n, struct buf *out)
{
	bool good = archive_write_set_format_iso9660(a) == ARCHIVE_OK &&
		    archive_write_set_format_option(a, "iso9660", "volume-id",
						    label) == ARCHIVE_OK &&
		    archive_write_set_format_option(a, "iso9660", "rockridge",
						    "strict") == ARCHIVE_OK &&
		    archive_write_set_options(a, "!joliet,!pad,application-id="
						 "MUSTER") == ARCHIVE_OK &&
		    archive_write_set_bytes_per_block(a, 0) == ARCHIVE_OK &&
		    archive_write_open(a, out, NULL, take, NULL) == ARCHIVE_OK;

	for (size_t i = 0; good && i < n; i++)
		good = add_file(a, &files[i]);
	return archive_write_close(a) == ARCHIVE_OK && good;
}

static size_t number(const unsigned char *at)
{
	return (size_t)at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 |
	       (size_t)at[3] << 24;
}

/* What Rock Ridge says after the record's name: entries of a signature, a
 * length, a version and what is in them. */
static void forget_stamps(unsigned char *at, const unsigned char *end)
{
	while (at + STAMPS <= end && at[2] >= 4 && at + at[2] <= end) {
		if (at[0] == 'T' && at[1] == 'F')
			for (size_t i = STAMPS; i + MOMENT_LEN <= at[2];
			     i += MOMENT_LEN)
				memcpy(at + i, epoch, MOMENT_LEN);
		at += at[2];
	}
}

static void forget_folder(unsigned char *at, const unsigned char *end)
{
	while (at + NAME_LEN < end && at[0] > NAME_LEN && at + at[0] <= end) {
		size_t name = at[NAME_LEN], used = NAME_LEN + 1 + name;

		memcpy(at + MOMENT, epoch, MOMENT_LEN);
		forget_stamps(at + used + used % 2, at + at[0]);
		at += at[0];
	}
}

/* libarchive writes when it was made, and a note about itself. */
static void forget_time(unsigned char *image, size_t len)
{
	unsigned char *volume = image + VOLUME, *root = volume + ROOT;
	unsigned char *note = volume + 2 * SECTOR;
	size_t at = number(root + EXTENT) * SECTOR;
	size_t folder = number(root + EXTENT_LEN);

	assert(len >= VOLUME + 3 * SECTOR && at <= len && folder <= len - at);
	memcpy(root + MOMENT, epoch, MOMENT_LEN);
	for (int i = 0; i < 4; i++) {
		memset(volume + DATES + i * DATE_LEN, '0', DATE_LEN - 1);
		volume[DATES + (i + 1) * DATE_LEN - 1] = 0;
	}
	if (memcmp(note, "INFO ", 5) == 0)
		memset(note, 0, SECTOR);
	forget_folder(image + at, image + at + folder);
}

static void fill_up(struct buf *out, size_t begin)
{
	static const char nothing[SECTOR];

	while (buf_ok(out) && out->len - begin < LEAST)
		buf_add(out, nothing, SECTOR);
}

int iso_write(const char *label, const struct iso_file *files, size_t n,
	      struct buf *out, struct err *err)
{
	struct archive *a = archive_write_new();
	size_t begin = out->len, len = strlen(label);
	unsigned char *image;
	bool good;

	assert(len <= LABEL_LEN);
	good = a && add_all(a, label, files, n, out);
	if (!good && !buf_ok(out))
		err_set(err, ERR_TOO_LARGE, "the image of a CD is too large");
	else if (!good)
		err_set(err, ERR_UNAVAILABLE,
			"the image of a CD cannot be written: %s",
			a ? archive_error_string(a) : "no memory");
	archive_write_free(a);
	if (!good)
		return -1;
	image = (unsigned char *)out->data + begin;
	forget_time(image, out->len - begin);
	/* In small letters, as everyone looks for it. */
	memcpy(image + VOLUME + LABEL, label, len);
	fill_up(out, begin);
	if (!buf_ok(out))
		return err_set(err, ERR_TOO_LARGE,
			       "the image of a CD is too large");
	return 0;
}
