/*
 * secret - secret fields, sealed in every line that goes to the log.
 *
 * In memory an object is as it is; its line is sealed with the newest key.  A
 * line that was read with another key, or with none, is written anew when there
 * is time.  A sealed value is bound to its kind, its object and its path.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/field_seal.h"
#include "base/log.h"
#include "base/seal.h"
#include "store/line.h"
#include "store/store_priv.h"

/* Objects that one tick seals anew. */
#define RESEAL_MOST 256

struct place {
	struct store *store;
	const char *kind, *id;
	bool *stale; /* where to say that it is to be sealed anew */
};

#define PLACE_MOST (32 + 40 + FIELD_PATH_MOST + 3)

static void write_place(const struct place *p, const char *path,
			char out[PLACE_MOST])
{
	snprintf(out, PLACE_MOST, "%s/%s/%s", p->kind, p->id, path);
}

static void seal(void *ctx, const char *path, const char *json, size_t len,
		 struct buf *out)
{
	const struct place *p = ctx;
	char place[PLACE_MOST];

	write_place(p, path, place);
	seal_close(p->store->conf.keys, p->store->conf.random, place, json, len,
		   out);
}

void secret_encode(struct store *s, const struct cache *c, const void *object,
		   struct buf *out)
{
	const struct kind *k = c->kind;
	struct place p = {
		.store = s,
		.kind = k->name,
		.id = ((const struct meta *)object)->id,
	};
	struct field_seal how = {seal, &p};

	line_begin(out, '+', k->name, k->version, p.id);
	buf_addc(out, ' ');
	if (c->has_secrets && s->conf.keys)
		field_encode_sealed(k->fields, object, &how, out);
	else
		field_encode(k->fields, object, FIELD_FULL, out);
	buf_addc(out, '\n');
}

/* What was never sealed is taken as it is, and sealed from now on. */
static int open_value(void *ctx, const char *path, const struct node *value,
		      struct buf *out, struct err *err)
{
	const struct place *p = ctx;
	const struct keyring *keys = p->store->conf.keys;
	const char *text = NULL;
	char place[PLACE_MOST], id[SEAL_ID_LEN + 1];
	size_t len = 0;

	if (node_type(value) == NODE_STRING)
		text = node_string(value, &len);
	if (!text || !seal_is(text, len, id)) {
		*p->stale = keys != NULL;
		return 0;
	}
	write_place(p, path, place);
	if (seal_open(keys, place, text, len, out, err) < 0)
		return err_wrap(err, "%s %s: the secret %s cannot be read",
				p->kind, p->id, path);
	if (strcmp(id, keyring_id(keys, 0)) != 0)
		*p->stale = true;
	return 0;
}

int secret_open(struct store *s, const struct cache *c, const char *id,
		struct node *doc, struct arena *a, struct err *err)
{
	bool stale = false;
	struct place p = {
		.store = s, .kind = c->kind->name, .id = id, .stale = &stale};
	struct field_open how = {open_value, &p};

	if (!c->has_secrets)
		return 0;
	if (field_open_sealed(c->kind->fields, doc, a, &how, err) < 0)
		return -1;
	return stale;
}

/* Both texts are of one length, for their keys' ids and their secrets are. */
static void reseal_version(struct store *s, const struct cache *c,
			   struct version *v)
{
	if (!v->record.object)
		return;
	buf_clear(&s->scratch);
	secret_encode(s, c, v->record.object, &s->scratch);
	assert(buf_ok(&s->scratch) && s->scratch.len == v->line_len);
	memcpy(v->line, s->scratch.data, v->line_len);
	history_rewrite(s, v->change);
}

static bool reseal_some(struct store *s, struct cache *c)
{
	struct reseal *r = &s->reseal;
	struct sorted_walk w =
		sorted_from(&c->by_order, r->after[0] ? r->after : NULL);

	for (size_t n = 0; n < RESEAL_MOST; n++) {
		const struct entry *e = sorted_next(&w);

		if (!e)
			return false;
		memcpy(r->after, e->id, strlen(e->id) + 1);
		for (struct version *v = e->newest; v; v = v->older)
			reseal_version(s, c, v);
	}
	return true;
}

void secret_tick(struct store *s)
{
	struct reseal *r = &s->reseal;

	if (!r->active)
		return;
	for (; r->cache < s->n_caches; r->cache++) {
		struct cache *c = &s->caches[r->cache];

		if (c->has_secrets && reseal_some(s, c))
			return;
		r->after[0] = '\0';
	}
	r->active = false;
	log_debug("secrets", "every secret is under the newest key");
}

void store_set_keys(struct store *s, const struct keyring *keys)
{
	s->conf.keys = keys;
	s->reseal = (struct reseal){.active = true};
}
