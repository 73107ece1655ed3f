#include "judge_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/line.h"

#define AT(member) offsetof(struct doc, member)
#define WORDS(json, to)                                                        \
	{                                                                      \
		(json), GLANCE_TEXT, AT(to), NULL                              \
	}
#define RAW(json, to)                                                          \
	{                                                                      \
		(json), GLANCE_RAW, AT(to), NULL                               \
	}
#define NUMBER(json, to)                                                       \
	{                                                                      \
		(json), GLANCE_INT, AT(to), NULL                               \
	}
#define TRUTH(json, to)                                                        \
	{                                                                      \
		(json), GLANCE_BOOL, AT(to), NULL                              \
	}
#define IN(json, rows)                                                         \
	{                                                                      \
		(json), GLANCE_OBJECT, 0, (rows)                               \
	}

#define COMMON                                                                 \
	WORDS("description", description), NUMBER("revision", revision),       \
		NUMBER("generation", generation),                              \
		WORDS("createdAt", created_at),                                \
		WORDS("updatedBy", updated_by), WORDS("deletedAt", deleted_at)

#define OWNED WORDS("organizationId", organization), WORDS("projectId", project)

static const struct glance_row reason_rows[] = {
	WORDS("code", reason),
	WORDS("waitsFor", waits_for),
	WORDS("retryAt", retry_at),
	{0},
};

static const struct glance_row change_rows[] = {
	WORDS("action", action),
	WORDS("step", step),
	{0},
};

static const struct glance_row readiness_rows[] = {
	WORDS("state", readiness),
	{0},
};

static const struct glance_row instance_spec[] = {
	WORDS("flavorId", flavor),
	WORDS("imageId", image),
	WORDS("zone", zone),
	WORDS("market", market),
	RAW("alternatives", alternatives),
	RAW("volumes", wants),
	RAW("securityGroupIds", groups),
	TRUTH("publicIp", public_ip),
	RAW("allowedSourceAddresses", sources),
	WORDS("power", power),
	WORDS("expiresAt", expires_at),
	TRUTH("deleteProtection", protected),
	TRUTH("paused", paused),
	{0},
};

static const struct glance_row instance_status[] = {
	WORDS("state", state),
	WORDS("provisioning", provisioning),
	WORDS("health", health),
	IN("readiness", readiness_rows),
	IN("reason", reason_rows),
	WORDS("serverId", server),
	WORDS("providerId", provider_id),
	WORDS("flavorId", got_flavor),
	WORDS("launchedAt", launched_at),
	WORDS("deadline", deadline),
	IN("change", change_rows),
	{0},
};

static const struct glance_row instance_rows[] = {
	COMMON,
	WORDS("name", name),
	WORDS("uid", uid),
	OWNED,
	WORDS("regionId", region),
	WORDS("networkId", network),
	RAW("spec", spec),
	IN("status", instance_status),
	{0},
};

static const struct glance_row server_asked[] = {
	WORDS("flavorId", flavor),
	WORDS("imageId", image),
	WORDS("zone", zone),
	WORDS("market", market),
	RAW("securityGroupIds", groups),
	TRUTH("publicIp", public_ip),
	RAW("allowedSourceAddresses", sources),
	{0},
};

static const struct glance_row server_attempt[] = {
	NUMBER("number", attempt),
	NUMBER("offering", offering),
	WORDS("token", token),
	NUMBER("refused", refused),
	TRUTH("spent", spent),
	WORDS("calledAt", called_at),
	{0},
};

static const struct glance_row server_status[] = {
	WORDS("phase", phase),
	WORDS("state", state),
	WORDS("providerId", provider_id),
	RAW("volumes", volumes),
	IN("reason", reason_rows),
	WORDS("deadline", deadline),
	TRUTH("several", several),
	{0},
};

static const struct glance_row server_rows[] = {
	COMMON,
	WORDS("name", name),
	WORDS("instanceId", instance),
	WORDS("instanceUid", uid),
	WORDS("regionId", region),
	WORDS("networkId", network),
	NUMBER("number", number),
	IN("asked", server_asked),
	IN("attempt", server_attempt),
	IN("status", server_status),
	{0},
};

static const struct glance_row allocation_rows[] = {
	COMMON,
	OWNED,
	WORDS("objectKind", object_kind),
	WORDS("objectId", object),
	RAW("amounts", amounts),
	{0},
};

static const struct glance_row region_spec[] = {
	NUMBER("observeSeconds", observe),
	WORDS("orphanPolicy", policy),
	TRUTH("paused", paused),
	{0},
};

static const struct glance_row region_monitor[] = {
	WORDS("missingSince", missing_since),
	RAW("orphans", orphans),
	{0},
};

static const struct glance_row region_status[] = {
	WORDS("state", state),
	RAW("capabilities", capabilities),
	IN("monitor", region_monitor),
	{0},
};

static const struct glance_row region_rows[] = {
	COMMON,
	WORDS("name", name),
	IN("spec", region_spec),
	IN("status", region_status),
	{0},
};

/* What a provider has that is not a machine. */
static const struct glance_row backed_status[] = {
	WORDS("state", state),
	WORDS("providerId", provider_id),
	IN("reason", reason_rows),
	WORDS("deadline", deadline),
	WORDS("source", source),
	WORDS("instanceId", instance),
	{0},
};

static const struct glance_row backed_rows[] = {
	COMMON,
	WORDS("name", name),
	OWNED,
	WORDS("regionId", region),
	WORDS("networkId", network),
	RAW("spec", spec),
	IN("status", backed_status),
	{0},
};

static const struct glance_row flavor_rows[] = {
	COMMON,
	WORDS("name", name),
	WORDS("providerId", provider_id),
	NUMBER("vcpus", vcpus),
	NUMBER("memoryMiB", memory),
	{0},
};

static const struct glance_row quota_rows[] = {
	COMMON,
	WORDS("name", name),
	OWNED,
	RAW("limits", limits),
	RAW("default", fallback),
	{0},
};

static const struct glance_row plain_rows[] = {
	COMMON,
	WORDS("name", name),
	OWNED,
	{0},
};

static const struct {
	const char *kind;
	const struct glance_row *rows;
} nouns[NOUNS] = {
	[NOUN_INSTANCE] = {"instance", instance_rows},
	[NOUN_SERVER] = {"server", server_rows},
	[NOUN_ALLOCATION] = {"allocation", allocation_rows},
	[NOUN_REGION] = {"region", region_rows},
	[NOUN_VOLUME] = {"volume", backed_rows},
	[NOUN_NETWORK] = {"network", backed_rows},
	[NOUN_GROUP] = {"securitygroup", backed_rows},
	[NOUN_IMAGE] = {"image", backed_rows},
	[NOUN_FLAVOR] = {"flavor", flavor_rows},
	[NOUN_QUOTA] = {"quota", quota_rows},
	[NOUN_QUOTAKIND] = {"quotakind", quota_rows},
	[NOUN_PROJECT] = {"project", plain_rows},
	[NOUN_ORGANIZATION] = {"organization", plain_rows},
	[NOUN_OTHER] = {"", NULL},
};

enum noun_kind view_noun(const char *kind)
{
	int n;

	for (n = 0; n < NOUN_OTHER; n++)
		if (strcmp(nouns[n].kind, kind) == 0)
			break;
	return (enum noun_kind)n;
}

int64_t view_time(struct text t)
{
	int64_t ms = 0;

	return t.at && clock_parse(t.at, t.len, &ms) == 0 ? ms : 0;
}

struct object *view_find(const struct judge *j, const char *kind,
			 struct text id)
{
	char key[96];
	size_t len = strlen(kind);

	if (!id.at || len + 1 + id.len > sizeof(key))
		return NULL;
	memcpy(key, kind, len);
	key[len++] = '/';
	memcpy(key + len, id.at, id.len);
	return map_getn(&j->objects, key, len + id.len);
}

const struct doc *view_now(const struct object *o)
{
	return o && o->newest ? o->newest->doc : NULL;
}

const struct doc *view_get(const struct judge *j, const char *kind,
			   struct text id)
{
	return view_now(view_find(j, kind, id));
}

struct fact *view_newest(const struct object *o, uint64_t revision)
{
	struct fact *f = o ? o->newest : NULL;

	while (f && f->revision > revision)
		f = f->prior;
	return f;
}

const struct fact *view_at(const struct object *o, uint64_t revision)
{
	const struct fact *f = view_newest(o, revision);

	return f && f->json.at ? f : NULL;
}

const struct doc *view_each(const struct judge *j, enum noun_kind noun,
			    size_t *i, struct object **ret)
{
	while (*i < j->n[noun]) {
		struct object *o = j->lists[noun][(*i)++];
		const struct doc *d = view_now(o);

		if (d) {
			if (ret)
				*ret = o;
			return d;
		}
	}
	return NULL;
}

static struct object *make_object(struct judge *j, const struct line *l)
{
	struct object *o = arena_alloc(&j->arena, sizeof(*o));
	enum noun_kind noun = view_noun(l->kind);

	o->noun = noun;
	o->key = arena_join(&j->arena, l->kind, "/", l->id, NULL);
	o->kind = noun == NOUN_OTHER ? arena_strdup(&j->arena, l->kind)
				     : nouns[noun].kind;
	o->id = text_of(o->key + strlen(l->kind) + 1);
	map_add(&j->objects, o->key, o);
	if (j->n[noun] == j->room[noun]) {
		j->room[noun] = j->room[noun] ? 2 * j->room[noun] : 32;
		j->lists[noun] = xrealloc(j->lists[noun], j->room[noun],
					  sizeof(struct object *));
	}
	j->lists[noun][j->n[noun]++] = o;
	return o;
}

static void read_doc(struct judge *j, struct fact *f)
{
	const struct glance_row *rows = nouns[f->of->noun].rows;
	struct doc *d;

	if (!rows)
		return;
	d = arena_alloc(&j->arena, sizeof(*d));
	f->doc = d;
	if (!glance(rows, f->json, d))
		judge_broken(j, JUDGE_OTHER, "%s cannot be read", f->of->key);
	else if (f->of->noun == NOUN_INSTANCE)
		glance(instance_spec, d->spec, d);
	if (d->revision != (int64_t)f->revision)
		judge_broken(j, JUDGE_OTHER,
			     "%s says revision %lld at revision %llu",
			     f->of->key, (long long)d->revision,
			     (unsigned long long)f->revision);
}

static void add_fact(struct judge *j, const struct row *row,
		     const struct line *l)
{
	struct object *o = view_find(j, l->kind, text_of(l->id));
	struct fact *f = arena_alloc(&j->arena, sizeof(*f));

	if (!o)
		o = make_object(j, l);
	f->revision = row->revision;
	f->of = o;
	f->prior = o->newest;
	if (o->newest)
		o->newest->next = f;
	o->newest = f;
	if (l->type == '+') {
		f->json = (struct text){l->json, l->len};
		read_doc(j, f);
	} else if ((!f->prior || !f->prior->json.at) && j->n_asks) {
		judge_broken(j, JUDGE_OTHER, "%s was deleted and not there",
			     o->key);
	}
	if (j->n_facts == j->room_facts) {
		j->room_facts = j->room_facts ? 2 * j->room_facts : 512;
		j->facts = xrealloc(j->facts, j->room_facts,
				    sizeof(struct fact *));
	}
	j->facts[j->n_facts++] = f;
	if (j->n_touched < TOUCHED_MOST)
		j->touched[j->n_touched++] = f;
}

/* A key stands for one request: it is not done again. */
static void add_memo(struct judge *j, const struct line *l)
{
	char *key;

	if (j->forgets)
		return;
	if (map_get(&j->memos, l->key)) {
		judge_broken(j, JUDGE_DOUBLED,
			     "a request was done twice: %s %s", l->kind, l->id);
		return;
	}
	key = arena_strdup(&j->arena, l->key);
	map_add(&j->memos, key, key);
}

void view_row(struct judge *j, const struct row *row)
{
	struct row kept = *row;
	struct line l;
	struct err err;
	const char *p, *end;
	int r;

	/* What was before the history may be trimmed. */
	if (row->revision != j->newest + 1 && j->n_asks)
		judge_broken(j, JUDGE_OTHER, "revision %llu came after %llu",
			     (unsigned long long)row->revision,
			     (unsigned long long)j->newest);
	j->newest = row->revision;
	j->n_touched = 0;
	kept.data = p = arena_memdup(&j->arena, row->data, row->len);
	end = p + row->len;
	while ((r = line_read(&p, end, &l, &err)) > 0) {
		if (l.type == '=')
			add_memo(j, &l);
		else
			add_fact(j, &kept, &l);
	}
	if (r < 0)
		judge_broken(j, JUDGE_OTHER, "a row cannot be read: %s",
			     err.msg);
}

void view_release(struct judge *j)
{
	for (int n = 0; n < NOUNS; n++)
		free(j->lists[n]);
	free(j->facts);
	map_release(&j->objects);
	map_release(&j->memos);
	arena_release(&j->arena);
}
