/*
 * audit - what is written into the audit trail, and reading it.
 *
 * An accepted change's entry is durable with the change.  A refused one's is
 * kept when the caller is known, but nobody can fill the disk with refusals:
 * over so many a second of one caller's, only their number is kept.
 */
#include "api/audit.h"

#include <string.h>

#include "api/admit.h"
#include "api/permit.h"
#include "api/routes.h"
#include "base/uuid.h"
#include "model/organization.h"
#include "model/project.h"
#include "store/audit.h"
#include "store/tx.h"

#define ENTRY_MOST  ((size_t)16 << 10)
#define ENTRY_USUAL ((size_t)511)

#define LIMIT_MOST     1000
#define LIMIT_FALLBACK 100

struct doing {
	const char *action;
	const char *id; /* or NULL */
	struct owner owner;
	uint64_t before;    /* the revision it had; 0: none */
	const char *result; /* "ok", or the error's code */
};

/* MEMBER is the name with what stands around it: every change comes through
 * here, and formatting takes long. */
static void add(struct buf *b, const char *member, const char *value)
{
	if (!value)
		return;
	buf_adds(b, member);
	json_add_string(b, value, strlen(value));
}

static void add_principal(struct buf *b, const char *id, const char *name,
			  size_t name_len)
{
	buf_adds(b, "{\"id\":");
	json_add_string(b, id, strlen(id));
	buf_adds(b, ",\"name\":");
	json_add_string(b, name, name_len);
	buf_addc(b, '}');
}

/* The name of who acts for another ends in " as OTHER". */
static void add_who(struct buf *b, const struct principal *p)
{
	size_t len = strlen(p->name);

	if (p->as)
		len -= strlen(" as ") + strlen(p->as->name);
	buf_adds(b, "{\"who\":");
	add_principal(b, p->id, p->name, len);
	if (!p->as)
		return;
	buf_adds(b, ",\"as\":");
	add_principal(b, p->as->id, p->as->name, strlen(p->as->name));
}

static void write_entry(const struct call *c, const struct doing *d,
			struct buf *b)
{
	add_who(b, c->who);
	add(b, ",\"from\":", c->x->peer);
	add(b, ",\"tokenId\":", c->who->token_id);
	add(b, ",\"requestId\":", c->x->id);
	add(b, ",\"action\":", d->action);
	add(b, ",\"kind\":", c->noun ? c->noun->kind->name : NULL);
	add(b, ",\"objectId\":", d->id);
	add(b, ",\"organizationId\":", d->owner.organization);
	add(b, ",\"projectId\":", d->owner.project);
	if (d->before) {
		buf_adds(b, ",\"before\":");
		buf_addi(b, (int64_t)d->before);
	}
	add(b, ",\"result\":", d->result);
	buf_addc(b, '}');
}

void call_audit(struct call *c, struct tx *tx, const char *action,
		const char *id)
{
	const struct kind *k = c->noun->kind;
	struct doing d = {.action = action, .id = id, .result = "ok"};
	struct buf b = BUF_INIT(ENTRY_MOST);
	const void *object = tx_get(tx, k, id);
	struct record was;

	if (tx_before(tx, k, id, &was)) {
		d.before = was.revision;
		if (!object)
			object = was.object;
	}
	if (object)
		d.owner = kind_owner(k, object);
	buf_reserve(&b, ENTRY_USUAL);
	write_entry(c, &d, &b);
	tx_audit(tx, d.owner.organization, buf_str(&b));
	buf_release(&b);
}

/* "create", or the verb that the path ends in. */
static const char *action_of(const struct call *c)
{
	const char *verb = strstr(c->route->path, "{id}/");

	if (verb)
		return verb + strlen("{id}/");
	if (strcmp(c->x->method, "DELETE") == 0)
		return "delete";
	return strcmp(c->x->method, "POST") == 0 ? "create" : "update";
}

/* The organization that what was asked for names, when the caller sees it. */
static struct owner claimed(const struct call *c)
{
	int noun = permission_noun(organization_kind.plural);
	const struct kind *k = c->noun->kind;
	struct owner o =
		c->owner.organization ? c->owner : kind_owner(k, c->object);

	/* What came to nothing has no id of its own. */
	if (k == &organization_kind)
		return (struct owner){0};
	if (k == &project_kind)
		o.project = NULL;
	if (!o.organization || !uuid_valid(o.organization, UUID_LEN) ||
	    !access_may(c->who, noun, VERB_READ,
			(struct owner){o.organization, NULL}))
		return (struct owner){0};
	if (o.project && !uuid_valid(o.project, UUID_LEN))
		o.project = NULL;
	return o;
}

/* Whose it would have been.  What the caller cannot see is not told apart from
 * what is not there: then the entry is of the caller's own organization. */
static void find_owner(const struct call *c, struct doing *d)
{
	const struct kind *k = c->noun->kind;
	struct record r;

	if (c->id && store_get(c->api->conf.store, 0, k, c->id, &r) &&
	    permit_sees(c, k, r.object)) {
		d->owner = kind_owner(k, r.object);
		d->before = r.revision;
	} else if (!c->id && c->object) {
		d->owner = claimed(c);
	}
}

static bool only_reads(const struct call *c)
{
	return (strcmp(c->x->method, "GET") == 0 ||
		strcmp(c->x->method, "HEAD") == 0) &&
	       !(c->route->flags & ROUTE_SECRET);
}

void call_audit_refusal(struct call *c, enum err_code code)
{
	struct api *api = c->api;
	struct doing d = {.id = c->id, .result = err_name(code)};
	struct buf b = BUF_INIT(ENTRY_MOST);
	uint32_t wait;

	if (!c->who || c->plan || only_reads(c))
		return;
	if (!rate_take(&api->refusals, c->who->id, clock_mono(api->conf.clock),
		       &wait)) {
		store_omit_note(api->conf.store);
		return;
	}
	d.action = action_of(c);
	if (c->noun)
		find_owner(c, &d);
	if (!d.owner.organization)
		d.owner.organization = access_only_organization(c->who);
	write_entry(c, &d, &b);
	store_note(api->conf.store, d.owner.organization, buf_str(&b), b.len);
	buf_release(&b);
}

static int read_time(const struct call *c, const char *word, int64_t *ret,
		     struct err *err)
{
	const char *text = call_arg(c, word);

	if (text && clock_parse(text, strlen(text), ret) < 0)
		return err_set(err, ERR_INVALID,
			       "the query word %s must be a time like "
			       "2026-01-31T12:00:00Z",
			       word);
	return 0;
}

/* A copy, for who is calling may be found out again. */
static const char *own_organization(const struct call *c)
{
	const char *only = access_only_organization(c->who);

	return only ? arena_strdup(c->x->arena, only) : NULL;
}

/* Who may read it all may; else one organization's, where they may. */
static int check_scope(const struct call *c, struct audit_filter *f,
		       struct err *err)
{
	int noun = permission_noun("audit");

	if (access_may(c->who, noun, VERB_READ, (struct owner){0}))
		return 0;
	if (!access_may_anywhere(c->who, noun, VERB_READ))
		return err_set(err, ERR_FORBIDDEN,
			       "this needs the permission audit:read, which "
			       "you do not have");
	if (!f->organization)
		f->organization = own_organization(c);
	if (!f->organization)
		return err_set(err, ERR_INVALID,
			       "say which organization's: organizationId");
	if (access_may(c->who, noun, VERB_READ,
		       (struct owner){f->organization, NULL}))
		return 0;
	return err_set(err, ERR_FORBIDDEN,
		       "this needs the permission audit:read, which you do "
		       "not have there");
}

static int read_filter(const struct call *c, struct audit_filter *f,
		       struct err *err)
{
	uint64_t limit = LIMIT_FALLBACK;

	*f = (struct audit_filter){
		.who = call_arg(c, "who"),
		.kind = call_arg(c, "kind"),
		.object = call_arg(c, "objectId"),
		.organization = call_arg(c, "organizationId"),
		.project = call_arg(c, "projectId"),
		.action = call_arg(c, "action"),
		.result = call_arg(c, "result"),
	};
	if (call_number(c, "limit", 1, LIMIT_MOST, &limit, err) < 0 ||
	    call_number(c, "after", 1, INT64_MAX, &f->before, err) < 0 ||
	    read_time(c, "since", &f->since, err) < 0 ||
	    read_time(c, "until", &f->until, err) < 0)
		return -1;
	f->limit = (size_t)limit;
	return check_scope(c, f, err);
}

static void page_done(struct audit_query *q)
{
	struct call *c = q->ctx;
	struct buf out = BUF_INIT((size_t)128 << 20);

	if (q->err.code) {
		call_fail(c, &q->err);
	} else {
		buf_adds(&out, "{\"items\":[");
		buf_add(&out, buf_str(&q->text), q->text.len);
		buf_addc(&out, ']');
		if (q->next)
			buf_addf(&out, ",\"next\":\"%llu\"",
				 (unsigned long long)q->next);
		buf_addc(&out, '}');
		call_reply(c, 200, out.data, out.len, 0);
		buf_release(&out);
	}
	audit_query_free(q);
}

/* The whole trail as lines: a page is asked for when the one before it has
 * gone out. */
struct export
{
	struct call *call;
	struct audit_filter filter;
	struct audit_query *asked; /* or NULL */
	struct audit_query *page;  /* being sent, or NULL */
	size_t sent;               /* of it */
	bool ended;
};

static void export_page(struct audit_query *q)
{
	struct export *e = q->ctx;

	e->asked = NULL;
	e->page = q;
	e->sent = 0;
	e->filter.before = q->next;
	e->ended = !q->next || q->err.code;
	exchange_wake(e->call->x);
}

static void ask_page(struct export *e)
{
	e->asked = audit_query_new(&e->filter, true);
	e->asked->done = export_page;
	e->asked->ctx = e;
	store_audit(e->call->api->conf.store, e->asked);
}

static void drop_page(struct export *e)
{
	if (e->page)
		audit_query_free(e->page);
	e->page = NULL;
}

/* Whole lines, as many as one piece holds. */
static void send_lines(struct export *e, struct buf *out)
{
	const struct buf *text = &e->page->text;

	while (e->sent < text->len && out->len < STREAM_ENOUGH) {
		const char *line = text->data + e->sent;
		const char *end = memchr(line, '\n', text->len - e->sent);
		size_t len = (size_t)(end + 1 - line);

		buf_add(out, line, len);
		e->sent += len;
	}
	if (e->sent >= text->len)
		drop_page(e);
}

static bool fill(struct exchange *x, struct buf *out)
{
	struct export *e = x->ctx;
	struct err err = {0};

	if (call_renew(e->call, &err) < 0 ||
	    check_scope(e->call, &e->filter, &err) < 0)
		return false;
	if (!e->page && !e->asked && !e->ended)
		ask_page(e);
	if (e->page)
		send_lines(e, out);
	return e->page || e->asked || !e->ended;
}

static void gone(struct exchange *x)
{
	struct export *e = x->ctx;

	if (e->asked)
		e->asked->done = audit_query_free;
	drop_page(e);
	e->call->api->streams--;
	e->call->api->in_flight--;
}

static const struct stream_source source = {fill, gone};

static void begin_export(struct call *c, const struct audit_filter *f)
{
	struct reply head = {.status = 200, .type = "application/x-ndjson"};
	struct export *e = arena_alloc(c->x->arena, sizeof(*e));

	if (!admit_stream(c))
		return;
	e->call = c;
	e->filter = *f;
	e->filter.limit = LIMIT_MOST;
	reply_header(&head, "Cache-Control", "no-store");
	if (strcmp(c->x->method, "HEAD") == 0) {
		call_reply_with(c, &head);
		return;
	}
	c->api->streams++;
	c->api->calls[2]++;
	c->x->ctx = e;
	exchange_stream(c->x, &head, &source);
}

void handle_audit(struct call *c)
{
	struct audit_filter f;
	struct audit_query *q;
	struct err err = {0};

	if (read_filter(c, &f, &err) < 0) {
		call_fail(c, &err);
		return;
	}
	if (c->stream) {
		begin_export(c, &f);
		return;
	}
	q = audit_query_new(&f, false);
	q->done = page_done;
	q->ctx = c;
	store_audit(c->api->conf.store, q);
}
