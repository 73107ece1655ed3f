/* Disks that are full, fail, or refuse to sync, at every single call. */
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "rig/fault.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/sqlite.h"
#include "test.h"

enum { DEEDS = 14, EXIT_DISK = 74, FOREVER = 1 << 30 };

static const struct rig_ops *sqlite_backend(void)
{
	const struct rig_ops *const *ops = rig_backends;

	while (strcmp((*ops)->name, "sqlite") != 0)
		ops++;
	return *ops;
}

/* Fourteen shelves, written in batches, with a log so short that rows are
 * trimmed all the while. */
struct play {
	struct rig rig;
	struct deed deeds[DEEDS];
	char ids[DEEDS][37], names[DEEDS][16];
	char same[37];
	uint64_t warmed; /* revisions before the deeds */
};

static void play_init(struct play *p)
{
	*p = (struct play){0};
	rig_init(&p->rig, sqlite_backend());
	p->rig.conf.log_revisions = 3;
	p->rig.conf.batch_most = 3;
	shelves_id(p->same, 2, 1);
	for (unsigned i = 0; i < DEEDS; i++) {
		snprintf(p->names[i], sizeof(p->names[i]), "n%u", i);
		deed_shelf(&p->deeds[i], shelves_id(p->ids[i], 1, i),
			   p->names[i]);
		/* One that changes all the time, and so leaves lines behind. */
		deed_shelf(&p->deeds[i], p->same, "same");
	}
}

static void play_act(struct play *p)
{
	for (int i = 0; i < DEEDS; i++) {
		deed_start(&p->deeds[i], p->rig.store);
		if (i % 4 == 3 || i + 1 == DEEDS)
			p->rig.ops->settle(&p->rig);
	}
}

/* What was acknowledged is there, and nothing else. */
static void check_there(const struct rig *r, const struct play *p)
{
	struct record record;
	uint64_t n = 0;

	for (int i = 0; i < DEEDS; i++) {
		bool is =
			store_get(r->store, 0, &shelf_kind, p->ids[i], &record);
		bool acknowledged = p->deeds[i].answers == 1 &&
				    p->deeds[i].err.code == ERR_NONE;

		CHECK(is == acknowledged);
		n += acknowledged;
	}
	CHECK(store_revision(r->store) == p->warmed + n);
}

/* The same in a copy of the files as they are, as after a crash. */
static void check_crashed(const struct play *p)
{
	struct rig copy = p->rig;
	struct err err;

	copy.loop = loop_new();
	copy.store = NULL;
	files_new(copy.dir);
	files_copy(p->rig.dir, copy.dir);
	if (rig_open(&copy, &err) < 0) {
		printf("# %s\n", err.msg);
		CHECK(!"the crashed copy opens");
	} else {
		check_there(&copy, p);
	}
	rig_release(&copy);
}

static void check_refusals(const struct play *p)
{
	for (int i = 0; i < DEEDS; i++) {
		CHECK(p->deeds[i].answers == 1);
		CHECK(p->deeds[i].err.code == ERR_NONE ||
		      p->deeds[i].err.code == ERR_UNAVAILABLE);
	}
}

/* The whole play with the calls FROM to UNTIL of MASK failing; how many calls
 * there were. */
static int play_through(int mask, int from, int until, int code)
{
	struct play *p = xmalloc(sizeof(*p));
	struct deed after = {0};
	struct err err = {0};
	char id[37];
	int calls;

	play_init(p);
	fault_set(mask, from, until, code);
	if (rig_open(&p->rig, &err) < 0) {
		p->rig.store = NULL;
		CHECK(err.code == ERR_UNAVAILABLE);
		CHECK(err.msg[0] != '\0');
	} else {
		play_act(p);
		check_refusals(p);
		check_there(&p->rig, p);
		rig_close(&p->rig);
	}
	calls = fault_count();
	fault_clear();
	CHECK(rig_open(&p->rig, &err) == 0);
	check_there(&p->rig, p);
	deed_shelf(&after, shelves_id(id, 3, 1), "after");
	CHECK(deed_do(&after, &p->rig) == ERR_NONE);
	rig_release(&p->rig);
	free(p);
	return calls;
}

/* For every call of the play: it alone fails, or it and all that follow. */
static void fail_each(int mask, int code)
{
	int calls = play_through(mask, FOREVER, FOREVER, code);

	CHECK(calls > 0);
	for (int n = 1; n <= calls && test_ok; n++) {
		play_through(mask, n, n, code);
		play_through(mask, n, n + 2, code);
		play_through(mask, n, FOREVER, code);
		if (!test_ok)
			printf("# mask %d call %d of %d\n", mask, n, calls);
	}
}

static void a_full_disk_loses_nothing(void)
{
	fail_each(FAULT_WRITE, SQLITE_FULL);
}

static void a_failed_truncation_loses_nothing(void)
{
	fail_each(FAULT_TRUNCATE, SQLITE_IOERR_TRUNCATE);
}

static void a_failed_read_loses_nothing(void)
{
	fail_each(FAULT_READ, SQLITE_IOERR_READ);
}

static void a_failed_open_loses_nothing(void)
{
	fail_each(FAULT_OPEN, SQLITE_CANTOPEN);
}

/* The files as they are right after each failure. */
static void nothing_refused_shows_after_a_crash(void)
{
	struct play *p = xmalloc(sizeof(*p));
	struct err err;

	for (int n = 1; n <= 60 && test_ok; n++) {
		play_init(p);
		CHECK(rig_open(&p->rig, &err) == 0);
		fault_set(FAULT_WRITE, n, FOREVER, SQLITE_FULL);
		play_act(p);
		fault_clear();
		check_refusals(p);
		check_crashed(p);
		rig_release(&p->rig);
	}
	free(p);
}

/* What a page takes in the write-ahead log, and how many of them it has when
 * it is brought into the file. */
enum { FRAME = 24 + 8192, CHECKPOINT = 1000 };

/* Write until one more batch would bring the write-ahead log to PAGES. */
static void warm_up(struct play *p, off_t pages)
{
	off_t last = 0, most = pages * FRAME;
	struct stat st;
	char path[64];

	files_path(path, p->rig.dir, SQLITE_FILE "-wal");
	while (stat(path, &st) == 0 && 2 * st.st_size - last < most) {
		struct deed d = {0};

		last = st.st_size;
		deed_shelf(&d, p->same, "same");
		CHECK(deed_do(&d, &p->rig) == ERR_NONE);
	}
	p->warmed = store_revision(p->rig.store);
}

/* The write-ahead log is brought into the file after the first batch of the
 * play; there reads, or writes to either, fail. */
static void a_failed_checkpoint_loses_nothing(void)
{
	static const struct {
		int mask, from, until, code;
	} cases[] = {
		{0, 1, 1, 0},
		{FAULT_WRITE, 10, 10, SQLITE_FULL},
		{FAULT_WRITE, 8, 8, SQLITE_IOERR_WRITE},
		{FAULT_WRITE, 12, FOREVER, SQLITE_FULL},
		{FAULT_READ, 1, FOREVER, SQLITE_IOERR_READ},
	};
	struct play *p = xmalloc(sizeof(*p));
	struct err err;
	char path[64];
	struct stat st;

	for (size_t i = 0; i < COUNT_OF(cases) && test_ok; i++) {
		play_init(p);
		CHECK(rig_open(&p->rig, &err) == 0);
		warm_up(p, CHECKPOINT);
		fault_set(cases[i].mask, cases[i].from, cases[i].until,
			  cases[i].code);
		play_act(p);
		CHECK(fault_hits() > 0 || i == 0);
		fault_clear();
		/* Unhindered, the write-ahead log does not grow. */
		CHECK(stat(files_path(path, p->rig.dir, SQLITE_FILE "-wal"),
			   &st) == 0 &&
		      (i > 0 || st.st_size < (off_t)(CHECKPOINT + 20) * FRAME));
		check_refusals(p);
		check_crashed(p);
		rig_reopen(&p->rig);
		check_there(&p->rig, p);
		rig_release(&p->rig);
	}
	free(p);
}

/* By a reader that never ends. */
static void block_checkpoints(const char *dir)
{
	char path[64];
	sqlite3 *db;

	if (sqlite3_open(files_path(path, dir, SQLITE_FILE), &db) ||
	    sqlite3_exec(db, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL))
		_exit(3);
}

/* Run the play in a process of its own with call N of MASK failing; how that
 * process ended.  DIR has its files. */
static int play_elsewhere(struct play *p, int mask, int n, off_t pages)
{
	int code = mask == FAULT_SYNC    ? SQLITE_IOERR_FSYNC
		   : mask == FAULT_WRITE ? SQLITE_IOERR_WRITE
					 : SQLITE_IOERR_SHMSIZE;
	int ends[2], status = -1;
	pid_t child;

	play_init(p);
	if (pipe(ends) < 0)
		abort();
	files_new(p->rig.dir);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		struct err err;

		close(STDERR_FILENO);
		p->rig.loop = loop_new();
		if (rig_open(&p->rig, &err) < 0)
			_exit(1);
		if (mask == FAULT_SHARE)
			block_checkpoints(p->rig.dir);
		warm_up(p, pages);
		fault_set(mask, n, n, code);
		play_act(p);
		/* What was acknowledged is told only by an orderly end. */
		if (write(ends[1], p->deeds, sizeof(p->deeds)) !=
		    sizeof(p->deeds))
			_exit(2);
		fault_clear();
		rig_close(&p->rig);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], p->deeds, sizeof(p->deeds)) < 0)
		abort();
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What is left by a process that ended must open, without a gap. */
static void check_left(struct play *p)
{
	struct record record;
	struct err err;
	bool more = true;

	p->rig.loop = loop_new();
	CHECK(rig_open(&p->rig, &err) == 0);
	for (unsigned i = 0; i < DEEDS && p->rig.store; i++) {
		bool is = store_get(p->rig.store, 0, &shelf_kind, p->ids[i],
				    &record);

		CHECK(more || !is);
		more = is;
	}
}

static void a_disk_that_does_not_sync_ends_the_process(void)
{
	struct play *p = xmalloc(sizeof(*p));
	int n = 0, status;

	do {
		status = play_elsewhere(p, FAULT_SYNC, ++n, 0);
		CHECK(status == EXIT_DISK || status == 0);
		check_left(p);
		rig_release(&p->rig);
	} while (status == EXIT_DISK && n < 60);
	/* One for each batch, at least. */
	CHECK(n > DEEDS / 3);
	free(p);
}

/* The first batch ends in one, which syncs both files after the commit. */
static void a_checkpoint_that_does_not_sync_ends_the_process(void)
{
	struct play *p = xmalloc(sizeof(*p));

	for (int n = 1; n <= 4; n++) {
		CHECK(play_elsewhere(p, FAULT_SYNC, n, CHECKPOINT - 1) ==
		      EXIT_DISK);
		check_left(p);
		rig_release(&p->rig);
	}
	free(p);
}

/* What the disk says it did not write may be there for the next to open the
 * file. */
static void a_failed_write_ends_the_process(void)
{
	struct play *p = xmalloc(sizeof(*p));
	int n = 0, status;

	do {
		status = play_elsewhere(p, FAULT_WRITE, ++n, 0);
		CHECK(status == EXIT_DISK || status == 0);
		check_left(p);
		rig_release(&p->rig);
	} while (status == EXIT_DISK && n < 200);
	/* A few for each batch. */
	CHECK(n > DEEDS);
	free(p);
}

/* The commit is in the write-ahead log when the index has no room for it: it
 * is there for the next to open the file, so nobody may be told otherwise. */
static void a_commit_that_nobody_can_tell_ends_the_process(void)
{
	struct play *p = xmalloc(sizeof(*p));

	CHECK(play_elsewhere(p, FAULT_SHARE, 1, 4050) == EXIT_DISK);
	check_left(p);
	rig_release(&p->rig);
	free(p);
}

int main(void)
{
	fault_install();
	RUN(a_full_disk_loses_nothing);
	RUN(a_failed_truncation_loses_nothing);
	RUN(a_failed_read_loses_nothing);
	RUN(a_failed_open_loses_nothing);
	RUN(nothing_refused_shows_after_a_crash);
	RUN(a_failed_checkpoint_loses_nothing);
	RUN(a_disk_that_does_not_sync_ends_the_process);
	RUN(a_failed_write_ends_the_process);
	RUN(a_checkpoint_that_does_not_sync_ends_the_process);
	RUN(a_commit_that_nobody_can_tell_ends_the_process);
	return test_done();
}
