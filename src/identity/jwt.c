#include "identity/jwt.h"

#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/format.h"

#define SUBJECT_MOST ((size_t)255)
#define GROUP_MOST   ((size_t)255)
#define AUDS_MOST    ((size_t)64)

/* The end of the year 9999, in seconds. */
#define TIME_MOST 253402300799

static int refuse(struct err *err, const char *why)
{
	return err_set(err, ERR_UNAUTHENTICATED, "the token is refused: %s",
		       why);
}

/* One of the three parts. */
struct part {
	const char *at;
	size_t len;
};

static bool cut(const char *token, size_t len, struct part parts[3])
{
	const char *dot = memchr(token, '.', len), *second;
	size_t rest;

	if (!dot)
		return false;
	rest = len - (size_t)(dot + 1 - token);
	second = memchr(dot + 1, '.', rest);
	if (!second)
		return false;
	parts[0] = (struct part){token, (size_t)(dot - token)};
	parts[1] = (struct part){dot + 1, (size_t)(second - dot - 1)};
	parts[2] = (struct part){second + 1, rest - parts[1].len - 1};
	return parts[0].len && parts[1].len && parts[2].len &&
	       !memchr(parts[2].at, '.', parts[2].len);
}

static unsigned char *decode(const struct part *p, struct arena *a,
			     size_t *ret_len)
{
	unsigned char *out = arena_alloc(a, BASE64URL_BYTES(p->len) + 1);
	long n = base64url_decode(p->at, p->len, out);

	if (n < 0)
		return NULL;
	*ret_len = (size_t)n;
	return out;
}

static struct node *decode_object(const struct part *p, struct arena *a)
{
	struct err ignored = {0};
	size_t len = 0;
	unsigned char *text = decode(p, a, &len);
	struct node *n;

	if (!text)
		return NULL;
	n = json_parse((const char *)text, len, a, &ignored);
	return n && node_type(n) == NODE_OBJECT ? n : NULL;
}

/* A member that is a string; NULL otherwise. */
static const char *text_of(const struct node *object, const char *name)
{
	const struct node *n = node_get(object, name);

	return n && node_type(n) == NODE_STRING ? node_string(n, NULL) : NULL;
}

/* Other types are tokens made for another use, with the same keys. */
static bool type_fits(const struct node *head)
{
	const struct node *n = node_get(head, "typ");
	const char *type = text_of(head, "typ");

	if (!n)
		return true;
	return type && (strcasecmp(type, "JWT") == 0 ||
			strcasecmp(type, "at+jwt") == 0 ||
			strcasecmp(type, "application/at+jwt") == 0);
}

static int read_head(const struct node *head, struct jwt *t, struct err *err)
{
	t->algorithm = text_of(head, "alg");
	t->kid = text_of(head, "kid");
	if (!t->algorithm)
		return refuse(err, "its header names no algorithm");
	if (node_get(head, "kid") && !t->kid)
		return refuse(err, "its header's kid is not a string");
	/* Whatever it lists would have to be understood; nothing is. */
	if (node_get(head, "crit"))
		return refuse(err, "its header has critical extensions");
	if (!type_fits(head))
		return refuse(err, "its type is that of another kind of token");
	return 0;
}

int jwt_parse(const char *token, size_t len, struct arena *a, struct jwt *ret,
	      struct err *err)
{
	struct part parts[3];
	const struct node *head;
	struct jwt t = {0};

	if (len > JWT_MOST)
		return refuse(err, "it is larger than 16 KiB");
	if (!cut(token, len, parts))
		return refuse(err, "it does not have three parts");
	head = decode_object(&parts[0], a);
	if (!head)
		return refuse(err, "its header cannot be read");
	if (read_head(head, &t, err) < 0)
		return -1;
	t.claims = decode_object(&parts[1], a);
	if (!t.claims)
		return refuse(err, "its claims cannot be read");
	t.signature = decode(&parts[2], a, &t.signature_len);
	if (!t.signature)
		return refuse(err, "its signature cannot be read");
	t.issuer = text_of(t.claims, "iss");
	t.text = token;
	t.len = parts[0].len + 1 + parts[1].len;
	*ret = t;
	return 0;
}

/* A NumericDate as milliseconds; false when it is none. */
static bool time_of(const struct node *n, int64_t *ret)
{
	if (node_type(n) == NODE_INT && node_int(n) >= 0 &&
	    node_int(n) <= TIME_MOST) {
		*ret = node_int(n) * 1000;
		return true;
	}
	if (node_type(n) == NODE_REAL && node_real(n) >= 0 &&
	    node_real(n) <= (double)TIME_MOST) {
		*ret = (int64_t)(node_real(n) * 1000);
		return true;
	}
	return false;
}

static int check_times(const struct node *claims, int64_t now, int64_t *ret_exp,
		       struct err *err)
{
	const struct node *exp = node_get(claims, "exp");
	const struct node *nbf = node_get(claims, "nbf");
	const struct node *iat = node_get(claims, "iat");
	int64_t at;

	if (!exp)
		return refuse(err, "it never expires");
	if (!time_of(exp, ret_exp))
		return refuse(err, "its exp is not a time");
	if (*ret_exp + JWT_LEEWAY_MS <= now)
		return refuse(err, "it has expired");
	if (nbf && !time_of(nbf, &at))
		return refuse(err, "its nbf is not a time");
	if (nbf && at - JWT_LEEWAY_MS > now)
		return refuse(err, "it is not valid yet");
	if (iat && !time_of(iat, &at))
		return refuse(err, "its iat is not a time");
	if (iat && at - JWT_LEEWAY_MS > now)
		return refuse(err, "it was issued in the future");
	return 0;
}

static bool is_text(const struct node *n, const char *text)
{
	return node_type(n) == NODE_STRING &&
	       strcmp(node_string(n, NULL), text) == 0;
}

static bool names_audience(const struct node *aud, const char *audience)
{
	if (!aud)
		return false;
	if (node_type(aud) != NODE_ARRAY)
		return is_text(aud, audience);
	for (size_t i = 0; i < node_count(aud) && i < AUDS_MOST; i++)
		if (is_text(node_at(aud, i), audience))
			return true;
	return false;
}

static int add_group(const struct node *n, struct jwt_claims *c,
		     struct err *err)
{
	const char *name;
	size_t len;

	if (node_type(n) != NODE_STRING)
		return refuse(err, "its groups are not strings");
	name = node_string(n, &len);
	/* A name that no group here can have changes nothing. */
	if (len && len <= GROUP_MOST)
		c->groups[c->n_groups++] = name;
	return 0;
}

static int read_groups(const struct node *claims, const char *claim,
		       struct arena *a, struct jwt_claims *c, struct err *err)
{
	const struct node *n = claim ? node_get(claims, claim) : NULL;
	size_t count;

	if (!n || node_type(n) == NODE_NULL)
		return 0;
	count = node_type(n) == NODE_ARRAY ? node_count(n) : 1;
	if (count > JWT_GROUPS_MOST)
		return refuse(err, "it names more than 512 groups");
	c->groups = arena_alloc(a, (count + 1) * sizeof(*c->groups));
	if (node_type(n) != NODE_ARRAY)
		return add_group(n, c, err);
	for (size_t i = 0; i < count; i++)
		if (add_group(node_at(n, i), c, err) < 0)
			return -1;
	return 0;
}

static void read_email(const struct node *claims, struct jwt_claims *c)
{
	const struct node *verified = node_get(claims, "email_verified");
	const char *email = text_of(claims, "email");

	if (!email || !format_email.check(email, strlen(email)))
		return;
	c->email = email;
	c->email_verified = verified && node_type(verified) == NODE_BOOL &&
			    node_bool(verified);
}

int jwt_claims(const struct jwt *t, const struct jwt_rules *rules,
	       int64_t now_ms, struct arena *a, struct jwt_claims *ret,
	       struct err *err)
{
	struct jwt_claims c = {.issuer = t->issuer};

	if (!t->issuer || strcmp(t->issuer, rules->issuer) != 0)
		return refuse(err, "it is of another issuer");
	if (!names_audience(node_get(t->claims, "aud"), rules->audience))
		return refuse(err, "it is meant for another audience");
	if (check_times(t->claims, now_ms, &c.expires_at, err) < 0)
		return -1;
	c.subject = text_of(t->claims, "sub");
	if (!c.subject || !*c.subject || strlen(c.subject) > SUBJECT_MOST ||
	    !format_text.check(c.subject, strlen(c.subject)))
		return refuse(err, "it names no subject");
	read_email(t->claims, &c);
	if (read_groups(t->claims, rules->groups_claim, a, &c, err) < 0)
		return -1;
	*ret = c;
	return 0;
}
