/* instance_check_parts - what an instance has besides its machine: security
 * groups, volumes, and what lets people log in. */
#include <string.h>

#include "api/instance_check.h"
#include "api/permit.h"
#include "base/field_ops.h"
#include "identity/ssh.h"
#include "model/network.h"
#include "model/region.h"
#include "model/securitygroup.h"
#include "model/sshca.h"
#include "model/userdata.h"
#include "model/volume.h"
#include "store/tx.h"

struct parts {
	struct call *call;
	struct tx *tx;
	const struct instance *old, *new;
	const struct region *region;
};

static const char *item(const struct parts *p, const char *list, size_t n,
			const char *member)
{
	return arena_printf(p->call->x->arena, "/spec/%s/%zu%s", list, n,
			    member);
}

/* The field at PATH is as it was. */
static bool is_kept(const struct parts *p, const char *path)
{
	const struct field *f;
	const void *a, *b;
	struct field row[2] = {0};

	if (!p->old)
		return false;
	f = field_find(instance_kind.fields, path, p->old, &a);
	field_find(instance_kind.fields, path, p->new, &b);
	row[0] = *f;
	row[0].offset = 0;
	return !field_changed(row, a, b);
}

static int check_groups(const struct parts *p, struct err *err)
{
	const char *const *ids = p->new->spec.security_group_ids.at;

	if (is_kept(p, "spec.securityGroupIds"))
		return 0;
	for (size_t n = 0; n < p->new->spec.security_group_ids.n; n++) {
		const struct securitygroup *g =
			tx_get(p->tx, &securitygroup_kind, ids[n]);
		const char *at = item(p, "securityGroupIds", n, "");

		if (!g || strcmp(g->network_id, p->new->network_id) != 0)
			return err_at(err, ERR_INVALID, at,
				      "security group %s is not of the "
				      "instance's network",
				      ids[n]);
		for (size_t i = 0; i < n; i++)
			if (strcmp(ids[i], ids[n]) == 0)
				return err_at(err, ERR_INVALID, at,
					      "security group \"%s\" is named "
					      "twice",
					      g->meta.name);
	}
	return 0;
}

static int check_mount(const struct parts *p, size_t n, struct err *err)
{
	const struct instance_volume *v = p->new->spec.volumes.at;
	const char *path = v[n].mount_path;
	const char *at = item(p, "volumes", n, "/mountPath");
	size_t len = path ? strlen(path) : 0;

	if (!path)
		return 0;
	if (path[0] != '/' || len < 2 || path[len - 1] == '/' ||
	    strstr(path, "//") || strstr(path, "/../") || strstr(path, "/./") ||
	    strcmp(path + len - 2, "/.") == 0 ||
	    (len > 2 && strcmp(path + len - 3, "/..") == 0))
		return err_at(err, ERR_INVALID, at,
			      "must be an absolute path, such as \"/data\"");
	for (size_t i = 0; i < n; i++)
		if (v[i].mount_path && strcmp(v[i].mount_path, path) == 0)
			return err_at(err, ERR_INVALID, at,
				      "two volumes cannot both be mounted at "
				      "\"%s\"",
				      path);
	return 0;
}

/* Somebody else has it, or wants to. */
static int check_free(const struct parts *p, const struct volume *v,
		      const char *at, struct err *err)
{
	const struct meta *other;
	const char *id = v->status.instance_id;
	const char **users;
	size_t n = tx_find(p->tx, &instance_kind, "spec.volumes.volumeId",
			   v->meta.id, 2, &users);

	for (size_t i = 0; i < n; i++)
		if (strcmp(users[i], p->new->meta.id) != 0)
			id = users[i];
	if (!id || strcmp(id, p->new->meta.id) == 0)
		return 0;
	other = tx_get(p->tx, &instance_kind, id);
	return err_at(err, ERR_CONFLICT, at,
		      "volume \"%s\" is attached to instance \"%s\"",
		      v->meta.name,
		      other && permit_sees(p->call, &instance_kind, other)
			      ? other->name
			      : id);
}

static int check_volume(const struct parts *p, size_t n, struct err *err)
{
	const struct instance_volume *list = p->new->spec.volumes.at;
	const struct volume *v = tx_get(p->tx, &volume_kind, list[n].volume_id);
	const char *at = item(p, "volumes", n, "/volumeId");
	const char *zone =
		p->new->status.zone ? p->new->status.zone : p->new->spec.zone;

	if (!v || strcmp(v->project_id, p->new->project_id) != 0 ||
	    strcmp(v->region_id, p->new->region_id) != 0)
		return err_at(err, ERR_INVALID, at,
			      "volume %s is not of the instance's project and "
			      "region",
			      list[n].volume_id);
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].volume_id, list[n].volume_id) == 0)
			return err_at(err, ERR_INVALID, at,
				      "volume \"%s\" is named twice",
				      v->meta.name);
	if (v->spec.zone && zone && strcmp(v->spec.zone, zone) != 0)
		return err_at(
			err, ERR_INVALID, at,
			"volume \"%s\" is in zone \"%s\", the instance in "
			"\"%s\"",
			v->meta.name, v->spec.zone, zone);
	if (check_free(p, v, at, err) < 0)
		return -1;
	return check_mount(p, n, err);
}

static int check_volumes(const struct parts *p, struct err *err)
{
	if (!p->new->spec.volumes.n || is_kept(p, "spec.volumes"))
		return 0;
	if (!region_can(p->region, "volumes"))
		return err_at(err, ERR_UNSUPPORTED, "/spec/volumes",
			      "region \"%s\" cannot attach volumes",
			      p->region->meta.name);
	for (size_t n = 0; n < p->new->spec.volumes.n; n++)
		if (check_volume(p, n, err) < 0)
			return -1;
	return 0;
}

static int check_authority(const struct parts *p, struct err *err)
{
	const char *id = p->new->spec.sshca_id;
	const struct sshca *ca = id ? tx_get(p->tx, &sshca_kind, id) : NULL;

	if (!id || is_kept(p, "spec.sshCertificateAuthorityId"))
		return 0;
	if (ca && strcmp(ca->project_id, p->new->project_id) == 0)
		return 0;
	return err_at(err, ERR_INVALID, "/spec/sshCertificateAuthorityId",
		      "SSH certificate authority %s is not of the instance's "
		      "project",
		      id);
}

static int check_keys(const struct parts *p, struct err *err)
{
	const char *const *lines = p->new->spec.ssh_public_keys.at;
	struct ssh_public *keys;
	size_t n = p->new->spec.ssh_public_keys.n;
	struct arena *a = p->call->x->arena;

	if (!n || is_kept(p, "spec.sshPublicKeys"))
		return 0;
	keys = arena_alloc(a, n * sizeof(*keys));
	for (size_t k = 0; k < n; k++) {
		const char *at = item(p, "sshPublicKeys", k, "");

		if (ssh_public_parse(lines[k], at, a, &keys[k], err) < 0)
			return -1;
		for (size_t i = 0; i < k; i++)
			if (keys[i].len == keys[k].len &&
			    memcmp(keys[i].blob, keys[k].blob, keys[k].len) ==
				    0)
				return err_at(err, ERR_INVALID, at,
					      "the key is given twice");
	}
	return 0;
}

static bool has_extras(const struct instance *i)
{
	return i->spec.ssh_public_keys.n || i->spec.sshca_id ||
	       i->spec.ssh_key == SSH_KEY_GENERATED;
}

/* What was taken once is not looked at again, unless something is to be put
 * into it that was not. */
static int check_user_data(const struct parts *p, struct err *err)
{
	bool extras = has_extras(p->new);

	if (is_kept(p, "spec.userData") && (!extras || has_extras(p->old)))
		return 0;
	return userdata_check(p->new->spec.user_data, extras, "/spec/userData",
			      p->call->x->arena, err);
}

int instance_check_parts(struct call *c, struct tx *tx,
			 const struct instance *old, const struct instance *new,
			 const struct region *region, struct err *err)
{
	struct parts p = {c, tx, old, new, region};

	if (check_groups(&p, err) < 0 || check_volumes(&p, err) < 0 ||
	    check_authority(&p, err) < 0 || check_keys(&p, err) < 0)
		return -1;
	return check_user_data(&p, err);
}
