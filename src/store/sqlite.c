#include "store/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "loop/pool.h"
#include "store/backend.h"
#include "store/sqlite_audit.h"
#include "store/sqlite_priv.h"

/* The exit status of a process whose disk failed: EX_IOERR. */
#define EXIT_DISK 74

/* The write-ahead log is brought into the file when it has so many pages. */
#define CHECKPOINT_PAGES 1000

enum statement {
	BEGIN,
	COMMIT,
	INSERT_ROW,
	UPDATE_ROW,
	DELETE_ROW,
	SET_HORIZON,
};

static const char *const statements[] = {
	[BEGIN] = "BEGIN IMMEDIATE",
	[COMMIT] = "COMMIT",
	[INSERT_ROW] = "INSERT INTO log(revision, at, sum, data) "
		       "VALUES(?1, ?2, ?3, ?4)",
	[UPDATE_ROW] = "UPDATE log SET sum = ?2, data = ?3 WHERE revision = ?1",
	[DELETE_ROW] = "DELETE FROM log WHERE revision = ?1",
	[SET_HORIZON] = "INSERT OR REPLACE INTO meta(key, value) "
			"VALUES('horizon', ?1)",
};

/* Whoever looks in the audit trail; a thread and a connection of its own, made
 * when they are first needed. */
struct reader {
	struct pool *pool;
	sqlite3 *db;
	struct list queries; /* under way */
	char path[4096];
};

struct sqlite {
	struct backend base; /* first: a backend is cast to its sqlite */
	struct loop *loop;
	sqlite3 *db; /* the writer's, once there is one */
	sqlite3_stmt *st[COUNT_OF(statements)];
	struct trail trail;
	struct pool *pool; /* of one: the writer */
	struct job job;
	struct reader reader;
	struct batch *batch;
	uint64_t horizon;
	int lock;
	bool closed; /* while a batch was under way: its answer frees this */
};

static struct sqlite *sqlite(struct backend *b)
{
	return (struct sqlite *)b;
}

/* Everything that is read of a row, so that no flipped bit is taken for data. */
static sqlite3_int64 sum_of(uint64_t revision, int64_t at, const char *data,
			    size_t len)
{
	char head[64], *tail = head + sizeof(head), *p = tail;
	uint32_t sum;

	*--p = ' ';
	p = digits_before(p, at);
	*--p = ' ';
	p = digits_before(p, (int64_t)revision);
	sum = libdeflate_crc32(0, p, (size_t)(tail - p));
	return libdeflate_crc32(sum, data, len);
}

/* The horizon as it is kept: the number, and its sum. */
static void horizon_text(uint64_t horizon, char out[48])
{
	snprintf(out, 48, "%llu %08llx", (unsigned long long)horizon,
		 (unsigned long long)sum_of(horizon, 0, "", 0));
}

static int read_row(sqlite3_stmt *st, backend_feed *feed, void *ctx,
		    struct err *err)
{
	struct row row = {
		.revision = (uint64_t)sqlite3_column_int64(st, 0),
		.at = sqlite3_column_int64(st, 1),
		.data = sqlite3_column_blob(st, 3),
		.len = (size_t)sqlite3_column_bytes(st, 3),
	};

	if (!row.data)
		row.data = "";
	if (sum_of(row.revision, row.at, row.data, row.len) !=
	    sqlite3_column_int64(st, 2))
		return err_set(err, ERR_INTERNAL,
			       "the database is damaged (the checksum of "
			       "revision %llu is wrong); restore a backup with "
			       "'muster restore'",
			       (unsigned long long)row.revision);
	return feed(ctx, &row, err);
}

static int load_horizon(struct sqlite *s, struct err *err)
{
	const char *have = NULL;
	sqlite3_stmt *st;
	int r = 0;

	if (sqlite3_prepare_v2(s->db,
			       "SELECT value FROM meta WHERE key='horizon'", -1,
			       &st, NULL) != SQLITE_OK)
		return sqlite_err(s->db, err, "load");
	s->horizon = 1;
	if (sqlite3_step(st) == SQLITE_ROW)
		have = (const char *)sqlite3_column_text(st, 0);
	if (have) {
		char text[48];

		s->horizon = strtoull(have, NULL, 10);
		horizon_text(s->horizon, text);
		if (strcmp(have, text) != 0)
			r = err_set(err, ERR_INTERNAL,
				    "the database is damaged (where its log "
				    "begins is not known); restore a backup "
				    "with 'muster restore'");
	}
	if (sqlite3_finalize(st) != SQLITE_OK)
		r = sqlite_err(s->db, err, "load");
	return r;
}

static int sqlite_load(struct backend *b, backend_feed *feed, void *ctx,
		       uint64_t *ret_horizon, struct err *err)
{
	struct sqlite *s = sqlite(b);
	sqlite3_stmt *st;
	int rc, r = 0;

	if (load_horizon(s, err) < 0)
		return -1;
	*ret_horizon = s->horizon;
	if (sqlite3_prepare_v2(s->db,
			       "SELECT revision, at, sum, data FROM log "
			       "ORDER BY revision",
			       -1, &st, NULL) != SQLITE_OK)
		return sqlite_err(s->db, err, "load");
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = read_row(st, feed, ctx, err);
	if (r == 0 && rc != SQLITE_DONE)
		r = sqlite_err(s->db, err, "load");
	sqlite3_finalize(st);
	return r;
}

static int step(struct sqlite *s, enum statement which)
{
	int rc = sqlite3_step(s->st[which]);

	sqlite3_reset(s->st[which]);
	return rc == SQLITE_DONE ? 0 : -1;
}

static int write_row(struct sqlite *s, const struct row *r)
{
	sqlite3_stmt *st = s->st[INSERT_ROW];

	sqlite3_bind_int64(st, 1, (sqlite3_int64)r->revision);
	sqlite3_bind_int64(st, 2, r->at);
	sqlite3_bind_int64(st, 3, sum_of(r->revision, r->at, r->data, r->len));
	sqlite3_bind_blob64(st, 4, r->data, r->len, SQLITE_STATIC);
	return step(s, INSERT_ROW);
}

static int write_trim(struct sqlite *s, const struct trim *t)
{
	sqlite3_stmt *st = s->st[t->data ? UPDATE_ROW : DELETE_ROW];

	sqlite3_bind_int64(st, 1, (sqlite3_int64)t->revision);
	if (!t->data)
		return step(s, DELETE_ROW);
	sqlite3_bind_int64(st, 2, sum_of(t->revision, t->at, t->data, t->len));
	sqlite3_bind_blob64(st, 3, t->data, t->len, SQLITE_STATIC);
	return step(s, UPDATE_ROW);
}

/* What is bound is never copied, here and in the trail: there might be no memory
 * for it, and nothing would be written in its place. */
static int write_horizon(struct sqlite *s, uint64_t horizon)
{
	char text[48];

	if (horizon == s->horizon)
		return 0;
	horizon_text(horizon, text);
	sqlite3_bind_text(s->st[SET_HORIZON], 1, text, -1, SQLITE_STATIC);
	return step(s, SET_HORIZON);
}

static void end(sqlite3 *db, const char *why)
{
	log_error("disk",
		  "%s (%s): ending, so that nothing is promised that may be "
		  "lost",
		  why, sqlite3_errmsg(db));
	_exit(EXIT_DISK);
}

/* A failed sync may have dropped the pages it was to write: no later sync can
 * be believed, so this process must not go on. */
static void end_if_unsynced(sqlite3 *db)
{
	int code = sqlite3_extended_errcode(db);

	if (code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC)
		end(db, "the disk refuses to sync");
}

/* Only these are known to come before the record that commits is whole in the
 * write-ahead log.  After others (a write that failed may have been done, no
 * room for the shared index) it may be there, and whoever opens the file next
 * would find it. */
static int commit(struct sqlite *s)
{
	sqlite3 *db = s->db;

	if (step(s, COMMIT) == 0)
		return 0;
	end_if_unsynced(db);
	if (sqlite_has_no_room(db))
		return -1;
	switch (sqlite3_extended_errcode(db)) {
	case SQLITE_IOERR_READ:
	case SQLITE_IOERR_SHORT_READ:
		return -1;
	}
	end(db, "nobody can say whether a change is on the disk");
	return -1;
}

static int write_batch(struct sqlite *s, struct batch *b)
{
	if (step(s, BEGIN) < 0)
		return -1;
	for (size_t i = 0; i < b->n; i++)
		if (write_row(s, &b->rows[i]) < 0)
			return -1;
	for (size_t i = 0; i < b->n_trims; i++)
		if (write_trim(s, &b->trims[i]) < 0)
			return -1;
	if (write_horizon(s, b->horizon) < 0 || trail_write(&s->trail, b) < 0)
		return -1;
	return commit(s);
}

/* SQLite would do the same by itself, but keep silent when a sync fails.  Any
 * other failure may wait: the pages stay in the write-ahead log. */
static int checkpoint(void *ctx, sqlite3 *db, const char *name, int pages)
{
	(void)ctx;
	if (pages >= CHECKPOINT_PAGES &&
	    sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL,
				      NULL) != SQLITE_OK)
		end_if_unsynced(db);
	return SQLITE_OK;
}

/* On the writer's thread. */
static void run(struct job *j)
{
	struct sqlite *s = CONTAINER_OF(j, struct sqlite, job);
	struct batch *b = s->batch;

	b->result = BATCH_DONE;
	if (write_batch(s, b) == 0) {
		s->horizon = b->horizon;
		trail_committed(&s->trail);
		return;
	}
	end_if_unsynced(s->db);
	b->result = BATCH_FAILED;
	sqlite_err(s->db, &b->err, "write");
	b->err.retry_after_ms = 1000;
	if (!sqlite3_get_autocommit(s->db))
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

static void done(struct job *j)
{
	struct sqlite *s = CONTAINER_OF(j, struct sqlite, job);
	struct batch *b = s->batch;

	s->batch = NULL;
	if (s->closed)
		free(s);
	else
		b->done(b);
}

static void sqlite_commit(struct backend *b, struct batch *batch)
{
	struct sqlite *s = sqlite(b);

	assert(!s->batch);
	s->batch = batch;
	s->job.run = run;
	s->job.done = done;
	pool_run(s->pool, &s->job);
}

static void look(struct job *j)
{
	struct audit_query *q = CONTAINER_OF(j, struct audit_query, job);
	struct reader *r = q->owner;

	if (!r->db && sqlite_open_quietly(r->path, SQLITE_OPEN_READONLY, &r->db,
					  &q->err) < 0) {
		sqlite3_close(r->db);
		r->db = NULL;
		return;
	}
	(void)trail_look(r->db, q, &q->err);
}

static void looked(struct job *j)
{
	struct audit_query *q = CONTAINER_OF(j, struct audit_query, job);

	list_remove(&q->link);
	q->done(q);
}

static void sqlite_audit(struct backend *b, struct audit_query *q)
{
	struct sqlite *s = sqlite(b);

	if (!s->reader.pool)
		s->reader.pool = pool_new(s->loop, 1);
	q->owner = &s->reader;
	q->job.run = look;
	q->job.done = looked;
	list_add(&s->reader.queries, &q->link);
	pool_run(s->reader.pool, &q->job);
}

/* Those under way come to their end without anybody who waits. */
static void close_reader(struct reader *r)
{
	struct list *l;

	if (r->pool)
		pool_free(r->pool);
	sqlite3_close(r->db);
	while ((l = list_pop(&r->queries)))
		CONTAINER_OF(l, struct audit_query, link)->done =
			audit_query_free;
}

static void sqlite_close(struct backend *b)
{
	struct sqlite *s = sqlite(b);

	if (s->pool)
		pool_free(s->pool);
	close_reader(&s->reader);
	trail_close(&s->trail);
	for (size_t i = 0; i < COUNT_OF(statements); i++)
		sqlite3_finalize(s->st[i]);
	sqlite3_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	s->closed = true;
	if (!s->batch)
		free(s);
}

static const struct backend_ops sqlite_ops = {
	.name = "sqlite",
	.load = sqlite_load,
	.commit = sqlite_commit,
	.audit = sqlite_audit,
	.close = sqlite_close,
};

/* Made by us first, for SQLite would let everybody read it. */
static int create_file(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot make %s: %s", path,
			       strerror(errno));
	close(fd);
	return sqlite_sync_folder(path, err);
}

static int open_database(struct sqlite *s, const char *path, struct err *err)
{
	/* A page, which a new file keeps for good, holds several rows, so that
	 * a batch is written with fewer calls.  The checkpoint makes what a
	 * process that crashed had written, but not synced, durable before
	 * anybody is shown it. */
	static const char settings[] = "PRAGMA trusted_schema=OFF;"
				       "PRAGMA cell_size_check=ON;"
				       "PRAGMA page_size=8192;"
				       "PRAGMA journal_mode=WAL;"
				       "PRAGMA synchronous=FULL;"
				       "PRAGMA journal_size_limit=67108864;"
				       "PRAGMA wal_checkpoint";
	int version;

	if (sqlite3_open_v2(path, &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
				    SQLITE_OPEN_EXRESCODE,
			    NULL) != SQLITE_OK)
		return err_set(err, ERR_UNAVAILABLE, "cannot open %s: %s", path,
			       sqlite3_errmsg(s->db));
	sqlite3_busy_timeout(s->db, 2000);
	if (sqlite_check_ours(s->db, path, &version, err) < 0)
		return -1;
	if (sqlite_exec(s->db, settings, err) < 0)
		return err_wrap(err, "%s", path);
	if (sqlite_prepare_schema(s->db, path, version, err) < 0)
		return -1;
	sqlite3_wal_hook(s->db, checkpoint, NULL);
	for (size_t i = 0; i < COUNT_OF(statements); i++)
		if (sqlite3_prepare_v3(s->db, statements[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &s->st[i],
				       NULL) != SQLITE_OK)
			return sqlite_err(s->db, err, path);
	if (trail_installation(s->db, s->base.installation, err) < 0)
		return -1;
	return trail_open(&s->trail, s->db, err);
}

int sqlite_open(const char *dir, struct loop *l, struct backend **out,
		struct err *err)
{
	struct sqlite *s = xcalloc(1, sizeof(*s));
	char path[4096];

	/* Nobody asks SQLite how much memory it has, and counting takes a lock
	 * for each piece.  Refused once this process has used SQLite: then it
	 * counts on. */
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	s->base.ops = &sqlite_ops;
	s->lock = -1;
	s->loop = l;
	list_init(&s->reader.queries);
	if (sqlite_path(dir, SQLITE_FILE, path, err) < 0 ||
	    sqlite_lock(dir, &s->lock, err) < 0 || create_file(path, err) < 0 ||
	    open_database(s, path, err) < 0) {
		sqlite_close(&s->base);
		return -1;
	}
	memcpy(s->reader.path, path, sizeof(path));
	s->pool = pool_new(l, 1);
	*out = &s->base;
	return 0;
}
