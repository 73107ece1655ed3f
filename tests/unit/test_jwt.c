#include "identity/jwt.h"

#include <openssl/hmac.h>

#include "signing.h"
#include "test.h"

#define NOW 1700000000

#define GOOD                                                                   \
	"\"iss\":\"https://id.example.org\",\"aud\":\"muster\","               \
	"\"sub\":\"u-1\",\"iat\":1699999990"

/* A token with a shared secret, as nothing of ours would make it. */
static char *sign_shared(const void *secret, size_t secret_len,
			 const char *head, const char *claims)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	unsigned char mac[32];
	unsigned mac_len = sizeof(mac);
	size_t len;

	add_base64(&b, head, strlen(head));
	buf_addc(&b, '.');
	add_base64(&b, claims, strlen(claims));
	HMAC(EVP_sha256(), secret, (int)secret_len,
	     (const unsigned char *)b.data, b.len, mac, &mac_len);
	buf_addc(&b, '.');
	add_base64(&b, mac, mac_len);
	return buf_take(&b, &len);
}

static const struct jwt_rules rules = {
	.issuer = "https://id.example.org",
	.audience = "muster",
	.groups_claim = "groups",
};

/* An issuer with a key of each kind. */
static struct {
	EVP_PKEY *rsa, *ec, *ed, *other;
	struct jwks *set;
} issuer;

static void setup(void)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	struct err err = {0};

	issuer.rsa = EVP_RSA_gen(2048);
	issuer.ec = EVP_EC_gen("P-256");
	issuer.ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	issuer.other = EVP_EC_gen("P-256");
	buf_adds(&b, "{\"keys\":[");
	add_jwk(&b, issuer.rsa, "rsa", ",\"alg\":\"RS256\",\"use\":\"sig\"");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.ec, "ec", ",\"key_ops\":[\"verify\"]");
	buf_addc(&b, ',');
	add_jwk(&b, issuer.ed, "ed", "");
	buf_adds(&b, "]}");
	if (jwks_parse(b.data, b.len, &issuer.set, &err) < 0)
		abort();
	buf_release(&b);
}

static void teardown(void)
{
	EVP_PKEY_free(issuer.rsa);
	EVP_PKEY_free(issuer.ec);
	EVP_PKEY_free(issuer.ed);
	EVP_PKEY_free(issuer.other);
	jwks_free(issuer.set);
}

struct outcome {
	int rc;
	struct err err;
	struct jwt_claims claims;
};

/* All three steps, at NOW; the claims are gone with ARENA. */
static struct outcome judge(const char *token, struct arena *a)
{
	struct outcome o = {.rc = -1};
	struct jwt t;

	if (jwt_parse(token, strlen(token), a, &t, &o.err) == 0 &&
	    jwt_verify(&t, issuer.set, &o.err) == 0)
		o.rc = jwt_claims(&t, &rules, (int64_t)NOW * 1000, a, &o.claims,
				  &o.err);
	return o;
}

static bool says(const struct outcome *o, const char *words)
{
	if (o->rc < 0 && strstr(o->err.msg, words))
		return true;
	printf("# rc %d: %s\n", o->rc, o->err.msg);
	return false;
}

/* TOKEN, which is freed, is refused for a reason that has these WORDS. */
static bool refused(char *token, const char *words)
{
	struct outcome o;
	struct arena a;
	bool yes;

	arena_init(&a, (size_t)4 << 20);
	o = judge(token, &a);
	yes = says(&o, words) && (o.err.code == ERR_UNAUTHENTICATED ||
				  o.err.code == ERR_NOT_FOUND);
	arena_release(&a);
	free(token);
	return yes;
}

static bool accepted(char *token)
{
	struct outcome o;
	struct arena a;

	arena_init(&a, (size_t)4 << 20);
	o = judge(token, &a);
	if (o.rc < 0)
		printf("# %s\n", o.err.msg);
	arena_release(&a);
	free(token);
	return o.rc == 0;
}

static char *with_claims(const char *claims)
{
	return sign_token(issuer.ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}",
			  claims);
}

static char *with_head(EVP_PKEY *key, const char *head)
{
	return sign_token(key, head, "{" GOOD ",\"exp\":1700000600}");
}

static void takes_each_algorithm(void)
{
	CHECK(accepted(
		with_head(issuer.rsa, "{\"alg\":\"RS256\",\"kid\":\"rsa\"}")));
	CHECK(accepted(
		with_head(issuer.ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}")));
	CHECK(accepted(
		with_head(issuer.ed, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}")));
}

static void takes_a_token_without_kid_when_one_key_fits(void)
{
	CHECK(accepted(with_head(issuer.ed, "{\"alg\":\"EdDSA\"}")));
	CHECK(refused(with_head(issuer.other, "{\"alg\":\"ES256\"}"),
		      "signature is wrong"));
}

/* RFC 7515, A.2 and A.3. */
#define JOE                                                                    \
	"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGx"  \
	"lLmNvbS9pc19yb290Ijp0cnVlfQ"

static bool vector_holds(const char *keys, const char *token)
{
	struct jwks *set = NULL;
	struct err err = {0};
	struct jwt t = {0};
	struct arena a;
	int rc;

	arena_init(&a, (size_t)4 << 20);
	rc = jwks_parse(keys, strlen(keys), &set, &err);
	if (rc == 0)
		rc = jwt_parse(token, strlen(token), &a, &t, &err);
	if (rc == 0)
		rc = jwt_verify(&t, set, &err);
	if (rc < 0)
		printf("# %s\n", err.msg);
	else
		CHECK(t.issuer && strcmp(t.issuer, "joe") == 0);
	jwks_free(set);
	arena_release(&a);
	return rc == 0;
}

static void takes_the_rs256_vector_of_rfc_7515(void)
{
	CHECK(vector_holds(
		"{\"keys\":[{\"kty\":\"RSA\",\"n\":\""
		"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmf"
		"HQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_Yp"
		"RPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5r"
		"exMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxv"
		"b3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q"
		"2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\",\"e\":\"AQAB\"}]}",
		"eyJhbGciOiJSUzI1NiJ9." JOE
		".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5R"
		"Zmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQj"
		"bKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMH"
		"lb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZE"
		"Sc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5A"
		"XLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"));
}

static void takes_the_es256_vector_of_rfc_7515(void)
{
	CHECK(vector_holds(
		"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\""
		"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":\""
		"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}",
		"eyJhbGciOiJFUzI1NiJ9." JOE
		".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8I"
		"SlSApmWQxfKTUJqPP3-Kg6NU1Q"));
}

/* RFC 8037, A.4; what is signed there is not JSON. */
static void takes_the_eddsa_vector_of_rfc_8037(void)
{
	static const char keys[] =
		"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\""
		"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";
	static const char signature[] =
		"hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGj"
		"g5BhVsPt9g7sVvpAr_MuM0KAg";
	static const char text[] =
		"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
	unsigned char bytes[64];
	struct jwt t = {.algorithm = "EdDSA",
			.text = text,
			.len = strlen(text),
			.signature = bytes,
			.signature_len = sizeof(bytes)};
	struct jwks *set = NULL;
	struct err err = {0};

	CHECK(base64url_decode(signature, strlen(signature), bytes) == 64);
	CHECK(jwks_parse(keys, strlen(keys), &set, &err) == 0);
	CHECK(jwt_verify(&t, set, &err) == 0);
	bytes[3] ^= 1;
	CHECK(jwt_verify(&t, set, &err) < 0);
	jwks_free(set);
}

static void refuses_an_expired_token(void)
{
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1699999940}"),
		      "it has expired"));
	/* Within the leeway it is still good. */
	CHECK(accepted(with_claims("{" GOOD ",\"exp\":1699999941}")));
	CHECK(accepted(with_claims("{" GOOD ",\"exp\":1699999941.5}")));
}

static void refuses_a_token_that_never_expires(void)
{
	CHECK(refused(with_claims("{" GOOD "}"), "it never expires"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":null}"), "not a time"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":\"1800000000\"}"),
		      "not a time"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1e300}"), "not a time"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":-1}"), "not a time"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":9223372036854775807}"),
		      "not a time"));
}

static void refuses_a_token_that_is_not_valid_yet(void)
{
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1700000600,"
				  "\"nbf\":1700000061}"),
		      "not valid yet"));
	CHECK(accepted(with_claims("{" GOOD ",\"exp\":1700000600,"
				   "\"nbf\":1700000060}")));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1700000600,"
				  "\"nbf\":true}"),
		      "not a time"));
}

static void refuses_a_token_from_the_future(void)
{
	CHECK(refused(with_claims("{\"iss\":\"https://id.example.org\","
				  "\"aud\":\"muster\",\"sub\":\"u-1\","
				  "\"iat\":1700000061,\"exp\":1700000600}"),
		      "issued in the future"));
}

static void refuses_another_audience(void)
{
#define AUD(aud)                                                               \
	with_claims("{\"iss\":\"https://id.example.org\",\"sub\":\"u-1\","     \
		    "\"exp\":1700000600" aud "}")
	CHECK(refused(AUD(",\"aud\":\"others\""), "another audience"));
	CHECK(refused(AUD(",\"aud\":[\"others\",7]"), "another audience"));
	CHECK(refused(AUD(",\"aud\":{\"muster\":1}"), "another audience"));
	CHECK(refused(AUD(",\"aud\":\"Muster\""), "another audience"));
	CHECK(refused(AUD(""), "another audience"));
	CHECK(accepted(AUD(",\"aud\":[\"others\",\"muster\"]")));
}

static void refuses_another_issuer(void)
{
	CHECK(refused(with_claims("{\"iss\":\"https://id.example.org/\","
				  "\"aud\":\"muster\",\"sub\":\"u-1\","
				  "\"exp\":1700000600}"),
		      "another issuer"));
	CHECK(refused(with_claims("{\"aud\":\"muster\",\"sub\":\"u-1\","
				  "\"exp\":1700000600}"),
		      "another issuer"));
}

static void refuses_a_token_without_subject(void)
{
#define SUB(sub)                                                               \
	with_claims("{\"iss\":\"https://id.example.org\",\"aud\":\"muster\","  \
		    "\"exp\":1700000600" sub "}")
	CHECK(refused(SUB(""), "no subject"));
	CHECK(refused(SUB(",\"sub\":\"\""), "no subject"));
	CHECK(refused(SUB(",\"sub\":7"), "no subject"));
	CHECK(refused(SUB(",\"sub\":\"a\\nb\""), "no subject"));
}

static void refuses_alg_none(void)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	size_t len;

	CHECK(refused(with_head(issuer.ec, "{\"alg\":\"none\"}"),
		      "its algorithm is none of"));
	CHECK(refused(with_head(issuer.ec, "{\"alg\":\"None\",\"kid\":\"ec\"}"),
		      "its algorithm is none of"));
	add_base64(&b, "{\"alg\":\"none\"}", 14);
	buf_addc(&b, '.');
	add_base64(&b, "{" GOOD ",\"exp\":1700000600}",
		   strlen("{" GOOD ",\"exp\":1700000600}"));
	buf_addc(&b, '.');
	CHECK(refused(buf_take(&b, &len), "three parts"));
}

/* The public key, which everyone has, is no secret to sign with. */
static void refuses_hmac_with_the_public_key(void)
{
	static const char claims[] = "{" GOOD ",\"exp\":1700000600}";
	struct buf jwk = BUF_INIT(SIGN_ROOM);

	add_jwk(&jwk, issuer.rsa, "rsa", "");
	CHECK(refused(sign_shared(jwk.data, jwk.len,
				  "{\"alg\":\"HS256\",\"kid\":\"rsa\"}",
				  claims),
		      "its algorithm is none of"));
	CHECK(refused(sign_shared(jwk.data, jwk.len,
				  "{\"alg\":\"RS256\",\"kid\":\"rsa\"}",
				  claims),
		      "signature is wrong"));
	buf_release(&jwk);
}

static void refuses_an_algorithm_that_is_not_the_keys(void)
{
	CHECK(refused(
		with_head(issuer.ec, "{\"alg\":\"ES256\",\"kid\":\"rsa\"}"),
		"not the one that its key is for"));
	CHECK(refused(
		with_head(issuer.rsa, "{\"alg\":\"RS256\",\"kid\":\"ec\"}"),
		"not the one that its key is for"));
	CHECK(refused(
		with_head(issuer.rsa, "{\"alg\":\"PS256\",\"kid\":\"rsa\"}"),
		"its algorithm is none of"));
	CHECK(refused(
		with_head(issuer.rsa, "{\"alg\":\"rs256\",\"kid\":\"rsa\"}"),
		"its algorithm is none of"));
	CHECK(refused(with_head(issuer.rsa, "{\"kid\":\"rsa\"}"),
		      "names no algorithm"));
	CHECK(refused(with_head(issuer.rsa, "{\"alg\":7}"),
		      "names no algorithm"));
}

static void refuses_an_unknown_key(void)
{
	char *token = with_head(issuer.other,
				"{\"alg\":\"ES256\",\"kid\":\"newer\"}");
	struct outcome o;
	struct arena a;

	arena_init(&a, (size_t)4 << 20);
	o = judge(token, &a);
	CHECK(o.err.code == ERR_NOT_FOUND);
	CHECK(says(&o, "does not publish"));
	arena_release(&a);
	free(token);
	CHECK(refused(with_head(issuer.ec, "{\"alg\":\"ES256\",\"kid\":7}"),
		      "kid is not a string"));
}

static void refuses_a_key_of_another(void)
{
	CHECK(refused(
		with_head(issuer.other, "{\"alg\":\"ES256\",\"kid\":\"ec\"}"),
		"signature is wrong"));
}

static void refuses_tampered_claims(void)
{
	char *a = with_claims("{" GOOD ",\"exp\":1700000600}");
	char *b = with_claims("{" GOOD ",\"exp\":1900000600}");
	size_t head = (size_t)(strchr(a, '.') - a);
	size_t body = (size_t)(strrchr(a, '.') - a);

	CHECK(body == (size_t)(strrchr(b, '.') - b));
	memcpy(a + head, b + head, body - head);
	CHECK(refused(a, "signature is wrong"));
	free(b);
}

static void refuses_each_tampered_bit_of_a_signature(void)
{
	static const char head[] = "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}";

	for (size_t i = 0; i < 80; i += 7) {
		char *token = with_head(issuer.ed, head);
		char *c = strrchr(token, '.') + 1 + i;

		*c = *c == 'A' ? 'B' : 'A';
		CHECK(refused(token, "signature"));
	}
}

static void refuses_a_cut_signature(void)
{
	char *token =
		with_head(issuer.ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}");

	token[strlen(token) - 2] = '\0';
	CHECK(refused(token, "signature"));
	token = with_head(issuer.ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}");
	strrchr(token, '.')[1] = '\0';
	CHECK(refused(token, "three parts"));
}

/* (0, 0) satisfied some verifiers. */
static void refuses_a_signature_of_zeros(void)
{
	char *token =
		with_head(issuer.ec, "{\"alg\":\"ES256\",\"kid\":\"ec\"}");
	char *p = strrchr(token, '.') + 1;

	memset(p, 'A', strlen(p));
	CHECK(refused(token, "signature is wrong"));
}

static void refuses_duplicate_claims(void)
{
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1700000600,"
				  "\"sub\":\"admin\"}"),
		      "claims cannot be read"));
	CHECK(refused(sign_token(issuer.ec,
				 "{\"alg\":\"ES256\",\"alg\":\"none\"}",
				 "{" GOOD ",\"exp\":1700000600}"),
		      "header cannot be read"));
}

static void refuses_a_huge_token(void)
{
	struct buf b = BUF_INIT(SIGN_ROOM);

	buf_adds(&b, "{" GOOD ",\"exp\":1700000600,\"x\":\"");
	while (b.len < 13000)
		buf_addc(&b, 'x');
	buf_adds(&b, "\"}");
	CHECK(refused(with_claims(b.data), "larger than 16 KiB"));
	buf_release(&b);
}

static void refuses_bad_base64(void)
{
	static const char *const bad[] = {"=", "+", "/", " ", "\n", "A"};

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct buf b = BUF_INIT(SIGN_ROOM);
		char *token = with_claims("{" GOOD ",\"exp\":1700000600}");
		size_t len;

		/* 64 bytes are 86 letters and four bits that must be zero. */
		buf_addf(&b, "%s%s", token, bad[i]);
		CHECK(refused(buf_take(&b, &len), "signature"));
		free(token);
	}
	CHECK(refused(strdup("!!!.e30.AAAA"), "header cannot be read"));
}

static void refuses_what_is_no_token(void)
{
	CHECK(refused(strdup(""), "three parts"));
	CHECK(refused(strdup(".."), "three parts"));
	CHECK(refused(strdup("e30..AA"), "three parts"));
	CHECK(refused(strdup(".e30.AA"), "three parts"));
	CHECK(refused(strdup("a.b"), "three parts"));
	CHECK(refused(strdup("e30.e30.AA.AA"), "three parts"));
	CHECK(refused(strdup("e30.e30.AA.AA.AA"), "three parts"));
	CHECK(refused(strdup("e30.e30.AA"), "names no algorithm"));
	CHECK(refused(strdup("W10.e30.AA"), "header cannot be read"));
	CHECK(refused(with_claims("[]"), "claims cannot be read"));
	CHECK(refused(with_claims("{\"sub\":\"\\u0000\"}"),
		      "claims cannot be read"));
}

static void refuses_critical_extensions(void)
{
	CHECK(refused(with_head(issuer.ec,
				"{\"alg\":\"ES256\",\"kid\":\"ec\",\"crit\":["
				"\"b64\"],\"b64\":false}"),
		      "critical extensions"));
	CHECK(refused(with_head(issuer.ec,
				"{\"alg\":\"ES256\",\"kid\":\"ec\",\"crit\":["
				"]}"),
		      "critical extensions"));
}

static void refuses_other_types_of_token(void)
{
#define TYPE(typ)                                                              \
	with_head(issuer.ec,                                                   \
		  "{\"alg\":\"ES256\",\"kid\":\"ec\",\"typ\":" typ "}")
	CHECK(refused(TYPE("\"logout+jwt\""), "another kind"));
	CHECK(refused(TYPE("7"), "another kind"));
	CHECK(accepted(TYPE("\"JWT\"")));
	CHECK(accepted(TYPE("\"at+jwt\"")));
	CHECK(accepted(TYPE("\"application/at+jwt\"")));
}

/* Keys in the token itself, or where it says they are, are not looked at. */
static void ignores_keys_that_a_token_brings(void)
{
	struct buf b = BUF_INIT(SIGN_ROOM);

	buf_adds(&b, "{\"alg\":\"ES256\",\"kid\":\"ec\",\"jku\":"
		     "\"https://evil.example\",\"jwk\":");
	add_jwk(&b, issuer.other, "ec", "");
	buf_addc(&b, '}');
	CHECK(refused(with_head(issuer.other, b.data), "signature is wrong"));
	buf_release(&b);
}

static void errors_repeat_nothing_of_the_token(void)
{
	char *token = with_claims("{" GOOD ",\"exp\":1,\"x\":\"sesame\"}");
	struct outcome o;
	struct arena a;

	arena_init(&a, (size_t)4 << 20);
	o = judge(token, &a);
	CHECK(o.rc < 0 && !strstr(o.err.msg, "sesame"));
	CHECK(!strstr(o.err.msg, "u-1") && !strstr(o.err.msg, "eyJ"));
	arena_release(&a);
	free(token);
}

static void reads_who_it_is(void)
{
	char *token = with_claims(
		"{" GOOD ",\"exp\":1700000600,\"email\":\"ann@example.org\","
		"\"email_verified\":true,\"groups\":[\"ops\",\"\",\"dev\"]}");
	struct outcome o;
	struct arena a;

	arena_init(&a, (size_t)4 << 20);
	o = judge(token, &a);
	CHECK(o.rc == 0);
	CHECK_STR(o.claims.issuer, "https://id.example.org");
	CHECK_STR(o.claims.subject, "u-1");
	CHECK_STR(o.claims.email, "ann@example.org");
	CHECK(o.claims.email_verified);
	CHECK(o.claims.n_groups == 2);
	CHECK_STR(o.claims.groups[0], "ops");
	CHECK_STR(o.claims.groups[1], "dev");
	CHECK(o.claims.expires_at == 1700000600000);
	arena_release(&a);
	free(token);
}

static bool verified(const char *more)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	struct outcome o;
	struct arena a;
	char *token;
	bool yes;

	arena_init(&a, (size_t)4 << 20);
	buf_addf(&b, "{" GOOD ",\"exp\":1700000600%s}", more);
	token = with_claims(b.data);
	o = judge(token, &a);
	yes = o.rc == 0 && o.claims.email && o.claims.email_verified;
	free(token);
	buf_release(&b);
	arena_release(&a);
	return yes;
}

static void only_true_verifies_an_address(void)
{
	CHECK(verified(",\"email\":\"a@b.c\",\"email_verified\":true"));
	CHECK(!verified(",\"email\":\"a@b.c\",\"email_verified\":\"true\""));
	CHECK(!verified(",\"email\":\"a@b.c\",\"email_verified\":1"));
	CHECK(!verified(",\"email\":\"a@b.c\",\"email_verified\":false"));
	CHECK(!verified(",\"email\":\"a@b.c\""));
	CHECK(!verified(",\"email\":\"a b@c\",\"email_verified\":true"));
	CHECK(!verified(",\"email\":7,\"email_verified\":true"));
}

static void groups_are_a_list_or_one(void)
{
	CHECK(accepted(with_claims("{" GOOD ",\"exp\":1700000600,"
				   "\"groups\":\"ops\"}")));
	CHECK(accepted(with_claims("{" GOOD ",\"exp\":1700000600,"
				   "\"groups\":null}")));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1700000600,"
				  "\"groups\":[\"ops\",7]}"),
		      "not strings"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1700000600,"
				  "\"groups\":{}}"),
		      "not strings"));
}

/* TAIL of a token's claims, after N times EACH. */
static char *with_many(const char *head, const char *each, size_t n,
		       const char *tail)
{
	struct buf b = BUF_INIT(SIGN_ROOM);
	char *token;

	buf_adds(&b, head);
	for (size_t i = 0; i < n; i++)
		buf_addf(&b, "%s%s", i ? "," : "", each);
	buf_adds(&b, tail);
	token = with_claims(b.data);
	buf_release(&b);
	return token;
}

static void limits_what_a_token_lists(void)
{
#define GROUPS "{" GOOD ",\"exp\":1700000600,\"groups\":["
#define AUDS                                                                   \
	"{\"iss\":\"https://id.example.org\",\"sub\":\"u-1\","                 \
	"\"exp\":1700000600,\"aud\":["
#define SUBJECT                                                                \
	"{\"iss\":\"https://id.example.org\",\"aud\":\"muster\","              \
	"\"exp\":1700000600,\"sub\":\""
	char name[300];

	CHECK(accepted(with_many(GROUPS, "\"g\"", 512, "]}")));
	CHECK(refused(with_many(GROUPS, "\"g\"", 513, "]}"),
		      "more than 512 groups"));
	CHECK(accepted(with_many(AUDS, "\"x\"", 63, ",\"muster\"]}")));
	CHECK(refused(with_many(AUDS, "\"x\"", 64, ",\"muster\"]}"),
		      "another audience"));
	CHECK(refused(with_many(AUDS, "7", 1, "]}"), "another audience"));
	/* 255 bytes of a subject are enough for everyone. */
	CHECK(accepted(with_many(SUBJECT, "x", 128, "\"}")));
	CHECK(refused(with_many(SUBJECT, "xx", 86, "\"}"), "no subject"));
	/* A name that no group here can have is passed over. */
	memset(name, 'g', sizeof(name));
	name[0] = name[256] = '"';
	name[257] = '\0';
	CHECK(accepted(with_many(GROUPS, name, 1, "]}")));
	name[256] = 'g';
	name[257] = '"';
	name[258] = '\0';
	CHECK(accepted(with_many(GROUPS, name, 1, "]}")));
}

static void refuses_times_that_are_none(void)
{
	CHECK(refused(with_claims("{" GOOD ",\"exp\":1e300}"),
		      "exp is not a time"));
	CHECK(refused(with_claims("{" GOOD ",\"exp\":-1.5}"),
		      "exp is not a time"));
	CHECK(refused(with_claims("{\"iss\":\"https://id.example.org\","
				  "\"aud\":\"muster\",\"sub\":\"u-1\","
				  "\"exp\":1700000600,\"iat\":\"now\"}"),
		      "iat is not a time"));
}

int main(void)
{
	setup();
	RUN(takes_each_algorithm);
	RUN(takes_a_token_without_kid_when_one_key_fits);
	RUN(takes_the_rs256_vector_of_rfc_7515);
	RUN(takes_the_es256_vector_of_rfc_7515);
	RUN(takes_the_eddsa_vector_of_rfc_8037);
	RUN(refuses_an_expired_token);
	RUN(refuses_a_token_that_never_expires);
	RUN(refuses_a_token_that_is_not_valid_yet);
	RUN(refuses_a_token_from_the_future);
	RUN(refuses_another_audience);
	RUN(refuses_another_issuer);
	RUN(refuses_a_token_without_subject);
	RUN(refuses_alg_none);
	RUN(refuses_hmac_with_the_public_key);
	RUN(refuses_an_algorithm_that_is_not_the_keys);
	RUN(refuses_an_unknown_key);
	RUN(refuses_a_key_of_another);
	RUN(refuses_tampered_claims);
	RUN(refuses_each_tampered_bit_of_a_signature);
	RUN(refuses_a_cut_signature);
	RUN(refuses_a_signature_of_zeros);
	RUN(refuses_duplicate_claims);
	RUN(refuses_a_huge_token);
	RUN(refuses_bad_base64);
	RUN(refuses_what_is_no_token);
	RUN(refuses_critical_extensions);
	RUN(refuses_other_types_of_token);
	RUN(ignores_keys_that_a_token_brings);
	RUN(errors_repeat_nothing_of_the_token);
	RUN(reads_who_it_is);
	RUN(only_true_verifies_an_address);
	RUN(groups_are_a_list_or_one);
	RUN(limits_what_a_token_lists);
	RUN(refuses_times_that_are_none);
	teardown();
	return test_done();
}
