#include "provider/libvirt/power.h"

#include "provider/libvirt/boot.h"

enum { PRESS_AGAIN_MS = 4000 };

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
	struct err none;
	int state;

	if (r == 0)
		return 0;
	host_err(m->host, what, err);
	if (state_of(m, &state, &none) < 0)
		return -1;
	return state == VIR_DOMAIN_SHUTOFF || state == VIR_DOMAIN_SHUTDOWN ? 0
									   : -1;
}

static int was_asked(struct domain_facts *f, struct arena *a, void *ctx,
		     struct err *err)
{
	(void)a;
	(void)err;
	f->stopped_at = *(const int64_t *)ctx;
	return 0;
}

/* Written down first: who looks sees that it is stopping, or off. */
int power_press(const struct found *m, struct err *err)
{
	int64_t now = clock_wall(m->host->lv->conf->clock);

	if (facts_change(m->host, m->domain, was_asked, &now, err) < 0)
		return -1;
	return unless_off(m, virDomainShutdown(m->domain),
			  "ask the machine to stop", err);
}

void power_press_again(const struct found *m, const struct domain_facts *f)
{
	int64_t now = clock_wall(m->host->lv->conf->clock);
	struct err err;

	if (f->stopped_at &&
	    (now < f->stopped_at || now >= f->stopped_at + PRESS_AGAIN_MS))
		(void)!power_press(m, &err);
}

int lv_stop(struct provider *p, const char *id, bool hard, struct err *err)
{
	auto_found struct found m = {0};
	int state;

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	boot_end(m.host, m.uuid);
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
	return power_press(&m, err);
}

int lv_start(struct provider *p, const char *id, struct err *err)
{
	auto_found struct found m = {0};
	int state;

	if (machine_find(p, id, &m, err) < 0)
		return -1;
	boot_end(m.host, m.uuid);
	if (state_of(&m, &state, err) < 0)
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
	int64_t never = 0;
	int state;

	if (machine_find(p, id, &m, err) < 0 || state_of(&m, &state, err) < 0)
		return -1;
	if (state == VIR_DOMAIN_SHUTOFF) {
		if (hard)
			return machine_boot(m.host, m.domain, err);
		return err_set(err, ERR_CONFLICT, "the machine is off");
	}
	if (facts_change(m.host, m.domain, was_asked, &never, err) < 0)
		return -1;
	if (!hard && virDomainReboot(m.domain, 0) < 0)
		return host_err(m.host, "ask the machine to reboot", err);
	if (hard && virDomainReset(m.domain, 0) < 0)
		return host_err(m.host, "reset the machine", err);
	if (state == VIR_DOMAIN_PAUSED && virDomainResume(m.domain) < 0)
		return host_err(m.host, "resume the machine", err);
	return 0;
}
