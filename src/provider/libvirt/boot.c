#include "provider/libvirt/boot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/libvirt/job.h"

/* What is heard of it from now on is news. */
static const char told[] = "told";

struct boot {
	struct host *host;
	char uuid[VIR_UUID_STRING_BUFLEN];
};

static int has_failed(struct domain_facts *f, struct arena *a, void *ctx,
		      struct err *err)
{
	(void)err;
	f->failure = host_words(ctx, a);
	return 0;
}

/* libvirt's own news of its start came before what is written down of it. */
static void tell(const struct boot *b)
{
	const struct provider_conf *conf = b->host->lv->conf;
	char id[128];

	if (!conf->changed)
		return;
	snprintf(id, sizeof(id), "%s@%s", b->uuid, b->host->name);
	conf->changed(conf->listener, id);
}

static int boot(const struct boot *b, struct err *err)
{
	auto_domain virDomainPtr d = NULL;
	struct err later;

	if (host_domain(b->host, b->uuid, &d, err) < 0)
		return -1;
	if (machine_boot(b->host, d, err) == 0)
		return 0;
	/* What passes is tried again by the next who looks. */
	if (err->code != ERR_UNAVAILABLE && err->code != ERR_TIMEOUT)
		(void)!facts_change(b->host, d, has_failed, err, &later);
	return -1;
}

static int run(struct job *j, struct err *err)
{
	int r = boot(j->ctx, err);

	atomic_store(&j->stage, told);
	tell(j->ctx);
	return r;
}

bool boot_tells(struct host *h, const char *uuid)
{
	const char *stage = jobs_stage(h->lv->boots, uuid);

	return stage && stage != told;
}

void boot_begin(struct host *h, const char *uuid)
{
	struct boot *b = xcalloc(1, sizeof(*b));
	const struct job_plan plan = {.run = run, .drop = free, .ctx = b};

	b->host = h;
	memcpy(b->uuid, uuid, sizeof(b->uuid));
	jobs_begin(h->lv->boots, uuid, &plan);
}

void boot_end(struct host *h, const char *uuid)
{
	jobs_stop(h->lv->boots, uuid);
}
