/*
 * sqlite_floor - what SQLite alone can do: rows of a given size, so many a
 * transaction, each transaction durable; one table, one thread, the settings
 * of the server's own database.  The floor of a durable create.
 *
 *   bench_sqlite_floor FILE BYTES GROUP COUNT SECONDS [keys]
 *
 * GROUP may have a fraction: the groups then alternate.  With "keys" it does
 * what a store without an index in memory must: look up the key's revision,
 * write the row, and set the key's revision to it.
 */
#include <sqlite3.h>
#include <stdbool.h>

#include "bench.h"

static void must(sqlite3 *db, int rc, int want)
{
	if (rc != want)
		die("sqlite: %s", sqlite3_errmsg(db));
}

static void exec(sqlite3 *db, const char *sql)
{
	must(db, sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;

	must(db,
	     sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st,
				NULL),
	     SQLITE_OK);
	return st;
}

static sqlite3 *open_file(const char *path)
{
	sqlite3 *db;

	must(NULL,
	     sqlite3_open_v2(path, &db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				     SQLITE_OPEN_NOMUTEX,
			     NULL),
	     SQLITE_OK);
	exec(db, "PRAGMA page_size=8192;"
		 "PRAGMA journal_mode=WAL;"
		 "PRAGMA synchronous=FULL;"
		 "PRAGMA journal_size_limit=67108864;"
		 "PRAGMA wal_autocheckpoint=1000;"
		 "CREATE TABLE log(revision INTEGER PRIMARY KEY, data BLOB);"
		 "CREATE TABLE keys(key TEXT PRIMARY KEY, revision INTEGER)"
		 " WITHOUT ROWID");
	return db;
}

struct keys {
	sqlite3_stmt *find, *set;
};

static void use_key(sqlite3 *db, struct keys *k, size_t n)
{
	char key[64];
	int len = snprintf(key, sizeof(key),
			   "project/0190c1b2-7d30-7a11-9000-%012zx", n);

	sqlite3_bind_text(k->find, 1, key, len, SQLITE_STATIC);
	must(db, sqlite3_step(k->find), SQLITE_DONE);
	sqlite3_reset(k->find);
	sqlite3_bind_text(k->set, 1, key, len, SQLITE_STATIC);
	sqlite3_bind_int64(k->set, 2, (sqlite3_int64)n);
	must(db, sqlite3_step(k->set), SQLITE_DONE);
	sqlite3_reset(k->set);
}

int main(int argc, char **argv)
{
	size_t bytes, count, seconds, done = 0;
	double group, owed = 0;
	uint64_t began, ends;
	struct keys keys;
	sqlite3_stmt *insert;
	sqlite3 *db;
	char *row;

	if (argc != 6 && argc != 7)
		die("say FILE BYTES GROUP COUNT SECONDS [keys]");
	bytes = number(argv[2]);
	group = strtod(argv[3], NULL);
	count = number(argv[4]);
	seconds = number(argv[5]);
	row = malloc(bytes + 1);
	if (!row || group < 1)
		die("a group has at least one row");
	memset(row, 'x', bytes);
	db = open_file(argv[1]);
	insert = prepare(db, "INSERT INTO log VALUES(?1, ?2)");
	keys.find = prepare(db, "SELECT revision FROM keys WHERE key = ?1");
	keys.set = prepare(db, "INSERT OR REPLACE INTO keys VALUES(?1, ?2)");
	began = now_ns();
	ends = began + seconds * 1000000000U;
	while (done < count && now_ns() < ends) {
		exec(db, "BEGIN IMMEDIATE");
		for (owed += group; owed >= 1; owed--) {
			sqlite3_bind_int64(insert, 1, (sqlite3_int64)++done);
			sqlite3_bind_blob64(insert, 2, row, bytes,
					    SQLITE_STATIC);
			must(db, sqlite3_step(insert), SQLITE_DONE);
			sqlite3_reset(insert);
			if (argc == 7)
				use_key(db, &keys, done);
		}
		exec(db, "COMMIT");
	}
	/* What is left of the write-ahead log was not for nothing, either: the
	 * server goes on from where its last round ended. */
	exec(db, "PRAGMA wal_checkpoint");
	printf("done=%zu rate=%.1f\n", done,
	       (double)done * 1e9 / (double)(now_ns() - began));
	sqlite3_finalize(keys.find);
	sqlite3_finalize(keys.set);
	sqlite3_finalize(insert);
	sqlite3_close(db);
	free(row);
	return 0;
}
