#include "provider/libvirt/nwfilter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define XML_MOST ((size_t)4 << 20)

static void drop(virNWFilterPtr *f)
{
	if (*f)
		virNWFilterFree(*f);
	*f = NULL;
}
#define auto_filter __attribute__((cleanup(drop)))

static int load(const struct host *h, virNWFilterPtr f, struct arena *a,
		struct filter *ret, bool *found, struct err *err)
{
	auto_free char *xml = f ? virNWFilterGetXMLDesc(f, 0) : NULL;

	*found = xml != NULL;
	if (xml)
		return filter_read(xml, a, ret, err);
	host_err(h, "read the filter", err);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

int nwfilter_get(struct host *h, const char *name, struct arena *a,
		 struct filter *ret, bool *found, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_filter virNWFilterPtr f = NULL;

	if (host_take(h, &conn, err) < 0)
		return -1;
	f = virNWFilterLookupByName(conn, name);
	return load(h, f, a, ret, found, err);
}

int nwfilter_get_by_uuid(struct host *h, const char *uuid, struct arena *a,
			 struct filter *ret, bool *found, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_filter virNWFilterPtr f = NULL;

	if (host_take(h, &conn, err) < 0)
		return -1;
	f = virNWFilterLookupByUUIDString(conn, uuid);
	return load(h, f, a, ret, found, err);
}

/* libvirt has no code of its own for a name that is taken. */
static bool is_taken(virConnectPtr conn, const struct filter *f)
{
	auto_filter virNWFilterPtr other =
		virNWFilterLookupByName(conn, f->name);
	char uuid[VIR_UUID_STRING_BUFLEN];

	return other && virNWFilterGetUUIDString(other, uuid) == 0 &&
	       strcmp(uuid, f->uuid) != 0;
}

int nwfilter_put(struct host *h, const struct filter *f, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	struct buf xml = BUF_INIT(XML_MOST);
	int r;

	if (host_take(h, &conn, err) < 0)
		return -1;
	r = filter_write(f, &xml, err);
	if (r == 0) {
		auto_filter virNWFilterPtr made =
			virNWFilterDefineXML(conn, buf_str(&xml));

		if (!made)
			r = host_err(h, "define the filter", err);
	}
	buf_release(&xml);
	if (r < 0 && err->code == ERR_PROVIDER && is_taken(conn, f))
		err->code = ERR_CONFLICT;
	return r;
}

int nwfilter_drop(struct host *h, const char *name, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_filter virNWFilterPtr f = NULL;

	if (host_take(h, &conn, err) < 0)
		return -1;
	f = virNWFilterLookupByName(conn, name);
	if (f && virNWFilterUndefine(f) == 0)
		return 0;
	host_err(h, "remove the filter", err);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

int nwfilter_drop_by_uuid(struct host *h, const char *uuid, struct arena *a,
			  struct filter *ret, bool *found, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_filter virNWFilterPtr f = NULL;

	if (host_take(h, &conn, err) < 0)
		return -1;
	f = virNWFilterLookupByUUIDString(conn, uuid);
	if (load(h, f, a, ret, found, err) < 0)
		return -1;
	if (!*found || virNWFilterUndefine(f) == 0)
		return 0;
	host_err(h, "remove the filter", err);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

int nwfilter_each(struct host *h, nwfilter_visit *visit, void *ctx,
		  struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	virNWFilterPtr *list = NULL;
	int n, r = 0;

	if (host_take(h, &conn, err) < 0)
		return -1;
	n = virConnectListAllNWFilters(conn, &list, 0);
	if (n < 0)
		return host_err(h, "list the filters", err);
	for (int i = 0; i < n; i++) {
		char uuid[VIR_UUID_STRING_BUFLEN];

		if (r == 0 && virNWFilterGetUUIDString(list[i], uuid) == 0)
			r = visit(h, virNWFilterGetName(list[i]), uuid, ctx,
				  err);
		virNWFilterFree(list[i]);
	}
	free(list);
	return r;
}
