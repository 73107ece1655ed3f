#include "cli/oauth.h"

#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/clock.h"
#include "cli/request.h"
#include "cli/text.h"
#include "http/client.h"
#include "http/uri.h"

#define ANSWER_MOST ((size_t)1 << 20)
#define TOKEN_MOST  ((size_t)16 << 10)

enum {
	CALL_MS = 30 * 1000,
	RENEW_MS = 30 * 1000, /* so long before it expires */
	INTERVAL_S = 5,       /* between two questions, when it is not said */
	INTERVAL_MOST_S = 60,
	DEVICE_S = 600, /* for as long, likewise */
};

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static const char *form_of(struct cli *c, const char *const *pairs)
{
	struct buf b = BUF_INIT(256 << 10);
	const char *text;

	for (; pairs[0]; pairs += 2) {
		buf_addf(&b, "%s%s=", b.len ? "&" : "", pairs[0]);
		uri_add_escaped(&b, pairs[1]);
	}
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static int exchange(struct cli *c, struct client *client, const char *path,
		    const char *form, struct oauth_answer *ret,
		    struct failure *p)
{
	struct client_call call = {.method = form ? "POST" : "GET",
				   .target = path,
				   .body = form,
				   .len = form ? strlen(form) : 0,
				   .accept = "application/json"};
	struct client_result result = {0};
	struct err why = {0};

	if (form)
		call.content_type = "application/x-www-form-urlencoded";
	if (client_call(client, &call, &result, &p->err) < 0)
		return -1;
	ret->status = result.status;
	ret->body = json_parse(buf_str(&result.body), result.body.len,
			       &c->arena, &why);
	if (ret->body && node_type(ret->body) != NODE_OBJECT)
		ret->body = NULL;
	client_result_release(&result);
	return 0;
}

int oauth_call(struct cli *c, const char *url, const char *form,
	       struct oauth_answer *ret, struct failure *p)
{
	struct client_conf conf = {.timeout_ms = CALL_MS,
				   .body_most = ANSWER_MOST,
				   .agent = "muster/" MUSTER_VERSION};
	const char *host, *path;
	struct client *client;
	int rc;

	/* What signs in is sent there. */
	if (!url || !uri_is_trusty(url))
		return err_set(&p->err, ERR_INVALID,
			       "the issuer's address is not https://");
	host = strstr(url, "://") + 3;
	path = host + strcspn(host, "/?");
	conf.server = arena_memdup(&c->arena, url, (size_t)(path - url));
	if (client_new(&conf, &client, &p->err) < 0)
		return -1;
	rc = exchange(c, client, *path ? path : "/", form, ret, p);
	client_free(client);
	return rc;
}

int oauth_refused(struct cli *c, const struct oauth_answer *answer,
		  const char *what, struct failure *p)
{
	const char *why = NULL;

	if (answer->body)
		why = node_text(answer->body, "error_description");
	if (!why && answer->body)
		why = node_text(answer->body, "error");
	if (!why)
		why = arena_printf(&c->arena, "it answered with %d",
				   answer->status);
	return err_set(&p->err, ERR_UNAUTHENTICATED, "%s: %.200s", what,
		       text_safe(&c->arena, why));
}

static bool read_issuer(const struct node *n, struct oauth_issuer *ret)
{
	*ret = (struct oauth_issuer){
		.name = node_text(n, "name"),
		.issuer = node_text(n, "issuer"),
		.client_id = node_text(n, "clientId"),
		.audience = node_text(n, "audience"),
		.scopes = node_text(n, "scopes"),
	};
	return ret->name && ret->issuer && ret->client_id && ret->audience &&
	       ret->scopes;
}

int oauth_find(struct cli *c, const char *name, struct oauth_issuer *ret,
	       struct failure *p)
{
	struct buf known = BUF_INIT(200);
	struct node *reply = NULL, *all;

	if (request_get(c, "/v1/login", &reply, p) < 0)
		return -1;
	all = reply ? node_get(reply, "issuers") : NULL;
	for (size_t i = 0; all && i < node_count(all); i++) {
		if (!read_issuer(node_at(all, i), ret))
			continue;
		if (strcmp(ret->name, name) == 0) {
			buf_release(&known);
			return 0;
		}
		buf_addf(&known, "%s%s", known.len ? ", " : "",
			 text_safe(&c->arena, ret->name));
	}
	err_set(&p->err, ERR_NOT_FOUND,
		known.len ? "the server has no issuer '%.80s'; it has %s"
			  : "the server has no issuer '%.80s'; nobody can "
			    "sign in there%s",
		name, buf_str(&known));
	buf_release(&known);
	return -1;
}

int oauth_discover(struct cli *c, const char *issuer, struct oauth_places *ret,
		   struct failure *p)
{
	size_t len = strlen(issuer);
	struct oauth_answer answer = {0};
	const struct node *n;

	while (len && issuer[len - 1] == '/')
		len--;
	if (oauth_call(c,
		       arena_printf(&c->arena,
				    "%.*s/.well-known/openid-configuration",
				    (int)len, issuer),
		       NULL, &answer, p) < 0)
		return -1;
	n = answer.body;
	if (answer.status != 200 || !n || !same(node_text(n, "issuer"), issuer))
		return err_set(&p->err, ERR_UNAVAILABLE,
			       "%s does not answer as an OpenID issuer",
			       text_safe(&c->arena, issuer));
	*ret = (struct oauth_places){
		.token = node_text(n, "token_endpoint"),
		.device = node_text(n, "device_authorization_endpoint"),
		.authorization = node_text(n, "authorization_endpoint"),
		.revocation = node_text(n, "revocation_endpoint"),
	};
	return 0;
}

/* The claims of a token, which the server will verify; NULL: it has none. */
static struct node *claims_of(struct cli *c, const char *token)
{
	const char *dot = token ? strchr(token, '.') : NULL;
	size_t len = dot ? strcspn(dot + 1, ".") : 0;
	struct err why = {0};
	unsigned char *text;
	struct node *n;
	long got;

	if (!len || len > TOKEN_MOST || dot[len + 1] != '.')
		return NULL;
	text = arena_alloc(&c->arena, BASE64URL_BYTES(len) + 1);
	got = base64url_decode(dot + 1, len, text);
	if (got < 0)
		return NULL;
	n = json_parse((const char *)text, (size_t)got, &c->arena, &why);
	return n && node_type(n) == NODE_OBJECT ? n : NULL;
}

static bool is_meant_for(const struct node *claims, const char *audience)
{
	const struct node *aud = claims ? node_get(claims, "aud") : NULL;

	if (!aud)
		return false;
	if (node_type(aud) == NODE_STRING)
		return same(node_string(aud, NULL), audience);
	for (size_t i = 0; node_type(aud) == NODE_ARRAY && i < node_count(aud);
	     i++)
		if (node_type(node_at(aud, i)) == NODE_STRING &&
		    same(node_string(node_at(aud, i), NULL), audience))
			return true;
	return false;
}

int oauth_take(struct cli *c, const struct oauth_issuer *i,
	       const struct node *reply, const char *nonce, struct failure *p)
{
	const char *access = node_text(reply, "access_token");
	const char *id = node_text(reply, "id_token");
	const char *again = node_text(reply, "refresh_token");
	struct node *claims = claims_of(c, id), *exp;

	if (nonce && !same(claims ? node_text(claims, "nonce") : NULL, nonce))
		return err_set(&p->err, ERR_UNAUTHENTICATED,
			       "the issuer's answer is not to this question");
	/* Either will do when it is meant for the server. */
	if (is_meant_for(claims_of(c, access), i->audience)) {
		id = access;
		claims = claims_of(c, access);
	} else if (!is_meant_for(claims, i->audience)) {
		return err_set(&p->err, ERR_UNAUTHENTICATED,
			       "the issuer gave no token for '%.100s'; its "
			       "scopes or the audience may be wrong",
			       text_safe(&c->arena, i->audience));
	}
	exp = node_get(claims, "exp");
	c->target.token = id;
	c->target.issuer = i->issuer;
	c->target.client_id = i->client_id;
	c->target.audience = i->audience;
	/* One that may be used again is not sent again. */
	if (again)
		c->target.refresh_token = again;
	c->target.expires_at = exp && node_type(exp) == NODE_INT &&
					       node_int(exp) > 0 &&
					       node_int(exp) < 253402300799
				       ? node_int(exp) * 1000
				       : 0;
	return 0;
}

static int64_t seconds_of(const struct node *n, const char *name,
			  int64_t fallback, int64_t most)
{
	const struct node *v = node_get(n, name);

	if (!v || node_type(v) != NODE_INT || node_int(v) < 1)
		return fallback;
	return node_int(v) < most ? node_int(v) : most;
}

/* Ask until the person has agreed elsewhere. */
static int poll_token(struct cli *c, const struct oauth_issuer *i,
		      const struct oauth_places *at, const struct node *device,
		      struct failure *p)
{
	int64_t wait =
		seconds_of(device, "interval", INTERVAL_S, INTERVAL_MOST_S);
	uint64_t end =
		clock_mono(c->clock) +
		(uint64_t)seconds_of(device, "expires_in", DEVICE_S, 3600) *
			1000;
	const char *form = form_of(
		c, (const char *const[]){
			   "grant_type",
			   "urn:ietf:params:oauth:grant-type:device_code",
			   "device_code", node_text(device, "device_code"),
			   "client_id", i->client_id, NULL});

	while (clock_mono(c->clock) < end) {
		struct timespec t = {(time_t)wait, 0};
		struct oauth_answer answer = {0};
		const char *error;

		nanosleep(&t, NULL);
		if (oauth_call(c, at->token, form, &answer, p) < 0)
			return -1;
		if (answer.status == 200 && answer.body)
			return oauth_take(c, i, answer.body, NULL, p);
		error = answer.body ? node_text(answer.body, "error") : NULL;
		if (same(error, "slow_down"))
			wait += 5;
		else if (!same(error, "authorization_pending"))
			return oauth_refused(c, &answer, "the issuer refused",
					     p);
	}
	return err_set(&p->err, ERR_TIMEOUT,
		       "nobody agreed in time: sign in again");
}

int oauth_device(struct cli *c, const struct oauth_issuer *i,
		 const struct oauth_places *at, struct failure *p)
{
	const char *form =
		form_of(c, (const char *const[]){"client_id", i->client_id,
						 "scope", i->scopes, NULL});
	const char *code, *where, *whole;
	struct oauth_answer answer = {0};

	if (!at->device)
		return err_set(&p->err, ERR_UNSUPPORTED,
			       "%s does not sign in other devices: try "
			       "--browser",
			       text_safe(&c->arena, i->name));
	if (oauth_call(c, at->device, form, &answer, p) < 0)
		return -1;
	code = answer.body ? node_text(answer.body, "user_code") : NULL;
	where = answer.body ? node_text(answer.body, "verification_uri") : NULL;
	if (answer.status != 200 || !code || !where ||
	    !node_text(answer.body, "device_code"))
		return oauth_refused(c, &answer, "the issuer refused", p);
	whole = node_text(answer.body, "verification_uri_complete");
	fprintf(c->err, "Open %s and enter the code %s%s%s%s\n",
		text_safe(&c->arena, where), text_safe(&c->arena, code),
		whole ? ",\nor open " : "",
		whole ? text_safe(&c->arena, whole) : "", ".");
	fflush(c->err);
	return poll_token(c, i, at, answer.body, p);
}

static int refresh(struct cli *c, const struct context *old, struct failure *p)
{
	struct oauth_issuer i = {.issuer = old->issuer,
				 .client_id = old->client_id,
				 .audience = old->audience};
	const char *form = form_of(
		c, (const char *const[]){"grant_type", "refresh_token",
					 "refresh_token", old->refresh_token,
					 "client_id", old->client_id, NULL});
	struct oauth_answer answer = {0};
	struct oauth_places at = {0};

	if (oauth_discover(c, old->issuer, &at, p) < 0 ||
	    oauth_call(c, at.token, form, &answer, p) < 0)
		return -1;
	if (answer.status != 200 || !answer.body) {
		p->hint = "sign in again: muster login --issuer NAME";
		return oauth_refused(c, &answer, "your session has ended", p);
	}
	c->target.refresh_token = old->refresh_token;
	return oauth_take(c, &i, answer.body, NULL, p);
}

static bool is_fresh(const struct cli *c, const struct context *k)
{
	return !k->expires_at ||
	       k->expires_at - RENEW_MS > clock_wall(c->clock);
}

/* Under the lock: a refresh token may be good for one use only, and another
 * command may just have used it. */
static int renew(struct cli *c, struct failure *p)
{
	struct context *kept;
	struct settings s;

	if (settings_load(&c->arena, &s, &p->err) < 0)
		return -1;
	kept = c->target.name ? settings_find(&s, c->target.name) : NULL;
	if (!kept || !kept->refresh_token || !kept->token)
		return 0;
	if (is_fresh(c, kept)) {
		c->target.token = kept->token;
		return 0;
	}
	if (refresh(c, kept, p) < 0)
		return -1;
	kept->token = c->target.token;
	kept->refresh_token = c->target.refresh_token;
	kept->expires_at = c->target.expires_at;
	return settings_save(&s, &c->arena, &p->err);
}

int oauth_renew(struct cli *c, struct failure *p)
{
	int lock, rc;

	if (!c->target.refresh_token || !c->target.issuer ||
	    !c->target.client_id || !c->target.audience ||
	    is_fresh(c, &c->target))
		return 0;
	lock = settings_lock(&c->arena);
	rc = renew(c, p);
	settings_unlock(lock);
	return rc;
}

void oauth_revoke(struct cli *c, const struct context *context)
{
	struct oauth_answer answer = {0};
	struct oauth_places at = {0};
	struct failure why = {0};
	const char *form;

	if (!context->issuer || !context->refresh_token || !context->client_id)
		return;
	form = form_of(c, (const char *const[]){"token", context->refresh_token,
						"token_type_hint",
						"refresh_token", "client_id",
						context->client_id, NULL});
	if (oauth_discover(c, context->issuer, &at, &why) < 0 ||
	    (at.revocation &&
	     oauth_call(c, at.revocation, form, &answer, &why) < 0))
		cli_say(c, "The issuer was not told: %s", why.err.msg);
}
