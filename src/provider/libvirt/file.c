#include "provider/libvirt/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* What is copied at a time, between looks at whether to stop. */
enum { PIECE = 4 << 20 };

static int fail(const char *what, struct err *err)
{
	return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_UNAVAILABLE,
		       "cannot %s a file: %s", what, strerror(errno));
}

static int sync_folder(const char *path, struct err *err)
{
	auto_free char *copy = xstrdup(path);
	auto_close int fd =
		open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return fail("keep", err);
	return 0;
}

int file_publish(const char *part, const char *path, struct err *err)
{
	auto_close int fd = open(part, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || fsync(fd) < 0 || rename(part, path) < 0)
		return fail("keep", err);
	return sync_folder(path, err);
}

static int make(const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		fail("make", err);
	return fd;
}

int file_write(const char *path, const void *bytes, size_t len, struct err *err)
{
	auto_close int fd = make(path, err);
	const char *p = bytes;

	if (fd < 0)
		return -1;
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, p + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail("write", err);
		done += (size_t)n;
	}
	return 0;
}

static int read_from(int fd, off_t at, size_t len, struct buf *out,
		     struct err *err)
{
	while (len) {
		size_t part = len < 65536 ? len : 65536;
		char *to = buf_reserve(out, part);
		ssize_t n;

		if (!to)
			return err_set(err, ERR_TOO_LARGE,
				       "a file is too large");
		n = pread(fd, to, part, at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail("read", err);
		if (n == 0)
			break;
		buf_grew(out, (size_t)n);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int file_tail(const char *path, size_t length, struct buf *out, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	off_t at = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail("open", err);
	if ((uint64_t)st.st_size > length)
		at = st.st_size - (off_t)length;
	return read_from(fd, at, (size_t)(st.st_size - at), out, err);
}

int file_read(const char *path, struct buf *out, struct err *err)
{
	return file_tail(path, SIZE_MAX, out, err);
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int file_names(const char *folder, struct arena *a, struct items *ret,
	       struct err *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, is_shown, alphasort);
	const char **names;

	if (n < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", folder,
			       strerror(errno));
	names = arena_alloc(a, (size_t)n * sizeof(*names) + 1);
	for (int i = 0; i < n; i++) {
		names[i] = arena_strdup(a, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	*ret = (struct items){names, (size_t)n};
	return 0;
}

bool file_next_data(int fd, int64_t at, int64_t len, int64_t *ret_begin,
		    int64_t *ret_end)
{
	off_t begin = at < len ? lseek(fd, at, SEEK_DATA) : -1;
	off_t end;

	if (begin < 0 && at < len && errno != ENXIO)
		begin = at; /* no holes are told of here */
	if (begin < 0 || begin >= len)
		return false;
	end = lseek(fd, begin, SEEK_HOLE);
	*ret_begin = begin;
	*ret_end = end < 0 || end > len ? len : end;
	return true;
}

static int copy_part(int from, int to, int64_t at, int64_t end,
		     const atomic_bool *stop, struct err *err)
{
	off_t in = at, out = at;

	while (in < end) {
		size_t want = (size_t)(end - in < PIECE ? end - in : PIECE);
		ssize_t n;

		if (stop && atomic_load(stop))
			return err_set(err, ERR_UNAVAILABLE,
				       "the copy was stopped");
		n = copy_file_range(from, &in, to, &out, want, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail("copy", err);
		if (n == 0)
			return err_set(err, ERR_UNAVAILABLE,
				       "a file became shorter while it was "
				       "copied");
	}
	return 0;
}

int file_copy_to(int from, int to, const atomic_bool *stop, struct err *err)
{
	int64_t at = 0, begin, end;
	struct stat st;

	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return fail("copy", err);
	while (file_next_data(from, at, st.st_size, &begin, &end)) {
		if (copy_part(from, to, begin, end, stop, err) < 0)
			return -1;
		at = end;
	}
	return 0;
}

int file_copy(int from, const char *path, const atomic_bool *stop,
	      struct err *err)
{
	auto_close int to = make(path, err);

	if (to < 0)
		return -1;
	return file_copy_to(from, to, stop, err);
}
