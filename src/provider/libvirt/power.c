/* On and off. */
#include "provider/libvirt/machine.h"

static int state_of(const struct found *m, int *ret, struct err *err)
{
	int reason;

	if (virDomainGetState(m->domain, ret, &reason, 0) < 0)
		return host_err(m->host, "ask for the machine's state", err);
	return 0;
}

/* What was asked of a machine that ended meanwhile is of no consequence. */
static int unless_off(const struct found *m, int r, const char *what,
		      struct err *err)
{
	if (r == 0)
		return 0;
	host_err(m->host, what, err);
	return virDomainIsActive(m->domain) == 0 ? 0 : -1;
}

int lv_stop(struct provider *p, const char *id, bool hard, struct err *err)
{
	auto_found struct found m = {0};
	int state;

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	if (hard)
		return machine_kill(m.host, m.domain, err);
	if (state_of(&m, &state, err) < 0)
		return -1;
	if (state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_SHUTDOWN)
		return 0;
	/* One that crashed has nobody in it who could be asked. */
	if (state == VIR_DOMAIN_CRASHED)
		return machine_kill(m.host, m.domain, err);
	if (state == VIR_DOMAIN_PAUSED && virDomainResume(m.domain) < 0)
		return host_err(m.host, "resume the machine", err);
	return unless_off(&m, virDomainShutdown(m.domain),
			  "ask the machine to stop", err);
}

int lv_start(struct provider *p, const char *id, struct err *err)
{
	auto_found struct found m = {0};
	int state;

	if (machine_find(p, id, &m, err) < 0 || state_of(&m, &state, err) < 0)
		return -1;
	switch (state) {
	case VIR_DOMAIN_RUNNING:
	case VIR_DOMAIN_BLOCKED:
		return 0;
	case VIR_DOMAIN_PAUSED:
		if (virDomainResume(m.domain) < 0)
			return host_err(m.host, "resume the machine", err);
		return 0;
	case VIR_DOMAIN_PMSUSPENDED:
		if (virDomainPMWakeup(m.domain, 0) < 0)
			return host_err(m.host, "wake the machine", err);
		return 0;
	case VIR_DOMAIN_SHUTDOWN:
		err_set(err, ERR_CONFLICT, "the machine is stopping");
		err->retry = ERR_RETRY_LATER;
		return -1;
	case VIR_DOMAIN_CRASHED:
		if (machine_kill(m.host, m.domain, err) < 0)
			return -1;
		break;
	default:
		break;
	}
	return machine_boot(m.host, m.domain, err);
}

int lv_reboot(struct provider *p, const char *id, bool hard, struct err *err)
{
	auto_found struct found m = {0};
	int state;

	if (machine_find(p, id, &m, err) < 0 || state_of(&m, &state, err) < 0)
		return -1;
	if (state == VIR_DOMAIN_SHUTOFF) {
		if (hard)
			return machine_boot(m.host, m.domain, err);
		return err_set(err, ERR_CONFLICT, "the machine is off");
	}
	if (!hard && virDomainReboot(m.domain, 0) < 0)
		return host_err(m.host, "ask the machine to reboot", err);
	if (hard && virDomainReset(m.domain, 0) < 0)
		return host_err(m.host, "reset the machine", err);
	if (state == VIR_DOMAIN_PAUSED && virDomainResume(m.domain) < 0)
		return host_err(m.host, "resume the machine", err);
	return 0;
}
