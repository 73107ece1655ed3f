#include "identity/oidc.h"

#include "base/digest.h"
#include "signing.h"
#include "test.h"

#define WALL     ((int64_t)1700000000000)
#define CORP     "https://id.example.org"
#define DOCUMENT "{\"issuer\":\"" CORP "\",\"jwks_uri\":\"" CORP "/keys\"}"

/* The world that an issuer lives in: a clock, and fetches that wait. */
static struct {
	struct clock clock;
	uint64_t ms;
	struct oidc *oidc;
	struct oidc_fetch *fetch; /* under way */
	unsigned fetches, good, bad;
	EVP_PKEY *key, *newer;
	struct arena arena;
} w;

static int64_t wall(const struct clock *c)
{
	(void)c;
	return WALL + (int64_t)w.ms;
}

static uint64_t mono(const struct clock *c)
{
	(void)c;
	return 1000 + w.ms;
}

static void fetch(void *ctx, struct oidc_fetch *f)
{
	(void)ctx;
	CHECK(!w.fetch);
	w.fetch = f;
	w.fetches++;
}

static void tell(void *ctx, const struct oidc_issuer *issuer, size_t keys,
		 const struct err *err)
{
	(void)ctx;
	CHECK_STR(issuer->name, "corp");
	CHECK(err || keys);
	if (err)
		w.bad++;
	else
		w.good++;
}

static const struct oidc_issuer issuers[] = {
	{.name = "corp", .issuer = CORP, .audience = "muster"},
};

static void begin(void)
{
	struct oidc_conf conf = {.issuers = issuers,
				 .n = 1,
				 .clock = &w.clock,
				 .fetch = fetch,
				 .tell = tell};

	memset(&w, 0, sizeof(w));
	w.clock = (struct clock){wall, mono};
	w.key = EVP_EC_gen("P-256");
	w.newer = EVP_EC_gen("P-256");
	w.oidc = oidc_new(&conf);
	arena_init(&w.arena, (size_t)16 << 20);
}

static void finish(void)
{
	oidc_free(w.oidc);
	EVP_PKEY_free(w.key);
	EVP_PKEY_free(w.newer);
	arena_release(&w.arena);
}

static void answer(const char *body, const struct err *err)
{
	struct oidc_fetch *f = w.fetch;

	CHECK(f != NULL);
	if (!f)
		return;
	w.fetch = NULL;
	oidc_fetched(f, body, strlen(body), err);
}

static void fail(void)
{
	struct err err = {0};

	err_set(&err, ERR_UNAVAILABLE, "no route");
	answer("", &err);
}

/* Both documents, with these keys. */
static void publish(bool newer)
{
	struct buf b = BUF_INIT(SIGN_ROOM);

	CHECK_STR(w.fetch->url, CORP "/.well-known/openid-configuration");
	answer(DOCUMENT, NULL);
	CHECK_STR(w.fetch->url, CORP "/keys");
	buf_adds(&b, "{\"keys\":[");
	add_jwk(&b, newer ? w.newer : w.key, newer ? "newer" : "key", "");
	buf_adds(&b, "]}");
	answer(b.data, NULL);
	buf_release(&b);
}

static const char *sign(bool newer, const char *subject, int64_t exp)
{
	char *token = sign_token(newer ? w.newer : w.key,
				 newer ? "{\"alg\":\"ES256\",\"kid\":\"newer\"}"
				       : "{\"alg\":\"ES256\",\"kid\":\"key\"}",
				 arena_printf(&w.arena,
					      "{\"iss\":\"" CORP
					      "\",\"aud\":\"muster\","
					      "\"sub\":\"%s\",\"exp\":%lld}",
					      subject, (long long)exp));
	const char *kept = arena_strdup(&w.arena, token);

	free(token);
	return kept;
}

static int check(const char *token, struct err *err)
{
	const struct oidc_person *p = NULL;
	unsigned char sum[DIGEST_SHA256_LEN];
	char digest[65];
	int rc;

	digest_sha256(token, strlen(token), sum);
	digest_hex(sum, sizeof(sum), digest);
	*err = (struct err){0};
	rc = oidc_check(w.oidc, token, digest, &p, err);
	if (rc == 0)
		CHECK(p && p->issuer == &issuers[0] && p->claims.subject[0]);
	else
		CHECK(rc > 0 || err->msg[0]);
	return rc;
}

static void holds_a_call_until_the_keys_come(void)
{
	struct err err;
	const char *token;

	begin();
	token = sign(false, "ann", WALL / 1000 + 600);
	CHECK(check(token, &err) == 1 && w.fetches == 1);
	CHECK(check(token, &err) == 1 && w.fetches == 1);
	publish(false);
	CHECK(check(token, &err) == 0 && w.fetches == 2);
	CHECK(w.good == 1 && w.bad == 0);
	finish();
}

static void fetches_at_the_start_and_every_ten_minutes(void)
{
	begin();
	oidc_tick(w.oidc);
	publish(false);
	for (int i = 0; i < 599; i++) {
		w.ms += 1000;
		oidc_tick(w.oidc);
	}
	CHECK(w.fetches == 2);
	w.ms += 1000;
	oidc_tick(w.oidc);
	oidc_tick(w.oidc);
	CHECK(w.fetches == 3);
	publish(false);
	CHECK(w.good == 1);
	finish();
}

static void fetches_for_an_unknown_key_every_five_seconds_at_most(void)
{
	struct err err;
	const char *token;

	begin();
	oidc_tick(w.oidc);
	publish(false);
	token = sign(true, "ann", WALL / 1000 + 600);
	w.ms += 4999;
	CHECK(check(token, &err) == -1 && err.code == ERR_UNAUTHENTICATED);
	CHECK(strstr(err.msg, "does not publish") && w.fetches == 2);
	w.ms += 1;
	CHECK(check(token, &err) == 1 && w.fetches == 3);
	publish(true);
	CHECK(check(token, &err) == 0);
	CHECK(w.good == 2);
	finish();
}

static void keeps_the_last_good_keys(void)
{
	struct err err;
	const char *token;

	begin();
	oidc_tick(w.oidc);
	publish(false);
	w.ms += 600000;
	oidc_tick(w.oidc);
	fail();
	CHECK(w.bad == 1);
	token = sign(false, "ann", WALL / 1000 + 9000);
	CHECK(check(token, &err) == 0);
	/* Tried again sooner, and told once. */
	w.ms += 30000;
	oidc_tick(w.oidc);
	answer("{}", NULL);
	CHECK(w.bad == 1 && check(token, &err) == 0);
	/* A set without a key that could be used is no set. */
	w.ms += 30000;
	oidc_tick(w.oidc);
	answer(DOCUMENT, NULL);
	answer("{\"keys\":[]}", NULL);
	CHECK(w.bad == 1 && check(token, &err) == 0);
	w.ms += 30000;
	oidc_tick(w.oidc);
	publish(false);
	CHECK(w.good == 2);
	finish();
}

static void says_when_there_are_no_keys(void)
{
	struct err err;
	const char *token;

	begin();
	oidc_tick(w.oidc);
	fail();
	token = sign(false, "ann", WALL / 1000 + 600);
	CHECK(check(token, &err) == -1 && err.code == ERR_UNAVAILABLE);
	CHECK(strstr(err.msg, "no route") && err.retry_after_ms);
	w.ms += 5000;
	CHECK(check(token, &err) == 1);
	finish();
}

static void believes_no_odd_documents(void)
{
	static const char *const odd[] = {
		"",
		"[]",
		"{}",
		"{\"issuer\":\"" CORP "\"}",
		"{\"issuer\":\"https://evil.example\",\"jwks_uri\":\"" CORP
		"/keys\"}",
		"{\"issuer\":\"" CORP "\",\"jwks_uri\":\"http://id.example.org"
		"/keys\"}",
		"{\"issuer\":\"" CORP "\",\"jwks_uri\":\"file:///etc/passwd\"}",
		"{\"issuer\":\"" CORP "\",\"jwks_uri\":7}",
		"{\"issuer\":\"" CORP "\",\"jwks_uri\":\"http://127.0.0.1@evil."
		"example/\"}",
	};

	for (size_t i = 0; i < COUNT_OF(odd); i++) {
		begin();
		oidc_tick(w.oidc);
		answer(odd[i], NULL);
		CHECK(!w.fetch && w.bad == 1);
		finish();
	}
}

static void forgets_what_a_removed_key_signed(void)
{
	struct err err;
	const char *token;

	begin();
	oidc_tick(w.oidc);
	publish(false);
	token = sign(false, "ann", WALL / 1000 + 9000);
	CHECK(check(token, &err) == 0);
	w.ms += 600000;
	oidc_tick(w.oidc);
	publish(true);
	CHECK(check(token, &err) == -1);
	finish();
}

static void a_kept_token_expires(void)
{
	struct err err;
	const char *token;

	begin();
	oidc_tick(w.oidc);
	publish(false);
	token = sign(false, "ann", WALL / 1000 + 10);
	CHECK(check(token, &err) == 0);
	w.ms += 10000 + JWT_LEEWAY_MS - 1;
	CHECK(check(token, &err) == 0);
	w.ms += 1;
	CHECK(check(token, &err) == -1 && strstr(err.msg, "expired"));
	finish();
}

static void holds_many_tokens(void)
{
	struct err err;

	begin();
	oidc_tick(w.oidc);
	publish(false);
	for (int i = 0; i < 4200; i++)
		CHECK(check(sign(false, arena_printf(&w.arena, "u%d", i),
				 WALL / 1000 + 600),
			    &err) == 0);
	finish();
}

/* Whose address may be written with one or without. */
static void an_address_may_end_in_slashes(void)
{
	static const struct oidc_issuer slashed = {
		.name = "corp", .issuer = CORP "//", .audience = "muster"};
	struct oidc_conf conf = {
		.issuers = &slashed, .n = 1, .clock = &w.clock, .fetch = fetch};

	begin();
	oidc_free(w.oidc);
	w.oidc = oidc_new(&conf);
	oidc_tick(w.oidc);
	CHECK_STR(w.fetch->url, CORP "/.well-known/openid-configuration");
	/* Nobody wants to be told. */
	fail();
	finish();
}

static void takes_tokens_of_its_issuers_only(void)
{
	struct oidc_conf conf = {.clock = &w.clock, .fetch = fetch};
	struct err err;
	char *token;

	begin();
	token = sign_token(w.key, "{\"alg\":\"ES256\"}", "{\"sub\":\"ann\"}");
	CHECK(check(token, &err) == -1 && !w.fetch);
	free(token);
	token = sign_token(w.key, "{\"alg\":\"ES256\"}",
			   "{\"iss\":\"https://elsewhere.example\"}");
	CHECK(check(token, &err) == -1 && !w.fetch);
	CHECK(err.code == ERR_UNAUTHENTICATED);
	free(token);
	oidc_free(w.oidc);
	w.oidc = oidc_new(&conf);
	CHECK(check("a.b.c", &err) == -1);
	CHECK(strstr(err.msg, "no issuer is configured"));
	oidc_free(w.oidc);
	w.oidc = NULL;
	CHECK(check("a.b.c", &err) == -1);
	CHECK(strstr(err.msg, "no issuer is configured"));
	finish();
}

static bool valid(const struct oidc_issuer *list, size_t n)
{
	struct err err = {0};

	return oidc_validate(list, n, &err) == 0;
}

static void refuses_issuers_that_cannot_be_believed(void)
{
#define ISSUER(address)                                                        \
	(struct oidc_issuer){.name = "x", .issuer = (address), .audience = "y"}
	CHECK(valid(&ISSUER("https://id.example.org/realms/x"), 1));
	CHECK(valid(&ISSUER("http://127.0.0.1:8080"), 1));
	CHECK(valid(&ISSUER("http://localhost"), 1));
	CHECK(valid(&ISSUER("http://[::1]:8080/x"), 1));
	CHECK(!valid(&ISSUER("http://id.example.org"), 1));
	CHECK(!valid(&ISSUER("http://127.0.0.1.evil.example"), 1));
	CHECK(!valid(&ISSUER("http://localhost.evil.example"), 1));
	CHECK(!valid(&ISSUER("http://127.0.0.1:80@evil.example"), 1));
	CHECK(!valid(&ISSUER("https://u:p@id.example.org"), 1));
	CHECK(!valid(&ISSUER("https://id.example.org?x"), 1));
	CHECK(!valid(&ISSUER("https://id.example.org#x"), 1));
	CHECK(!valid(&ISSUER("https://"), 1));
	CHECK(!valid(&ISSUER("ftp://id.example.org"), 1));
	CHECK(!valid((struct oidc_issuer[]){ISSUER("https://a"),
					    ISSUER("https://b")},
		     2));
	CHECK(valid(
		(struct oidc_issuer[]){
			ISSUER("https://a"),
			{.name = "y", .issuer = "https://b", .client_id = "z"}},
		2));
	CHECK(!valid(
		(struct oidc_issuer[]){
			ISSUER("https://a"),
			{.name = "y", .issuer = "https://a", .client_id = "z"}},
		2));
	CHECK(!valid(&(struct oidc_issuer){.name = "x", .issuer = "https://a"},
		     1));
}

int main(void)
{
	RUN(holds_a_call_until_the_keys_come);
	RUN(fetches_at_the_start_and_every_ten_minutes);
	RUN(fetches_for_an_unknown_key_every_five_seconds_at_most);
	RUN(keeps_the_last_good_keys);
	RUN(says_when_there_are_no_keys);
	RUN(believes_no_odd_documents);
	RUN(forgets_what_a_removed_key_signed);
	RUN(a_kept_token_expires);
	RUN(holds_many_tokens);
	RUN(an_address_may_end_in_slashes);
	RUN(takes_tokens_of_its_issuers_only);
	RUN(refuses_issuers_that_cannot_be_believed);
	return test_done();
}
