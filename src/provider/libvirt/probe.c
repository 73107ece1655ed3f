#include "provider/libvirt/probe.h"

#include <stdio.h>

int probe_powers(struct host *h, struct host_powers *ret, char *why,
		 size_t why_size, struct err *err)
{
	(void)h;
	(void)err;
	snprintf(why, why_size, "it was not tried yet");
	*ret = (struct host_powers){.why = why, .machine = "pc"};
	return 0;
}
