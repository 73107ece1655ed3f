#include "identity/oidc.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/map.h"
#include "base/mem.h"
#include "http/uri.h"

#define DOCUMENT_MOST ((size_t)JWT_SET_MOST)
#define TREE_MOST     ((size_t)8 << 20)
#define TOKEN_TREE    ((size_t)4 << 20)

/* Verified tokens kept; when there are more, all are let go. */
#define SEEN_MOST ((size_t)4096)

enum {
	REFRESH_MS = 10 * 60 * 1000,
	RETRY_MS = 30 * 1000, /* after a failure */
	AGAIN_MS = 5 * 1000,  /* the least between two fetches */
};

enum stage { STAGE_IDLE, STAGE_DISCOVERY, STAGE_KEYS };

/* An issuer and what is known of it. */
struct source {
	struct oidc *oidc;
	const struct oidc_issuer *conf;
	enum stage stage;
	struct oidc_fetch fetch;
	char *url;         /* of the document under way */
	struct jwks *keys; /* the last good ones; NULL: none yet */
	unsigned char digest[DIGEST_SHA256_LEN]; /* of their text */
	bool tried;                              /* it was fetched once */
	bool failed;                             /* the last time */
	uint64_t ended;                          /* when that was */
	struct err err;                          /* and why */
};

/* A verified token. */
struct seen {
	char digest[65];
	struct oidc_person person;
	struct arena arena;
};

struct oidc {
	struct oidc_conf conf;
	struct source *sources; /* conf.n of them */
	struct map seen;        /* digest to struct seen */
};

struct oidc *oidc_new(const struct oidc_conf *conf)
{
	struct oidc *o = xcalloc(1, sizeof(*o));

	o->conf = *conf;
	o->sources = xcalloc(conf->n + 1, sizeof(*o->sources));
	for (size_t i = 0; i < conf->n; i++) {
		o->sources[i].oidc = o;
		o->sources[i].conf = &conf->issuers[i];
	}
	return o;
}

static void forget(struct oidc *o)
{
	struct seen *s;
	size_t i = 0;

	while ((s = map_next(&o->seen, &i))) {
		arena_release(&s->arena);
		free(s);
	}
	map_release(&o->seen);
}

void oidc_free(struct oidc *o)
{
	if (!o)
		return;
	forget(o);
	for (size_t i = 0; i < o->conf.n; i++) {
		jwks_free(o->sources[i].keys);
		free(o->sources[i].url);
	}
	free(o->sources);
	free(o);
}

const struct oidc_issuer *oidc_at(const struct oidc *o, size_t i)
{
	return o && i < o->conf.n ? &o->conf.issuers[i] : NULL;
}

/* Takes over URL. */
static void get(struct source *s, enum stage stage, char *url)
{
	free(s->url);
	s->url = url;
	s->stage = stage;
	s->fetch = (struct oidc_fetch){
		.url = url, .ca_file = s->conf->ca_file, .most = DOCUMENT_MOST};
	s->oidc->conf.fetch(s->oidc->conf.ctx, &s->fetch);
}

static void begin(struct source *s)
{
	static const char path[] = "/.well-known/openid-configuration";
	size_t len = strlen(s->conf->issuer);
	char *url;

	while (s->conf->issuer[len - 1] == '/')
		len--;
	url = xmalloc(len + sizeof(path));
	memcpy(url, s->conf->issuer, len);
	memcpy(url + len, path, sizeof(path));
	get(s, STAGE_DISCOVERY, url);
}

static void end(struct source *s, const struct err *err, bool news)
{
	const struct oidc_conf *conf = &s->oidc->conf;

	news = news || !err != !s->failed;
	s->stage = STAGE_IDLE;
	s->tried = true;
	s->failed = err;
	s->ended = clock_mono(conf->clock);
	if (err)
		s->err = *err;
	if (news && conf->tell)
		conf->tell(conf->ctx, s->conf,
			   s->keys ? jwks_count(s->keys) : 0, err);
}

static const char *text_of(const struct node *n, const char *name)
{
	const struct node *member =
		n && node_type(n) == NODE_OBJECT ? node_get(n, name) : NULL;

	return member && node_type(member) == NODE_STRING
		       ? node_string(member, NULL)
		       : NULL;
}

/* Where the keys are, by the discovery document; NULL with ERR. */
static char *find_keys(struct source *s, const char *body, size_t len,
		       struct err *err)
{
	const char *issuer, *url;
	struct node *n;
	struct arena a;
	char *found = NULL;

	arena_init(&a, TREE_MOST);
	n = json_parse(body, len, &a, err);
	issuer = text_of(n, "issuer");
	url = text_of(n, "jwks_uri");
	if (!n)
		err_wrap(err, "its discovery document");
	else if (!issuer || strcmp(issuer, s->conf->issuer) != 0)
		err_set(err, ERR_INVALID,
			"its discovery document is of another issuer");
	else if (!url || !uri_is_trusty(url))
		err_set(err, ERR_INVALID,
			"its discovery document does not say where its keys "
			"are, by https");
	else
		found = xstrdup(url);
	arena_release(&a);
	return found;
}

static void take_keys(struct source *s, const char *body, size_t len)
{
	unsigned char digest[DIGEST_SHA256_LEN];
	struct jwks *keys;
	struct err err = {0};
	bool news;

	digest_sha256(body, len, digest);
	news = !s->keys || memcmp(digest, s->digest, sizeof(digest)) != 0;
	if (!news) {
		end(s, NULL, false);
		return;
	}
	if (jwks_parse(body, len, &keys, &err) < 0) {
		end(s, &err, false);
		return;
	}
	jwks_free(s->keys);
	s->keys = keys;
	memcpy(s->digest, digest, sizeof(digest));
	/* A key that is gone vouches for nobody any more. */
	forget(s->oidc);
	end(s, NULL, true);
}

void oidc_fetched(struct oidc_fetch *f, const char *body, size_t len,
		  const struct err *err)
{
	struct source *s = CONTAINER_OF(f, struct source, fetch);
	struct err why = {0};
	char *url;

	if (err) {
		end(s, err, false);
		return;
	}
	if (s->stage == STAGE_KEYS) {
		take_keys(s, body, len);
		return;
	}
	url = find_keys(s, body, len, &why);
	if (url)
		get(s, STAGE_KEYS, url);
	else
		end(s, &why, false);
}

void oidc_tick(struct oidc *o)
{
	uint64_t now;

	if (!o)
		return;
	now = clock_mono(o->conf.clock);
	for (size_t i = 0; i < o->conf.n; i++) {
		struct source *s = &o->sources[i];
		uint64_t wait = s->failed ? RETRY_MS : REFRESH_MS;

		if (s->stage == STAGE_IDLE &&
		    (!s->tried || now - s->ended >= wait))
			begin(s);
	}
}

/* Fetch the keys now if that may be: 1 while they are under way, else 0. */
static int hurry(struct source *s)
{
	uint64_t now = clock_mono(s->oidc->conf.clock);

	if (s->stage != STAGE_IDLE)
		return 1;
	if (s->tried && now - s->ended < AGAIN_MS)
		return 0;
	begin(s);
	return 1;
}

static int no_keys(const struct source *s, struct err *err)
{
	err_set(err, ERR_UNAVAILABLE, "the keys of %s cannot be had: %s",
		s->conf->name, s->err.msg);
	err->retry_after_ms = AGAIN_MS;
	return -1;
}

static int check_signature(struct source *s, const struct jwt *t,
			   struct err *err)
{
	struct err why = {0};

	if (!s->keys)
		return hurry(s) ? 1 : no_keys(s, err);
	if (jwt_verify(t, s->keys, &why) == 0)
		return 0;
	if (why.code == ERR_NOT_FOUND && hurry(s))
		return 1;
	err_set(err, ERR_UNAUTHENTICATED, "%s", why.msg);
	return -1;
}

static const char *copy(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

/* Only what matters is kept, not the whole token as a tree. */
static struct seen *keep(struct oidc *o, const char *digest,
			 const struct source *s, const struct jwt_claims *c)
{
	struct seen *seen = xcalloc(1, sizeof(*seen));
	struct jwt_claims *to = &seen->person.claims;

	if (o->seen.count >= SEEN_MOST)
		forget(o);
	arena_init(&seen->arena, TOKEN_TREE);
	memcpy(seen->digest, digest, sizeof(seen->digest));
	seen->person.issuer = s->conf;
	*to = *c;
	to->issuer = s->conf->issuer;
	to->subject = copy(&seen->arena, c->subject);
	to->email = copy(&seen->arena, c->email);
	to->groups = arena_alloc(&seen->arena,
				 (c->n_groups + 1) * sizeof(*to->groups));
	for (size_t i = 0; i < c->n_groups; i++)
		to->groups[i] = copy(&seen->arena, c->groups[i]);
	map_add(&o->seen, seen->digest, seen);
	return seen;
}

static struct source *find_source(struct oidc *o, const struct jwt *t)
{
	for (size_t i = 0; t->issuer && i < o->conf.n; i++)
		if (strcmp(o->sources[i].conf->issuer, t->issuer) == 0)
			return &o->sources[i];
	return NULL;
}

static int judge(struct oidc *o, const char *token, const char *digest,
		 struct arena *a, struct err *err)
{
	struct jwt_rules rules;
	struct jwt_claims claims;
	struct source *s;
	struct jwt t;
	int rc;

	if (jwt_parse(token, strlen(token), a, &t, err) < 0)
		return -1;
	s = find_source(o, &t);
	if (!s)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is refused: its issuer is not one "
			       "of those configured here");
	rc = check_signature(s, &t, err);
	if (rc)
		return rc;
	rules = (struct jwt_rules){
		.issuer = s->conf->issuer,
		.audience = s->conf->audience ? s->conf->audience
					      : s->conf->client_id,
		.groups_claim = s->conf->groups_claim,
	};
	if (jwt_claims(&t, &rules, clock_wall(o->conf.clock), a, &claims, err) <
	    0)
		return -1;
	keep(o, digest, s, &claims);
	return 0;
}

int oidc_check(struct oidc *o, const char *token, const char *digest,
	       const struct oidc_person **ret, struct err *err)
{
	struct seen *seen;

	if (!o || !o->conf.n)
		return err_set(err, ERR_UNAUTHENTICATED,
			       "no issuer is configured here: only tokens that "
			       "begin with muster_ are taken");
	seen = map_get(&o->seen, digest);
	if (!seen) {
		struct arena a;
		int rc;

		arena_init(&a, TOKEN_TREE);
		rc = judge(o, token, digest, &a, err);
		arena_release(&a);
		if (rc)
			return rc;
		seen = map_get(&o->seen, digest);
	}
	if (seen->person.claims.expires_at + JWT_LEEWAY_MS <=
	    clock_wall(o->conf.clock))
		return err_set(err, ERR_UNAUTHENTICATED,
			       "the token is refused: it has expired");
	*ret = &seen->person;
	return 0;
}

#define AT(member) offsetof(struct oidc_issuer, member)

const struct field oidc_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, AT(name),
	 "What it is called here: groups name its groups as NAME/GROUP.",
	 &format_name, .min = 1, .max = 63},
	{"issuer", FIELD_STRING, FIELD_REQUIRED, AT(issuer),
	 "Its address, exactly as its tokens have it; https, or http on this "
	 "machine.",
	 &format_text, .max = 512},
	{"audience", FIELD_STRING, 0, AT(audience),
	 "Whom its tokens must be meant for; clientId when it is not said.",
	 &format_text, .max = 512},
	{"clientId", FIELD_STRING, 0, AT(client_id),
	 "With it people can sign in by `muster login --issuer NAME`.",
	 &format_text, .max = 512},
	{"scopes", FIELD_STRING, 0, AT(scopes), "What signing in asks for.",
	 &format_text, .max = 512,
	 .fallback = "\"openid email profile offline_access\""},
	{"groupsClaim", FIELD_STRING, 0, AT(groups_claim),
	 "The claim that lists a person's groups.", &format_text, .max = 255,
	 .fallback = "\"groups\""},
	{"organizations", FIELD_LIST, 0, AT(organizations),
	 "The organizations, by name or id, whose users and groups it may "
	 "vouch for; all, and the platform's, when it is not said.",
	 &format_text, .item = FIELD_STRING, .size = sizeof(const char *),
	 .max = 1024},
	{"caFile", FIELD_STRING, 0, AT(ca_file),
	 "PEM file with who may have signed its certificate; the system's when "
	 "it is not said.",
	 .max = 4096},
	{0},
};

int oidc_validate(const struct oidc_issuer *issuers, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		const struct oidc_issuer *one = &issuers[i];

		if (!uri_is_trusty(one->issuer) || strchr(one->issuer, '?'))
			return err_set(err, ERR_INVALID,
				       "oidc: %s: the issuer must be an "
				       "https:// address, or http:// on this "
				       "machine",
				       one->name);
		if (!one->audience && !one->client_id)
			return err_set(err, ERR_INVALID,
				       "oidc: %s needs an audience or a "
				       "clientId",
				       one->name);
		for (size_t j = 0; j < i; j++)
			if (strcmp(issuers[j].name, one->name) == 0 ||
			    strcmp(issuers[j].issuer, one->issuer) == 0)
				return err_set(err, ERR_INVALID,
					       "oidc: %s is there twice",
					       one->name);
	}
	return 0;
}
