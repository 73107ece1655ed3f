#include "provider/libvirt/network.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/status.h"
#include "provider/libvirt/group.h"
#include "provider/libvirt/nic.h"
#include "provider/libvirt/record.h"

#define XML_MOST ((size_t)2 << 20)

static void drop_network(virNetworkPtr *n)
{
	if (*n)
		virNetworkFree(*n);
	*n = NULL;
}
#define auto_network __attribute__((cleanup(drop_network)))

bool network_is_user(const struct host *h)
{
	return h->embedded || h->fake;
}

static int refuse(const char *id, struct err *err)
{
	return err_set(err, ERR_INVALID, "there is no network %s", id);
}

/* *RET is NULL when it has none. */
static int look(const struct host *h, virConnectPtr conn, const char *id,
		virNetworkPtr *ret, struct err *err)
{
	*ret = virNetworkLookupByUUIDString(conn, id);
	if (*ret)
		return 0;
	host_err(h, "look for the network", err);
	return err->code == ERR_NOT_FOUND ? 0 : -1;
}

static int read_network(const struct host *h, virNetworkPtr n, struct arena *a,
			struct netdef *ret, struct netdef_kept *kept,
			struct err *err)
{
	auto_free char *xml = virNetworkGetXMLDesc(n, VIR_NETWORK_XML_INACTIVE);

	if (!xml)
		return host_err(h, "read the network", err);
	return netdef_read(xml, a, ret, kept, err);
}

/* What libvirt says when its host has the prefix already is no more than words
 * of its own. */
static int cannot_start(const struct host *h, const struct netdef *n,
			struct err *err)
{
	if (err->code == ERR_PROVIDER && strstr(err->provider_msg, "in use")) {
		struct err words = *err;

		err_set(err, ERR_CONFLICT,
			"%s is in use on host %s by another network", n->prefix,
			h->name);
		memcpy(err->provider_code, words.provider_code,
		       sizeof(err->provider_code));
		memcpy(err->provider_msg, words.provider_msg,
		       sizeof(err->provider_msg));
	}
	return -1;
}

static int start(const struct host *h, virNetworkPtr n, const struct netdef *d,
		 struct err *err)
{
	if (virNetworkIsActive(n) == 1 || virNetworkCreate(n) == 0)
		return 0;
	host_err(h, "start the network", err);
	return virNetworkIsActive(n) == 1 ? 0 : cannot_start(h, d, err);
}

static int define(struct host *h, virConnectPtr conn, const struct netdef *n,
		  const struct netdef_kept *kept, virNetworkPtr *ret,
		  struct err *err)
{
	struct buf xml = BUF_INIT(XML_MOST);
	int r = netdef_write(n, kept, &xml, err);

	if (r == 0) {
		*ret = virNetworkDefineXML(conn, buf_str(&xml));
		if (!*ret)
			r = host_err(h, "define the network", err);
	}
	buf_release(&xml);
	if (r == 0 && virNetworkSetAutostart(*ret, 1) < 0)
		r = host_err(h, "have the network started with the host", err);
	return r;
}

/* On a host that has not got it; what cannot be started is not left. */
static int make(struct host *h, virConnectPtr conn, const struct netdef *n,
		struct err *err)
{
	auto_network virNetworkPtr made = NULL;

	if (define(h, conn, n, NULL, &made, err) == 0 &&
	    start(h, made, n, err) == 0)
		return 0;
	if (made)
		virNetworkUndefine(made);
	return -1;
}

/* DNS and routes may change.  dnsmasq learns it when the network is started:
 * now, when nobody is in it, or with the host; the seeds of machines that come
 * have it at once. */
static int change(struct host *h, virConnectPtr conn, const struct netdef *n,
		  const struct netdef_kept *kept, struct err *err)
{
	auto_network virNetworkPtr made = NULL;
	bool used;

	if (define(h, conn, n, kept, &made, err) < 0 ||
	    nic_used(h, n->id, false, &used, NULL, err) < 0)
		return -1;
	if (!used && virNetworkIsActive(made) == 1)
		virNetworkDestroy(made);
	return start(h, made, n, err);
}

static int put(struct host *h, const struct netdef *want, struct arena *a,
	       struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_network virNetworkPtr n = NULL;
	struct netdef have = {0}, new = *want;
	struct netdef_kept kept;

	if (host_take(h, &conn, err) < 0 ||
	    look(h, conn, want->id, &n, err) < 0)
		return -1;
	if (!n)
		return make(h, conn, want, err);
	if (read_network(h, n, a, &have, &kept, err) < 0)
		return -1;
	assert(have.prefix); /* or it would not have been read */
	if (strcmp(have.prefix, want->prefix) != 0)
		return err_set(err, ERR_CONFLICT,
			       "the network has the prefix %s", have.prefix);
	/* How it was made, not how one would be made now. */
	new.created_at = have.created_at;
	new.mode = have.mode;
	new.bridge = have.bridge;
	if (!netdef_same(&have, &new))
		return change(h, conn, &new, &kept, err);
	return start(h, n, &have, err);
}

/* Made on those that answer; when none does, that is the answer. */
static int put_on_all(struct lv *lv, const struct netdef *n, struct arena *a,
		      struct err *err)
{
	struct err deaf = {0};
	size_t made = 0;

	for (size_t i = 0; i < lv->n_hosts; i++) {
		if (network_is_user(lv->hosts[i]))
			continue;
		if (put(lv->hosts[i], n, a, err) == 0)
			made++;
		else if (err->code == ERR_UNAVAILABLE)
			deaf = *err;
		else
			return -1;
	}
	if (!made && deaf.code) {
		*err = deaf;
		return -1;
	}
	return 0;
}

static bool has_hosts(const struct lv *lv, bool user)
{
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (network_is_user(lv->hosts[i]) == user)
			return true;
	return false;
}

static int lv_ensure(struct provider *p, const struct network_spec *spec,
		     struct arena *a, struct backing *ret, struct err *err)
{
	struct lv *lv = lv_of(p);
	struct lv_network_options mode = lv->options.network;
	struct netdef n = {0};

	if (!mode.mode)
		mode.mode = NETWORK_NAT;
	if (has_hosts(lv, true)) {
		if (netdef_make(spec, p->installation, NULL, a, &n, err) < 0)
			return -1;
		n.created_at = clock_wall(lv->conf->clock);
		if (record_put(lv, &n, a, err) < 0)
			return -1;
	}
	if (has_hosts(lv, false)) {
		if (netdef_make(spec, p->installation, &mode, a, &n, err) < 0)
			return -1;
		n.created_at = clock_wall(lv->conf->clock);
		if (put_on_all(lv, &n, a, err) < 0)
			return -1;
	}
	*ret = (struct backing){
		.id = n.id,
		.state = BACKED_READY,
		.native_state = "active",
		.gateway = n.mode == NETWORK_ISOLATED ? NULL : n.gateway};
	return 0;
}

static int in_use(const char *by, struct err *err)
{
	err_set(err, ERR_CONFLICT, "the network is used by machine %s", by);
	err->retry = ERR_RETRY_LATER;
	return -1;
}

static int take_away(struct host *h, const char *id, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_network virNetworkPtr n = NULL;
	char user[VIR_UUID_STRING_BUFLEN];
	bool used = false;

	if (host_take(h, &conn, err) < 0 || look(h, conn, id, &n, err) < 0)
		return -1;
	if (!n)
		return 0;
	if (nic_used(h, id, true, &used, user, err) < 0)
		return -1;
	if (used)
		return in_use(user, err);
	if (virNetworkIsActive(n) == 1 && virNetworkDestroy(n) < 0)
		return host_err(h, "stop the network", err);
	if (virNetworkUndefine(n) < 0) {
		host_err(h, "remove the network", err);
		return err->code == ERR_NOT_FOUND ? 0 : -1;
	}
	return 0;
}

static int lv_remove(struct provider *p, const struct backing_id *id,
		     struct err *err)
{
	struct lv *lv = lv_of(p);
	char name[UUID_LEN + 1];

	netdef_id(p->installation, id->ours, name);
	for (size_t i = 0; i < lv->n_hosts; i++) {
		struct host *h = lv->hosts[i];
		char user[VIR_UUID_STRING_BUFLEN];
		bool used = false;

		if (!network_is_user(h)) {
			if (take_away(h, name, err) < 0)
				return -1;
			continue;
		}
		if (record_used(h, name, &used, user, err) < 0)
			return -1;
		if (used)
			return in_use(user, err);
	}
	return has_hosts(lv, true) ? record_drop(lv, name, err) : 0;
}

static int find_on(struct host *h, const char *id, struct arena *a,
		   struct netdef *ret, bool *ret_found, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	auto_network virNetworkPtr n = NULL;

	*ret_found = false;
	if (network_is_user(h)) {
		int r = record_get(h->lv, id, a, ret, err);

		*ret_found = r == 0;
		return r < 0 && err->code != ERR_NOT_FOUND ? -1 : 0;
	}
	if (host_take(h, &conn, err) < 0 || look(h, conn, id, &n, err) < 0)
		return -1;
	if (!n)
		return 0;
	if (read_network(h, n, a, ret, NULL, err) < 0 ||
	    start(h, n, ret, err) < 0)
		return -1;
	*ret_found = true;
	return 0;
}

/* Of the other hosts, those that are of the same sort as H. */
static int find_elsewhere(struct host *h, const char *id, struct arena *a,
			  struct netdef *ret, bool *ret_found, struct err *err)
{
	struct lv *lv = h->lv;
	struct err deaf = {0};

	*ret_found = false;
	for (size_t i = 0; i < lv->n_hosts && !*ret_found; i++)
		if (lv->hosts[i] != h && !network_is_user(lv->hosts[i]) &&
		    find_on(lv->hosts[i], id, a, ret, ret_found, err) < 0)
			deaf = *err;
	if (*ret_found || !deaf.code)
		return 0;
	*err = deaf;
	return -1;
}

int network_find(struct host *h, const char *id, struct arena *a,
		 struct netdef *ret, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	bool found;

	if (!id || !uuid_valid(id, strlen(id)))
		return refuse(id ? id : "", err);
	if (find_on(h, id, a, ret, &found, err) < 0)
		return -1;
	if (found)
		return 0;
	if (network_is_user(h))
		return refuse(id, err);
	if (find_elsewhere(h, id, a, ret, &found, err) < 0)
		return -1;
	if (!found)
		return refuse(id, err);
	if (host_take(h, &conn, err) < 0)
		return -1;
	return make(h, conn, ret, err);
}

int network_know(struct lv *lv, const char *id, struct arena *a,
		 struct netdef *ret, struct err *err)
{
	struct err deaf = {0};
	bool found = false;

	if (!id || !uuid_valid(id, strlen(id)))
		return refuse(id ? id : "", err);
	for (size_t i = 0; i < lv->n_hosts && !found; i++)
		if (find_on(lv->hosts[i], id, a, ret, &found, err) < 0)
			deaf = *err;
	if (found)
		return 0;
	if (!deaf.code)
		return refuse(id, err);
	*err = deaf;
	return -1;
}

/* One that goes away meanwhile, or is none of ours, is passed over. */
static void note(struct host *h, virNetworkPtr n, const char *installation,
		 struct arena *a, struct buf *things)
{
	struct netdef d = {0};
	struct err err;

	if (strncmp(virNetworkGetName(n), "muster-", 7) == 0 &&
	    read_network(h, n, a, &d, NULL, &err) == 0 && d.installation &&
	    strcmp(d.installation, installation) == 0)
		things_add(things, &(struct thing){.kind = THING_NETWORK,
						   .id = d.id,
						   .ours = d.ours,
						   .created_at = d.created_at});
}

static int things_on(struct host *h, const char *installation, struct arena *a,
		     struct buf *things, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;
	virNetworkPtr *list = NULL;
	int n;

	if (host_take(h, &conn, err) < 0)
		return -1;
	n = virConnectListAllNetworks(conn, &list, 0);
	if (n < 0)
		return host_err(h, "list the networks", err);
	for (int i = 0; i < n; i++) {
		note(h, list[i], installation, a, things);
		virNetworkFree(list[i]);
	}
	free(list);
	return 0;
}

int network_things(struct lv *lv, const char *installation, struct arena *a,
		   struct buf *things, struct err *err)
{
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (!network_is_user(lv->hosts[i]) &&
		    things_on(lv->hosts[i], installation, a, things, err) < 0)
			return -1;
	return has_hosts(lv, true)
		       ? record_things(lv, installation, a, things, err)
		       : 0;
}

const struct network_ops lv_network_ops = {
	.ensure = lv_ensure,
	.remove = lv_remove,
	.ensure_group = group_ensure,
	.remove_group = group_remove,
};
