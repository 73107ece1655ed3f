#include "provider/libvirt/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "http/download.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/file.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/library.h"

#define ARENA_MOST ((size_t)4 << 20)
#define FILE_URI   "file://"
#define SUM        "sha256:"

/* How much may be written until it is looked whether there is room. */
#define GLANCE ((uint64_t)64 << 20)

enum {
	IDLE_MS = 60 * 1000,
	DOWNLOAD_MS = 6 * 3600 * 1000,
	PIECE = 1 << 20,
};

/* One while it goes on. */
struct going {
	struct import want;
	struct job *job;
	struct arena *a;
	struct image_record record;
	int fd;           /* the part */
	uint64_t glanced; /* so much was there when room was looked for */
};

/* What a job is given: words of its own. */
struct kept {
	struct import want;
	char *id, *uri, *checksum;
};

static void kept_free(void *ctx)
{
	struct kept *k = ctx;

	free(k->id);
	free(k->uri);
	free(k->checksum);
	free(k);
}

static bool is_file(const char *uri)
{
	return strncmp(uri, FILE_URI, strlen(FILE_URI)) == 0;
}

/* Only what lies in the folder itself, and is no link to somewhere else. */
static int open_file(const struct import *i, struct err *err)
{
	const char *path = i->uri + strlen(FILE_URI);
	const char *folder = i->lv->import_folder;
	size_t len = folder ? strlen(folder) : 0;
	struct stat st;
	int fd;

	if (!folder || strncmp(path, folder, len) != 0 || path[len] != '/' ||
	    strchr(path + len + 1, '/') || !path[len + 1])
		return err_at(err, ERR_INVALID, "/spec/uri",
			      "files are imported from the folder %s alone",
			      folder ? folder : "that there is none of");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return err_at(err, ERR_INVALID, "/spec/uri",
			      "there is no such file in %s", folder);
	}
	return fd;
}

int import_check(const struct import *i, struct err *err)
{
	auto_close int fd = -1;

	if (i->checksum && strncasecmp(i->checksum, SUM, strlen(SUM)) != 0)
		return err_at(err, ERR_INVALID, "/spec/checksum",
			      "must begin with " SUM);
	if (!i->uri)
		return err_at(err, ERR_INVALID, "/spec/uri", "is required");
	if (strncasecmp(i->uri, "http://", 7) == 0 ||
	    strncasecmp(i->uri, "https://", 8) == 0)
		return 0;
	if (!is_file(i->uri))
		return err_at(err, ERR_INVALID, "/spec/uri",
			      "must begin with https://, http:// or file:///");
	fd = open_file(i, err);
	return fd < 0 ? -1 : 0;
}

/* How large the file may be: as a disk, with the tables of a qcow2. */
static uint64_t most_bytes(const struct lv *lv)
{
	return image_most(lv) + image_most(lv) / 16;
}

/* There is room for so many bytes, and for everybody else. */
static bool has_room(const struct lv *lv, uint64_t bytes)
{
	struct err later = {0}; /* of whoever writes there */
	uint64_t room;

	return library_room(lv->library, &room, &later) < 0 ||
	       (room > lv->room_left && room - lv->room_left >= bytes);
}

static int copy_in(struct lv *lv, int from, int to, const atomic_bool *stop,
		   struct err *err)
{
	const unsigned long long most = most_bytes(lv);
	struct stat st;

	if (fstat(from, &st) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot read the file: %s",
			       strerror(errno));
	/* One with holes may be longer: its disk is looked at later. */
	if ((uint64_t)st.st_blocks * 512 > most)
		return err_set(err, ERR_TOO_LARGE,
			       "the file is of more than %llu MiB, which is "
			       "the limit here",
			       most >> 20);
	if (!has_room(lv, (uint64_t)st.st_blocks * 512)) {
		err_set(err, ERR_CAPACITY, "there is no room for the file");
		err->retry = ERR_RETRY_LATER;
		return -1;
	}
	return file_copy_to(from, to, stop, err);
}

static int fetch_file(struct going *g, struct err *err)
{
	auto_close int from = open_file(&g->want, err);

	if (from < 0)
		return -1;
	atomic_store(&g->job->stage, "copying");
	return copy_in(g->want.lv, from, g->fd, &g->job->stop, err);
}

/* Which version it is, so that it can go on another time. */
static bool begun(void *ctx, const char *version, uint64_t at, uint64_t total)
{
	struct going *g = ctx;
	struct err lost = {0};

	atomic_store(&g->job->done, at);
	atomic_store(&g->job->total, total);
	g->record.version = version[0] ? arena_strdup(g->a, version) : NULL;
	/* Without it, it begins anew. */
	(void)!library_put(g->want.lv->library, &g->record, &lost);
	g->glanced = at;
	return has_room(g->want.lv, total > at ? total - at : 0);
}

/* Others write there, too. */
static bool grew(void *ctx, uint64_t bytes)
{
	struct going *g = ctx;

	atomic_store(&g->job->done, bytes);
	if (bytes - g->glanced < GLANCE)
		return true;
	g->glanced = bytes;
	return has_room(g->want.lv, 0);
}

static int fetch_http(struct going *g, struct err *err)
{
	struct download d = {
		.url = g->want.uri,
		.agent = "muster/" MUSTER_VERSION,
		.fd = g->fd,
		.version = g->record.version,
		.most = most_bytes(g->want.lv),
		.idle_ms = IDLE_MS,
		.timeout_ms = DOWNLOAD_MS,
		.stop = &g->job->stop,
		.begun = begun,
		.grew = grew,
		.ctx = g,
	};
	struct stat st;

	if (fstat(g->fd, &st) == 0)
		d.have = (uint64_t)st.st_size;
	atomic_store(&g->job->stage, "downloading");
	return download(&d, err);
}

static int digest_all(struct going *g, char hex[65], struct err *err)
{
	unsigned char sum[DIGEST_SHA256_LEN];
	auto_free char *piece = xmalloc(PIECE);
	struct digest *d = digest_new();
	off_t at = 0;
	ssize_t n;

	while ((n = pread(g->fd, piece, PIECE, at)) > 0 &&
	       !atomic_load(&g->job->stop)) {
		digest_add(d, piece, (size_t)n);
		at += n;
		atomic_store(&g->job->done, (uint64_t)at);
	}
	digest_end(d, sum);
	digest_hex(sum, sizeof(sum), hex);
	if (n != 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "the file could not be read to its end");
	return 0;
}

static int check_sum(struct going *g, struct err *err)
{
	const char *want = g->want.checksum;
	struct stat st;
	char hex[65];

	if (!want)
		return 0;
	if (fstat(g->fd, &st) == 0)
		atomic_store(&g->job->total, (uint64_t)st.st_size);
	atomic_store(&g->job->done, 0);
	atomic_store(&g->job->stage, "checking");
	if (digest_all(g, hex, err) < 0)
		return -1;
	if (strcasecmp(want + strlen(SUM), hex) == 0)
		return 0;
	return err_at(err, ERR_INVALID, "/spec/checksum",
		      "the file has another: sha256:%s", hex);
}

/* Bytes that were whole when we ended are looked at again. */
static void take_back(struct going *g, const char *part)
{
	struct library *l = g->want.lv->library;

	for (int i = DISK_RAW; disk_format_names[i]; i++)
		if (rename(library_path(l, g->want.id, disk_format_names[i],
					g->a),
			   part) == 0)
			return;
}

static int fetch(struct going *g, struct err *err)
{
	return is_file(g->want.uri) ? fetch_file(g, err) : fetch_http(g, err);
}

static int go(struct going *g, struct err *err)
{
	struct library *l = g->want.lv->library;
	const char *part = library_path(l, g->want.id, "part", g->a);
	int rc;

	if (library_get(l, g->want.id, g->a, &g->record, err) < 0)
		return -1;
	if (g->record.stage == IMAGE_READY)
		return 0;
	take_back(g, part);
	g->fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (g->fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot keep the file: %s",
			       strerror(errno));
	rc = fetch(g, err);
	if (rc == 0)
		rc = check_sum(g, err);
	/* What there is no room for takes none until it is tried again. */
	if (rc < 0 && err->code == ERR_CAPACITY && ftruncate(g->fd, 0) < 0)
		unlink(part);
	close(g->fd);
	atomic_store(&g->job->total, 0);
	atomic_store(&g->job->stage, "checking");
	if (rc == 0)
		rc = library_finish(l, &g->record, image_most(g->want.lv), g->a,
				    err);
	if (rc == 0) {
		atomic_store(&g->job->stage, "spreading");
		image_spread(g->want.lv, &g->record, &g->job->stop);
	}
	return rc;
}

static int import_run(struct job *j, struct err *err)
{
	struct going g = {.want = ((struct kept *)j->ctx)->want, .job = j};
	struct err lost = {0};
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	g.a = &a;
	rc = go(&g, err);
	/* What will never be one. */
	if (rc < 0 && !err_passes(err))
		(void)!library_remove(g.want.lv->library, g.want.id, &lost);
	arena_release(&a);
	return rc;
}

void import_begin(const struct import *i)
{
	struct kept *k = xcalloc(1, sizeof(*k));
	const struct job_plan plan = {import_run, kept_free, k};

	k->id = xstrdup(i->id);
	k->uri = xstrdup(i->uri);
	k->checksum = i->checksum ? xstrdup(i->checksum) : NULL;
	k->want = (struct import){i->lv, k->id, k->uri, k->checksum};
	jobs_begin(library_jobs(i->lv->library), i->id, &plan);
}

int import_file(struct lv *lv, const char *path, struct image_record *r,
		struct err *err)
{
	auto_close int from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct err lost = {0};
	const char *part;
	struct arena a;
	int rc;

	if (from < 0)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", path,
			       strerror(errno));
	arena_init(&a, ARENA_MOST);
	part = library_path(lv->library, r->id, "part", &a);
	rc = library_remove(lv->library, r->id, err);
	if (rc == 0) {
		auto_close int to =
			open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		rc = to < 0 ? err_set(err, ERR_UNAVAILABLE, "%s: %s", part,
				      strerror(errno))
			    : copy_in(lv, from, to, NULL, err);
	}
	if (rc == 0)
		rc = library_finish(lv->library, r, image_most(lv), &a, err);
	if (rc < 0)
		(void)!library_remove(lv->library, r->id, &lost);
	arena_release(&a);
	return rc;
}
