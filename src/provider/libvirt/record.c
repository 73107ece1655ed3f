#include "provider/libvirt/record.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/facts.h"
#include "provider/libvirt/file.h"

#define RECORD_MOST ((size_t)1 << 20)
#define ARENA_MOST  ((size_t)4 << 20)

/* The folder, made when it is not there. */
static int folder(struct lv *lv, struct arena *a, const char **ret,
		  struct err *err)
{
	const char *path;

	if (!lv->folder)
		return err_set(err, ERR_INVALID,
			       "nothing can be kept on this machine");
	path = arena_join(a, lv->folder, "/networks", NULL);
	if ((mkdir(lv->folder, 0711) < 0 && errno != EEXIST) ||
	    (mkdir(path, 0700) < 0 && errno != EEXIST))
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot make the folder of networks: %s",
			       strerror(errno));
	*ret = path;
	return 0;
}

static int place(struct lv *lv, const char *id, struct arena *a,
		 const char **ret, struct err *err)
{
	const char *dir;

	if (folder(lv, a, &dir, err) < 0)
		return -1;
	*ret = arena_join(a, dir, "/", id, NULL);
	return 0;
}

static int read_at(const char *path, struct arena *a, struct netdef *ret,
		   struct err *err)
{
	struct buf text = BUF_INIT(RECORD_MOST);
	int r = file_read(path, &text, err);

	if (r == 0)
		r = netdef_decode(buf_str(&text), text.len, a, ret, err);
	buf_release(&text);
	return r;
}

int record_get(struct lv *lv, const char *id, struct arena *a,
	       struct netdef *ret, struct err *err)
{
	const char *path;

	if (place(lv, id, a, &path, err) < 0)
		return -1;
	return read_at(path, a, ret, err);
}

static int write_at(const char *path, const struct netdef *n, struct arena *a,
		    struct err *err)
{
	const char *part = arena_join(a, path, ".part", NULL);
	struct buf text = BUF_INIT(RECORD_MOST);
	int r;

	netdef_encode(n, &text);
	(void)unlink(part);
	r = file_write(part, buf_str(&text), text.len, err);
	buf_release(&text);
	return r < 0 ? -1 : file_publish(part, path, err);
}

int record_put(struct lv *lv, const struct netdef *n, struct arena *a,
	       struct err *err)
{
	struct netdef have, new = *n;
	const char *path;

	if (place(lv, n->id, a, &path, err) < 0)
		return -1;
	if (read_at(path, a, &have, err) == 0) {
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
	return write_at(path, &new, a, err);
}

int record_drop(struct lv *lv, const char *id, struct err *err)
{
	struct arena a;
	const char *path;
	int r;

	arena_init(&a, ARENA_MOST);
	r = place(lv, id, &a, &path, err);
	if (r == 0 && unlink(path) < 0 && errno != ENOENT)
		r = err_set(err, ERR_UNAVAILABLE,
			    "cannot remove the network: %s", strerror(errno));
	arena_release(&a);
	return r;
}

int record_things(struct lv *lv, const char *installation, struct things *ret,
		  struct err *err)
{
	const struct dirent *e;
	const char *dir;
	DIR *d;

	if (folder(lv, ret->a, &dir, err) < 0)
		return -1;
	d = opendir(dir);
	if (!d)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot list the networks: %s", strerror(errno));
	while ((e = readdir(d))) {
		struct netdef n;
		struct err gone;

		if (!uuid_valid(e->d_name, strlen(e->d_name)) ||
		    read_at(arena_join(ret->a, dir, "/", e->d_name, NULL),
			    ret->a, &n, &gone) < 0 ||
		    strcmp(n.installation, installation) != 0)
			continue;
		things_add(ret, &(struct thing){.kind = THING_NETWORK,
						.id = n.id,
						.ours = n.ours,
						.created_at = n.created_at});
	}
	closedir(d);
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
