/* judge_answers.c - what is told to clients: what was written, and what held
 * while they asked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "judge_rules.h"
#include "judge_view.h"
#include "model/kind.h"

/* A target taken apart. */
struct path {
	char plural[32], id[40], verb[32];
	const char *query;
	const struct kind *kind; /* NULL: it is no noun's */
};

static void part(const char **p, char *to, size_t room)
{
	size_t n = strcspn(*p, "/?");

	snprintf(to, room, "%.*s", (int)n, *p);
	*p += n;
	if (**p == '/')
		(*p)++;
}

static struct path path_of(const char *target)
{
	struct path r = {.query = ""};
	const char *p = target;

	if (strncmp(p, "/v1/", 4) != 0)
		return r;
	p += 4;
	part(&p, r.plural, sizeof(r.plural));
	part(&p, r.id, sizeof(r.id));
	part(&p, r.verb, sizeof(r.verb));
	if (*p == '?')
		r.query = p + 1;
	r.kind = kind_find(r.plural);
	if (strcmp(r.verb, "snapshot") == 0)
		r.kind = kind_find("image");
	return r;
}

/* The value of a query word, as a number; 0: it is not there. */
static uint64_t number(const struct path *p, const char *word)
{
	const char *at = strstr(p->query, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

static bool is_plan(const struct path *p)
{
	return strstr(p->query, "plan=true");
}

struct told {
	struct text id, deleted_at, items, next;
	int64_t revision;
};

static const struct glance_row told_rows[] = {
	{"id", GLANCE_TEXT, offsetof(struct told, id), NULL},
	{"revision", GLANCE_INT, offsetof(struct told, revision), NULL},
	{"deletedAt", GLANCE_TEXT, offsetof(struct told, deleted_at), NULL},
	{"items", GLANCE_RAW, offsetof(struct told, items), NULL},
	{"next", GLANCE_TEXT, offsetof(struct told, next), NULL},
	{0},
};

/* The next secret in what was written: a member whose value is sealed, with one
 * of the commas around it. */
static bool next_secret(struct text rest, struct text *ret)
{
	static const char begins[] = "\":\"sealed:";
	const char *at = memmem(rest.at, rest.len, begins, strlen(begins));
	const char *end;

	if (!at)
		return false;
	end = memchr(at + 3, '"', rest.len - (size_t)(at + 3 - rest.at));
	while (at > rest.at && at[-1] != '"')
		at--;
	at--;
	end = end ? end + 1 : rest.at + rest.len;
	if (at > rest.at && at[-1] == ',')
		at--;
	else if (*end == ',')
		end++;
	*ret = (struct text){at, (size_t)(end - at)};
	return true;
}

/* What is shown is what was written, but for what only the store sees. */
bool shows(const struct fact *f, struct text json)
{
	struct text rest = f->json, secret;

	if (f->of->noun == NOUN_OTHER)
		return true;
	while (next_secret(rest, &secret)) {
		size_t before = (size_t)(secret.at - rest.at);

		if (json.len < before || memcmp(json.at, rest.at, before) != 0)
			return false;
		json.at += before;
		json.len -= before;
		rest.len -= before + secret.len;
		rest.at = secret.at + secret.len;
	}
	return text_is(rest, json);
}

static const struct fact *exactly(const struct object *o, int64_t revision)
{
	const struct fact *f = view_at(o, (uint64_t)revision);

	return f && f->revision == (uint64_t)revision ? f : NULL;
}

/* Rule 12. */
static void check_written(struct judge *j, const struct verdict_ask *a,
			  const struct path *p)
{
	struct text json = {a->reply, a->len};
	struct told t = {0};
	const struct object *o;
	const struct fact *f;

	if (!p->kind || strcmp(p->verb, "console") == 0 ||
	    strcmp(p->verb, "sshcertificate") == 0 ||
	    (strcmp(a->method, "POST") == 0 &&
	     strcmp(p->kind->name, "token") == 0))
		return;
	if (!glance(told_rows, json, &t) || !t.id.at || !t.revision) {
		judge_broken(j, JUDGE_OTHER,
			     "%s %s: acknowledged without id and revision: "
			     "%.100s",
			     a->method, a->target, a->reply);
		return;
	}
	o = view_find(j, p->kind->name, t.id);
	f = exactly(o, t.revision);
	if ((uint64_t)t.revision > j->newest || !f)
		judge_broken(j, JUDGE_LOST,
			     "%s %s: acknowledged revision %lld is not on the "
			     "disk",
			     a->method, a->target, (long long)t.revision);
	else if (!shows(f, json))
		judge_broken(j, JUDGE_OTHER,
			     "%s %s: told otherwise than written: %.200s",
			     a->method, a->target, a->reply);
	else if (strcmp(a->method, "DELETE") == 0 && !t.deleted_at.at)
		judge_broken(j, JUDGE_OTHER, "%s: accepted, and not begun",
			     a->target);
	else if (strcmp(a->method, "POST") == 0 && !p->id[0] && !a->repeats &&
		 f->revision <= a->started)
		judge_broken(j, JUDGE_OTHER,
			     "%s: made at revision %llu, before it was asked "
			     "for",
			     a->target, (unsigned long long)f->revision);
}

/* It was not there at some time between asking and answer. */
static bool was_absent(const struct judge *j, const struct verdict_ask *a,
		       const struct object *o, uint64_t at)
{
	uint64_t from = at ? at : a->started;

	if (!o)
		return true;
	for (const struct fact *f = view_newest(o, at ? at : j->newest); f;
	     f = f->prior) {
		if (!f->json.at)
			return true;
		if (f->revision <= from)
			return false;
	}
	return true;
}

struct problem {
	struct text code, scope, retry, request, violations, plan, detail;
	int64_t status;
};

#define AT(member) offsetof(struct problem, member)
static const struct glance_row problem_rows[] = {
	{"status", GLANCE_INT, AT(status), NULL},
	{"detail", GLANCE_TEXT, AT(detail), NULL},
	{"code", GLANCE_TEXT, AT(code), NULL},
	{"scope", GLANCE_TEXT, AT(scope), NULL},
	{"retry", GLANCE_TEXT, AT(retry), NULL},
	{"requestId", GLANCE_TEXT, AT(request), NULL},
	{"violations", GLANCE_RAW, AT(violations), NULL},
	{"plan", GLANCE_RAW, AT(plan), NULL},
	{0},
};

static bool is_word(struct text t, const char *const *words)
{
	while (*words && !text_eq(t, *words))
		words++;
	return *words;
}

/* Rule 10. */
static void check_problem(struct judge *j, const struct verdict_ask *a)
{
	static const char *const codes[] = {
		"invalid",     "unauthenticated",
		"forbidden",   "not_found",
		"conflict",    "precondition_failed",
		"gone",        "immutable",
		"capacity",    "confirmation_required",
		"unavailable", "quota_exceeded",
		"timeout",     "rate_limited",
		"unsupported", "provider_failed",
		NULL};
	static const char *const scopes[] = {"request",  "object", "flavor",
					     "zone",     "region", "account",
					     "provider", NULL};
	static const char *const retries[] = {"never", "later", "afterChange",
					      "elsewhere", NULL};
	struct problem p = {0};

	if (!glance(problem_rows, (struct text){a->reply, a->len}, &p) ||
	    p.status != a->status || !is_word(p.code, codes) ||
	    !is_word(p.scope, scopes) || !is_word(p.retry, retries) ||
	    !p.request.at || !p.detail.len ||
	    (text_eq(p.code, "confirmation_required") && !p.plan.at) ||
	    (a->status == 422 && text_eq(p.code, "invalid") &&
	     !p.violations.at))
		judge_broken(j, JUDGE_OTHER,
			     "%s %s: %d is not said as it "
			     "should be: %.250s",
			     a->method, a->target, a->status,
			     a->reply ? a->reply : "");
}

/* The same was asked once more, and that is not answered yet. */
static bool is_open(const struct judge *j, long request)
{
	for (size_t i = 0; i < j->n_asks; i++)
		if (j->asks[i].open && j->asks[i].ask.request == request)
			return true;
	return false;
}

static void check_refused(struct judge *j, const struct verdict_ask *a,
			  const struct path *p)
{
	const char *kind = p->kind ? p->kind->name : "";
	const struct object *o;

	check_problem(j, a);
	if (a->request >= 0 && !a->repeats && !is_open(j, a->request) &&
	    strcmp(a->method, "GET") != 0)
		rules_refused(j, a->request);
	if (a->status != 404 || !p->kind || !p->id[0])
		return;
	if (strcmp(p->verb, "snapshot") == 0)
		kind = "instance";
	o = view_find(j, kind, text_of(p->id));
	if (!was_absent(j, a, o, number(p, "at=")))
		judge_broken(j, JUDGE_OTHER, "%s %s: 404 for what is there",
			     a->method, a->target);
}

static void check_get(struct judge *j, const struct verdict_ask *a,
		      const struct path *p)
{
	struct text json = {a->reply, a->len};
	uint64_t at = number(p, "at=");
	const struct fact *f;
	struct told t = {0};

	glance(told_rows, json, &t);
	f = exactly(view_find(j, p->kind->name, text_of(p->id)), t.revision);
	if (!f || !shows(f, json))
		judge_broken(j, JUDGE_OTHER, "%s: shows what never was: %.200s",
			     a->target, a->reply);
	else if (at ? f->revision > at || (f->next && f->next->revision <= at)
		    : f->next && f->next->revision <= a->started)
		judge_broken(j, JUDGE_OTHER,
			     "%s: shows revision %llu, which did not hold",
			     a->target, (unsigned long long)f->revision);
}

static size_t count_at(const struct judge *j, const char *kind, uint64_t at)
{
	enum noun_kind noun = view_noun(kind);
	size_t n = 0;

	for (size_t i = 0; i < j->n[noun]; i++)
		n += strcmp(j->lists[noun][i]->kind, kind) == 0 &&
		     view_at(j->lists[noun][i], at);
	return n;
}

static void check_list(struct judge *j, const struct verdict_ask *a,
		       const struct path *p)
{
	struct told all = {0};
	struct text list, item;
	uint64_t at = number(p, "at="), shown;
	size_t n = 0, there;

	glance(told_rows, (struct text){a->reply, a->len}, &all);
	shown = (uint64_t)all.revision;
	if (!all.items.at ||
	    (at ? shown != at : shown < a->started || shown > j->newest)) {
		judge_broken(j, JUDGE_OTHER,
			     "%s: shows revision %llu, asked for at %llu",
			     a->target, (unsigned long long)shown,
			     (unsigned long long)a->started);
		return;
	}
	for (list = all.items; glance_next(&list, &item); n++) {
		struct told t = {0};
		const struct fact *f;

		glance(told_rows, item, &t);
		f = view_at(view_find(j, p->kind->name, t.id), shown);
		if (!f || f->revision != (uint64_t)t.revision ||
		    !shows(f, item))
			judge_broken(j, JUDGE_OTHER,
				     "%s: at %llu it shows %.200s", a->target,
				     (unsigned long long)shown, item.at);
	}
	there = count_at(j, p->kind->name, shown);
	if (n > there || (!all.next.at && n != there &&
			  (!p->query[0] || strncmp(p->query, "at=", 3) == 0 ||
			   strncmp(p->query, "limit=", 6) == 0)))
		judge_broken(j, JUDGE_OTHER, "%s: %zu of %zu at %llu",
			     a->target, n, there, (unsigned long long)shown);
}

static void check_done(struct judge *j, const struct verdict_ask *a,
		       const struct path *p)
{
	if (strcmp(a->method, "GET") == 0) {
		if (a->status != 200 || !p->kind || p->verb[0])
			return;
		if (p->id[0])
			check_get(j, a, p);
		else
			check_list(j, a, p);
	} else if (is_plan(p)) {
		if (a->request >= 0)
			rules_refused(j, a->request);
	} else if (a->status == 204) {
		if (p->kind && strcmp(a->method, "DELETE") == 0 &&
		    !was_absent(j, a,
				view_find(j, p->kind->name, text_of(p->id)), 0))
			judge_broken(j, JUDGE_OTHER,
				     "%s: deleted, and still there", a->target);
	} else {
		check_written(j, a, p);
	}
}

unsigned judge_asked(struct judge *j, const struct verdict_ask *a)
{
	struct asking *new;

	if (j->n_asks == j->room_asks) {
		j->room_asks = j->room_asks ? 2 * j->room_asks : 64;
		j->asks = xrealloc(j->asks, j->room_asks, sizeof(*j->asks));
	}
	new = &j->asks[j->n_asks];
	*new = (struct asking){.ask = *a, .open = true};
	new->ask.method = arena_strdup(&j->arena, a->method);
	new->ask.target = arena_strdup(&j->arena, a->target);
	new->ask.body = new->ask.key = new->ask.reply = NULL;
	if (a->repeats)
		rules_asked_again(j, a->request);
	return (unsigned)j->n_asks++;
}

void judge_answered(struct judge *j, unsigned asked,
		    const struct verdict_ask *a)
{
	struct path p = path_of(a->target);

	if (asked < j->n_asks)
		j->asks[asked].open = false;
	if (a->reply)
		rules_secrets(j, a->reply, a->len, a->target);
	if (a->status == 410 && j->forgets)
		return;
	if (a->status >= 400)
		check_refused(j, a, &p);
	else
		check_done(j, a, &p);
}

void judge_crashed(struct judge *j)
{
	for (size_t i = 0; i < j->n_asks; i++)
		j->asks[i].open = false;
	for (size_t i = 0; i < STREAMS_MOST; i++)
		j->streams[i].open = false;
}
