/* login - what people who want to sign in must know. */
#include <string.h>

#include "api/routes.h"
#include "identity/oidc.h"

static void add_member(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, "\"%s\":", name);
	json_add_string(b, value, strlen(value));
}

static void add_issuer(struct buf *b, const struct oidc_issuer *i)
{
	buf_addc(b, '{');
	add_member(b, "name", i->name);
	buf_addc(b, ',');
	add_member(b, "issuer", i->issuer);
	buf_addc(b, ',');
	add_member(b, "clientId", i->client_id);
	buf_addc(b, ',');
	add_member(b, "audience", i->audience ? i->audience : i->client_id);
	buf_addc(b, ',');
	add_member(b, "scopes", i->scopes);
	buf_addc(b, '}');
}

/* Nothing here is secret: a client's id is sent through browsers. */
void handle_login(struct call *c)
{
	struct buf b = BUF_INIT((size_t)1 << 20);
	const struct oidc_issuer *issuer;
	const char *between = "";

	buf_adds(&b, "{\"issuers\":[");
	for (size_t i = 0; (issuer = oidc_at(c->api->conf.oidc, i)); i++) {
		if (!issuer->client_id)
			continue;
		buf_adds(&b, between);
		add_issuer(&b, issuer);
		between = ",";
	}
	buf_adds(&b, "]}");
	call_reply(c, 200, b.data, b.len, 0);
	buf_release(&b);
}
