#include "provider/libvirt/driver.h"

int lv_console(struct provider *p, const char *id, enum console_kind kind,
	       struct arena *a, struct console *ret, struct err *err)
{
	(void)p;
	(void)id;
	(void)kind;
	(void)a;
	(void)ret;
	return err_set(err, ERR_UNSUPPORTED, "there are no consoles yet");
}
