#include "rig/fault.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The real methods of a kind of file, with some of ours in their place.  They
 * are given the real file. */
struct fault_methods {
	sqlite3_io_methods ours; /* first: a file points to it */
	const sqlite3_io_methods *real;
};

static struct {
	sqlite3_vfs vfs, *real;
	sqlite3_mem_methods memory;
	pthread_mutex_t mutex;
	struct fault_methods methods[4]; /* under mutex */
	atomic_int mask, count, from, until;
	atomic_int code, hits;
} fault = {.mutex = PTHREAD_MUTEX_INITIALIZER};

#define FAULT_REAL(f) (((const struct fault_methods *)(f)->pMethods)->real)

void fault_set(int mask, int from, int until, int code)
{
	atomic_store(&fault.mask, 0);
	atomic_store(&fault.count, 0);
	atomic_store(&fault.hits, 0);
	atomic_store(&fault.from, from);
	atomic_store(&fault.until, until);
	atomic_store(&fault.code, code);
	atomic_store(&fault.mask, mask);
}

void fault_clear(void)
{
	atomic_store(&fault.mask, 0);
}

int fault_count(void)
{
	return atomic_load(&fault.count);
}

int fault_hits(void)
{
	return atomic_load(&fault.hits);
}

static bool fault_strikes(int what)
{
	int n;

	if (!(atomic_load(&fault.mask) & what))
		return false;
	n = atomic_fetch_add(&fault.count, 1) + 1;
	if (n < atomic_load(&fault.from) || n > atomic_load(&fault.until))
		return false;
	atomic_fetch_add(&fault.hits, 1);
	return true;
}

static int fault_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	if (fault_strikes(FAULT_READ))
		return atomic_load(&fault.code);
	return FAULT_REAL(f)->xRead(f, to, n, at);
}

static int fault_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	int code = fault_strikes(FAULT_WRITE) ? atomic_load(&fault.code)
					      : SQLITE_OK;
	int r;

	/* Such a one may have been done. */
	if (code != SQLITE_OK && code != SQLITE_IOERR_WRITE)
		return code;
	r = FAULT_REAL(f)->xWrite(f, p, n, at);
	return r == SQLITE_OK ? code : r;
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	if (fault_strikes(FAULT_TRUNCATE))
		return atomic_load(&fault.code);
	return FAULT_REAL(f)->xTruncate(f, size);
}

static int fault_sync(sqlite3_file *f, int flags)
{
	if (fault_strikes(FAULT_SYNC))
		return atomic_load(&fault.code);
	return FAULT_REAL(f)->xSync(f, flags);
}

static int fault_share(sqlite3_file *f, int page, int size, int extend,
		       void volatile **ret)
{
	if (fault_strikes(FAULT_SHARE))
		return atomic_load(&fault.code);
	return FAULT_REAL(f)->xShmMap(f, page, size, extend, ret);
}

static void fault_wrap(sqlite3_file *f)
{
	struct fault_methods *m = fault.methods;

	pthread_mutex_lock(&fault.mutex);
	while (m->real && m->real != f->pMethods)
		m++;
	if (!m->real) {
		m->real = f->pMethods;
		m->ours = *m->real;
		m->ours.xRead = fault_read;
		m->ours.xWrite = fault_write;
		m->ours.xTruncate = fault_truncate;
		m->ours.xSync = fault_sync;
		m->ours.xShmMap = fault_share;
	}
	f->pMethods = &m->ours;
	pthread_mutex_unlock(&fault.mutex);
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f,
		      int flags, int *ret_flags)
{
	int rc;

	(void)vfs;
	f->pMethods = NULL;
	if (fault_strikes(FAULT_OPEN))
		return SQLITE_CANTOPEN;
	rc = fault.real->xOpen(fault.real, name, f, flags, ret_flags);
	if (rc == SQLITE_OK)
		fault_wrap(f);
	return rc;
}

static void *fault_malloc(int n)
{
	return fault_strikes(FAULT_MEMORY) ? NULL : fault.memory.xMalloc(n);
}

static void *fault_realloc(void *p, int n)
{
	return fault_strikes(FAULT_MEMORY) ? NULL : fault.memory.xRealloc(p, n);
}

/* Before SQLite is first used; without the small change that it keeps. */
static void fault_install_memory(void)
{
	static sqlite3_mem_methods ours;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &fault.memory);
	ours = fault.memory;
	ours.xMalloc = fault_malloc;
	ours.xRealloc = fault_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &ours);
	sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
}

void fault_install(void)
{
	if (fault.real)
		return;
	fault_install_memory();
	fault.real = sqlite3_vfs_find(NULL);
	fault.vfs = *fault.real;
	fault.vfs.zName = "fault";
	fault.vfs.pNext = NULL;
	fault.vfs.xOpen = fault_open;
	sqlite3_vfs_register(&fault.vfs, 1);
}
