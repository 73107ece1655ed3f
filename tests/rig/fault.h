/*
 * fault - a disk, and memory, that fail SQLite when they are told to: a
 * sqlite3_vfs around the real one.  There is one for the process; any thread may
 * meet it.
 */
#pragma once

enum {
	FAULT_READ = 1,
	FAULT_WRITE = 2,
	FAULT_TRUNCATE = 4,
	FAULT_SYNC = 8,
	FAULT_OPEN = 16,
	FAULT_SHARE = 32,  /* the index in shared memory */
	FAULT_MEMORY = 64, /* that SQLite asks for; CODE is not looked at */
};

/* Make it what every database of this process lies on. */
void fault_install(void);

/* Fail the calls FROM to UNTIL, counted from 1, of those in MASK with CODE. */
void fault_set(int mask, int from, int until, int code);
void fault_clear(void);

/* How many calls of those in MASK there were, and how many failed. */
int fault_count(void);
int fault_hits(void);
