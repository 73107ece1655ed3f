/* Which keys of an issuer's are taken, and which are passed over. */
#include "identity/jwt.h"

#include "signing.h"
#include "test.h"

static struct {
	EVP_PKEY *rsa, *ec, *ed, *other;
} issuer;

static bool set_holds(const char *text, size_t keys)
{
	struct jwks *set = NULL;
	struct err err = {0};
	bool yes = jwks_parse(text, strlen(text), &set, &err) == 0;

	if (yes && jwks_count(set) != keys)
		printf("# %zu keys\n", jwks_count(set));
	yes = keys ? yes && jwks_count(set) == keys : !yes && err.msg[0];
	jwks_free(set);
	return yes;
}

static void passes_over_keys_it_cannot_use(void)
{
	EVP_PKEY *weak = EVP_RSA_gen(1024);
	struct buf b = BUF_INIT(SIGN_ROOM);

	buf_adds(&b, "{\"keys\":[");
	add_jwk(&b, weak, "weak", "");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.rsa, "enc", ",\"use\":\"enc\"");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.rsa, "ps", ",\"alg\":\"PS256\"");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.rsa, "hs", ",\"alg\":\"HS256\"");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.ec, "ops", ",\"key_ops\":[\"deriveKey\"]");
	buf_adds(&b, ",{\"kty\":\"oct\",\"k\":\"AAAA\"},7,null,{},"
		     "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":"
		     "\"AA\"},{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
		     "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"
		     "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"},"
		     "{\"kty\":\"EC\",\"crv\":\"secp256k1\"},"
		     "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":"
		     "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}");
	CHECK(!set_holds(b.data, 1));
	buf_adds(&b, "]}");
	CHECK(set_holds(b.data, 0));
	b.len -= 2;
	b.data[b.len] = '\0';
	buf_addc(&b, ',');
	add_jwk(&b, issuer.ed, "ed", "");
	buf_adds(&b, "]}");
	CHECK(set_holds(b.data, 1));
	buf_release(&b);
	EVP_PKEY_free(weak);
}

/* A key of RSA with this exponent and that modulus: one of 2048 bits, whose
 * last bytes are LOW. */
static bool takes_rsa(const char *e, size_t n_len, unsigned low)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	unsigned char n[1100];
	bool yes;

	memset(n, 0xff, sizeof(n));
	n[n_len - 2] = (unsigned char)(low >> 8);
	n[n_len - 1] = (unsigned char)low;
	buf_adds(&b, "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"");
	add_base64(&b, n, n_len);
	buf_addf(&b, "\",\"e\":\"%s\"}]}", e);
	yes = set_holds(b.data, 1);
	buf_release(&b);
	return yes;
}

static void passes_over_weak_and_huge_numbers(void)
{
	static const char *const bad[] = {
		"",             /* no exponent */
		"!",            /* nor base64 */
		"AQ",           /* 1 */
		"AAAB",         /* 1, too */
		"AAAA",         /* 0 */
		"AQAC",         /* even */
		"AQAAAAAAAAAB", /* of 9 bytes */
	};
	unsigned low = 0;

	/* One that is odd and has no small factor. */
	for (unsigned i = 1; !low && i < 0xffff; i += 2)
		if (takes_rsa("AQAB", 256, i))
			low = i;
	CHECK(low);
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		CHECK(!takes_rsa(bad[i], 256, low));
	CHECK(!takes_rsa("AQAB", 256, low + 1));
	CHECK(!takes_rsa("AQAB", 256, 3));    /* three times something */
	CHECK(!takes_rsa("AQAB", 255, low));  /* of 2040 bits */
	CHECK(!takes_rsa("AQAB", 1025, low)); /* of 8200 */
	CHECK(!takes_rsa("AQAB", 1100, low));
}

#define HALF "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"

static void passes_over_keys_that_are_not_whole(void)
{
	static const char *const bad[] = {
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" HALF "\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" HALF "\",\"y\":7}",
		"{\"kty\":\"RSA\",\"e\":\"AQAB\"}",
		"{\"kty\":\"OKP\",\"crv\":\"Ed25519\"}",
		"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}",
		"{\"kty\":\"OKP\",\"crv\":7,\"x\":\"" HALF "\"}",
		"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" HALF
		"\",\"key_ops\":\"verify\"}",
		"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" HALF
		"\",\"key_ops\":[7,\"sign\"]}",
		"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" HALF
		"\",\"use\":7}",
	};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct buf b = BUF_INIT(SIGN_ROOM);

		buf_addf(&b, "{\"keys\":[%s]}", bad[i]);
		CHECK(set_holds(b.data, 0));
		buf_release(&b);
	}
}

static void holds_so_many_keys_and_no_more(void)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	buf_adds(&b, "{\"keys\":[");
	for (size_t i = 0; i <= JWT_KEYS_MOST; i++) {
		if (i)
			buf_addc(&b, ',');
		add_jwk(&b, issuer.ed, "ed", "");
	}
	buf_adds(&b, "]}");
	CHECK(set_holds(b.data, JWT_KEYS_MOST));
	while (b.len <= JWT_SET_MOST)
		buf_addc(&b, ' ');
	CHECK(set_holds(b.data, 0));
	buf_release(&b);
}

/* Which of them signed it is not ours to guess. */
static void refuses_a_token_without_kid_when_two_keys_fit(void)
{
	char *token = sign_token(issuer.ec, "{\"alg\":\"ES256\"}", "{}");
	struct buf b = BUF_INIT(SIGN_ROOM);
	struct jwks *set = NULL;
	struct err err = {0};
	struct jwt t = {0};
	struct arena a;

	arena_init(&a, (size_t)4 << 20);
	buf_adds(&b, "{\"keys\":[");
	add_jwk(&b, issuer.ec, "one", "");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.other, "two", "");
	buf_adds(&b, "]}");
	CHECK(jwks_parse(b.data, b.len, &set, &err) == 0);
	CHECK(jwt_parse(token, strlen(token), &a, &t, &err) == 0);
	CHECK(jwt_verify(&t, set, &err) < 0 && err.code == ERR_NOT_FOUND);
	t.kid = "one";
	CHECK(jwt_verify(&t, set, &err) == 0);
	t.kid = "two";
	CHECK(jwt_verify(&t, set, &err) < 0);
	jwks_free(set);
	buf_release(&b);
	arena_release(&a);
	free(token);
}

static void refuses_what_is_no_set(void)
{
	CHECK(set_holds("", 0));
	CHECK(set_holds("[]", 0));
	CHECK(set_holds("{}", 0));
	CHECK(set_holds("{\"keys\":{}}", 0));
	CHECK(set_holds("{\"keys\":[]}", 0));
}

int main(void)
{
	issuer.rsa = EVP_RSA_gen(2048);
	issuer.ec = EVP_EC_gen("P-256");
	issuer.ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	issuer.other = EVP_EC_gen("P-256");
	RUN(passes_over_keys_it_cannot_use);
	RUN(passes_over_weak_and_huge_numbers);
	RUN(passes_over_keys_that_are_not_whole);
	RUN(holds_so_many_keys_and_no_more);
	RUN(refuses_a_token_without_kid_when_two_keys_fit);
	RUN(refuses_what_is_no_set);
	EVP_PKEY_free(issuer.rsa);
	EVP_PKEY_free(issuer.ec);
	EVP_PKEY_free(issuer.ed);
	EVP_PKEY_free(issuer.other);
	return test_done();
}
