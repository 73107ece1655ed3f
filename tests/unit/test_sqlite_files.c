/* Folders and files that are not what they should be are refused in words that
 * say what to do. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "loop/loop.h"
#include "rig/files.h"
#include "rig/rig.h"
#include "store/audit.h"
#include "store/backend.h"
#include "store/sqlite.h"
#include "store/store_priv.h"
#include "test.h"

#define ID "00000001-0000-4000-8000-000000000001"

static const struct rig_ops *sqlite_backend(void)
{
	const struct rig_ops *const *ops = rig_backends;

	while (strcmp((*ops)->name, "sqlite") != 0)
		ops++;
	return *ops;
}

static void sql(const char *dir, const char *text)
{
	char path[64];
	sqlite3 *db;

	CHECK(sqlite3_open(files_path(path, dir, SQLITE_FILE), &db) == 0);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		CHECK(!sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* A store that is open, with one shelf and one entry. */
static void begin(struct rig *r)
{
	struct err err = {0};
	struct deed d = {0};
	char id[37];

	rig_init(r, sqlite_backend());
	CHECK(rig_open(r, &err) == 0);
	deed_shelf(&d, shelves_id(id, 1, 1), "shelf");
	CHECK(deed_do(&d, r) == ERR_NONE);
}

static void paths_that_are_too_long_are_refused(void)
{
	static char dir[5000];
	struct audit_report report;
	struct secret_use use;
	struct backend *b;
	struct err err = {0};
	char folder[32];
	int lock;

	memset(dir, 'x', sizeof(dir) - 1);
	files_new(folder);
	CHECK(sqlite_open(dir, NULL, &b, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(sqlite_backup(dir, "/tmp/no", &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(sqlite_backup(folder, dir, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(sqlite_restore("/tmp/no", dir, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(sqlite_audit_verify(dir, NULL, &report, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(sqlite_secret_use(dir, &use, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(sqlite_lock(dir, &lock, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	/* The folder's own name fits, and that of what is in it does not. */
	dir[4085] = '\0';
	CHECK(sqlite_restore("/tmp/no", dir, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	rmdir(folder);
}

static void where_there_is_no_folder_that_is_said(void)
{
	struct audit_report report;
	struct err err = {0};
	char dir[32], path[64];
	struct rig r;

	begin(&r);
	CHECK(sqlite_audit_verify("/no/such", NULL, &report, &err) < 0);
	CHECK(err.code == ERR_NOT_FOUND && strstr(err.msg, "--data"));
	CHECK(sqlite_audit_verify(NULL, "/no/such", &report, &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE && strstr(err.msg, "cannot open"));
	CHECK(sqlite_backup(r.dir, "/no/such/file", &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE && strstr(err.msg, "cannot make"));
	CHECK(sqlite_sync_folder("/no/such/file", &err) < 0);
	CHECK(strstr(err.msg, "cannot sync the folder /no/such/"));
	CHECK(sqlite_sync_folder("file", &err) == 0);
	CHECK(sqlite_sync_folder("/", &err) == 0);
	files_new(dir);
	snprintf(path, sizeof(path), "%s//", dir);
	CHECK(sqlite_sync_folder(path, &err) == 0);
	rmdir(dir);
	rig_release(&r);
}

/* What is of an older version is brought up to date by the server, and by
 * nobody else. */
static void an_older_file_is_the_server_s_to_upgrade(void)
{
	struct audit_report report;
	struct err err = {0};
	char file[64];
	struct rig r;

	begin(&r);
	rig_close(&r);
	sql(r.dir, "PRAGMA user_version=2");
	CHECK(sqlite_backup(r.dir, files_path(file, r.dir, "b"), &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "older version"));
	CHECK(access(file, F_OK) < 0);
	CHECK(sqlite_audit_verify(r.dir, NULL, &report, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "older version"));
	sql(r.dir, "PRAGMA user_version=3");
	CHECK(sqlite_audit_verify(r.dir, NULL, &report, &err) == 0);
	rig_release(&r);
}

static void a_lock_that_cannot_be_had_is_said_to_be(void)
{
	struct rlimit was, none = {0};
	struct err err = {0};
	char dir[32], path[64];
	int fd, lock;

	files_new(dir);
	files_path(path, dir, "lock");
	CHECK(mkdir(path, 0700) == 0);
	CHECK(sqlite_lock(dir, &lock, &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE && strstr(err.msg, "cannot open"));
	rmdir(path);
	/* By somebody who has not yet said who they are. */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK(sqlite_lock(dir, &lock, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "process 0"));
	close(fd);
	/* No file may grow. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	none.rlim_max = was.rlim_max;
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	CHECK(sqlite_lock(dir, &lock, &err) < 0);
	CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
	CHECK(err.code == ERR_UNAVAILABLE && strstr(err.msg, "cannot write"));
	CHECK(sqlite_lock(dir, &lock, &err) == 0);
	close(lock);
	files_remove(dir);
}

/* The next descriptor is the last but N that there may be. */
static void leave_descriptors(struct rlimit *was, int n)
{
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct rlimit few;

	getrlimit(RLIMIT_NOFILE, was);
	few = *was;
	few.rlim_cur = (rlim_t)next + (rlim_t)n;
	close(next);
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
}

/* As the descriptors run out at one place after the other: nothing is left
 * half done. */
static void want_of_descriptors_leaves_nothing_behind(void)
{
	struct err err = {0};
	char file[64], temporary[72], dir[32], path[64];
	struct rlimit was;
	struct rig r;
	int failed = 0;

	begin(&r);
	rig_close(&r);
	files_path(file, r.dir, "backup");
	snprintf(temporary, sizeof(temporary), "%s.tmp", file);
	for (int n = 0, done = -1; done < 0 && n < 20; n++) {
		leave_descriptors(&was, n);
		done = sqlite_backup(r.dir, file, &err);
		setrlimit(RLIMIT_NOFILE, &was);
		failed += done < 0;
		CHECK(done == 0 || err.code == ERR_UNAVAILABLE);
		CHECK(!access(file, F_OK) == !done);
		CHECK(access(temporary, F_OK) < 0);
	}
	CHECK(failed > 2 && access(file, F_OK) == 0);
	for (int n = 0, done = -1; done < 0 && n < 20; n++) {
		files_new(dir);
		leave_descriptors(&was, n);
		done = sqlite_restore(file, dir, &err);
		setrlimit(RLIMIT_NOFILE, &was);
		CHECK(done == 0 || err.code == ERR_UNAVAILABLE);
		CHECK(!access(files_path(path, dir, SQLITE_FILE), F_OK) ==
		      !done);
		files_remove(dir);
	}
	for (int n = 0, done = -1; done < 0 && n < 20; n++) {
		struct backend *b;

		files_new(dir);
		leave_descriptors(&was, n);
		done = sqlite_open(dir, r.loop, &b, &err);
		setrlimit(RLIMIT_NOFILE, &was);
		CHECK(done == 0 || err.code == ERR_UNAVAILABLE);
		if (done == 0)
			b->ops->close(b);
		files_remove(dir);
	}
	rig_release(&r);
}

/* A file that may not grow any more is a disk that is full. */
static void a_backup_that_does_not_fit_is_not_kept(void)
{
	char file[64], temporary[72], dir[32], path[64];
	struct rlimit was, few;
	struct stat st;
	struct err err = {0};
	struct rig r;

	begin(&r);
	files_path(file, r.dir, "backup");
	snprintf(temporary, sizeof(temporary), "%s.tmp", file);
	CHECK(sqlite_backup(r.dir, file, &err) == 0);
	CHECK(stat(file, &st) == 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	few = was;
	few.rlim_cur = (rlim_t)st.st_size - 20; /* but for its seal */
	unlink(file);
	CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
	CHECK(sqlite_backup(r.dir, file, &err) < 0);
	CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
	CHECK(err.code == ERR_UNAVAILABLE && strstr(err.msg, "cannot write"));
	CHECK(access(file, F_OK) < 0 && access(temporary, F_OK) < 0);
	CHECK(sqlite_backup(r.dir, file, &err) == 0);
	files_new(dir);
	few.rlim_cur = (rlim_t)st.st_size / 2;
	CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
	CHECK(err.code == ERR_UNAVAILABLE && strstr(err.msg, "cannot copy"));
	CHECK(access(files_path(path, dir, SQLITE_FILE), F_OK) < 0);
	files_remove(dir);
	rig_release(&r);
}

/* Nor is anything put where a link leads nowhere: it is somebody's. */
static void a_link_to_nowhere_is_not_overwritten(void)
{
	char file[64], link[64], temporary[72], dir[32], path[64];
	struct err err = {0};
	struct rig r;

	begin(&r);
	files_path(link, r.dir, "link");
	snprintf(temporary, sizeof(temporary), "%s.tmp", link);
	CHECK(symlink("/no/such/file", link) == 0);
	CHECK(sqlite_backup(r.dir, link, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "exists already"));
	CHECK(access(temporary, F_OK) < 0);
	unlink(link);
	CHECK(sqlite_backup(r.dir, files_path(file, r.dir, "b"), &err) == 0);
	files_new(dir);
	CHECK(symlink("/no/such/file", files_path(path, dir, SQLITE_FILE)) ==
	      0);
	CHECK(sqlite_restore(file, dir, &err) < 0);
	CHECK(err.code == ERR_CONFLICT);
	CHECK(access(files_path(path, dir, SQLITE_FILE ".restore"), F_OK) < 0);
	files_remove(dir);
	rig_release(&r);
}

/* The system refuses to let the log grow: as good as a full disk. */
static void a_file_that_may_not_grow_is_a_full_disk(void)
{
	struct rlimit was, none;
	struct deed d = {0};
	char id[37];
	struct rig r;

	begin(&r);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	none = was;
	none.rlim_cur = 0;
	deed_shelf(&d, shelves_id(id, 1, 2), "other");
	CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
	CHECK(deed_do(&d, &r) == ERR_UNAVAILABLE);
	CHECK(setrlimit(RLIMIT_FSIZE, &was) == 0);
	CHECK(strstr(d.err.msg, "nothing was written"));
	d = (struct deed){0};
	deed_shelf(&d, id, "other");
	CHECK(deed_do(&d, &r) == ERR_NONE);
	rig_reopen(&r);
	CHECK(store_revision(r.store) == 2);
	rig_release(&r);
}

/* Somebody else has the file open for writing, and does not let go. */
static void a_database_that_another_has_locked_refuses(void)
{
	struct deed d = {0};
	char id[37], path[64];
	sqlite3 *db;
	struct rig r;

	begin(&r);
	CHECK(sqlite3_open(files_path(path, r.dir, SQLITE_FILE), &db) == 0);
	CHECK(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == 0);
	deed_shelf(&d, shelves_id(id, 1, 2), "other");
	CHECK(deed_do(&d, &r) == ERR_UNAVAILABLE);
	CHECK(strstr(d.err.msg, "locked") && d.err.retry_after_ms);
	sqlite3_close(db);
	d = (struct deed){0};
	deed_shelf(&d, id, "other");
	CHECK(deed_do(&d, &r) == ERR_NONE);
	rig_release(&r);
}

static void told(struct audit_query *q)
{
	loop_stop(((struct rig *)q->ctx)->loop);
}

static enum err_code look(struct rig *r, char *say, size_t room)
{
	struct audit_filter all = {.limit = 10};
	struct audit_query *q = audit_query_new(&all, true);
	enum err_code code;

	q->done = told;
	q->ctx = r;
	store_audit(r->store, q);
	loop_run(r->loop);
	code = q->err.code;
	snprintf(say, room, "%s", q->err.msg);
	audit_query_free(q);
	return code;
}

static void note(struct rig *r)
{
	store_note(r->store, NULL, "{}", 2);
	store_expire(r->store);
	r->ops->settle(r);
}

static void a_trail_that_is_not_what_it_was_is_not_shown(void)
{
	char said[400], file[64], aside[64];
	struct err err = {0};
	struct rig r;

	begin(&r);
	note(&r);
	rig_reopen(&r);
	/* The file is gone when somebody first looks. */
	files_path(file, r.dir, SQLITE_FILE);
	files_path(aside, r.dir, "aside");
	CHECK(rename(file, aside) == 0);
	CHECK(look(&r, said, sizeof(said)) == ERR_UNAVAILABLE);
	CHECK(strstr(said, "cannot open"));
	CHECK(rename(aside, file) == 0);
	CHECK(look(&r, said, sizeof(said)) == ERR_NONE);
	sql(r.dir, "UPDATE audit SET hash=x'00'");
	CHECK(look(&r, said, sizeof(said)) == ERR_INTERNAL);
	CHECK(strstr(said, "an entry has no hash"));
	/* Nor is it dropped, old as it may be. */
	r.store->conf.audit_age_ms = 1000;
	r.clock.now += 3600000;
	store_expire(r.store);
	r.ops->settle(&r);
	CHECK(look(&r, said, sizeof(said)) == ERR_INTERNAL);
	rig_close(&r);
	sql(r.dir, "UPDATE meta SET value='nonsense' WHERE key='audit.head'");
	CHECK(rig_open(&r, &err) < 0);
	CHECK(strstr(err.msg, "a mark cannot be read"));
	r.store = NULL;
	rig_release(&r);
}

/* A mark of another's: the trail does not end as it should. */
static void a_mark_that_is_not_the_trail_s_is_found(void)
{
	static const char *const marks[] = {
		"'1 ' || hex(zeroblob(32))", /* another hash */
		"NULL",                      /* none: there is one too many */
		"hex(zeroblob(100))",        /* no mark is so long */
	};
	struct audit_report report;
	char text[160];

	for (size_t n = 0; n < COUNT_OF(marks); n++) {
		struct err err = {0};
		struct rig r;

		begin(&r);
		note(&r);
		rig_close(&r);
		CHECK(sqlite_audit_verify(r.dir, NULL, &report, &err) == 0);
		snprintf(text, sizeof(text),
			 "UPDATE meta SET value=%s WHERE key='audit.head'",
			 marks[n]);
		sql(r.dir, text);
		CHECK(sqlite_audit_verify(r.dir, NULL, &report, &err) < 0);
		CHECK(strstr(err.msg, "is not what was written last"));
		rig_release(&r);
	}
}

/* A row is looked through for secrets without being believed. */
static void rows_that_cannot_be_read_are_said_to_be(void)
{
	static const struct {
		const char *data;
		bool fine;
	} cases[] = {
		{"x''", true},
		{"CAST('+ghost@1 " ID " {}' || char(10) AS BLOB)", true},
		{"CAST('-shelf@1 " ID "' || char(10) AS BLOB)", true},
		{"CAST('+region@1 " ID " {bad' || char(10) AS BLOB)", false},
		{"CAST('nonsense' || char(10) AS BLOB)", false},
	};
	struct secret_use use;
	char text[200];

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		struct err err = {0};
		struct rig r;

		begin(&r);
		rig_close(&r);
		snprintf(text, sizeof(text),
			 "INSERT INTO log VALUES(999, 1, 0, %s)",
			 cases[n].data);
		sql(r.dir, text);
		CHECK((sqlite_secret_use(r.dir, &use, &err) == 0) ==
		      cases[n].fine);
		CHECK(cases[n].fine || err.msg[0]);
		/* The server refuses all of them: none has the right sum. */
		CHECK(rig_open(&r, &err) < 0);
		CHECK(strstr(err.msg, "checksum"));
		r.store = NULL;
		rig_release(&r);
	}
}

/* Without a table, but with a number that is not ours. */
static void an_empty_file_of_another_s_is_left_alone(void)
{
	struct loop *l = loop_new();
	struct backend *b;
	struct err err = {0};
	char dir[32];

	files_new(dir);
	sql(dir, "PRAGMA user_version=7");
	CHECK(sqlite_open(dir, l, &b, &err) < 0);
	CHECK(err.code == ERR_CONFLICT && strstr(err.msg, "not a database of"));
	files_remove(dir);
	loop_free(l);
}

static void an_empty_file_has_no_secrets(void)
{
	struct secret_use use;
	struct err err = {0};
	char dir[32], path[64];

	files_new(dir);
	files_write(files_path(path, dir, SQLITE_FILE), "", 0);
	CHECK(sqlite_secret_use(dir, &use, &err) == 0);
	CHECK(use.n == 0 && use.plain == 0);
	files_remove(dir);
}

int main(void)
{
	RUN(paths_that_are_too_long_are_refused);
	RUN(where_there_is_no_folder_that_is_said);
	RUN(an_older_file_is_the_server_s_to_upgrade);
	RUN(a_lock_that_cannot_be_had_is_said_to_be);
	RUN(want_of_descriptors_leaves_nothing_behind);
	RUN(a_backup_that_does_not_fit_is_not_kept);
	RUN(a_link_to_nowhere_is_not_overwritten);
	RUN(a_file_that_may_not_grow_is_a_full_disk);
	RUN(a_database_that_another_has_locked_refuses);
	RUN(a_trail_that_is_not_what_it_was_is_not_shown);
	RUN(a_mark_that_is_not_the_trail_s_is_found);
	RUN(rows_that_cannot_be_read_are_said_to_be);
	RUN(an_empty_file_of_another_s_is_left_alone);
	RUN(an_empty_file_has_no_secrets);
	return test_done();
}
