/* problem - errors as RFC 9457 bodies; which status each code has. */
#include <string.h>

#include "api/audit.h"
#include "api/call.h"

static const int statuses[ERR_CODE_COUNT] = {
	[ERR_NONE] = 200,
	[ERR_INVALID] = 422,
	[ERR_UNAUTHENTICATED] = 401,
	[ERR_FORBIDDEN] = 403,
	[ERR_NOT_FOUND] = 404,
	[ERR_CONFLICT] = 409,
	[ERR_STALE] = 412,
	[ERR_GONE] = 410,
	[ERR_IMMUTABLE] = 422,
	[ERR_CONFIRMATION] = 409,
	[ERR_QUOTA] = 403,
	[ERR_CAPACITY] = 503,
	[ERR_RATE] = 429,
	[ERR_UNAVAILABLE] = 503,
	[ERR_TIMEOUT] = 504,
	[ERR_UNSUPPORTED] = 501,
	[ERR_METHOD] = 405,
	[ERR_TOO_LARGE] = 413,
	[ERR_MEDIA] = 415,
	[ERR_ACCEPT] = 406,
	[ERR_PROVIDER] = 502,
	[ERR_INTERNAL] = 500,
};

int problem_status(enum err_code code)
{
	return statuses[code];
}

static void add_member(struct buf *out, const char *name, const char *value)
{
	buf_addf(out, ",\"%s\":", name);
	json_add_string(out, value, strlen(value));
}

static void add_violation(struct buf *out, const char *pointer,
			  const char *message)
{
	buf_adds(out, "{\"pointer\":");
	json_add_string(out, pointer, strlen(pointer));
	add_member(out, "message", message);
	buf_addc(out, '}');
}

/* All that were found in the fields; or the one that was found later, when
 * they met what is there. */
static void add_violations(struct buf *out, const struct err *err)
{
	const struct violations *v = err->violations;
	size_t n = v && v->n < VIOLATIONS_MOST ? v->n : VIOLATIONS_MOST;

	buf_adds(out, ",\"violations\":[");
	for (size_t i = 0; v && i < n; i++) {
		if (i)
			buf_addc(out, ',');
		add_violation(out, v->list[i].pointer, v->list[i].message);
	}
	if (!v)
		add_violation(out, err->field, err->msg);
	buf_addc(out, ']');
}

void problem_write(const struct err *err, int status, const char *request,
		   struct buf *out)
{
	const char *code = err_name(err->code), *title = err_title(err->code);

	buf_addf(out, "{\"type\":\"urn:muster:problem:%s\"", code);
	add_member(out, "title", title);
	buf_addf(out, ",\"status\":%d", status);
	add_member(out, "detail", err->msg);
	add_member(out, "code", code);
	if (err->field[0])
		add_member(out, "field", err->field);
	add_member(out, "scope", err_scope_name(err->scope));
	add_member(out, "retry", err_retry_name(err->retry));
	if (err->retry_after_ms)
		buf_addf(out, ",\"retryAfterMs\":%u", err->retry_after_ms);
	if (request)
		add_member(out, "requestId", request);
	if (err->violations || (err->code == ERR_INVALID && err->field[0]))
		add_violations(out, err);
	if (err->plan)
		buf_addf(out, ",\"plan\":%s", err->plan);
	buf_addc(out, '}');
}

/* Malformed is 400; well formed but not acceptable is 422. */
static int status_of(const struct err *err)
{
	if (err->code == ERR_INVALID && !err->violations && !err->field[0])
		return 400;
	return statuses[err->code];
}

void call_fail(struct call *c, const struct err *err)
{
	struct buf body = BUF_INIT((size_t)64 << 10);
	struct reply r = {.status = status_of(err),
			  .type = "application/problem+json"};

	call_audit_refusal(c, err->code);
	problem_write(err, r.status, c->x->id, &body);
	if (err->code == ERR_UNAUTHENTICATED)
		reply_header(&r, "WWW-Authenticate", "Bearer realm=\"muster\"");
	if (err->retry_after_ms)
		reply_header(&r, "Retry-After",
			     arena_printf(c->x->arena, "%u",
					  (err->retry_after_ms + 999) / 1000));
	r.body = body.data;
	r.len = body.len;
	call_reply_with(c, &r);
	buf_release(&body);
}

/* What the HTTP layer means by it, which knows nothing of capacity. */
static enum err_code code_of(int status)
{
	if (status == 400)
		return ERR_INVALID;
	if (status == 408)
		return ERR_TIMEOUT;
	if (status == 503)
		return ERR_UNAVAILABLE;
	for (int i = 1; i < ERR_CODE_COUNT; i++)
		if (statuses[i] == status)
			return (enum err_code)i;
	return status < 500 ? ERR_INVALID : ERR_INTERNAL;
}

void api_refuse(void *ctx, int status, const char *why, struct buf *body,
		const char **ret_type)
{
	struct err err = {0};

	(void)ctx;
	err_set(&err, code_of(status), "%s", why);
	problem_write(&err, status, NULL, body);
	*ret_type = "application/problem+json";
}
