/* libvirt's errors in our words. */
#include <stdio.h>
#include <string.h>

#include "provider/libvirt/host.h"

static const struct {
	int native;
	enum err_code code;
} codes[] = {
	{VIR_ERR_NO_DOMAIN, ERR_NOT_FOUND},
	{VIR_ERR_NO_DOMAIN_METADATA, ERR_NOT_FOUND},
	{VIR_ERR_NO_NETWORK, ERR_NOT_FOUND},
	{VIR_ERR_NO_NWFILTER, ERR_NOT_FOUND},
	{VIR_ERR_NO_STORAGE_POOL, ERR_NOT_FOUND},
	{VIR_ERR_NO_STORAGE_VOL, ERR_NOT_FOUND},
	{VIR_ERR_DEVICE_MISSING, ERR_NOT_FOUND},
	{VIR_ERR_NO_CONNECT, ERR_UNAVAILABLE},
	{VIR_ERR_RPC, ERR_UNAVAILABLE},
	{VIR_ERR_AGENT_UNRESPONSIVE, ERR_UNAVAILABLE},
	{VIR_ERR_RESOURCE_BUSY, ERR_UNAVAILABLE},
	{VIR_ERR_OPERATION_TIMEOUT, ERR_TIMEOUT},
	{VIR_ERR_OPERATION_INVALID, ERR_CONFLICT},
	{VIR_ERR_DOM_EXIST, ERR_CONFLICT},
	{VIR_ERR_NETWORK_EXIST, ERR_CONFLICT},
	{VIR_ERR_STORAGE_VOL_EXIST, ERR_CONFLICT},
	{VIR_ERR_NO_SUPPORT, ERR_UNSUPPORTED},
	{VIR_ERR_CONFIG_UNSUPPORTED, ERR_UNSUPPORTED},
	{VIR_ERR_ARGUMENT_UNSUPPORTED, ERR_UNSUPPORTED},
	{VIR_ERR_OPERATION_UNSUPPORTED, ERR_UNSUPPORTED},
	{VIR_ERR_INVALID_ARG, ERR_INVALID},
	{VIR_ERR_XML_ERROR, ERR_INVALID},
	{VIR_ERR_XML_DETAIL, ERR_INVALID},
};

/* Another process has the disk open, such as one that copies it.  libvirt has no
 * code of its own for it, and QEMU only these words. */
static bool is_held(const virError *e)
{
	return e->message &&
	       strstr(e->message, "Is another process using the image");
}

static enum err_code code_of(const virError *e)
{
	/* Lost on the way: whatever the code, nobody knows what was done. */
	if (e->domain == VIR_FROM_RPC || e->domain == VIR_FROM_REMOTE)
		return ERR_UNAVAILABLE;
	if (is_held(e))
		return ERR_UNAVAILABLE;
	for (size_t i = 0; i < COUNT_OF(codes); i++)
		if (codes[i].native == e->code)
			return codes[i].code;
	return ERR_PROVIDER;
}

int host_err(const struct host *h, const char *what, struct err *err)
{
	const virError *e = virGetLastError();

	if (!e)
		return err_set(err, ERR_PROVIDER, "host %s: cannot %s", h->name,
			       what);
	err_set(err, code_of(e), "host %s: cannot %s", h->name, what);
	err->scope = ERR_SCOPE_PROVIDER;
	if (err->code == ERR_NOT_FOUND)
		err->scope = ERR_SCOPE_OBJECT;
	snprintf(err->provider_code, sizeof(err->provider_code), "libvirt-%d",
		 e->code);
	snprintf(err->provider_msg, sizeof(err->provider_msg), "%s",
		 e->message ? e->message : "");
	return -1;
}

const char *host_words(const struct err *err, struct arena *a)
{
	const char *own = err->provider_msg;

	/* Where nothing was to be added, it is all that was said. */
	if (!own[0] || strstr(err->msg, own))
		return arena_strdup(a, err->msg);
	return arena_join(a, err->msg, ": ", own, NULL);
}
