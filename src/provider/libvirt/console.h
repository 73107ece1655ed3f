/* console - a machine's serial line and its screen, as a stream. */
#pragma once

#include "provider/calls.h"
#include "provider/libvirt/host.h"

struct provider;

int lv_console(struct provider *p, const char *id, enum console_kind kind,
	       struct arena *a, struct console *ret, struct err *err);
