#include "provider/libvirt/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/front.h"
#include "provider/libvirt/guests.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/job.h"
#include "provider/libvirt/ready.h"
#include "provider/libvirt/room.h"
#include "provider/libvirt/sweep.h"

#define ARENA_MOST ((size_t)16 << 20)

enum { BOOTS_MOST = 16 }; /* at a time */

const struct flavor_options *lv_flavor(const struct lv *lv, const char *name)
{
	const struct flavor_options *f = lv->options.flavors.at;

	for (size_t i = 0; name && i < lv->options.flavors.n; i++)
		if (strcmp(f[i].name, name) == 0)
			return &f[i];
	return NULL;
}

bool lv_embedded(const struct lv *lv)
{
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (!lv->hosts[i]->embedded)
			return false;
	return true;
}

static bool has_fakes(const struct lv *lv)
{
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (lv->hosts[i]->fake)
			return true;
	return false;
}

/* Machines behind user-mode networks have no addresses of their own that
 * somebody could be kept away from; those that are not there have no disks
 * either, and nothing to say. */
static unsigned lacks_of(const struct lv *lv)
{
	unsigned lacks = 1U << CAN_PUBLIC_IP;

	if (lv_embedded(lv) || has_fakes(lv))
		lacks |= 1U << CAN_SECURITY_GROUPS | 1U << CAN_ACCESS |
			 1U << CAN_NEIGHBOURS;
	if (has_fakes(lv))
		lacks |= 1U << CAN_CONSOLE | 1U << CAN_CONSOLE_OUTPUT |
			 1U << CAN_IMPORT | 1U << CAN_SNAPSHOT |
			 1U << CAN_VOLUMES;
	return lacks;
}

static struct provider_facts facts_of(const struct lv *lv)
{
	return (struct provider_facts){
		.launch_tokens = true,
		.tags = true,
		.keeps_addresses = true,
		.live_groups = true,
		.host_keys = true,
		/* What was sent to our own process ends with it. */
		.call_ms = lv_embedded(lv) ? 0 : 60000,
		.launch_ms = 600000,
		.stop_ms = 90000,
		.start_ms = 120000,
		.poll_ms = 250,
		.page = 200,
	};
}

static int open_hosts(struct lv *lv, struct err *err)
{
	const struct host_options *o = lv->options.hosts.at;
	size_t n = lv->options.hosts.n;

	lv->hosts = arena_alloc(&lv->arena, n * sizeof(*lv->hosts));
	for (; lv->n_hosts < n; lv->n_hosts++)
		if (host_open(lv, &o[lv->n_hosts], &lv->hosts[lv->n_hosts],
			      err) < 0)
			return err_wrap(err, "host %s", o[lv->n_hosts].name);
	return 0;
}

static void lv_close(struct provider *p)
{
	struct lv *lv = lv_of(p);

	for (size_t i = 0; i < lv->n_hosts; i++)
		host_deafen(lv->hosts[i]); /* what is heard goes to these */
	guests_free(lv->guests);           /* it asks the hosts */
	jobs_free(lv->boots);              /* likewise */
	image_close(lv);
	for (size_t i = 0; i < lv->n_hosts; i++)
		host_close(lv->hosts[i]);
	room_release(lv);
	sweep_release(lv);
	pthread_mutex_destroy(&lv->placing);
	pthread_mutex_destroy(&lv->addressing);
	pthread_mutex_destroy(&lv->filtering);
	pthread_mutex_destroy(&lv->bringing);
	arena_release(&lv->arena);
	free(lv);
}

/* Absolute: QEMU, which is told of files in it, is elsewhere. */
static int choose_folder(struct lv *lv, struct err *err)
{
	const struct provider_conf *conf = lv->conf;
	auto_free char *path = NULL;

	if (!conf->folder)
		return 0;
	path = realpath(conf->folder, NULL);
	if (!path)
		return err_set(err, ERR_UNAVAILABLE, "%s: %s", conf->folder,
			       strerror(errno));
	lv->folder =
		arena_join(&lv->arena, path, "/libvirt-", conf->region, NULL);
	return 0;
}

static int lv_open(const struct provider_conf *conf, const void *options,
		   const void *credentials, struct provider **out,
		   struct err *err)
{
	struct lv *lv = xcalloc(1, sizeof(*lv));

	(void)credentials;
	lv->conf = conf;
	lv->options = *(const struct lv_options *)options;
	arena_init(&lv->arena, ARENA_MOST);
	pthread_mutex_init(&lv->placing, NULL);
	pthread_mutex_init(&lv->addressing, NULL);
	pthread_mutex_init(&lv->filtering, NULL);
	pthread_mutex_init(&lv->bringing, NULL);
	list_init(&lv->holds);
	list_init(&lv->left);
	lv->guests = ready_open(lv);
	lv->boots = jobs_new(BOOTS_MOST);
	if (choose_folder(lv, err) < 0 ||
	    lv_options_check(&lv->options, lv->folder, &lv->arena, err) < 0 ||
	    image_open(lv, err) < 0 || open_hosts(lv, err) < 0) {
		lv_close(&lv->base);
		return -1;
	}
	lv->base = (struct provider){
		.driver = &libvirt_driver,
		.facts = facts_of(lv),
		.lacks = lacks_of(lv),
		.installation = conf->installation,
	};
	*out = &lv->base;
	return 0;
}

const struct driver libvirt_driver = {
	.name = "libvirt",
	.title = "Hosts of one's own",
	.doc = "Virtual machines by QEMU on hosts that run libvirt: this one, "
	       "without a daemon, or others.",
	.options = lv_option_fields,
	.options_size = sizeof(struct lv_options),
	.open = lv_open,
	.close = lv_close,
	.machines = &lv_machine_ops,
	.catalogue = &lv_catalogue_ops,
	.images = &lv_image_ops,
	.networks = &lv_network_ops,
	.volumes = &lv_volume_ops,
	.things = &lv_thing_ops,
};
