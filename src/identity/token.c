#include "identity/token.h"

#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "store/read.h"

void token_make(struct random *r, char out[TOKEN_LEN + 1])
{
	unsigned char secret[32];
	size_t prefix = sizeof(TOKEN_PREFIX) - 1;

	random_fill(r, secret, sizeof(secret));
	memcpy(out, TOKEN_PREFIX, prefix);
	digest_hex(secret, sizeof(secret), out + prefix);
	explicit_bzero(secret, sizeof(secret));
}

void token_digest(const char *token, size_t len, char out[65])
{
	unsigned char sum[DIGEST_SHA256_LEN];

	digest_sha256(token, len, sum);
	digest_hex(sum, sizeof(sum), out);
}

int token_check(const struct store *s, const char *header, struct arena *a,
		struct principal *ret, struct err *err)
{
	const struct token *t;
	struct record record;
	char digest[65];
	struct scan scan;
	size_t effort = 0;

	if (!header)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "send a token: Authorization: Bearer muster_…");
	if (strncasecmp(header, "Bearer ", 7) != 0)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "only bearer tokens are accepted");
	header += 7;
	header += strspn(header, " ");
	token_digest(header, strlen(header), digest);
	scan = store_scan(s, 0, &token_kind, NULL);
	if (!scan_narrow(&scan, "digest", digest, NULL) ||
	    !scan_next(&scan, &record, &effort))
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is not known");
	t = record.object;
	ret->id = arena_strdup(a, t->meta.id);
	ret->name = arena_join(a, "token:", t->meta.name, NULL);
	return 0;
}
