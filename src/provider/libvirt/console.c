/* Ways to a machine's serial line and to its screen. */
#include "provider/libvirt/bridge.h"
#include "provider/libvirt/machine.h"

/* Whoever opened it before loses it: a line has one end. */
static int open_serial(const struct found *m, int *ret_fd, struct err *err)
{
	/* Of the machine's own connection: a host has several. */
	virStreamPtr stream = virStreamNew(virDomainGetConnect(m->domain),
					   VIR_STREAM_NONBLOCK);

	if (!stream)
		return host_err(m->host, "open the console", err);
	if (virDomainOpenConsole(m->domain, NULL, stream,
				 VIR_DOMAIN_CONSOLE_FORCE) < 0) {
		host_err(m->host, "open the console", err);
		(void)virStreamFree(stream);
		return -1;
	}
	return bridge_begin(stream, ret_fd, err);
}

/* Who asks may: that was looked at before. */
static int open_screen(const struct found *m, int *ret_fd, struct err *err)
{
	int fd = virDomainOpenGraphicsFD(m->domain, 0,
					 VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH);

	if (fd < 0)
		return host_err(m->host, "open the screen", err);
	*ret_fd = fd;
	return 0;
}

int lv_console(struct provider *p, const char *id, enum console_kind kind,
	       struct arena *a, struct console *ret, struct err *err)
{
	auto_found struct found m = {0};
	int fd = -1;

	(void)a;
	if (machine_find(p, id, &m, err) < 0)
		return -1;
	if (virDomainIsActive(m.domain) == 0)
		return err_set(err, ERR_CONFLICT, "the machine does not run");
	if ((kind == CONSOLE_VNC ? open_screen(&m, &fd, err)
				 : open_serial(&m, &fd, err)) < 0)
		return -1;
	*ret = (struct console){.fd = fd};
	return 0;
}
