#include "provider/libvirt/pool.h"

#include <string.h>

#include "base/mem.h"
#include "provider/libvirt/host.h"
#include "provider/libvirt/xml.h"

int pool_open(struct host *h, struct pool_at *ret, struct err *err)
{
	struct pool_at p = {.host = h};
	virStoragePoolInfo seen;

	if (host_take(h, &p.conn, err) < 0)
		return -1;
	p.pool = virStoragePoolLookupByName(p.conn, h->options->pool);
	if (!p.pool) {
		host_err(h, "find the storage pool", err);
		pool_close(&p);
		if (err->code != ERR_NOT_FOUND)
			return -1;
		return err_set(err, ERR_UNAVAILABLE,
			       "host %s has no storage pool \"%s\"", h->name,
			       h->options->pool);
	}
	/* Somebody else may start it at the same time. */
	if (virStoragePoolGetInfo(p.pool, &seen) < 0 ||
	    (seen.state != VIR_STORAGE_POOL_RUNNING &&
	     virStoragePoolCreate(p.pool, 0) < 0 &&
	     virStoragePoolIsActive(p.pool) != 1)) {
		host_err(h, "start the storage pool", err);
		pool_close(&p);
		return -1;
	}
	*ret = p;
	return 0;
}

void pool_close(struct pool_at *p)
{
	if (p->pool)
		virStoragePoolFree(p->pool);
	p->pool = NULL;
	host_drop(&p->conn);
}

int pool_find(struct pool_at *p, const char *name, virStorageVolPtr *ret,
	      struct err *err)
{
	*ret = virStorageVolLookupByName(p->pool, name);
	return *ret ? 0 : host_err(p->host, "find a disk", err);
}

int pool_find_any(struct pool_at *p, const char *name, virStorageVolPtr *ret,
		  struct err *err)
{
	if (pool_find(p, name, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND || virStoragePoolRefresh(p->pool, 0) < 0)
		return -1;
	return pool_find(p, name, ret, err);
}

void pool_drop(virStorageVolPtr *v)
{
	if (*v)
		virStorageVolFree(*v);
	*v = NULL;
}

int pool_folder(struct pool_at *p, struct arena *a, const char **ret,
		struct err *err)
{
	auto_free char *xml = virStoragePoolGetXMLDesc(p->pool, 0);
	struct xml_doc *doc;

	if (!xml)
		return host_err(p->host, "look at the storage pool", err);
	doc = xml_parse(xml, strlen(xml), err);
	if (!doc)
		return -1;
	*ret = xml_value(xml_child(xml_root(doc), "target/path"), a);
	xml_free(doc);
	if (!*ret)
		return err_set(err, ERR_UNSUPPORTED,
			       "host %s: the storage pool \"%s\" is no folder",
			       p->host->name, p->host->options->pool);
	return 0;
}
