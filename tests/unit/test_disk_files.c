#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/file.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/run.h"
#include "test.h"

#define MIB ((int64_t)1 << 20)

static struct arena arena;
static struct host host;
static struct err err;

static const struct disk_ops *const d = &disk_files;

static const char *path(const char *name)
{
	const char *p = "";

	CHECK(d->path(&host, name, &arena, &p, &err) == 0);
	return p;
}

static struct disk_info look(const char *name)
{
	struct disk_info info = {0};

	CHECK(d->look(&host, name, &arena, &info, &err) == 0);
	return info;
}

static bool is_there(const char *name)
{
	bool is = false;

	CHECK(disk_is(&host, name, &is, &err) == 0);
	return is;
}

static size_t count(void)
{
	struct items all = {0};

	CHECK(d->list(&host, &arena, &all, &err) == 0);
	return all.n;
}

static void blanks_grow_and_go(void)
{
	CHECK(d->blank(&host, "a.qcow2", MIB, &err) == 0);
	CHECK(d->blank(&host, "a.qcow2", MIB, &err) == 0);
	CHECK(look("a.qcow2").bytes == MIB);
	CHECK(d->grow(&host, "a.qcow2", 3 * MIB, &err) == 0);
	CHECK(d->grow(&host, "a.qcow2", 3 * MIB, &err) == 0);
	CHECK(look("a.qcow2").bytes == 3 * MIB);
	CHECK(d->grow(&host, "a.qcow2", MIB, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	/* One that has grown is still the same. */
	CHECK(d->blank(&host, "a.qcow2", MIB, &err) == 0);
	CHECK(d->blank(&host, "a.qcow2", 9 * MIB, &err) < 0);
	CHECK(err.code == ERR_CONFLICT);
	CHECK(d->remove(&host, "a.qcow2", &err) == 0);
	CHECK(d->remove(&host, "a.qcow2", &err) == 0);
	CHECK(!is_there("a.qcow2") && count() == 0);
}

static void overlays_lie_on_their_base(void)
{
	CHECK(d->write(&host, "base.raw", "bytes of a disk", 16, &err) == 0);
	CHECK(truncate(path("base.raw"), MIB) == 0);
	CHECK(d->overlay(&host, "o.qcow2", "base.raw", 2 * MIB, &err) == 0);
	CHECK(d->overlay(&host, "o.qcow2", "base.raw", 2 * MIB, &err) == 0);
	CHECK(look("o.qcow2").bytes == 2 * MIB);
	CHECK_STR(look("o.qcow2").base, "base.raw");
	CHECK(d->overlay(&host, "o.qcow2", "other.raw", 2 * MIB, &err) < 0);
	CHECK(err.code == ERR_CONFLICT);
	CHECK(d->overlay(&host, "p.qcow2", "none.raw", 2 * MIB, &err) < 0);
	CHECK(!is_there("p.qcow2"));
	/* A copy needs no other. */
	CHECK(d->copy(&host, "o.qcow2", "c.raw", NULL, &err) == 0);
	CHECK(look("c.raw").bytes == 2 * MIB && !look("c.raw").base);
	CHECK(d->remove(&host, "base.raw", &err) == 0 &&
	      d->remove(&host, "o.qcow2", &err) == 0 &&
	      d->remove(&host, "c.raw", &err) == 0);
}

static void bytes_come_back(void)
{
	struct buf out = BUF_INIT(1024);

	CHECK(d->write(&host, "w.iso", "first", 5, &err) == 0);
	CHECK(d->write(&host, "w.iso", "second", 6, &err) == 0);
	CHECK(d->tail(&host, "w.iso", 1000, &out, &err) == 0);
	CHECK_STR(buf_str(&out), "second");
	buf_clear(&out);
	CHECK(d->tail(&host, "w.iso", 3, &out, &err) == 0);
	CHECK_STR(buf_str(&out), "ond");
	CHECK(d->tail(&host, "none.log", 3, &out, &err) < 0);
	CHECK(err.code == ERR_NOT_FOUND);
	CHECK(d->remove(&host, "w.iso", &err) == 0);
	buf_release(&out);
}

/* Up and down again: what is in it, and its holes. */
static void holes_stay_holes(void)
{
	const char *from = arena_join(&arena, host.folder, "/from", NULL);
	const char *to = arena_join(&arena, host.folder, "/to", NULL);
	auto_close int in = open(from, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	auto_close int out = open(to, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	char word[4] = "";
	struct stat st;

	CHECK(ftruncate(in, 512 * MIB) == 0);
	CHECK(pwrite(in, "here", 4, 100 * MIB) == 4);
	CHECK(d->upload(&host, "u.raw", in, NULL, &err) == 0);
	CHECK(look("u.raw").bytes == 512 * MIB);
	CHECK(d->download(&host, "u.raw", out, NULL, &err) == 0);
	CHECK(fstat(out, &st) == 0 && st.st_size == 512 * MIB);
	CHECK(st.st_blocks * 512 < 2 * MIB);
	CHECK(pread(out, word, 4, 100 * MIB) == 4 && !memcmp(word, "here", 4));
	CHECK(d->remove(&host, "u.raw", &err) == 0);
	CHECK(fstat(in, &st) == 0 && st.st_nlink == 1);
	CHECK(unlink(from) == 0 && unlink(to) == 0);
}

static void half_made_is_not_there(void)
{
	atomic_bool stop = true;

	CHECK(d->blank(&host, "big.qcow2", 64 * MIB, &err) == 0);
	CHECK(d->copy(&host, "big.qcow2", "half.qcow2", &stop, &err) < 0);
	CHECK(!is_there("half.qcow2"));
	CHECK(d->remove(&host, "big.qcow2", &err) == 0 && count() == 0);
}

static void names_stay_in_the_folder(void)
{
	static const char *const bad[] = {"",        ".hidden", "..",  "a/b",
					  "../../x", "a b",     "a\n", "a;b"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		CHECK(!disk_name_valid(bad[i]));
		CHECK(d->blank(&host, bad[i], MIB, &err) < 0);
		CHECK(d->remove(&host, bad[i], &err) < 0);
		CHECK(err.code == ERR_INVALID);
	}
}

static int run_words(const char *const *argv, unsigned ms)
{
	const struct run r = {argv, ms, NULL};

	err = (struct err){0};
	return run(&r, &err);
}

static void programs_are_run_with_words(void)
{
	const char *words[] = {"sh",
			       "-c",
			       "echo \"sh: $1\" >&2; exit 3",
			       "sh",
			       "$(echo no) `no`",
			       NULL};
	const char *long_one[] = {"sleep", "60", NULL};
	const char *none[] = {"muster-no-such-program", NULL};
	const char *fine[] = {"true", NULL};

	CHECK(run_words(fine, 10000) == 0);
	CHECK(run_words(words, 10000) < 0 && err.code == ERR_PROVIDER);
	CHECK_STR(err.msg, "sh failed: $(echo no) `no`");
	CHECK(run_words(long_one, 300) < 0 && err.code == ERR_TIMEOUT);
	CHECK(run_words(none, 10000) < 0 && err.code == ERR_UNAVAILABLE);
}

int main(void)
{
	char folder[] = "/tmp/muster-disks-XXXXXX";

	arena_init(&arena, (size_t)64 << 20);
	host = (struct host){.name = "here",
			     .folder = mkdtemp(folder),
			     .disks = &disk_files};
	RUN(blanks_grow_and_go);
	RUN(overlays_lie_on_their_base);
	RUN(bytes_come_back);
	RUN(holes_stay_holes);
	RUN(half_made_is_not_there);
	RUN(names_stay_in_the_folder);
	RUN(programs_are_run_with_words);
	/* Nothing was left in it. */
	if (rmdir(arena_join(&arena, folder, "/disks", NULL)) < 0 ||
	    rmdir(folder) < 0)
		test_bad++;
	arena_release(&arena);
	return test_done();
}
