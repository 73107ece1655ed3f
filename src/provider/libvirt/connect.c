#include "provider/libvirt/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/shorter.h"

/* A connection attempt cannot be called off: it goes on in a thread of its own,
 * and is nobody's when that took too long. */
enum { OPEN_SECONDS = 10, KEEPALIVE_SECONDS = 5, KEEPALIVE_TIMES = 3 };

struct attempt {
	pthread_mutex_t lock;
	pthread_cond_t ended_now;
	char *uri;
	bool ended, left; /* whoever is second frees it */
	virConnectPtr conn;
	struct err err;
};

static void attempt_free(struct attempt *t)
{
	host_drop(&t->conn);
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->ended_now);
	free(t->uri);
	free(t);
}

static void *try_it(void *ctx)
{
	const struct host nobody = {.name = "there"};
	struct attempt *t = ctx;
	virConnectPtr conn = virConnectOpen(t->uri);
	struct err err = {0};
	bool left;

	if (!conn)
		host_err(&nobody, "connect", &err);
	pthread_mutex_lock(&t->lock);
	t->conn = conn;
	t->err = err;
	t->ended = true;
	left = t->left;
	pthread_cond_signal(&t->ended_now);
	pthread_mutex_unlock(&t->lock);
	if (left)
		attempt_free(t);
	return NULL;
}

static struct attempt *attempt_begin(const char *uri)
{
	struct attempt *t = xcalloc(1, sizeof(*t));
	pthread_condattr_t steady;
	pthread_t thread;

	t->uri = xstrdup(uri);
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&steady);
	pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
	pthread_cond_init(&t->ended_now, &steady);
	pthread_condattr_destroy(&steady);
	if (pthread_create(&thread, NULL, try_it, t) != 0) {
		attempt_free(t);
		return NULL;
	}
	pthread_detach(thread);
	return t;
}

static int attempt_wait(const struct host *h, struct attempt *t,
			virConnectPtr *ret, struct err *err)
{
	uint64_t until = clock_mono(&clock_system) + OPEN_SECONDS * 1000;
	struct timespec at = {.tv_sec = (time_t)(until / 1000),
			      .tv_nsec = (long)(until % 1000) * 1000000};
	bool ended;

	pthread_mutex_lock(&t->lock);
	while (!t->ended &&
	       pthread_cond_timedwait(&t->ended_now, &t->lock, &at) == 0)
		;
	ended = t->ended;
	t->left = true;
	if (ended) {
		*ret = t->conn;
		*err = t->err;
		t->conn = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	if (!ended)
		return err_set(err, ERR_UNAVAILABLE,
			       "host %s: no answer within %d s", h->name,
			       OPEN_SECONDS);
	attempt_free(t);
	return *ret ? 0 : -1;
}

static int open_within(const struct host *h, virConnectPtr *ret,
		       struct err *err)
{
	struct attempt *t = attempt_begin(h->options->uri);
	struct err why = {0};

	if (!t)
		return err_set(err, ERR_UNAVAILABLE, "host %s: no thread",
			       h->name);
	if (attempt_wait(h, t, ret, &why) == 0)
		return 0;
	*err = why;
	if (why.provider_msg[0])
		snprintf(err->msg, sizeof(err->msg), "host %s: %s", h->name,
			 why.provider_msg);
	/* Whatever it is, the next try may find it otherwise. */
	err->code = ERR_UNAVAILABLE;
	err->retry = ERR_RETRY_LATER;
	return -1;
}

static virConnectPtr open_here(const struct host *h, struct err *err)
{
	const char *uri = h->options->uri, *folder;
	virConnectPtr conn = NULL;
	struct arena a;

	arena_init(&a, (size_t)1 << 20);
	if (!h->embedded || shorter(h->folder, &a, &folder, err) == 0) {
		if (h->embedded && folder != h->folder)
			uri = arena_join(&a, "qemu:///embed?root=", folder,
					 NULL);
		conn = virConnectOpen(uri);
		if (!conn)
			host_err(h, "use the libvirt in this process", err);
	}
	arena_release(&a);
	return conn;
}

int connect_open(const struct host *h, virConnectPtr *ret, struct err *err)
{
	/* In our own process: it ends, and may take its time to find out what
	 * QEMU can. */
	if (h->embedded || h->fake) {
		*ret = open_here(h, err);
		if (*ret)
			return 0;
		err->code = ERR_UNAVAILABLE;
		err->retry = ERR_RETRY_LATER;
		return -1;
	}
	if (open_within(h, ret, err) < 0)
		return -1;
	virConnectSetKeepAlive(*ret, KEEPALIVE_SECONDS, KEEPALIVE_TIMES);
	return 0;
}

static int make_folder(const char *path, struct err *err)
{
	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return err_set(err, ERR_UNAVAILABLE, "mkdir %s: %s", path,
			       strerror(errno));
	return 0;
}

/* There is no virtlogd to write what machines say. */
static const char settings[] =
	"# Made by muster when it was not there; yours to change.\n"
	"stdio_handler = \"file\"\n";

static int write_settings(const char *path, struct err *err)
{
	auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ssize_t n = (ssize_t)sizeof(settings) - 1;

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || write(fd, settings, (size_t)n) != n)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", path,
			       strerror(errno));
	return 0;
}

/* QEMU runs as a user of its own, who must be able to come here.  What else is
 * in the data folder it cannot read. */
static void let_pass(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && st.st_uid == geteuid() &&
	    !(st.st_mode & S_IXOTH))
		chmod(path, (st.st_mode & 07777) | S_IXOTH);
}

int connect_prepare(const struct host *h, struct err *err)
{
	struct arena *a = &h->lv->arena;
	const char *etc = arena_join(a, h->folder, "/etc", NULL);

	if (make_folder(h->folder, err) < 0 || make_folder(etc, err) < 0)
		return -1;
	if (geteuid() == 0 && h->lv->conf->folder)
		let_pass(h->lv->conf->folder);
	let_pass(h->folder);
	return write_settings(arena_join(a, etc, "/qemu.conf", NULL), err);
}
