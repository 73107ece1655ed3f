/* libvirt's states of a domain in our words. */
#include "model/instance.h"
#include "provider/libvirt/domain.h"

static const struct {
	const char *native;
	int state;
	enum instance_state ours;
} states[] = {
	{"running", VIR_DOMAIN_RUNNING, INSTANCE_RUNNING},
	/* Waiting for something, as machines do. */
	{"blocked", VIR_DOMAIN_BLOCKED, INSTANCE_RUNNING},
	{"paused", VIR_DOMAIN_PAUSED, INSTANCE_STOPPED},
	{"in shutdown", VIR_DOMAIN_SHUTDOWN, INSTANCE_STOPPING},
	{"shut off", VIR_DOMAIN_SHUTOFF, INSTANCE_STOPPED},
	{"crashed", VIR_DOMAIN_CRASHED, INSTANCE_STOPPED},
	{"pmsuspended", VIR_DOMAIN_PMSUSPENDED, INSTANCE_STOPPED},
};

/* Held for a moment by something that ends by itself; or by somebody, and then
 * start() lets it go on. */
static int paused(int reason, const char **ret_reason)
{
	switch (reason) {
	case VIR_DOMAIN_PAUSED_STARTING_UP:
		return INSTANCE_PENDING;
	case VIR_DOMAIN_PAUSED_MIGRATION:
	case VIR_DOMAIN_PAUSED_SAVE:
	case VIR_DOMAIN_PAUSED_DUMP:
	case VIR_DOMAIN_PAUSED_FROM_SNAPSHOT:
	case VIR_DOMAIN_PAUSED_SNAPSHOT:
	case VIR_DOMAIN_PAUSED_POSTCOPY:
		return INSTANCE_RUNNING;
	case VIR_DOMAIN_PAUSED_SHUTTING_DOWN:
		return INSTANCE_STOPPING;
	case VIR_DOMAIN_PAUSED_IOERROR:
		*ret_reason = "a disk failed, or the host has no room left";
		return INSTANCE_STOPPED;
	case VIR_DOMAIN_PAUSED_CRASHED:
		*ret_reason = "the guest crashed";
		return INSTANCE_STOPPED;
	default:
		*ret_reason = "it was suspended";
		return INSTANCE_STOPPED;
	}
}

static const char *why_off(int reason)
{
	switch (reason) {
	case VIR_DOMAIN_SHUTOFF_CRASHED:
		return "it crashed";
	case VIR_DOMAIN_SHUTOFF_FAILED:
		return "it could not be started, or its QEMU ended";
	case VIR_DOMAIN_SHUTOFF_SAVED:
		return "it was saved";
	default:
		return NULL;
	}
}

int domain_state(int state, int reason, bool started, const char **ret_native,
		 const char **ret_reason)
{
	*ret_native = "no state";
	*ret_reason = NULL;
	for (size_t i = 0; i < COUNT_OF(states); i++) {
		if (states[i].state != state)
			continue;
		*ret_native = states[i].native;
		if (state == VIR_DOMAIN_PAUSED)
			return paused(reason, ret_reason);
		if (state == VIR_DOMAIN_SHUTOFF) {
			/* Defined, and its launch not over. */
			if (!started)
				return INSTANCE_PENDING;
			*ret_reason = why_off(reason);
		}
		return states[i].ours;
	}
	return INSTANCE_UNKNOWN;
}
