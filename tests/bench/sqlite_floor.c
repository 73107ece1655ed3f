/*
 * sqlite_floor - what SQLite alone can do: rows of a given size, so many a
 * transaction, each transaction durable; one table, one thread, the settings
 * of the server's own database.  The floor of a durable create.
 *
 *   bench_sqlite_floor FILE BYTES GROUP COUNT SECONDS
 *
 * GROUP may have a fraction: the groups then alternate.
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

static sqlite3 *open_file(const char *path, sqlite3_stmt **ret_insert)
{
	sqlite3 *db;

	must(NULL,
	     sqlite3_open_v2(path, &db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				     SQLITE_OPEN_NOMUTEX,
			     NULL),
	     SQLITE_OK);
	exec(db, "PRAGMA journal_mode=WAL;"
		 "PRAGMA synchronous=FULL;"
		 "PRAGMA journal_size_limit=67108864;"
		 "PRAGMA wal_autocheckpoint=4000;"
		 "CREATE TABLE log(revision INTEGER PRIMARY KEY, data BLOB)");
	must(db,
	     sqlite3_prepare_v3(db, "INSERT INTO log VALUES(?1, ?2)", -1,
				SQLITE_PREPARE_PERSISTENT, ret_insert, NULL),
	     SQLITE_OK);
	return db;
}

int main(int argc, char **argv)
{
	size_t bytes, count, seconds, done = 0;
	double group, owed = 0;
	uint64_t began, ends;
	sqlite3_stmt *insert;
	sqlite3 *db;
	char *row;

	if (argc != 6)
		die("say FILE BYTES GROUP COUNT SECONDS");
	bytes = number(argv[2]);
	group = strtod(argv[3], NULL);
	count = number(argv[4]);
	seconds = number(argv[5]);
	row = malloc(bytes + 1);
	if (!row || group < 1)
		die("a group has at least one row");
	memset(row, 'x', bytes);
	db = open_file(argv[1], &insert);
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
		}
		exec(db, "COMMIT");
	}
	printf("done=%zu rate=%.1f\n", done,
	       (double)done * 1e9 / (double)(now_ns() - began));
	sqlite3_finalize(insert);
	sqlite3_close(db);
	free(row);
	return 0;
}
