#include "api/key.h"

#include <string.h>

#include "api/permit.h"
#include "api/routes.h"
#include "base/digest.h"
#include "store/read.h"
#include "store/tx.h"

#define KEY_MOST 255

static const char *hash(struct call *c, const char *a, const char *b,
			size_t b_len)
{
	char *hex = arena_alloc(c->x->arena, 65);
	unsigned char sum[DIGEST_SHA256_LEN];

	/* With A's NUL, so that nothing of one can be taken for the other's. */
	digest_sha256_two(a, strlen(a) + 1, b, b_len, sum);
	digest_hex(sum, sizeof(sum), hex);
	return hex;
}

/* A key is its caller's own; what it stands for is the path and the body. */
int key_read(struct call *c, struct err *err)
{
	const char *key = exchange_header(c->x, "Idempotency-Key");
	size_t len;

	if (!key || c->plan)
		return 0;
	len = strlen(key);
	if (!len || len > KEY_MOST || !format_text.check(key, len))
		return err_set(err, ERR_INVALID,
			       "an Idempotency-Key has 1 to %d printable "
			       "characters",
			       KEY_MOST);
	c->key = hash(c, c->who->id, key, len);
	store_expect_key(c->api->conf.store, c->key);
	c->digest = hash(c, c->x->target, c->x->body, c->x->body_len);
	return 0;
}

/* The request was answered before: have that answered again. */
int key_replay(struct call *c, struct tx *tx, bool *ret_found, struct err *err)
{
	const char *digest;
	struct record r;

	*ret_found = c->key && tx_recall(tx, c->key, &digest, &r);
	if (!*ret_found)
		return 0;
	if (strcmp(digest, c->digest) != 0)
		return err_set(err, ERR_CONFLICT,
			       "the Idempotency-Key was used for another "
			       "request");
	/* Another token of the same caller, or it acting for somebody, may not
	 * be permitted what it was. */
	if (!permit_sees(c, c->noun->kind, r.object) &&
	    permit_create(c, r.object, err) < 0)
		return -1;
	c->replayed = true;
	c->revision = r.revision;
	memcpy(c->new_id, r.id, sizeof(c->new_id) - 1);
	return 0;
}

void key_remember(struct call *c, struct tx *tx, const struct kind *k,
		  const char *id)
{
	if (c->key)
		tx_remember(tx, c->key, c->digest, k, id);
}
