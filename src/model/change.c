#include "model/change.h"

#include <string.h>

#include "base/field_ops.h"
#include "model/instance.h"
#include "model/region.h"

const char *const change_action_names[] = {
	NULL, "reboot", "hardReboot", "resize", "rebuild", "replace", NULL};
const char *const change_step_names[] = {
	NULL, "waiting", "stopping", "changing", "removing", "starting", NULL};
const char *const change_need_names[] = {NULL, "nothing", "restart", "rebuild",
					 NULL};

#define CHANGE(member) offsetof(struct change, member)

const struct field change_fields[] = {
	{"action", FIELD_ENUM, 0, CHANGE(action), "What is being done.",
	 .names = change_action_names},
	{"step", FIELD_ENUM, 0, CHANGE(step), "How far it has come.",
	 .names = change_step_names},
	{"since", FIELD_TIME, 0, CHANGE(since), "When it was asked for."},
	{"loses", FIELD_LIST, 0, CHANGE(loses), "What does not survive it.",
	 .item = FIELD_STRING, .size = sizeof(const char *), .max = 16},
	{0},
};

/* What a difference in one field comes to: an action, 0 when it is made while
 * the machine runs, or -1. */
typedef int weigh(const struct change_case *c, struct err *err);

/* What the machine got is what is wanted now. */
static bool same(const char *got, const char *want)
{
	return got && strcmp(got, want) == 0;
}

static bool is_empty(const char *s)
{
	return !s || !*s;
}

static int cannot(const struct change_case *c, const char *pointer,
		  const char *what, struct err *err)
{
	return err_at(err, ERR_UNSUPPORTED, pointer, "region \"%s\" cannot %s",
		      c->region->meta.name, what);
}

/* It may have come to be an alternative, which is now the choice; but what it
 * is becoming is not known while it is changed. */
static bool is_settled(const struct change_case *c)
{
	return !c->old->status.change.action;
}

static int weigh_flavor(const struct change_case *c, struct err *err)
{
	(void)err;
	if (is_settled(c) &&
	    same(c->old->status.flavor_id, c->new->spec.flavor_id))
		return 0;
	return region_can(c->region, "resize") ? CHANGE_RESIZE : CHANGE_REPLACE;
}

static int weigh_zone(const struct change_case *c, struct err *err)
{
	const char *zone = c->new->spec.zone;

	(void)err;
	if (!zone || (is_settled(c) && same(c->old->status.zone, zone)))
		return 0;
	return CHANGE_REPLACE;
}

static int weigh_market(const struct change_case *c, struct err *err)
{
	(void)err;
	if (is_settled(c) && c->old->status.market == c->new->spec.market)
		return 0;
	return CHANGE_REPLACE;
}

static int weigh_contents(const struct change_case *c, struct err *err)
{
	(void)err;
	return region_can(c->region, "rebuild") ? CHANGE_REBUILD
						: CHANGE_REPLACE;
}

static int weigh_user_data(const struct change_case *c, struct err *err)
{
	if (is_empty(c->old->spec.user_data) &&
	    is_empty(c->new->spec.user_data))
		return 0;
	return weigh_contents(c, err);
}

static int weigh_disk_size(const struct change_case *c, struct err *err)
{
	int64_t want = c->new->spec.root_disk.size_gib;
	int64_t had = c->old->spec.root_disk.size_gib;

	if (had == FIELD_NONE && c->flavor)
		had = c->flavor->root_disk.size_gib;
	if (want == FIELD_NONE || want == had)
		return 0;
	if (want < had && instance_was_launched(c->old))
		return err_at(err, ERR_INVALID, "/spec/rootDisk/sizeGiB",
			      "a root disk cannot shrink; it has %lld GiB",
			      (long long)had);
	return region_can(c->region, "growRootDisk") ? 0 : CHANGE_REPLACE;
}

static int weigh_disk_class(const struct change_case *c, struct err *err)
{
	(void)err;
	return c->new->spec.root_disk.class ? CHANGE_REPLACE : 0;
}

static int weigh_access(const struct change_case *c, struct err *err)
{
	(void)err;
	return region_can(c->region, "access") ? 0 : CHANGE_REPLACE;
}

static int weigh_volumes(const struct change_case *c, struct err *err)
{
	return region_can(c->region, "volumes")
		       ? 0
		       : cannot(c, "/spec/volumes", "attach volumes", err);
}

static int weigh_power(const struct change_case *c, struct err *err)
{
	return region_can(c->region, "stop")
		       ? 0
		       : cannot(c, "/spec/power", "stop machines", err);
}

/* Every field that a user can change. */
static const struct {
	const char *path, *pointer;
	weigh *weigh; /* NULL: it is not the machine's */
} rows[] = {
	{"description", "/description", NULL},
	{"tags", "/tags", NULL},
	{"spec.flavorId", "/spec/flavorId", weigh_flavor},
	{"spec.imageId", "/spec/imageId", weigh_contents},
	{"spec.zone", "/spec/zone", weigh_zone},
	{"spec.market", "/spec/market", weigh_market},
	{"spec.alternatives", "/spec/alternatives", NULL},
	{"spec.rootDisk.sizeGiB", "/spec/rootDisk/sizeGiB", weigh_disk_size},
	{"spec.rootDisk.class", "/spec/rootDisk/class", weigh_disk_class},
	{"spec.volumes", "/spec/volumes", weigh_volumes},
	{"spec.securityGroupIds", "/spec/securityGroupIds", weigh_access},
	{"spec.publicIp", "/spec/publicIp", weigh_access},
	{"spec.allowedSourceAddresses", "/spec/allowedSourceAddresses",
	 weigh_access},
	{"spec.sshCertificateAuthorityId", "/spec/sshCertificateAuthorityId",
	 weigh_contents},
	{"spec.sshPublicKeys", "/spec/sshPublicKeys", weigh_contents},
	{"spec.userData", "/spec/userData", weigh_user_data},
	{"spec.power", "/spec/power", weigh_power},
	{"spec.expiresAt", "/spec/expiresAt", NULL},
	{"spec.deleteProtection", "/spec/deleteProtection", NULL},
	{"spec.paused", "/spec/paused", NULL},
};

static bool differs(const char *path, const struct instance *old,
		    const struct instance *new)
{
	const void *a, *b;
	const struct field *f = field_find(instance_kind.fields, path, old, &a);
	struct field row[] = {*f, {0}};

	field_find(instance_kind.fields, path, new, &b);
	row[0].offset = 0;
	return field_changed(row, a, b);
}

static void add(struct items *to, const char *word)
{
	const char **list = to->at;

	list[to->n++] = word;
}

static void add_losses(const struct change_case *c, struct change_plan *p)
{
	const struct instance *i = c->old;
	bool local = c->flavor && c->flavor->local_disks.n;

	if (p->action == CHANGE_REBUILD || p->action == CHANGE_REPLACE)
		add(&p->loses, "rootDisk");
	if (local &&
	    (p->action == CHANGE_RESIZE || p->action == CHANGE_REPLACE))
		add(&p->loses, "localDisks");
	if (p->action != CHANGE_REPLACE)
		return;
	if (i->status.private_ip)
		add(&p->loses, "privateIp");
	if (i->status.private_ip6)
		add(&p->loses, "privateIp6");
	if (i->status.public_ip)
		add(&p->loses, "publicIp");
	if (i->status.mac)
		add(&p->loses, "macAddress");
	add(&p->loses, "consoleOutput");
}

static int need(const struct change_case *c, const struct change_plan *p)
{
	bool off = c->old->status.state == INSTANCE_STOPPED &&
		   c->new->spec.power == POWER_OFF;

	if (p->loses.n)
		return CHANGE_NEEDS_REBUILD;
	if (!p->action || off ||
	    (p->action == CHANGE_RESIZE && region_can(c->region, "resizeLive")))
		return CHANGE_NEEDS_NOTHING;
	return CHANGE_NEEDS_RESTART;
}

static void finish(const struct change_case *c, struct arena *a,
		   struct change_plan *p)
{
	p->loses.at = arena_alloc(a, 8 * sizeof(const char *));
	p->need = CHANGE_NEEDS_NOTHING;
	if (!instance_was_launched(c->old))
		return;
	add_losses(c, p);
	p->need = need(c, p);
}

int change_decide(const struct change_case *c, struct arena *a,
		  struct change_plan *ret, struct err *err)
{
	struct change_plan p = {0};

	p.fields.at = arena_alloc(a, COUNT_OF(rows) * sizeof(const char *));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int action = 0;

		if (!differs(rows[i].path, c->old, c->new))
			continue;
		add(&p.fields, rows[i].pointer);
		if (rows[i].weigh)
			action = rows[i].weigh(c, err);
		if (action < 0)
			return -1;
		if (action > p.action)
			p.action = action;
	}
	finish(c, a, &p);
	*ret = p;
	return 0;
}

void change_verb(const struct change_case *c, int action, struct arena *a,
		 struct change_plan *ret)
{
	*ret = (struct change_plan){.action = action};
	finish(c, a, ret);
}
