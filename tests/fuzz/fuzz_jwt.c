/*
 * A token and the keys it is held against: the first line is the set of keys,
 * the rest the token.  Whatever it is, it is taken apart or refused; what is
 * refused has a reason that repeats none of it, and what is verified stops
 * being so when its signature changes.
 */

#include "fuzz/fuzz.h"
#include "identity/jwt.h"

static void check_reason(const struct err *err, const char *token, size_t len)
{
	MUST(err->code != ERR_NONE && err->msg[0]);
	/* A part of it that nobody writes by chance. */
	if (len >= 24)
		MUST(!memmem(err->msg, strlen(err->msg), token, 24));
}

static void check_claims(const struct jwt *t, struct arena *a)
{
	struct jwt_rules rules = {.issuer = t->issuer ? t->issuer : "joe",
				  .audience = "muster",
				  .groups_claim = "groups"};
	struct jwt_claims c;
	struct err err = {0};

	if (jwt_claims(t, &rules, 1700000000000, a, &c, &err) < 0) {
		MUST(err.code == ERR_UNAUTHENTICATED && err.msg[0]);
		return;
	}
	MUST(c.issuer && c.subject && c.subject[0]);
	MUST(strlen(c.subject) <= 255 && c.n_groups <= JWT_GROUPS_MOST);
	MUST(c.expires_at > 1700000000000 - JWT_LEEWAY_MS);
	MUST(c.email || !c.email_verified);
	for (size_t i = 0; i < c.n_groups; i++)
		MUST(c.groups[i][0]);
}

static void check_signature(struct jwt *t, const struct jwks *set,
			    struct arena *a)
{
	struct err err = {0};
	unsigned char *other;

	if (jwt_verify(t, set, &err) < 0) {
		check_reason(&err, t->text, t->len);
		return;
	}
	other = (unsigned char *)arena_memdup(a, t->signature,
					      t->signature_len);
	other[t->signature_len / 2] ^= 1;
	t->signature = other;
	MUST(jwt_verify(t, set, &err) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const char *end = size ? memchr(text, '\n', size) : NULL;
	struct jwks *set = NULL;
	struct err err = {0};
	struct arena a;
	struct jwt t;
	size_t len;

	if (!end)
		return 0;
	arena_init(&a, (size_t)16 << 20);
	len = size - (size_t)(end + 1 - text);
	if (jwks_parse(text, (size_t)(end - text), &set, &err) == 0)
		MUST(jwks_count(set) > 0 && jwks_count(set) <= JWT_KEYS_MOST);
	else
		MUST(err.code != ERR_NONE && err.msg[0]);
	err = (struct err){0};
	if (jwt_parse(end + 1, len, &a, &t, &err) == 0) {
		MUST(t.algorithm && t.claims && t.len < len);
		check_claims(&t, &a);
		if (set)
			check_signature(&t, set, &a);
	} else {
		check_reason(&err, end + 1, len);
	}
	jwks_free(set);
	arena_release(&a);
	return 0;
}
