#include "provider/libvirt/domain.h"

#include <stdio.h>

#include "base/uuid.h"

void domain_name(const char *uuid, char out[48])
{
	snprintf(out, 48, "muster-%s", uuid);
}

void domain_uuid(const char *installation, const char *token,
		 char out[VIR_UUID_STRING_BUFLEN])
{
	uuid_v5(installation, token, out);
}
