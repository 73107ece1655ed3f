/* What became of a thing, and why: events and explain. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/flavor.h"

#define TEXT_MOST ((size_t)16 << 20)
#define LAST      8 /* events that explain shows */

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

static int64_t time_at(const struct node *doc, const char *path)
{
	const char *text = node_text(doc, path);
	int64_t at;

	return text && clock_parse(text, strlen(text), &at) == 0 ? at : 0;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = time_at(*(struct node *const *)a, "lastAt");
	int64_t y = time_at(*(struct node *const *)b, "lastAt");

	return x < y ? -1 : x > y;
}

/* Its events, the oldest first, at most the newest MOST. */
static int read_events(struct cli *c, const struct kind *k, const char *id,
		       size_t most, struct node **ret, struct failure *p)
{
	const char *target = arena_printf(
		&c->arena, "/v1/%s/%s/events?limit=1000", k->plural, id);
	struct node *reply = NULL, *items, *some = node_new_array(&c->arena);
	struct node **list;
	size_t n;

	if (request_get(c, target, &reply, p) < 0)
		return -1;
	items = reply ? node_get(reply, "items") : NULL;
	if (!items || node_type(items) != NODE_ARRAY)
		return err_set(&p->err, ERR_INTERNAL,
			       "the server did not answer with a list");
	n = node_count(items);
	list = arena_alloc(&c->arena, (n + 1) * sizeof(struct node *));
	for (size_t i = 0; i < n; i++)
		list[i] = node_at(items, i);
	qsort(list, n, sizeof(struct node *), by_time);
	for (size_t i = n > most ? n - most : 0; i < n; i++)
		node_append(&c->arena, some, list[i]);
	*ret = some;
	return 0;
}

static const char *age_of(struct cli *c, const struct node *doc,
			  const char *path)
{
	int64_t at = time_at(doc, path);
	struct buf b = BUF_INIT(64);
	const char *text;

	if (!at)
		return "-";
	text_add_age(&b, clock_wall(c->clock) - at);
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static const char *or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void add_events(struct cli *c, const struct node *items, size_t indent,
		       struct buf *out)
{
	bool wide = c->output == OUTPUT_WIDE;
	struct table t;

	table_init(&t, &c->arena);
	if (indent)
		table_column(&t, " ", 0);
	table_column(&t, wide ? "LAST AT" : "AGE", wide ? 0 : TABLE_RIGHT);
	table_column(&t, "COUNT", TABLE_RIGHT);
	table_column(&t, "REASON", 0);
	table_column(&t, "MESSAGE", TABLE_CUT);
	for (size_t i = 0; i < node_count(items); i++) {
		const struct node *e = node_at(items, i);
		const struct node *n = node_get(e, "count");

		if (indent)
			table_cell(&t, "", TONE_PLAIN);
		table_cell(&t,
			   wide ? or_dash(node_text(e, "lastAt"))
				: age_of(c, e, "lastAt"),
			   TONE_FAINT);
		table_cell(&t,
			   arena_printf(&c->arena, "%lld",
					n && node_type(n) == NODE_INT
						? (long long)node_int(n)
						: 1LL),
			   TONE_FAINT);
		table_cell(&t, or_dash(node_text(e, "reason")), TONE_PLAIN);
		table_cell(&t, or_dash(node_text(e, "message")), TONE_PLAIN);
	}
	table_write(&t, &c->style, true, out);
}

int story_events(struct cli *c, int argc, char **argv)
{
	struct buf b = BUF_INIT(TEXT_MOST);
	struct node *items;
	struct failure p = {0};
	struct resolved found;
	const char *limit;
	int64_t most = 1000;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	limit = args_value(&v.args, "limit");
	if (limit && (text_int(limit, &most) < 0 || most < 1))
		return cli_usage(c, "--limit: '%s' is not a number above 0",
				 limit);
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0 ||
	    read_events(c, v.kind, found.id, (size_t)most, &items, &p) < 0)
		return noun_fail(&v, &p);
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML) {
		output_document(c, items, c->output == OUTPUT_YAML);
	} else if (node_count(items)) {
		add_events(c, items, 0, &b);
		cli_print(c, &b);
	} else {
		cli_say(c, "Nothing happened to it lately.");
	}
	return EXIT_OK;
}

/* An instance, and what there is to say about it. */
struct story {
	struct cli *cli;
	const struct node *doc, *events;
	const char *name;
	struct table facts;
	struct buf out;
};

static void add_fact(struct story *s, const char *label, const char *text,
		     enum tone tone)
{
	table_cell(&s->facts, arena_printf(&s->cli->arena, "  %s", label),
		   TONE_FAINT);
	table_cell(&s->facts, text, tone);
}

static const char *when(struct story *s, const char *path)
{
	return age_of(s->cli, s->doc, path);
}

static void add_reason(struct story *s)
{
	struct arena *a = &s->cli->arena;
	const char *code = node_text(s->doc, "status.reason.code");
	const char *message = node_text(s->doc, "status.reason.message");
	const char *waits = node_text(s->doc, "status.reason.waitsFor");
	const struct node *n = resolve_at(s->doc, "status.reason.failures");
	int64_t failures = n && node_type(n) == NODE_INT ? node_int(n) : 0;
	const char *again = node_text(s->doc, "status.reason.retryAt")
				    ? when(s, "status.reason.retryAt")
				    : NULL;

	if (!code && !waits)
		return;
	add_fact(s, "reason",
		 arena_printf(a, "%s%s%s", or_dash(code), message ? ": " : "",
			      message ? message : ""),
		 TONE_BAD);
	if (failures > 1)
		add_fact(s, "failed",
			 arena_printf(a, "%lld times in a row",
				      (long long)failures),
			 TONE_PLAIN);
	if (is(waits, "time") || (!waits && again))
		add_fact(s, "waits for",
			 again ? arena_printf(a, "time: tried again %s",
					      strncmp(again, "in ", 3) == 0
						      ? again
						      : "now")
			       : "time",
			 TONE_BUSY);
	else if (waits)
		add_fact(s, "waits for",
			 is(waits, "specChange") ? "a change of what is wanted"
						 : "an operator",
			 TONE_BUSY);
}

static void add_change(struct story *s)
{
	struct arena *a = &s->cli->arena;
	const char *action = node_text(s->doc, "status.change.action");
	const char *step = node_text(s->doc, "status.change.step");
	const struct node *loses = resolve_at(s->doc, "status.change.loses");
	struct buf b = BUF_INIT(4096);

	if (!action)
		return;
	buf_addf(&b, "%s, %s, for %s", action, or_dash(step),
		 when(s, "status.change.since"));
	for (size_t i = 0; loses && i < node_count(loses); i++)
		buf_addf(&b, "%s%s", i ? ", " : "; loses ",
			 node_string(node_at(loses, i), NULL));
	add_fact(s, "change", arena_strdup(a, buf_str(&b)), TONE_BUSY);
	buf_release(&b);
}

static void add_address(struct story *s)
{
	const char *inside = node_text(s->doc, "status.privateIp");
	const char *outside = node_text(s->doc, "status.publicIp");

	if (inside || outside)
		add_fact(s, "address",
			 arena_printf(&s->cli->arena, "%s%s%s",
				      inside ? inside : "",
				      inside && outside ? ", " : "",
				      outside ? outside : ""),
			 TONE_PLAIN);
}

static bool is_true(const struct node *doc, const char *path)
{
	const struct node *n = resolve_at(doc, path);

	return n && node_type(n) == NODE_BOOL && node_bool(n);
}

static void add_facts(struct story *s)
{
	const char *state = node_text(s->doc, "status.state");
	const char *native = node_text(s->doc, "status.nativeState");
	struct arena *a = &s->cli->arena;

	table_init(&s->facts, a);
	table_column(&s->facts, "", 0);
	table_column(&s->facts, "", TABLE_CUT);
	add_fact(s, "state",
		 arena_printf(a, "%s%s%s%s", or_dash(state),
			      native ? " (the provider says " : "",
			      native ? native : "", native ? ")" : ""),
		 table_state_tone(or_dash(state)));
	add_fact(
		s, "wanted",
		arena_printf(a, "%s%s%s",
			     node_text(s->doc, "deletedAt")
				     ? "gone"
				     : or_dash(node_text(s->doc, "spec.power")),
			     is_true(s->doc, "spec.paused") ? ", paused" : "",
			     is_true(s->doc, "spec.deleteProtection")
				     ? ", protected"
				     : ""),
		TONE_PLAIN);
	add_address(s);
	if (node_text(s->doc, "status.zone"))
		add_fact(s, "zone", node_text(s->doc, "status.zone"),
			 TONE_PLAIN);
	add_reason(s);
	add_change(s);
	if (node_text(s->doc, "status.deadline"))
		add_fact(s, "deadline", when(s, "status.deadline"), TONE_PLAIN);
	if (node_text(s->doc, "spec.expiresAt"))
		add_fact(s, "expires", when(s, "spec.expiresAt"), TONE_PLAIN);
	table_write(&s->facts, &s->cli->style, false, &s->out);
}

/* One candidate: a flavor, a zone and a market, and what speaks against it. */
static void add_candidate(struct story *s, struct table *t,
			  const struct node *flavor, const char *zone,
			  const char *market)
{
	struct cli *c = s->cli;
	const struct node *list = flavor ? node_get(flavor, "shortages") : NULL;
	const char *why = "not refused", *until = "";
	enum tone tone = TONE_GOOD;

	for (size_t i = 0; list && i < node_count(list); i++) {
		const struct node *n = node_at(list, i);
		const char *where = node_text(n, "zone");
		const char *which = node_text(n, "market");

		if ((where && zone && !is(where, zone)) ||
		    (which && market && !is(which, market)) ||
		    time_at(n, "until") < clock_wall(c->clock))
			continue;
		why = or_dash(node_text(n, "message"));
		until = age_of(c, n, "until");
		until = arena_printf(
			&c->arena, "for another %s",
			until + (strncmp(until, "in ", 3) ? 0 : 3));
		tone = TONE_BAD;
	}
	table_cell(t, "", TONE_PLAIN);
	table_cell(t, or_dash(flavor ? node_text(flavor, "name") : NULL),
		   TONE_PLAIN);
	table_cell(t, zone ? zone : "any", TONE_PLAIN);
	table_cell(t, or_dash(market), TONE_PLAIN);
	table_cell(t,
		   arena_printf(&c->arena, "%s%s%s", why, *until ? ", " : "",
				until),
		   tone);
}

static const struct node *read_flavor(struct story *s, const char *id)
{
	struct failure p = {0};
	struct node *doc = NULL;

	if (id &&
	    request_get(s->cli,
			arena_printf(&s->cli->arena, "/v1/flavors/%s", id),
			&doc, &p) == 0)
		return doc;
	return NULL;
}

/* While it is not launched: what it may be, and what became of each. */
static void add_candidates(struct story *s)
{
	const struct node *more = resolve_at(s->doc, "spec.alternatives");
	const char *flavor = node_text(s->doc, "spec.flavorId");
	const char *zone = node_text(s->doc, "spec.zone");
	const char *market = node_text(s->doc, "spec.market");
	struct table t;

	if (node_text(s->doc, "status.launchedAt") ||
	    node_text(s->doc, "status.providerId"))
		return;
	table_init(&t, &s->cli->arena);
	table_column(&t, " ", 0);
	table_column(&t, "FLAVOR", 0);
	table_column(&t, "ZONE", 0);
	table_column(&t, "MARKET", 0);
	table_column(&t, "VERDICT", TABLE_CUT);
	add_candidate(s, &t, read_flavor(s, flavor), zone, market);
	for (size_t i = 0; more && i < node_count(more); i++) {
		const struct node *n = node_at(more, i);
		const char *other = node_text(n, "flavorId");
		const char *where = node_text(n, "zone");
		const char *which = node_text(n, "market");

		add_candidate(s, &t, read_flavor(s, other ? other : flavor),
			      where ? where : zone, which ? which : market);
	}
	buf_adds(&s->out, "\nCandidates, in order\n");
	table_write(&t, &s->cli->style, true, &s->out);
}

static const char *advice(const struct story *s)
{
	struct arena *a = &s->cli->arena;
	const char *waits = node_text(s->doc, "status.reason.waitsFor");
	const char *code = node_text(s->doc, "status.reason.code");
	const char *state = node_text(s->doc, "status.state");

	if (node_text(s->doc, "deletedAt"))
		return "Nothing: it is being deleted, which is tried until it "
		       "is done.";
	if (is_true(s->doc, "spec.paused"))
		return arena_printf(a,
				    "It is paused, and nothing is done to it: "
				    "muster instance resume %s",
				    s->name);
	if (is(waits, "specChange"))
		return arena_printf(
			a,
			"Change what is asked for; it is tried again then: "
			"muster instance update %s --flavor ... --image ...",
			s->name);
	if (is(waits, "operator"))
		return arena_printf(
			a,
			"An operator has to mend what the reason names; then "
			"poke it: muster instance start %s",
			s->name);
	if (is(code, "quota_exceeded"))
		return "Make room, or ask for more: muster project usage "
		       "NAME";
	if (is(code, "capacity"))
		return arena_printf(
			a,
			"Wait, or say what would do as well: muster instance "
			"update %s --alternative flavor=...,zone=...",
			s->name);
	if (is(state, "failed"))
		return arena_printf(a,
				    "See what it wrote (muster instance "
				    "consoleoutput %s), then start, rebuild "
				    "or delete it.",
				    s->name);
	if (code || node_text(s->doc, "status.change.action") ||
	    is(state, "pending") || is(state, "stopping"))
		return arena_printf(a,
				    "Nothing: it is being worked on.  Follow "
				    "it: muster instance watch %s",
				    s->name);
	return "Nothing: it is as it is wanted.";
}

static void add_heading(struct story *s)
{
	const char *state = node_text(s->doc, "status.state");

	table_add_toned(&s->out, &s->cli->style, TONE_HEAD, s->name);
	buf_adds(&s->out, " is ");
	table_add_toned(&s->out, &s->cli->style,
			table_state_tone(or_dash(state)),
			state ? text_safe(&s->cli->arena, state) : "unknown");
	buf_addf(&s->out, ", %s old\n", when(s, "createdAt"));
}

static void print_story(struct story *s)
{
	struct cli *c = s->cli;

	add_heading(s);
	add_facts(s);
	add_candidates(s);
	if (node_count(s->events)) {
		buf_adds(&s->out, "\nWhat happened lately\n");
		add_events(c, s->events, 2, &s->out);
	}
	buf_adds(&s->out, "\nWhat to do\n  ");
	text_add_wrapped(&s->out, advice(s), 2,
			 c->style.width ? c->style.width : 80);
	buf_addc(&s->out, '\n');
	cli_print(c, &s->out);
}

int story_explain(struct cli *c, int argc, char **argv)
{
	struct story s = {.cli = c, .out = BUF_INIT(TEXT_MOST)};
	struct node *doc, *events = NULL;
	struct failure p = {0};
	struct resolved found;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (noun_resolve(&v, v.args.words[0], &found, &p) < 0)
		return noun_fail(&v, &p);
	doc = found.doc;
	if ((!doc && request_get(c,
				 arena_printf(&c->arena, "/v1/%s/%s",
					      v.kind->plural, found.id),
				 &doc, &p) < 0) ||
	    read_events(c, v.kind, found.id, LAST, &events, &p) < 0)
		return noun_fail(&v, &p);
	s.doc = doc;
	s.events = events;
	s.name = text_safe(&c->arena, or_dash(node_text(doc, "name")));
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML) {
		struct node *both = node_new_object(&c->arena);

		node_set(&c->arena, both, "object", doc);
		node_set(&c->arena, both, "events", events);
		node_set(&c->arena, both, "advice",
			 node_new_string(&c->arena, advice(&s),
					 strlen(advice(&s))));
		output_document(c, both, c->output == OUTPUT_YAML);
	} else {
		print_story(&s);
	}
	return EXIT_OK;
}
