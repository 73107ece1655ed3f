#include "identity/token.h"

#include <string.h>

#include "base/digest.h"

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
