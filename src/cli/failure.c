#include "cli/failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/plan.h"
#include "cli/settings.h"
#include "cli/text.h"

int failure_usage(struct failure *p, const char *fmt, ...)
{
	char msg[sizeof(p->err.msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	p->usage = true;
	return err_set(&p->err, ERR_INVALID, "%s", msg);
}

/* For a code that we do not know, or a reply that is no problem body. */
static enum err_code code_of_status(int status)
{
	static const struct {
		int status;
		enum err_code code;
	} rows[] = {
		{400, ERR_INVALID},     {401, ERR_UNAUTHENTICATED},
		{403, ERR_FORBIDDEN},   {404, ERR_NOT_FOUND},
		{405, ERR_METHOD},      {408, ERR_TIMEOUT},
		{409, ERR_CONFLICT},    {410, ERR_GONE},
		{412, ERR_STALE},       {413, ERR_TOO_LARGE},
		{415, ERR_MEDIA},       {422, ERR_INVALID},
		{429, ERR_RATE},        {501, ERR_UNSUPPORTED},
		{502, ERR_UNAVAILABLE}, {503, ERR_UNAVAILABLE},
		{504, ERR_TIMEOUT},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].status == status)
			return rows[i].code;
	return status < 500 ? ERR_INVALID : ERR_INTERNAL;
}

static enum err_code code_of(const char *word, int status)
{
	for (int i = ERR_NONE + 1; word && i < ERR_CODE_COUNT; i++)
		if (strcmp(err_name((enum err_code)i), word) == 0)
			return (enum err_code)i;
	return code_of_status(status);
}

static const struct node *of_type(const struct node *body, const char *name,
				  enum node_type type)
{
	const struct node *n = node_get(body, name);

	return n && node_type(n) == type ? n : NULL;
}

int failure_read(struct failure *p, int status, const char *request_id,
		 const struct node *body, struct arena *a)
{
	const struct node *after;
	const char *detail;

	*p = (struct failure){.status = status};
	if (body && node_type(body) != NODE_OBJECT)
		body = NULL;
	if (request_id && *request_id)
		p->request_id = arena_strdup(a, request_id);
	if (!body)
		return err_set(&p->err, code_of_status(status),
			       "the server answered with status %d and no more",
			       status);
	detail = node_text(body, "detail");
	if (!detail)
		detail = node_text(body, "message");
	if (!detail)
		detail = node_text(body, "title");
	if (!detail)
		detail = "the server gave no reason";
	err_set(&p->err, code_of(node_text(body, "code"), status), "%s",
		detail);
	p->detail = detail;
	if (!p->request_id)
		p->request_id = node_text(body, "requestId");
	after = of_type(body, "retryAfterMs", NODE_INT);
	if (after && node_int(after) > 0 && node_int(after) < UINT32_MAX)
		p->err.retry_after_ms = (uint32_t)node_int(after);
	p->violations = of_type(body, "violations", NODE_ARRAY);
	p->plan = of_type(body, "plan", NODE_OBJECT);
	return -1;
}

int failure_exit(const struct failure *p)
{
	if (p->usage)
		return EXIT_USAGE;
	switch (p->err.code) {
	case ERR_NOT_FOUND:
		return EXIT_NOT_FOUND;
	case ERR_UNAUTHENTICATED:
	case ERR_FORBIDDEN:
		return EXIT_DENIED;
	case ERR_CONFLICT:
	case ERR_STALE:
	case ERR_CONFIRMATION:
		return EXIT_CONFLICT;
	case ERR_TIMEOUT:
		return EXIT_UNREACHABLE;
	case ERR_UNAVAILABLE:
		return p->status ? EXIT_UNAVAILABLE : EXIT_UNREACHABLE;
	case ERR_RATE:
		return EXIT_UNAVAILABLE;
	case ERR_NONE:
	case ERR_INVALID:
	case ERR_GONE:
	case ERR_IMMUTABLE:
	case ERR_QUOTA:
	case ERR_CAPACITY:
	case ERR_UNSUPPORTED:
	case ERR_METHOD:
	case ERR_TOO_LARGE:
	case ERR_MEDIA:
	case ERR_ACCEPT:
	case ERR_PROVIDER:
	case ERR_INTERNAL:
	case ERR_CODE_COUNT:
		break;
	}
	return EXIT_REFUSED;
}

static void add_safe(struct buf *out, const char *s)
{
	text_add_safe(out, s, strlen(s));
}

static void hint_later(const struct failure *p, struct buf *out)
{
	if (!p->err.retry_after_ms) {
		buf_adds(out, "try again in a moment");
		return;
	}
	buf_addf(out, "try again in %u s",
		 (p->err.retry_after_ms + 999) / 1000);
}

static void hint_sign_in(const struct failure_view *v, struct buf *out)
{
	if (v->has_token)
		buf_adds(out, "the token is not, or no longer, good; sign in "
			      "again: ");
	else
		buf_adds(out, "sign in first: ");
	buf_adds(out, "muster login --token-file ");
	buf_adds(out,
		 settings_is_local(v->server) ? "./var/admin.token" : "FILE");
	if (settings_is_local(v->server))
		buf_adds(out, "\n        (a server writes its first token to "
			      "admin.token in its data directory)");
}

static void hint_unreachable(const struct failure_view *v, struct buf *out)
{
	if (settings_is_local(v->server))
		buf_adds(out, "is it running?  Start one with 'muster serve', "
			      "or name another with --server");
	else
		buf_adds(out, "check the address (--server, MUSTER_SERVER or "
			      "'muster context list')");
}

static void add_hint(const struct failure *p, const struct failure_view *v,
		     struct buf *out)
{
	if (p->hint) {
		add_safe(out, p->hint);
		return;
	}
	if (p->err.code == ERR_CONFIRMATION && v->again) {
		buf_addf(out, "to do it: %s", v->again);
		return;
	}
	if (!p->status) {
		if (v->server && p->err.code == ERR_UNAVAILABLE)
			hint_unreachable(v, out);
		return;
	}
	if (p->err.code == ERR_UNAUTHENTICATED)
		hint_sign_in(v, out);
	else if (p->err.code == ERR_FORBIDDEN)
		buf_adds(out, "ask whoever runs the server for the permission");
	else if (p->err.code == ERR_STALE)
		buf_adds(out, "it has changed meanwhile: get it again, and "
			      "decide again");
	else if (p->err.code == ERR_RATE || p->err.code == ERR_UNAVAILABLE)
		hint_later(p, out);
	else if (p->err.code == ERR_INTERNAL)
		buf_adds(out, "this is the server's fault; its log has more "
			      "under the request id");
}

static void add_violation(const struct node *n, const struct failure_view *v,
			  struct buf *out)
{
	const char *pointer = node_text(n, "pointer");
	const char *message = node_text(n, "message");
	const char *flag = NULL;
	struct buf label = BUF_INIT(1024);

	if (v->flags && pointer)
		flag = flags_of_pointer(v->flags, pointer);
	if (flag)
		buf_addf(&label, "--%s", flag);
	else
		add_safe(&label, pointer && *pointer ? pointer : "document");
	buf_adds(out, "  ");
	table_add_toned(out, &v->style, TONE_HEAD, buf_str(&label));
	buf_adds(out, ": ");
	add_safe(out, message ? message : "is not valid");
	buf_addc(out, '\n');
	buf_release(&label);
}

static void add_note(const char *label, const char *text,
		     const struct failure_view *v, struct buf *out)
{
	buf_adds(out, "  ");
	table_add_toned(out, &v->style, TONE_FAINT, label);
	buf_addf(out, " %s\n", text);
}

static void add_notes(const struct failure *p, const struct failure_view *v,
		      struct buf *out)
{
	struct buf text = BUF_INIT(65536), safe = BUF_INIT(65536);

	if (p->plan) {
		add_safe(&text, node_text(p->plan, "action")
					? node_text(p->plan, "action")
					: "change");
		add_note("plan:", buf_str(&text), v, out);
		plan_write(p->plan, &v->style, 4, out);
		buf_clear(&text);
	}
	add_hint(p, v, &text);
	if (text.len)
		add_note("hint:", buf_str(&text), v, out);
	if (p->request_id) {
		add_safe(&safe, p->request_id);
		add_note("request:", buf_str(&safe), v, out);
	}
	buf_release(&text);
	buf_release(&safe);
}

/* The server's sentence, unless it says what the first violation says. */
static const char *headline(const struct failure *p)
{
	const char *detail = p->detail ? p->detail : p->err.msg;
	const struct node *first =
		p->violations ? node_at(p->violations, 0) : NULL;
	const char *message = first ? node_text(first, "message") : NULL;

	if (message && *message && strstr(detail, message))
		return "the request is not valid";
	return detail;
}

void failure_write(const struct failure *p, const struct failure_view *v,
		   struct buf *out)
{
	table_add_toned(out, &v->style, TONE_BAD, "muster:");
	buf_addc(out, ' ');
	if (v->what) {
		buf_adds(out, "cannot ");
		add_safe(out, v->what);
		buf_adds(out, ": ");
	}
	add_safe(out, headline(p));
	buf_addc(out, '\n');
	for (size_t i = 0; p->violations && i < node_count(p->violations); i++)
		add_violation(node_at(p->violations, i), v, out);
	add_notes(p, v, out);
}
