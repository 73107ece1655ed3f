/* The table of machines, and the calls that are short. */
#include <string.h>

#include "model/instance.h"
#include "provider/libvirt/boot.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/guests.h"
#include "provider/libvirt/intent.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/nic.h"
#include "provider/libvirt/power.h"

#define ARENA_MOST ((size_t)4 << 20)

static int lv_describe(struct provider *p, const char *id, struct arena *a,
		       struct machine *ret, struct err *err)
{
	auto_found struct found m = {0};
	struct domain_facts f;

	if (machine_find_facts(p, id, a, &m, &f, err) < 0 ||
	    machine_tell(m.host, m.domain, &f, a, ret, err) < 0)
		return -1;
	if (!f.started && !f.failure)
		boot_begin(m.host, m.uuid);
	if (ret->state == INSTANCE_STOPPING)
		power_press_again(&m, &f);
	return 0;
}

static int undefine(const struct host *h, virDomainPtr d, struct err *err)
{
	unsigned flags = VIR_DOMAIN_UNDEFINE_MANAGED_SAVE |
			 VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
			 VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA |
			 VIR_DOMAIN_UNDEFINE_NVRAM;

	if (virDomainUndefineFlags(d, h->fake ? 0 : flags) == 0)
		return 0;
	host_err(h, "undefine the machine", err);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

/* The domain last but for what it uses: as long as it is there, the rest of what
 * it has is found by it. */
static int remove_all(struct found *m, struct arena *a, struct err *err)
{
	if (m->domain && (machine_kill(m->host, m->domain, err) < 0 ||
			  nic_drop(m->host->lv, m->host, m->uuid, err) < 0 ||
			  undefine(m->host, m->domain, err) < 0))
		return -1;
	return machine_remove_files(m->host, m->uuid, a, err);
}

static int lv_terminate(struct provider *p, const char *id, struct err *err)
{
	auto_found struct found m = {0};
	struct arena a;
	int r = machine_find(p, id, &m, err);

	if (r < 0 && err->code != ERR_NOT_FOUND)
		return -1;
	if (!m.host || m.stranger)
		return 0;
	guests_forget(m.host->lv->guests, id);
	boot_end(m.host, m.uuid);
	arena_init(&a, ARENA_MOST);
	r = remove_all(&m, &a, err);
	if (r == 0)
		intent_drop(lv_of(p), m.uuid);
	arena_release(&a);
	return r;
}

static int lv_console_output(struct provider *p, const char *id, size_t length,
			     struct arena *a, struct buf *out, struct err *err)
{
	auto_found struct found m = {0};

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	if (m.host->fake)
		return 0;
	if (m.host->disks->tail(m.host, disk_name(m.uuid, DISK_CONSOLE, a),
				length, out, err) == 0)
		return 0;
	/* It has said nothing yet. */
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

const struct machine_ops lv_machine_ops = {
	.launch = lv_launch,
	.describe = lv_describe,
	.terminate = lv_terminate,
	.list = lv_list,
	.stop = lv_stop,
	.start = lv_start,
	.reboot = lv_reboot,
	.resize = lv_resize,
	.rebuild = lv_rebuild,
	.grow_root_disk = lv_grow_root_disk,
	.set_tags = lv_set_tags,
	.set_access = nic_set_access,
	.console = lv_console,
	.console_output = lv_console_output,
};
