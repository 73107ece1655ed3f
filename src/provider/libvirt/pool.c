#include "provider/libvirt/pool.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/xml.h"

#define DEFAULT "default"

enum { REFRESH_TRIES = 50, REFRESH_MS = 100 };

/* Where libvirt's own tools would make it. */
static int make_default(struct pool_at *p, struct err *err)
{
	struct buf text = BUF_INIT(4096);
	struct xml *x = xml_new();
	int rc;

	xml_begin(x, "pool");
	xml_attr(x, "type", "dir");
	xml_leaf(x, "name", DEFAULT);
	xml_begin(x, "target");
	xml_leaf(x, "path", "/var/lib/libvirt/images");
	xml_end(x);
	xml_end(x);
	rc = xml_finish(x, &text, err);
	if (rc == 0) {
		p->pool = virStoragePoolDefineXML(p->conn, buf_str(&text), 0);
		if (!p->pool ||
		    virStoragePoolBuild(p->pool, VIR_STORAGE_POOL_BUILD_NEW) <
			    0 ||
		    virStoragePoolSetAutostart(p->pool, 1) < 0)
			rc = host_err(p->host, "make the storage pool", err);
	}
	buf_release(&text);
	return rc;
}

static int find(struct pool_at *p, struct err *err)
{
	const char *name = p->host->options->pool;

	p->pool = virStoragePoolLookupByName(p->conn, name);
	if (p->pool)
		return 0;
	host_err(p->host, "find the storage pool", err);
	if (err->code != ERR_NOT_FOUND)
		return -1;
	if (strcmp(name, DEFAULT) == 0)
		return make_default(p, err);
	return err_set(err, ERR_UNAVAILABLE,
		       "host %s has no storage pool \"%s\"", p->host->name,
		       name);
}

/* Somebody else may start it at the same time. */
static int start(struct pool_at *p, struct err *err)
{
	if (virStoragePoolIsActive(p->pool) == 1 ||
	    virStoragePoolCreate(p->pool, 0) == 0)
		return 0;
	host_err(p->host, "start the storage pool", err);
	return virStoragePoolIsActive(p->pool) == 1 ? 0 : -1;
}

int pool_open(struct host *h, struct pool_at *ret, struct err *err)
{
	struct pool_at p = {.host = h};

	if (host_take(h, &p.conn, err) < 0)
		return -1;
	if (find(&p, err) < 0 || start(&p, err) < 0) {
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

/* It cannot be done while others use the pool. */
static int refresh(struct pool_at *p, struct err *err)
{
	const struct provider_conf *conf = p->host->lv->conf;

	for (int i = 0; i < REFRESH_TRIES; i++) {
		if (virStoragePoolRefresh(p->pool, 0) == 0)
			return 0;
		host_err(p->host, "look through the storage pool", err);
		if (err->code == ERR_UNAVAILABLE)
			return -1;
		conf->sleep(conf->ctx, REFRESH_MS);
	}
	err->code = ERR_UNAVAILABLE;
	err->retry = ERR_RETRY_LATER;
	return -1;
}

int pool_find_any(struct pool_at *p, const char *name, virStorageVolPtr *ret,
		  struct err *err)
{
	if (pool_find(p, name, ret, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND || refresh(p, err) < 0)
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
