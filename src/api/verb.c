#include "api/verb.h"

#include <string.h>

#include "api/key.h"
#include "api/permit.h"
#include "api/routes.h"
#include "store/tx.h"

void verb_run(struct call *c,
	      int (*fn)(struct tx *tx, void *ctx, struct err *err))
{
	struct err err = {0};

	if (key_read(c, &err) < 0)
		call_fail(c, &err);
	else
		call_change(c, fn);
}

int verb_begin(struct call *c, struct tx *tx, const void **ret, struct err *err)
{
	const struct meta *object = tx_get(tx, c->noun->kind, c->id);
	bool found;

	*ret = NULL;
	c->planned = c->plan_json = NULL;
	c->replayed = false;
	c->accepted = true;
	tx_set_view(tx, permit_view, c);
	if (permit(c, route_verb(c->route), object, err) < 0)
		return -1;
	c->revision = (uint64_t)object->revision;
	if (key_replay(c, tx, &found, err) < 0)
		return -1;
	if (found)
		return 0;
	if (call_check_match(c, c->revision, err) < 0)
		return -1;
	if (object->deleted_at)
		return err_set(err, ERR_CONFLICT, "the %s is being deleted",
			       c->noun->kind->name);
	*ret = object;
	return 0;
}

void verb_done(struct call *c, struct tx *tx)
{
	const char *verb = strrchr(c->route->path, '/') + 1;

	call_audit(c, tx, verb, c->id);
	if (!c->planned)
		key_remember(c, tx, c->noun->kind, c->id);
}

void verb_answer(struct call *c, const void *answer)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	field_encode(c->route->answers, answer, FIELD_PUBLIC, &b);
	c->planned = arena_memdup(c->x->arena, buf_str(&b), b.len);
	buf_release(&b);
}
