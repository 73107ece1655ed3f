#include "provider/libvirt/event.h"

#include <signal.h>
#include <string.h>

#include "base/log.h"
#include "provider/libvirt/driver.h"

/* libvirt prints every error by itself unless it is told where they go: they are
 * in what our calls answer. */
static void say_nothing(void *ctx, virErrorPtr e)
{
	(void)ctx;
	(void)e;
}

static void *run(void *ctx)
{
	(void)ctx;
	while (virEventRunDefaultImpl() == 0)
		;
	log_debug("libvirt", "its events are lost");
	return NULL;
}

/* Signals are for the threads of the program. */
static bool begin(void)
{
	sigset_t all, before;
	pthread_t thread;
	bool good;

	virSetErrorFunc(NULL, say_nothing);
	if (virInitialize() < 0 || virEventRegisterDefaultImpl() < 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = pthread_create(&thread, NULL, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (good)
		pthread_detach(thread);
	return good;
}

int event_loop(struct err *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool begun;
	bool good;

	pthread_mutex_lock(&lock);
	good = begun = begun || begin();
	pthread_mutex_unlock(&lock);
	if (!good)
		return err_set(err, ERR_UNAVAILABLE,
			       "libvirt's library cannot be used");
	return 0;
}

int event_listen(struct host *h, virConnectPtr conn, struct err *err)
{
	(void)h;
	(void)conn;
	(void)err;
	return 0;
}

void event_deafen(struct host *h, virConnectPtr conn)
{
	(void)h;
	(void)conn;
}
