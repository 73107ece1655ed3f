#include "rig/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "store/read.h"
#include "store/store_priv.h"

/* In memory where that can be had: what a sync costs is not tested here. */
void files_new(char dir[32])
{
	const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(dir, 32, "%s/muster-XXXXXX", where);
	if (!mkdtemp(dir))
		abort();
}

void files_remove(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

const char *files_path(char out[64], const char *dir, const char *name)
{
	snprintf(out, 64, "%s/%s", dir, name);
	return out;
}

char *files_read(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		abort();
	p = xmalloc((size_t)st.st_size + 1);
	if (read(fd, p, (size_t)st.st_size) != st.st_size)
		abort();
	p[st.st_size] = '\0';
	close(fd);
	*ret_len = (size_t)st.st_size;
	return p;
}

void files_write(const char *path, const void *p, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, p, len) != (ssize_t)len)
		abort();
	close(fd);
}

void files_copy(const char *from, const char *to)
{
	DIR *d = opendir(from);
	const struct dirent *e;
	char path[64];
	size_t len;

	while (d && (e = readdir(d))) {
		char *data;

		/* The shared index goes with the processes that had it. */
		if (e->d_name[0] == '.' || strstr(e->d_name, "-shm"))
			continue;
		data = files_read(files_path(path, from, e->d_name), &len);
		files_write(files_path(path, to, e->d_name), data, len);
		free(data);
	}
	if (d)
		closedir(d);
}

static void dump_change(const struct change *c, struct buf *out)
{
	buf_addf(out, "%llu at %lld\n", (unsigned long long)c->revision,
		 (long long)c->at);
	for (size_t i = 0; i < c->n; i++)
		if (c->versions[i])
			buf_add(out, c->versions[i]->line,
				c->versions[i]->line_len);
	if (c->memo)
		buf_addf(out, "=%s %s %s\n", c->memo->key, c->memo->digest,
			 c->memo->id);
}

void dump_store(const struct store *s, struct buf *out)
{
	uint64_t first = s->history.first;

	buf_addf(out, "from %llu to %llu\n", (unsigned long long)first,
		 (unsigned long long)s->durable);
	/* What was there before the log, then the log. */
	for (size_t i = 0; i < s->n_caches; i++) {
		struct sorted_walk w =
			sorted_from(&s->caches[i].by_order, NULL);
		const struct entry *e;

		while ((e = sorted_next(&w))) {
			const struct version *v = entry_at(e, first - 1);

			if (!v)
				continue;
			buf_addf(out, "%llu at %lld ",
				 (unsigned long long)v->change->revision,
				 (long long)v->change->at);
			buf_add(out, v->line, v->line_len);
		}
	}
	for (uint64_t r = first; r <= s->durable; r++)
		dump_change(history_at(s, r), out);
	if (!buf_ok(out))
		abort();
}
