/* Another root disk, the same machine. */
#include "provider/libvirt/disk.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/launch.h"
#include "provider/libvirt/machine.h"

#define ARENA_MOST ((size_t)64 << 20)

struct rebuilt {
	const char *image;
	int64_t gib;
};

static int put_root(struct domain_facts *f, struct arena *a, void *ctx,
		    struct err *err)
{
	const struct rebuilt *to = ctx;

	(void)a;
	(void)err;
	f->image = to->image;
	f->root_disk_gib = to->gib;
	return 0;
}

/* What it is made of, looked for before anything is lost. */
static int check_image(const struct found *m, const struct rebuilt *to,
		       struct arena *a, struct err *err)
{
	struct image_base base;

	if (image_on(m->host->lv, m->host, to->image, a, &base, err) < 0)
		return -1;
	if (base.bytes > to->gib * DISK_GIB)
		return err_set(err, ERR_INVALID,
			       "image %s needs a larger root disk", to->image);
	return 0;
}

/* Another instance for what is in the image: it boots for the first time. */
static int make_seed(const struct found *m, struct machine_spec *spec,
		     struct arena *a, struct err *err)
{
	struct lv *lv = m->host->lv;
	const char *instance = arena_printf(
		a, "%s-%lld", m->uuid, (long long)clock_wall(lv->conf->clock));
	struct nic nic;

	if (nic_make(m->host, spec, m->uuid, a, &nic, err) < 0)
		return -1;
	return launch_make_seed(m->host, disk_name(m->uuid, DISK_SEED, a), spec,
				instance, &nic, err);
}

static int rebuild(const struct found *m, struct machine_spec *spec,
		   const struct rebuilt *to, struct arena *a, struct err *err)
{
	struct host *h = m->host;
	struct rebuilt ctx = *to;

	if (check_image(m, to, a, err) < 0 ||
	    machine_kill(h, m->domain, err) < 0)
		return -1;
	if (h->fake)
		return facts_change(h, m->domain, put_root, &ctx, err);
	if (h->disks->remove(h, disk_name(m->uuid, DISK_ROOT, a), err) < 0 ||
	    launch_make_root(h, m->uuid, to->image, to->gib, a, err) < 0 ||
	    make_seed(m, spec, a, err) < 0)
		return -1;
	return facts_change(h, m->domain, put_root, &ctx, err);
}

int lv_rebuild(struct provider *p, const char *id,
	       const struct machine_spec *spec, struct err *err)
{
	auto_found struct found m = {0};
	struct machine_spec copy = *spec;
	struct domain_facts f;
	struct rebuilt to;
	struct arena a;
	bool active;
	int r = -1;

	if (machine_find(p, id, &m, err) < 0 ||
	    machine_is_active(m.host, m.domain, &active, err) < 0)
		return -1;
	arena_init(&a, ARENA_MOST);
	if (facts_load(m.host, m.domain, &a, &f, err) == 0) {
		copy.network = f.network;
		to.image = spec->image;
		to.gib = spec->root_disk_gib > 0 ? spec->root_disk_gib
						 : f.root_disk_gib;
		r = rebuild(&m, &copy, &to, &a, err);
		if (r == 0 && active)
			r = machine_boot(m.host, m.domain, err);
	}
	arena_release(&a);
	return r;
}
