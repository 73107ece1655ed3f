#include "provider/libvirt/event.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "provider/libvirt/boot.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/guests.h"

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
	/* Nor is it news that we ask QEMU for things that libvirt has no call
	 * for; who wants to know says so. */
	setenv("LIBVIRT_LOG_FILTERS", "4:qemu.qemu_domain", 0);
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

/* Who is told; libvirt may be about to tell when nobody is to be told any more,
 * so this lives as long as libvirt has it. */
struct ear {
	pthread_mutex_t lock;
	struct host *host; /* NULL: nobody listens */
};

/* AGAIN: it boots, and nothing is known of its guest any more.  While it is
 * started for the first time who looks would wait, and find it half done. */
static void hear(struct ear *e, virDomainPtr d, bool again)
{
	char uuid[VIR_UUID_STRING_BUFLEN];

	pthread_mutex_lock(&e->lock);
	if (e->host && virDomainGetUUIDString(d, uuid) == 0 &&
	    !boot_tells(e->host, uuid)) {
		const struct provider_conf *conf = e->host->lv->conf;
		char id[128];

		snprintf(id, sizeof(id), "%s@%s", uuid, e->host->name);
		if (again)
			guests_forget(e->host->lv->guests, id);
		conf->changed(conf->listener, id);
	}
	pthread_mutex_unlock(&e->lock);
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr d, int event,
			int detail, void *ctx)
{
	(void)conn;
	/* Who has launched it is answered. */
	if (event != VIR_DOMAIN_EVENT_DEFINED ||
	    detail != VIR_DOMAIN_EVENT_DEFINED_ADDED)
		hear(ctx, d, false);
	return 0;
}

static void on_agent(virConnectPtr conn, virDomainPtr d, int state, int reason,
		     void *ctx)
{
	(void)conn;
	(void)state;
	(void)reason;
	hear(ctx, d, false);
}

static void on_reboot(virConnectPtr conn, virDomainPtr d, void *ctx)
{
	(void)conn;
	hear(ctx, d, true);
}

static void ear_free(void *ctx)
{
	struct ear *e = ctx;

	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* Each has an ear of its own: libvirt frees them one by one. */
static int listen_for(struct host *h, virConnectPtr conn, int what,
		      virConnectDomainEventGenericCallback fn,
		      struct host_ear *ret)
{
	struct ear *e = xcalloc(1, sizeof(*e));

	pthread_mutex_init(&e->lock, NULL);
	e->host = h;
	ret->ear = e;
	ret->id = virConnectDomainEventRegisterAny(conn, NULL, what, fn, e,
						   ear_free);
	if (ret->id < 0)
		ear_free(e);
	return ret->id < 0 ? -1 : 0;
}

int event_listen(struct host *h, virConnectPtr conn, struct host_ear ears[],
		 struct err *err)
{
	for (size_t i = 0; i < HOST_EARS; i++)
		ears[i].id = -1;
	if (!h->lv->conf->changed)
		return 0;
	if (listen_for(h, conn, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
		       VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), &ears[0]) < 0)
		return host_err(h, "be told what happens", err);
	/* Not every kind of host has guests that answer. */
	(void)listen_for(h, conn, VIR_DOMAIN_EVENT_ID_AGENT_LIFECYCLE,
			 VIR_DOMAIN_EVENT_CALLBACK(on_agent), &ears[1]);
	(void)listen_for(h, conn, VIR_DOMAIN_EVENT_ID_REBOOT,
			 VIR_DOMAIN_EVENT_CALLBACK(on_reboot), &ears[2]);
	return 0;
}

void event_deafen(virConnectPtr conn, struct host_ear ears[])
{
	for (size_t i = 0; i < HOST_EARS; i++) {
		struct ear *e = ears[i].ear;

		if (!e || ears[i].id < 0)
			continue;
		pthread_mutex_lock(&e->lock);
		e->host = NULL;
		pthread_mutex_unlock(&e->lock);
		virConnectDomainEventDeregisterAny(conn, ears[i].id);
		ears[i].id = -1;
	}
}
