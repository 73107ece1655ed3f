/* local - whether this host can run machines itself. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether what the embedded libvirt needs is here; when not, RET says what is
 * missing and what to do about it. */
bool local_usable(char *ret, size_t size);
