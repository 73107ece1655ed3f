/* machine_call.c - on a worker: the call itself. */
#include "reconcile/machine_call.h"

#include <assert.h>

#include <string.h>

#include "base/field_ops.h"
#include "model/server.h"
#include "provider/front.h"

/* Pages of one search; a list that goes on longer is broken. */
#define PAGES_MOST 1000

/* The tag of a server may be another installation's, too, which had the same
 * documents once. */
static bool is_ours(const struct provider *p, const struct machine *m)
{
	const char *whose = field_tag_get(&m->tags, TAG_INSTALLATION);

	return whose && strcmp(whose, p->installation) == 0;
}

static int find(struct provider *p, struct machine_call *c, struct arena *a,
		struct err *err)
{
	struct machine_filter filter = {TAG_SERVER, c->server};
	struct machine_page page = {0};

	c->n_found = 0;
	for (int n = 0; n < PAGES_MOST; n++) {
		const struct machine *m;

		if (provider_list(p, &filter, page.next, a, &page, err) < 0)
			return -1;
		m = page.machines.at;
		for (size_t i = 0; i < page.machines.n; i++) {
			if (!is_ours(p, &m[i]))
				continue;
			if (c->n_found < MACHINE_FOUND_MOST)
				c->found[c->n_found] = m[i];
			c->n_found++;
		}
		if (!page.next)
			return 0;
	}
	return err_set(err, ERR_PROVIDER, "the list of machines has no end");
}

static int describe(struct provider *p, struct machine_call *c, struct arena *a,
		    struct err *err)
{
	if (provider_describe(p, c->machine, a, &c->found[0], err) < 0)
		return -1;
	c->n_found = 1;
	return 0;
}

/* An address may have come or gone with it: the same call looks, for it is
 * seldom, and it does not matter when that fails. */
static int set_access(struct provider *p, struct machine_call *c,
		      struct arena *a, struct err *err)
{
	struct err ignored;

	if (provider_set_access(p, c->machine, &c->spec, err) < 0)
		return -1;
	if (describe(p, c, a, &ignored) < 0)
		c->n_found = 0;
	return 0;
}

/* Here and not before: it takes a while, and the loop has other things to
 * do. */
static void set_host_key(const struct provider *p, struct machine_call *c,
			 struct arena *a)
{
	if (p->facts.host_keys)
		server_host_key(c->host_key_seed, c->disk, a,
				&c->spec.host_key);
}

static int launch(struct provider *p, struct machine_call *c, struct arena *a,
		  struct err *err)
{
	set_host_key(p, c, a);
	if (provider_launch(p, &c->spec, a, &c->found[0], err) < 0)
		return -1;
	c->n_found = 1;
	return 0;
}

int machine_run(struct provider *p, struct call *call, struct arena *a,
		struct err *err)
{
	struct machine_call *c = CONTAINER_OF(call, struct machine_call, call);

	switch (c->what) {
	case MACHINE_LAUNCH:
		return launch(p, c, a, err);
	case MACHINE_FIND:
		return find(p, c, a, err);
	case MACHINE_DESCRIBE:
		return describe(p, c, a, err);
	case MACHINE_TERMINATE:
		return provider_terminate(p, c->machine, err);
	case MACHINE_STOP:
		return provider_stop(p, c->machine, c->hard, err);
	case MACHINE_START:
		return provider_start(p, c->machine, err);
	case MACHINE_REBOOT:
		return provider_reboot(p, c->machine, c->hard, err);
	case MACHINE_RESIZE:
		return provider_resize(p, c->machine, c->flavor, err);
	case MACHINE_REBUILD:
		set_host_key(p, c, a);
		return provider_rebuild(p, c->machine, &c->spec, err);
	case MACHINE_GROW:
		return provider_grow_root_disk(p, c->machine, c->gib, err);
	case MACHINE_TAG:
		return provider_set_tags(p, c->machine, &c->spec.tags, err);
	case MACHINE_ACCESS:
		return set_access(p, c, a, err);
	case MACHINE_ATTACH:
		return provider_attach(p, c->machine, c->volume, a, &c->device,
				       err);
	default:
		assert(c->what == MACHINE_DETACH);
		return provider_detach(p, c->machine, c->volume, err);
	}
}
