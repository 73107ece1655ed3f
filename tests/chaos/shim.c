/*
 * shim - a disk that fails and clocks that jump, under a program as it is.
 *
 * Preloaded (LD_PRELOAD), it stands between the program and the C library.
 * Calls on files under the folder CHAOS_UNDER fail, are cut short or are slow
 * as the rules in the file CHAOS_CONTROL say, which whoever tests maps, too,
 * and changes as it likes; shim.py is the other side.  No rule, no difference.
 */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

enum call {
	CALL_READ = 1,
	CALL_WRITE = 2,
	CALL_SYNC = 4,
	CALL_TRUNCATE = 8,
	CALL_OPEN = 16,
};

enum file {
	FILE_DATABASE = 1,
	FILE_WAL = 2,
	FILE_SHARED = 4,
	FILE_OTHER = 8,
};

/* What happens beside the wait; anything else that is not 0 is an errno. */
enum deed {
	DEED_SHORT = -1, /* half of it is done, and that is what is said */
};

/* How much is done before an errno is told of. */
enum part { PART_NONE, PART_HALF, PART_WHOLE };

/* Met COUNT times, it strikes from FROM to UNTIL, PER_MILLE of them. */
struct rule {
	_Atomic uint64_t calls; /* 0: there is no rule */
	_Atomic uint64_t files;
	_Atomic int64_t deed;
	_Atomic uint64_t part;
	_Atomic uint64_t from, until;
	_Atomic uint64_t per_mille, seed;
	_Atomic uint64_t delay_us;
	_Atomic uint64_t met, hits;
};

enum { RULES_MOST = 4 };

struct control {
	_Atomic int64_t wall_ms, mono_ms; /* added to the clocks */
	_Atomic uint64_t clocks;          /* times a stepped one was read */
	struct rule rules[RULES_MOST];
};

static struct control nothing;
static struct control *control = &nothing;
static const char *under = "/nowhere/";

static void *real(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CHAOS_CONTROL");
	const char *folder = getenv("CHAOS_UNDER");
	int (*open_file)(const char *, int, ...) = real("open");
	void *p = MAP_FAILED;
	int fd = path && folder ? open_file(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd >= 0)
		p = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		fprintf(stderr, "shim: cannot map CHAOS_CONTROL\n");
		abort();
	}
	close(fd);
	control = p;
	under = folder;
}

static enum file file_of(const char *path)
{
	static const struct {
		const char *end;
		enum file file;
	} ends[] = {
		{".db", FILE_DATABASE},
		{".db-wal", FILE_WAL},
		{".db-shm", FILE_SHARED},
	};
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i].end);

		if (len > n && strcmp(path + len - n, ends[i].end) == 0)
			return ends[i].file;
	}
	return FILE_OTHER;
}

/* The same for the same seed and count. */
static uint64_t mix(uint64_t seed, uint64_t count)
{
	uint64_t z = seed + count * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static bool strikes(struct rule *r, enum call call, enum file file)
{
	uint64_t n;

	if (!(r->calls & call) || !(r->files & file))
		return false;
	n = atomic_fetch_add(&r->met, 1) + 1;
	if (n < r->from || n > r->until ||
	    mix(r->seed, n) % 1000 >= r->per_mille)
		return false;
	atomic_fetch_add(&r->hits, 1);
	return true;
}

static bool is_wanted(enum call call)
{
	for (int i = 0; i < RULES_MOST; i++)
		if (control->rules[i].calls & call)
			return true;
	return false;
}

struct fate {
	int deed;
	enum part part;
};

/* What is to become of a call on PATH; waits when that is slow. */
static struct fate fate_of_path(enum call call, const char *path)
{
	struct fate f = {0};

	if (strncmp(path, under, strlen(under)) != 0)
		return f;
	for (int i = 0; i < RULES_MOST; i++) {
		struct rule *r = &control->rules[i];
		struct timespec wait = {
			.tv_sec = (time_t)(r->delay_us / 1000000),
			.tv_nsec = (long)(r->delay_us % 1000000 * 1000),
		};

		if (!strikes(r, call, file_of(path)))
			continue;
		if (wait.tv_sec || wait.tv_nsec)
			nanosleep(&wait, NULL);
		if (r->deed)
			f = (struct fate){(int)r->deed, (enum part)r->part};
	}
	return f;
}

static struct fate fate_of(enum call call, int fd)
{
	char link[32], path[4096];
	ssize_t len;

	if (!is_wanted(call))
		return (struct fate){0};
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return (struct fate){0};
	path[len] = '\0';
	return fate_of_path(call, path);
}

/* How much of LEN is to be done, then.  A short one does at least something. */
static size_t share(struct fate f, size_t len)
{
	if (f.deed == DEED_SHORT)
		return (len + 1) / 2;
	if (!f.deed || f.part == PART_WHOLE)
		return len;
	return f.part == PART_HALF ? len / 2 : 0;
}

static ssize_t told(struct fate f, ssize_t done)
{
	if (f.deed <= 0)
		return done;
	errno = f.deed;
	return -1;
}

/* The C library's, whose parameters have names of its own. */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */

SHIM_EXPORT ssize_t read(int fd, void *p, size_t len)
{
	ssize_t (*next)(int, void *, size_t) = real("read");
	struct fate f = fate_of(CALL_READ, fd);

	return told(f, f.deed > 0 ? 0 : next(fd, p, share(f, len)));
}

SHIM_EXPORT ssize_t pread(int fd, void *p, size_t len, off_t at)
{
	ssize_t (*next)(int, void *, size_t, off_t) = real("pread");
	struct fate f = fate_of(CALL_READ, fd);

	return told(f, f.deed > 0 ? 0 : next(fd, p, share(f, len), at));
}

SHIM_EXPORT ssize_t pread64(int fd, void *p, size_t len, off64_t at)
{
	return pread(fd, p, len, at);
}

SHIM_EXPORT ssize_t write(int fd, const void *p, size_t len)
{
	ssize_t (*next)(int, const void *, size_t) = real("write");
	struct fate f = fate_of(CALL_WRITE, fd);
	size_t n = share(f, len);

	return told(f, len && !n ? 0 : next(fd, p, n));
}

SHIM_EXPORT ssize_t pwrite(int fd, const void *p, size_t len, off_t at)
{
	ssize_t (*next)(int, const void *, size_t, off_t) = real("pwrite");
	struct fate f = fate_of(CALL_WRITE, fd);
	size_t n = share(f, len);

	return told(f, len && !n ? 0 : next(fd, p, n, at));
}

SHIM_EXPORT ssize_t pwrite64(int fd, const void *p, size_t len, off64_t at)
{
	return pwrite(fd, p, len, at);
}

static int sync_with(const char *name, int fd)
{
	int (*next)(int) = real(name);
	struct fate f = fate_of(CALL_SYNC, fd);

	return (int)told(f, f.deed > 0 && f.part == PART_NONE ? 0 : next(fd));
}

SHIM_EXPORT int fsync(int fd)
{
	return sync_with("fsync", fd);
}

SHIM_EXPORT int fdatasync(int fd)
{
	return sync_with("fdatasync", fd);
}

SHIM_EXPORT int ftruncate(int fd, off_t len)
{
	int (*next)(int, off_t) = real("ftruncate");
	struct fate f = fate_of(CALL_TRUNCATE, fd);

	return (int)told(f,
			 f.deed > 0 && f.part == PART_NONE ? 0 : next(fd, len));
}

SHIM_EXPORT int ftruncate64(int fd, off64_t len)
{
	return ftruncate(fd, len);
}

static int open_with(const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, ...) = real("open");
	struct fate f = {0};

	if (is_wanted(CALL_OPEN))
		f = fate_of_path(CALL_OPEN, path);
	return (int)told(f, f.deed > 0 ? 0 : next(path, flags, mode));
}

SHIM_EXPORT int open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_with(path, flags, mode);
}

SHIM_EXPORT int open64(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
	va_end(list);
	return open_with(path, flags, mode);
}

/* The C library writes a stream by itself; what is in it stays when that
 * fails. */
SHIM_EXPORT int fflush(FILE *file)
{
	int (*next)(FILE *) = real("fflush");
	struct fate f = {0};

	if (file && is_wanted(CALL_WRITE))
		f = fate_of(CALL_WRITE, fileno(file));
	return f.deed > 0 ? (errno = f.deed, EOF) : next(file);
}

SHIM_EXPORT int clock_gettime(clockid_t id, struct timespec *ret)
{
	int (*next)(clockid_t, struct timespec *) = real("clock_gettime");
	bool is_wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
	int64_t step = is_wall ? control->wall_ms : control->mono_ms;
	int r = next(id, ret);

	if (r < 0 || !step || id == CLOCK_PROCESS_CPUTIME_ID ||
	    id == CLOCK_THREAD_CPUTIME_ID)
		return r;
	atomic_fetch_add(&control->clocks, 1);
	ret->tv_sec += step / 1000;
	ret->tv_nsec += step % 1000 * 1000000;
	if (ret->tv_nsec < 0) {
		ret->tv_nsec += 1000000000;
		ret->tv_sec--;
	} else if (ret->tv_nsec >= 1000000000) {
		ret->tv_nsec -= 1000000000;
		ret->tv_sec++;
	}
	return r;
}

SHIM_EXPORT int gettimeofday(struct timeval *ret, void *zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*ret = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

SHIM_EXPORT time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
