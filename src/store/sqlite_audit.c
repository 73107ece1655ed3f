/*
 * sqlite_audit - the audit trail in its table: written, trimmed and verified.
 *
 * Three rows of the table meta belong to it: the installation's id, that the
 * chain begins with; audit.head, the newest entry's place and hash, so that a
 * trail cut short is noticed; and audit.trimmed, the same of the newest entry
 * that retention has dropped.
 */
#include "store/sqlite_audit.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/sqlite.h"
#include "store/sqlite_priv.h"

/* Entries that one batch drops. */
#define TRIM_MOST 512

#define ENTRY_COLUMNS "seq, at, revision, organization, entry, hash"

static const char *const statements[] = {
	[TRAIL_INSERT] = "INSERT INTO audit(" ENTRY_COLUMNS ") "
			 "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[TRAIL_SET] = "INSERT OR REPLACE INTO meta(key, value) VALUES(?1, ?2)",
	[TRAIL_OLDEST] = "SELECT seq, at, hash FROM audit ORDER BY seq",
	[TRAIL_DROP] = "DELETE FROM audit WHERE seq <= ?1",
};

static int damaged(struct err *err, const char *why)
{
	return err_set(err, ERR_INTERNAL,
		       "the audit trail is damaged (%s); keep the file, and "
		       "restore a backup with 'muster restore'",
		       why);
}

/* The value of KEY in meta into OUT; 1, or 0 when there is none. */
static int read_meta(sqlite3 *db, const char *key, char *out, size_t room,
		     struct err *err)
{
	sqlite3_stmt *st;
	int r = 0;

	if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key=?1", -1,
			       &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "audit");
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW) {
		const char *have = (const char *)sqlite3_column_text(st, 0);

		if (have && strlen(have) < room) {
			memcpy(out, have, strlen(have) + 1);
			r = 1;
		}
	}
	if (sqlite3_finalize(st) != SQLITE_OK)
		return sqlite_err(db, err, "audit");
	return r;
}

int trail_installation(sqlite3 *db, char id[37], struct err *err)
{
	int r = read_meta(db, "installation", id, UUID_LEN + 1, err);

	return r ? r : damaged(err, "the installation's id is gone");
}

/* Where the chain stood at the mark KEY; at its beginning when there is no
 * such mark. */
static int read_mark(sqlite3 *db, const char *key, struct chain *ret,
		     struct err *err)
{
	char id[UUID_LEN + 1], text[AUDIT_MARK_LEN];
	int r;

	if (trail_installation(db, id, err) < 0)
		return -1;
	chain_begin(ret, id);
	r = read_meta(db, key, text, sizeof(text), err);
	if (r > 0 && !chain_read(ret, text))
		return damaged(err, "a mark cannot be read");
	return r < 0 ? -1 : 0;
}

/* How old the oldest entry is; FAR when there is none. */
static int read_oldest(sqlite3 *db, int64_t *ret, struct err *err)
{
	sqlite3_int64 at;

	if (sqlite_number(db,
			  "SELECT ifnull((SELECT at FROM audit ORDER BY seq "
			  "LIMIT 1), 0x7fffffffffffffff)",
			  &at, err) < 0)
		return -1;
	*ret = at;
	return 0;
}

int trail_open(struct trail *t, sqlite3 *db, struct err *err)
{
	t->db = db;
	if (read_mark(db, "audit.head", &t->head, err) < 0 ||
	    read_oldest(db, &t->oldest, err) < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(statements); i++)
		if (sqlite3_prepare_v3(db, statements[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &t->st[i],
				       NULL) != SQLITE_OK)
			return sqlite_err(db, err, "audit");
	return 0;
}

void trail_close(struct trail *t)
{
	for (size_t i = 0; i < COUNT_OF(t->st); i++)
		sqlite3_finalize(t->st[i]);
}

static int step(struct trail *t, enum trail_statement which)
{
	int rc = sqlite3_step(t->st[which]);

	sqlite3_reset(t->st[which]);
	return rc == SQLITE_DONE ? 0 : -1;
}

static int set_mark(struct trail *t, const char *key, const struct chain *c)
{
	char text[AUDIT_MARK_LEN];
	sqlite3_stmt *st = t->st[TRAIL_SET];

	chain_text(c, text);
	sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, text, -1, SQLITE_STATIC);
	return step(t, TRAIL_SET);
}

static int write_entry(struct trail *t, const struct audit *e)
{
	sqlite3_stmt *st = t->st[TRAIL_INSERT];

	chain_add(&t->next, e);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)t->next.seq);
	sqlite3_bind_int64(st, 2, e->at);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)e->revision);
	sqlite3_bind_text(st, 4, e->organization, -1, SQLITE_STATIC);
	sqlite3_bind_text64(st, 5, e->text, e->len, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_blob(st, 6, t->next.hash, sizeof(t->next.hash),
			  SQLITE_STATIC);
	return step(t, TRAIL_INSERT);
}

/* Walk over the oldest entries as far as they may go; LAST is the newest of
 * those. */
static int find_old(struct trail *t, struct batch *b, struct chain *last)
{
	sqlite3_stmt *st = t->st[TRAIL_OLDEST];
	size_t n = 0;
	int rc;

	t->next_oldest = INT64_MAX;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		t->next_oldest = sqlite3_column_int64(st, 1);
		b->audit_more = t->next_oldest < b->audit_from;
		if (n++ == TRIM_MOST || !b->audit_more ||
		    sqlite3_column_bytes(st, 2) != sizeof(last->hash))
			break;
		last->seq = (uint64_t)sqlite3_column_int64(st, 0);
		memcpy(last->hash, sqlite3_column_blob(st, 2),
		       sizeof(last->hash));
		b->audit_more = false;
	}
	sqlite3_reset(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

static int drop_old(struct trail *t, struct batch *b)
{
	struct chain last = {0};

	if (find_old(t, b, &last) < 0)
		return -1;
	if (!last.seq)
		return 0;
	sqlite3_bind_int64(t->st[TRAIL_DROP], 1, (sqlite3_int64)last.seq);
	if (step(t, TRAIL_DROP) < 0)
		return -1;
	return set_mark(t, "audit.trimmed", &last);
}

int trail_write(struct trail *t, struct batch *b)
{
	t->next = t->head;
	t->next_oldest = t->oldest;
	b->audit_more = false;
	for (size_t i = 0; i < b->n_audits; i++) {
		if (b->audits[i].at < t->next_oldest)
			t->next_oldest = b->audits[i].at;
		if (write_entry(t, &b->audits[i]) < 0)
			return -1;
	}
	if (t->next_oldest < b->audit_from && drop_old(t, b) < 0)
		return -1;
	return b->n_audits ? set_mark(t, "audit.head", &t->next) : 0;
}

void trail_committed(struct trail *t)
{
	t->head = t->next;
	t->oldest = t->next_oldest;
}

static void read_entry(sqlite3_stmt *st, struct audit *e)
{
	*e = (struct audit){
		.at = sqlite3_column_int64(st, 1),
		.revision = (uint64_t)sqlite3_column_int64(st, 2),
		.organization = (const char *)sqlite3_column_text(st, 3),
		.text = (const char *)sqlite3_column_text(st, 4),
		.len = (size_t)sqlite3_column_bytes(st, 4),
	};
	if (!e->text)
		e->text = "";
}

/* By no index: one of organizations would cost every change a page of its own.
 * So a page looks at so many entries and no more. */
int trail_look(sqlite3 *db, struct audit_query *q, struct err *err)
{
	sqlite3_stmt *st;
	struct audit e;
	int rc;

	if (sqlite3_prepare_v2(db,
			       "SELECT " ENTRY_COLUMNS " FROM audit "
			       "WHERE seq < ?1 ORDER BY seq DESC",
			       -1, &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "audit");
	sqlite3_bind_int64(st, 1,
			   q->filter.before ? (sqlite3_int64)q->filter.before
					    : INT64_MAX);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		read_entry(st, &e);
		if (sqlite3_column_bytes(st, 5) != DIGEST_SHA256_LEN)
			break;
		if (!audit_query_take(q, (uint64_t)sqlite3_column_int64(st, 0),
				      &e, sqlite3_column_blob(st, 5))) {
			rc = SQLITE_DONE;
			break;
		}
	}
	sqlite3_finalize(st);
	if (rc == SQLITE_ROW)
		return damaged(err, "an entry has no hash");
	return rc == SQLITE_DONE ? 0 : sqlite_err(db, err, "audit");
}

static int broken(struct err *err, uint64_t seq, const char *why)
{
	return err_set(err, ERR_INTERNAL, "entry %llu %s",
		       (unsigned long long)seq, why);
}

static int check_entry(sqlite3_stmt *st, struct chain *c, struct err *err)
{
	uint64_t seq = (uint64_t)sqlite3_column_int64(st, 0);
	struct audit e;

	if (seq != c->seq + 1)
		return broken(err, c->seq + 1, "is missing");
	read_entry(st, &e);
	chain_add(c, &e);
	if (sqlite3_column_bytes(st, 5) != sizeof(c->hash) ||
	    memcmp(sqlite3_column_blob(st, 5), c->hash, sizeof(c->hash)) != 0)
		return broken(err, seq,
			      "is not as it was written, or does not follow "
			      "on the one before it");
	return 0;
}

static int check_entries(sqlite3 *db, struct chain *c, struct err *err)
{
	sqlite3_stmt *st;
	int rc, r = 0;

	if (sqlite3_prepare_v2(db,
			       "SELECT " ENTRY_COLUMNS " FROM audit "
			       "ORDER BY seq",
			       -1, &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "audit");
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW)
		r = check_entry(st, c, err);
	if (r == 0 && rc != SQLITE_DONE)
		r = sqlite_err(db, err, "audit");
	sqlite3_finalize(st);
	return r;
}

int trail_verify(sqlite3 *db, struct audit_report *ret, struct err *err)
{
	struct chain c = {0}, head = {0};

	/* One moment's state, however much is written meanwhile. */
	if (sqlite_exec(db, "BEGIN", err) < 0 ||
	    read_mark(db, "audit.trimmed", &c, err) < 0 ||
	    read_mark(db, "audit.head", &head, err) < 0)
		return -1;
	ret->trimmed = c.seq;
	if (check_entries(db, &c, err) < 0)
		return -1;
	if (c.seq < head.seq)
		return broken(err, c.seq + 1, "is missing, and all after it");
	if (c.seq != head.seq || memcmp(c.hash, head.hash, sizeof(c.hash)) != 0)
		return broken(err, c.seq, "is not what was written last");
	ret->count = c.seq - ret->trimmed;
	chain_text(&c, ret->last);
	return sqlite_exec(db, "COMMIT", err);
}

/* Entries of before there was a chain, in their order and as they are. */
static int chain_next(sqlite3_stmt *next, sqlite3_stmt *set, struct chain *c)
{
	struct audit e;
	int rc;

	sqlite3_bind_int64(next, 1, (sqlite3_int64)c->seq);
	rc = sqlite3_step(next);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? 0 : -1;
	read_entry(next, &e);
	sqlite3_bind_int64(set, 1, sqlite3_column_int64(next, 0));
	chain_add(c, &e);
	sqlite3_bind_int64(set, 2, (sqlite3_int64)c->seq);
	sqlite3_bind_blob(set, 3, c->hash, sizeof(c->hash), SQLITE_STATIC);
	sqlite3_reset(next);
	rc = sqlite3_step(set);
	sqlite3_reset(set);
	return rc == SQLITE_DONE ? 1 : -1;
}

static int chain_all(struct trail *t, struct err *err)
{
	sqlite3_stmt *next = NULL, *set = NULL;
	int r = -1;

	if (sqlite3_prepare_v2(t->db,
			       "SELECT " ENTRY_COLUMNS " FROM audit "
			       "WHERE seq > ?1 ORDER BY seq LIMIT 1",
			       -1, &next, NULL) == SQLITE_OK &&
	    sqlite3_prepare_v2(t->db,
			       "UPDATE audit SET seq = ?2, hash = ?3 "
			       "WHERE seq = ?1",
			       -1, &set, NULL) == SQLITE_OK)
		do
			r = chain_next(next, set, &t->head);
		while (r > 0);
	if (r < 0)
		sqlite_err(t->db, err, "audit");
	sqlite3_finalize(next);
	sqlite3_finalize(set);
	return r;
}

int trail_upgrade(sqlite3 *db, struct err *err)
{
	struct trail t = {0};
	char id[UUID_LEN + 1];
	char sql[128];
	int r;

	uuid_v7(clock_wall(&clock_system), 0, &random_system, id);
	sqlite3_snprintf(sizeof(sql), sql,
			 "INSERT INTO meta(key, value) "
			 "VALUES('installation', %Q)",
			 id);
	if (sqlite_exec(db, sql, err) < 0)
		return -1;
	r = trail_open(&t, db, err);
	if (r == 0)
		r = chain_all(&t, err);
	if (r == 0 && t.head.seq && set_mark(&t, "audit.head", &t.head) < 0)
		r = sqlite_err(db, err, "audit");
	trail_close(&t);
	return r;
}
