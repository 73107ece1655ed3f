#include "provider/libvirt/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "provider/libvirt/facts.h"
#include "provider/libvirt/records.h"

#define ARENA_MOST ((size_t)4 << 20)

/* Where they are; the folder is made when it is not there. */
static int where(struct lv *lv, struct arena *a, struct records *ret,
		 struct err *err)
{
	if (!lv->folder)
		return err_set(err, ERR_INVALID,
			       "nothing can be kept on this machine");
	if (mkdir(lv->folder, 0711) < 0 && errno != EEXIST)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot make the region's folder: %s",
			       strerror(errno));
	*ret = (struct records){
		.folder = arena_join(a, lv->folder, "/networks", NULL),
		.fields = netdef_fields,
		.size = sizeof(struct netdef)};
	return records_open(ret, err);
}

int record_get(struct lv *lv, const char *id, struct arena *a,
	       struct netdef *ret, struct err *err)
{
	struct records r;

	if (where(lv, a, &r, err) < 0)
		return -1;
	return records_get(&r, id, a, ret, err);
}

int record_put(struct lv *lv, const struct netdef *n, struct arena *a,
	       struct err *err)
{
	struct netdef have, new = *n;
	struct records r;

	if (where(lv, a, &r, err) < 0)
		return -1;
	if (records_get(&r, n->id, a, &have, err) == 0) {
		if (strcmp(have.prefix, n->prefix) != 0)
			return err_set(err, ERR_CONFLICT,
				       "the network has the prefix %s",
				       have.prefix);
		if (netdef_same(&have, n))
			return 0;
		new.created_at = have.created_at;
	} else if (err->code != ERR_NOT_FOUND) {
		return -1;
	}
	return records_put(&r, n->id, &new, err);
}

int record_drop(struct lv *lv, const char *id, struct err *err)
{
	struct records r;
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	rc = where(lv, &a, &r, err);
	if (rc == 0)
		rc = records_remove(&r, id, err);
	arena_release(&a);
	return rc;
}

int record_things(struct lv *lv, const char *installation, struct arena *a,
		  struct buf *things, struct err *err)
{
	const struct netdef *n;
	struct records r;
	struct items all;

	if (where(lv, a, &r, err) < 0 || records_list(&r, a, &all, err) < 0)
		return -1;
	n = all.at;
	for (size_t i = 0; i < all.n; i++)
		if (strcmp(n[i].installation, installation) == 0)
			things_add(
				things,
				&(struct thing){.kind = THING_NETWORK,
						.id = n[i].id,
						.ours = n[i].ours,
						.created_at = n[i].created_at});
	return 0;
}

static bool is_in(struct host *h, virDomainPtr d, const char *network)
{
	struct domain_facts f;
	struct arena a;
	struct err err;
	bool is;

	arena_init(&a, ARENA_MOST);
	is = facts_load(h, d, &a, &f, &err) == 0 && f.network &&
	     strcmp(f.network, network) == 0;
	arena_release(&a);
	return is;
}

int record_used(struct host *h, const char *id, bool *ret,
		char ret_user[VIR_UUID_STRING_BUFLEN], struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	virDomainPtr *list = NULL;
	int n;

	*ret = false;
	if (host_take(h, &conn, err) < 0)
		return -1;
	n = virConnectListAllDomains(conn, &list, 0);
	if (n < 0)
		return host_err(h, "list the machines", err);
	for (int i = 0; i < n; i++) {
		if (!*ret && is_in(h, list[i], id)) {
			*ret = true;
			virDomainGetUUIDString(list[i], ret_user);
		}
		virDomainFree(list[i]);
	}
	free(list);
	return 0;
}
