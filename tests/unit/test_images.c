#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "model/image.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/library.h"
#include "provider/libvirt/run.h"
#include "test.h"
#include "unit/webserver.h"

#define MIB ((int64_t)1 << 20)
#define ID  "11111111-2222-4333-8444-55555555555"

/* A region with one host, of which only the disks are there. */
static struct arena arena;
static struct provider_conf conf;
static struct lv lv;
static struct host host, *hosts[] = {&host};
static char folder[64];
static struct err err;

static void begin(void)
{
	snprintf(folder, sizeof(folder), "/tmp/muster-images-XXXXXX");
	if (!mkdtemp(folder))
		abort();
	conf = (struct provider_conf){.folder = folder,
				      .region = "r",
				      .installation = "ours",
				      .clock = &clock_system};
	lv = (struct lv){.conf = &conf, .hosts = hosts, .n_hosts = 1};
	lv.options.image_gib = 1;
	lv.base.installation = "ours";
	arena_init(&lv.arena, (size_t)1 << 20);
	arena_init(&arena, (size_t)64 << 20);
	pthread_mutex_init(&lv.bringing, NULL);
	lv.folder = arena_join(&lv.arena, folder, "/libvirt", NULL);
	host = (struct host){.lv = &lv,
			     .name = "local",
			     .folder = lv.folder,
			     .embedded = true,
			     .disks = &disk_files};
	CHECK(image_open(&lv, &err) == 0);
}

static size_t count_in(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static const char *under(const char *name)
{
	return arena_join(&arena, folder, "/", name, NULL);
}

/* Nothing is left of any image. */
static bool is_empty(void)
{
	return count_in(under("libvirt/images")) == 0 &&
	       count_in(under("libvirt/disks")) == 0;
}

static void tool(const char *const *argv)
{
	const struct run r = {argv, 60000, NULL};

	if (run(&r, &err) < 0) {
		printf("# %s\n", err.msg);
		abort();
	}
}

static void end(void)
{
	const char *argv[] = {"rm", "-rf", folder, NULL};

	image_close(&lv);
	tool(argv);
	pthread_mutex_destroy(&lv.bringing);
	arena_release(&lv.arena);
	arena_release(&arena);
}

static const char *id_of(int n)
{
	return arena_printf(&arena, ID "%d", n);
}

/* Ask until it is ready or refused: 0 or -1. */
static int import(int n, const char *uri, const char *sum, struct backing *b)
{
	const struct image_spec spec = {.id.ours = id_of(n),
					.name = "an image",
					.uri = uri,
					.checksum = sum};

	err = (struct err){0};
	for (int i = 0; i < 2000; i++) {
		if (lv_image_ops.import(&lv.base, &spec, &arena, b, &err) < 0)
			return -1;
		if (b->state == BACKED_READY)
			return 0;
		usleep(5000);
	}
	abort();
}

static int refused(int n, const char *uri, const char *sum, const char *says)
{
	struct backing b;

	if (import(n, uri, sum, &b) == 0 || !strstr(err.msg, says)) {
		printf("# \"%s\" does not say \"%s\"\n", err.msg, says);
		return 0;
	}
	return 1;
}

static int drop(int n)
{
	const struct backing_id id = {.ours = id_of(n)};

	return lv_image_ops.remove(&lv.base, &id, &err);
}

static const char *file_uri(const char *name)
{
	return arena_join(&arena, "file://", lv.import_folder, "/", name, NULL);
}

static const char *import_path(const char *name)
{
	return arena_join(&arena, lv.import_folder, "/", name, NULL);
}

/* A disk that could be booted, as far as anybody looks. */
static void make_raw(const char *path, int64_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, bytes) == 0);
	CHECK(pwrite(fd, "\x55\xaa", 2, 510) == 2);
	CHECK(pwrite(fd, "data", 4, bytes / 2) == 4);
	close(fd);
}

static void make_qcow2(const char *path, int64_t bytes)
{
	const char *raw = under("raw");
	const char *argv[] = {"qemu-img", "convert", "-f", "raw", "-O",
			      "qcow2",    raw,       path, NULL};

	make_raw(raw, bytes);
	tool(argv);
}

static void files_are_imported_and_used(void)
{
	struct backing b;
	struct image_base base;

	begin();
	make_qcow2(import_path("a.qcow2"), 8 * MIB);
	CHECK(import(1, file_uri("a.qcow2"), NULL, &b) == 0);
	CHECK_STR(b.id, id_of(1));
	CHECK(b.size > 0);
	CHECK(image_on(&lv, &host, id_of(1), &arena, &base, &err) == 0);
	CHECK(base.bytes == 8 * MIB && strstr(base.disk, ".qcow2"));
	CHECK(disk_files.overlay(&host, "m.qcow2", base.disk, 9 * MIB, &err) ==
	      0);
	CHECK(drop(1) < 0 && err.code == ERR_CONFLICT);
	CHECK(strstr(err.msg, "m.qcow2"));
	CHECK(disk_files.remove(&host, "m.qcow2", &err) == 0);
	CHECK(drop(1) == 0 && drop(1) == 0 && is_empty());
	CHECK(image_on(&lv, &host, id_of(1), &arena, &base, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	make_raw(import_path("b.img"), 4 * MIB);
	CHECK(import(2, file_uri("b.img"), NULL, &b) == 0);
	CHECK(image_on(&lv, &host, id_of(2), &arena, &base, &err) == 0);
	CHECK(base.bytes == 4 * MIB && strstr(base.disk, ".raw"));
	end();
}

static void only_from_the_folder(void)
{
	begin();
	make_raw(under("secret"), MIB);
	CHECK(symlink(under("secret"), import_path("link")) == 0);
	CHECK(mkdir(import_path("dir"), 0700) == 0);
	make_raw(import_path("dir/inside"), MIB);
	CHECK(mkfifo(import_path("fifo"), 0600) == 0);
	CHECK(refused(1, arena_join(&arena, "file://", under("secret"), NULL),
		      NULL, "folder"));
	CHECK(refused(1, file_uri("../secret"), NULL, "folder"));
	CHECK(refused(1, file_uri("dir/inside"), NULL, "folder"));
	CHECK(refused(1, file_uri(""), NULL, "folder"));
	CHECK(refused(1, "file:///etc/passwd", NULL, "folder"));
	CHECK(refused(1, file_uri("link"), NULL, "no such file"));
	CHECK(refused(1, file_uri("dir"), NULL, "no such file"));
	CHECK(refused(1, file_uri("fifo"), NULL, "no such file"));
	CHECK(refused(1, file_uri("none"), NULL, "no such file"));
	CHECK(refused(1, "ftp://x/y", NULL, "must begin with"));
	CHECK(refused(1, file_uri("link"), "md5:1", "sha256"));
	CHECK(err.code == ERR_INVALID && is_empty());
	end();
}

static void cut_file(const char *path, off_t less)
{
	struct stat st;

	CHECK(stat(path, &st) == 0 && truncate(path, st.st_size - less) == 0);
}

static void create(const char *path, const char *options, const char *size)
{
	const char *argv[] = {"qemu-img", "create", "-q", "-u", "-f", "qcow2",
			      "-o",       options,  path, size, NULL};

	tool(argv);
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	for (int i = 0; f && i < 100; i++)
		fputs(text, f);
	if (f)
		fclose(f);
}

static void hostile_files_are_refused(void)
{
	begin();
	create(import_path("backing"),
	       "backing_file=/etc/shadow,backing_fmt=raw", "1M");
	CHECK(refused(1, file_uri("backing"), NULL, "backing file"));
	create(import_path("data"), "data_file=/tmp/muster-no-data", "1M");
	unlink("/tmp/muster-no-data");
	CHECK(refused(1, file_uri("data"), NULL, "another file"));
	make_qcow2(import_path("cut"), 8 * MIB);
	cut_file(import_path("cut"), 70000);
	CHECK(refused(1, file_uri("cut"), NULL, "cut off"));
	/* Nothing in it, and far too large. */
	create(import_path("large"), "cluster_size=65536", "100G");
	CHECK(refused(1, file_uri("large"), NULL, "100 GiB"));
	make_raw(import_path("hole"), 100 * 1024 * MIB);
	CHECK(refused(1, file_uri("hole"), NULL, "100 GiB"));
	make_raw(import_path("odd"), MIB + 100);
	CHECK(refused(1, file_uri("odd"), NULL, "within a sector"));
	write_text(import_path("page"), "<!DOCTYPE html><p>Sorry.\n");
	CHECK(refused(1, file_uri("page"), NULL, "web page"));
	write_text(import_path("vmdk"), "# Disk DescriptorFile\n");
	CHECK(refused(1, file_uri("vmdk"), NULL, "VMware"));
	write_text(import_path("none"), "");
	CHECK(refused(1, file_uri("none"), NULL, "neither"));
	CHECK(err.code == ERR_INVALID && is_empty());
	end();
}

static char *read_all(const char *path, size_t *len)
{
	struct buf b = BUF_INIT((size_t)64 << 20);
	FILE *f = fopen(path, "rb");
	char *to;
	size_t n = 1;

	while (f && n && (to = buf_reserve(&b, 65536))) {
		n = fread(to, 1, 65536, f);
		buf_grew(&b, n);
	}
	if (f)
		fclose(f);
	return buf_take(&b, len);
}

/* A server with a disk of 8 MiB, and its checksum. */
static char *serve(struct webserver *w, const char **ret_sum)
{
	unsigned char sum[DIGEST_SHA256_LEN];
	char hex[65];
	size_t len;
	char *body;

	make_raw(under("served"), 8 * MIB);
	body = read_all(under("served"), &len);
	digest_sha256(body, len, sum);
	digest_hex(sum, sizeof(sum), hex);
	*ret_sum = arena_join(&arena, "sha256:", hex, NULL);
	webserver_start(w, body, len);
	return body;
}

/* The connection closes: a body follows, whatever is said. */
static const char *redirect(const char *to)
{
	return arena_join(&arena, "HTTP/1.1 302 x\r\nLocation: ", to,
			  "\r\nConnection: close\r\n"
			  "Content-Length: 0\r\n",
			  NULL);
}

static void files_are_fetched(void)
{
	struct webserver w, other;
	struct backing b;
	const char *sum;
	char *body;

	begin();
	body = serve(&w, &sum);
	CHECK(import(1, w.url, sum, &b) == 0 && drop(1) == 0);
	CHECK(import(1, w.url, NULL, &b) == 0 && drop(1) == 0);
	CHECK(refused(1, w.url,
		      "sha256:0000000000000000000000000000000000000000000000"
		      "000000000000000000",
		      "the file has another"));
	CHECK(err.code == ERR_INVALID && is_empty());
	webserver_start(&other, body, 1);
	other.head = redirect(w.url);
	CHECK(import(1, other.url, sum, &b) == 0 && drop(1) == 0);
	other.head = redirect("file:///etc/passwd");
	CHECK(refused(1, other.url, sum, "127.0.0.1"));
	other.head = redirect(other.url);
	CHECK(refused(1, other.url, sum, "too often"));
	CHECK(drop(1) == 0 && is_empty());
	webserver_stop(&other);
	webserver_stop(&w);
	free(body);
	end();
}

static void servers_are_not_believed(void)
{
	struct webserver w;
	const char *sum;
	char *body;

	begin();
	body = serve(&w, &sum);
	w.head = "HTTP/1.1 404 x\r\nContent-Length: 0\r\n";
	CHECK(refused(1, w.url, sum, "answered with 404"));
	CHECK(err.code == ERR_INVALID && is_empty());
	w.head = "HTTP/1.1 503 x\r\nContent-Length: 0\r\n";
	CHECK(refused(1, w.url, sum, "answered with 503"));
	CHECK(err.code == ERR_UNAVAILABLE);
	w.head = "HTTP/1.1 200 x\r\nContent-Length: 1125899906842624\r\n";
	CHECK(refused(1, w.url, sum, "which is the limit here"));
	CHECK(err.code == ERR_TOO_LARGE && is_empty());
	w.head = "HTTP/1.1 200 x\r\nContent-Length: 9437184\r\n";
	CHECK(refused(1, w.url, sum, "ended before"));
	/* One that never ends, where nothing is allowed. */
	w.head = "HTTP/1.1 200 x\r\n";
	w.endless = true;
	lv.options.image_gib = 0;
	CHECK(refused(1, w.url, sum, "which is the limit here"));
	CHECK(err.code == ERR_TOO_LARGE && is_empty());
	CHECK(refused(1, "http://169.254.169.254/latest", sum, "link-local"));
	CHECK(refused(1, "http://[fe80::1%251]/", sum, "link-local"));
	CHECK(refused(1, "http://[::ffff:169.254.1.1]/", sum, "link-local"));
	CHECK(err.code == ERR_INVALID);
	CHECK(drop(1) == 0 && is_empty());
	webserver_stop(&w);
	free(body);
	end();
}

static off_t length_of(const char *name)
{
	struct stat st;

	return stat(under(name), &st) < 0 ? -1 : st.st_size;
}

/* However full the disk is: it may have room another time, and until then
 * nothing is taken of it. */
static void a_full_disk_is_waited_for(void)
{
	struct webserver w;
	struct backing b;
	const char *sum;
	char *body;

	begin();
	body = serve(&w, &sum);
	make_raw(import_path("a.img"), 4 * MIB);
	lv.room_left = UINT64_MAX;
	CHECK(refused(1, w.url, sum, "no room"));
	CHECK(err.code == ERR_CAPACITY && err_passes(&err));
	CHECK(length_of("libvirt/images/" ID "1.part") == 0);
	CHECK(refused(2, file_uri("a.img"), NULL, "no room"));
	CHECK(length_of("libvirt/images/" ID "2.part") == 0);
	lv.room_left = 0;
	CHECK(import(1, w.url, sum, &b) == 0 && drop(1) == 0);
	CHECK(import(2, file_uri("a.img"), NULL, &b) == 0 && drop(2) == 0);
	CHECK(is_empty());
	webserver_stop(&w);
	free(body);
	end();
}

static void what_was_cut_off_goes_on(void)
{
	struct webserver w;
	struct backing b;
	const char *sum;
	char *body;

	begin();
	body = serve(&w, &sum);
	w.etag = "\"one\"";
	atomic_store(&w.cut, 5 * MIB);
	CHECK(refused(1, w.url, sum, "ended before"));
	CHECK(err_passes(&err));
	CHECK(import(1, w.url, sum, &b) == 0);
	CHECK(atomic_load(&w.from) == 5 * MIB && drop(1) == 0);
	/* Of another version nothing is kept. */
	atomic_store(&w.cut, 5 * MIB);
	CHECK(refused(1, w.url, sum, "ended before"));
	w.etag = "\"two\"";
	CHECK(import(1, w.url, sum, &b) == 0);
	CHECK(atomic_load(&w.from) == 0 && drop(1) == 0);
	/* Nor when the server does not tell them apart. */
	w.etag = NULL;
	atomic_store(&w.cut, 5 * MIB);
	CHECK(refused(1, w.url, sum, "ended before"));
	CHECK(import(1, w.url, sum, &b) == 0);
	CHECK(atomic_load(&w.from) == 0 && drop(1) == 0 && is_empty());
	webserver_stop(&w);
	free(body);
	end();
}

static size_t things(const char *installation)
{
	struct thing_page page = {0};

	CHECK(lv_thing_ops.list(&lv.base, installation, NULL, &arena, &page,
				&err) == 0);
	return page.things.n;
}

/* As after a crash: what was there of it is gone on with. */
static void an_end_in_the_middle_is_none(void)
{
	struct webserver w;
	struct image_spec spec = {.id.ours = ID "1"};
	struct backing b;
	const char *sum;
	char *body;

	begin();
	body = serve(&w, &sum);
	w.etag = "\"one\"";
	atomic_store(&w.hold, 3 * MIB);
	spec.uri = w.url;
	do {
		CHECK(lv_image_ops.import(&lv.base, &spec, &arena, &b, &err) ==
		      0);
		usleep(5000);
	} while (!strstr(b.native_state, "37 %"));
	CHECK(b.state == BACKED_CREATING && things("ours") == 1);
	image_close(&lv);
	CHECK(image_open(&lv, &err) == 0 && things("ours") == 1);
	CHECK(things("another") == 0);
	atomic_store(&w.hold, 0);
	CHECK(import(1, w.url, sum, &b) == 0);
	CHECK(atomic_load(&w.from) == 3 * MIB);
	/* Before the record said that it is whole. */
	CHECK(rename(under("libvirt/images/" ID "1.raw"),
		     under("libvirt/images/" ID "2.raw")) == 0);
	CHECK(drop(1) == 0);
	CHECK(refused(2, "http://127.0.0.1:1/", NULL, "cannot fetch"));
	CHECK(things("ours") == 1 && drop(2) == 0 && is_empty());
	webserver_stop(&w);
	free(body);
	end();
}

/* While it is being fetched: the job ends, and nothing stays. */
static void one_in_the_making_is_removed(void)
{
	struct webserver w;
	struct image_spec spec = {.id.ours = ID "1"};
	struct backing b;
	const char *sum;
	char *body;

	begin();
	body = serve(&w, &sum);
	atomic_store(&w.hold, MIB);
	spec.uri = w.url;
	for (int i = 0; i < 20; i++) {
		CHECK(lv_image_ops.import(&lv.base, &spec, &arena, &b, &err) ==
		      0);
		usleep(5000);
	}
	CHECK(drop(1) == 0 && is_empty() && things("ours") == 0);
	webserver_stop(&w);
	free(body);
	end();
}

static void a_folder_is_everyones(void)
{
	const char *notes[32];
	struct catalogue c = {.notes = {notes, 0}};
	const struct image *i;
	const char *first;

	begin();
	lv.options.images = under("public");
	CHECK(mkdir(lv.options.images, 0700) == 0);
	make_qcow2(under("public/debian-12.qcow2"), 1024 * MIB);
	write_text(under("public/bad.img"), "nothing");
	write_text(under("public/README"), "nothing");
	CHECK(image_catalogue(&lv, &arena, &c, &err) == 0);
	CHECK(c.images.n == 1 && c.notes.n == 1);
	CHECK(strstr(notes[0], "bad.img") && strstr(notes[0], "neither"));
	i = c.images.at;
	CHECK_STR(i->meta.name, "debian-12");
	CHECK(i->spec.min_disk_gib == 1);
	first = i->status.backed.provider;
	CHECK(things("ours") == 0);
	/* Another file is another image; the first stays what it is. */
	make_qcow2(under("public/debian-12.qcow2"), 8 * MIB);
	c.notes.n = 0;
	CHECK(image_catalogue(&lv, &arena, &c, &err) == 0);
	i = c.images.at;
	CHECK(c.images.n == 1 && strcmp(i->status.backed.provider, first) != 0);
	end();
}

int main(void)
{
	RUN(files_are_imported_and_used);
	RUN(only_from_the_folder);
	RUN(hostile_files_are_refused);
	RUN(files_are_fetched);
	RUN(servers_are_not_believed);
	RUN(a_full_disk_is_waited_for);
	RUN(what_was_cut_off_goes_on);
	RUN(an_end_in_the_middle_is_none);
	RUN(one_in_the_making_is_removed);
	RUN(a_folder_is_everyones);
	return test_done();
}
