#include "cli/progress.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "base/mem.h"
#include "cli/feed.h"
#include "cli/flags.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "http/uri.h"

#define WAIT_MS  (10 * 60 * 1000)
#define TICK_MS  100
#define LAST_MS  300 /* for the events that belong to the last change */
#define STEPS    64  /* that are held back to be put in order */
#define DOC_MOST ((size_t)4 << 20)

struct step {
	int64_t at;
	char *reason, *message;
};

struct progress {
	struct cli *cli;
	const struct progress_goal *goal;
	const char *id;
	const char *path;   /* of its state; NULL: it has none */
	int64_t since;      /* what happened before is not ours */
	uint64_t begun;     /* on our clock */
	struct node *doc;   /* the newest, or NULL */
	struct arena arena; /* of that document */
	bool there, gone;   /* since the feed began; for good */
	bool events_ready;
	int64_t told; /* the newest revision of its events */
	struct step steps[STEPS];
	size_t n_steps;
	unsigned frame;
	bool line; /* the last line is ours to write over */
};

static int64_t int_at(const struct node *doc, const char *path)
{
	const struct node *n = resolve_at(doc, path);

	return n && node_type(n) == NODE_INT ? node_int(n) : -1;
}

static int64_t time_at(const struct node *doc, const char *path)
{
	const char *text = node_text(doc, path);
	int64_t at;

	return text && clock_parse(text, strlen(text), &at) == 0 ? at : 0;
}

static bool is(const char *a, const char *b)
{
	return a && strcmp(a, b) == 0;
}

/* It is as it is wanted, and the provider has been told all of it. */
static bool is_settled(const struct node *doc)
{
	const char *state = node_text(doc, "status.state");
	const char *power = node_text(doc, "spec.power");
	int64_t told = int_at(doc, "status.observedGeneration");

	if (node_text(doc, "status.change.action") ||
	    (told >= 0 && told < int_at(doc, "generation")))
		return false;
	if (power)
		return is(state, is(power, "off") ? "stopped" : "running");
	return !state || is(state, "ready");
}

static bool is_stuck(const struct node *doc)
{
	const char *waits = node_text(doc, "status.reason.waitsFor");

	return is(node_text(doc, "status.state"), "failed") ||
	       is(waits, "operator") || is(waits, "specChange");
}

/* Of one that was up once nobody knows whether it will be, and one that does not
 * run is not about to: that is no reason to wait.  Nothing was changed: one that
 * was stuck before is. */
static enum progress_verdict judge_up(const struct node *doc)
{
	const char *state = node_text(doc, "status.state");

	if (is(state, "running") &&
	    is(node_text(doc, "status.readiness.state"), "waiting"))
		return PROGRESS_WORKING;
	if (!is(state, "pending"))
		return PROGRESS_REACHED;
	return is_stuck(doc) ? PROGRESS_FAILED : PROGRESS_WORKING;
}

enum progress_verdict progress_judge(const struct progress_goal *g,
				     const struct node *doc)
{
	const char *state = node_text(doc, "status.state");
	int64_t now = int_at(doc, "revision");
	int64_t then = int_at(g->doc, "revision");

	/* The watch may begin with what was before the change. */
	if (now < then)
		return PROGRESS_WORKING;
	if (g->aim == PROGRESS_UP)
		return judge_up(doc);
	if (g->aim == PROGRESS_STATE && is(state, g->state))
		return PROGRESS_REACHED;
	if (g->aim == PROGRESS_SETTLED && is_settled(doc))
		return PROGRESS_REACHED;
	if (g->aim == PROGRESS_SYNCED &&
	    time_at(doc, "status.syncedAt") >
		    time_at(g->doc, "status.syncedAt"))
		return PROGRESS_REACHED;
	if (g->aim != PROGRESS_GONE && now > then && is_stuck(doc))
		return PROGRESS_FAILED;
	return PROGRESS_WORKING;
}

static void add_seconds(struct buf *out, int64_t ms)
{
	if (ms < 0)
		ms = 0;
	if (ms < 100000)
		buf_addf(out, "%lld.%llds", (long long)(ms / 1000),
			 (long long)(ms / 100 % 10));
	else
		buf_addf(out, "%llds", (long long)(ms / 1000));
}

static void add_padded(struct buf *out, const char *text, size_t width,
		       bool right)
{
	size_t has = text_width(text);

	if (right && has < width)
		text_add_spaces(out, width - has);
	buf_adds(out, text);
	if (!right && has < width)
		text_add_spaces(out, width - has);
}

static enum tone tone_of(const char *reason)
{
	static const struct {
		const char *reason;
		enum tone tone;
	} rows[] = {
		{"running", TONE_GOOD},         {"changeDone", TONE_GOOD},
		{"stopped", TONE_GOOD},         {"terminated", TONE_GOOD},
		{"ready", TONE_GOOD},           {"parked", TONE_BAD},
		{"failed", TONE_BAD},           {"consistency", TONE_BAD},
		{"offeringRefused", TONE_BUSY}, {"retrying", TONE_BUSY},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (strcmp(rows[i].reason, reason) == 0)
			return rows[i].tone;
	return TONE_PLAIN;
}

static void wipe(struct progress *g)
{
	if (g->line)
		fputs("\r\033[K", g->cli->err);
	g->line = false;
}

static void print_step(struct progress *g, const struct step *s)
{
	struct cli *c = g->cli;
	struct buf b = BUF_INIT(65536), word = BUF_INIT(1024);
	size_t width = c->err_style.width;

	if (c->quiet)
		return;
	wipe(g);
	add_seconds(&word, s->at - g->since);
	add_padded(&b, buf_str(&word), 7, true);
	buf_adds(&b, "  ");
	buf_clear(&word);
	add_padded(&word, text_safe(&c->arena, s->reason), 15, false);
	table_add_toned(&b, &c->err_style, tone_of(s->reason), buf_str(&word));
	buf_addc(&b, ' ');
	text_add_wrapped(&b, text_safe(&c->arena, s->message), 25,
			 width > 40 ? width : SIZE_MAX);
	buf_addc(&b, '\n');
	fwrite(buf_str(&b), 1, b.len, c->err);
	buf_release(&b);
	buf_release(&word);
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void flush_steps(struct progress *g)
{
	qsort(g->steps, g->n_steps, sizeof(g->steps[0]), by_time);
	for (size_t i = 0; i < g->n_steps; i++) {
		print_step(g, &g->steps[i]);
		free(g->steps[i].reason);
		free(g->steps[i].message);
	}
	g->n_steps = 0;
}

static void on_happening(void *ctx, enum feed_what what, struct node *doc)
{
	struct progress *g = ctx;
	const char *reason, *message;

	if (what == FEED_READY) {
		g->events_ready = true;
		flush_steps(g);
	}
	if (what != FEED_PUT)
		return;
	reason = node_text(doc, "reason");
	message = node_text(doc, "message");
	if (int_at(doc, "revision") > g->told)
		g->told = int_at(doc, "revision");
	if (!is(node_text(doc, "objectId"), g->id) || !reason ||
	    time_at(doc, "lastAt") < g->since)
		return;
	if (g->n_steps == STEPS)
		flush_steps(g);
	g->steps[g->n_steps++] = (struct step){
		time_at(doc, "lastAt"),
		xstrdup(reason),
		xstrdup(message ? message : ""),
	};
	if (g->events_ready)
		flush_steps(g);
}

static struct node *copy(const struct node *doc, struct arena *a)
{
	struct buf b = BUF_INIT(DOC_MOST);
	struct err err;
	struct node *n;

	json_write(doc, false, &b);
	n = json_parse(buf_str(&b), b.len, a, &err);
	buf_release(&b);
	return n;
}

/* A document of the feed is gone when the feed goes on. */
static void keep(struct progress *g, const struct node *doc)
{
	arena_clear(&g->arena);
	g->doc = copy(doc, &g->arena);
}

static void on_thing(void *ctx, enum feed_what what, struct node *doc)
{
	struct progress *g = ctx;

	if (what == FEED_BEGIN)
		g->there = false;
	if (what == FEED_READY)
		g->gone = !g->there;
	if (!doc || !is(node_text(doc, "id"), g->id))
		return;
	if (what == FEED_PUT) {
		g->there = true;
		keep(g, doc);
	}
	if (what == FEED_DELETE)
		g->gone = true;
}

/* What it is doing, in a few words. */
static void add_standing(const struct progress *g, struct buf *out)
{
	const char *state =
		g->doc && g->path ? node_text(g->doc, g->path) : NULL;
	const char *action =
		g->doc ? node_text(g->doc, "status.change.action") : NULL;
	const char *step =
		g->doc ? node_text(g->doc, "status.change.step") : NULL;
	const char *why =
		g->doc ? node_text(g->doc, "status.reason.message") : NULL;

	buf_adds(out, state ? state : "waiting");
	if (action)
		buf_addf(out, ", %s%s%s", action, step ? ": " : "",
			 step ? step : "");
	if (!why && g->doc && g->goal->aim == PROGRESS_UP)
		why = node_text(g->doc, "status.readiness.message");
	if (why)
		buf_addf(out, ": %s", why);
}

static void draw(struct progress *g, const struct feeds *feeds)
{
	static const char *const frames[] = {"⠋", "⠙", "⠹", "⠸", "⠼",
					     "⠴", "⠦", "⠧", "⠇", "⠏"};
	struct cli *c = g->cli;
	const char *trouble = feeds_trouble(feeds);
	struct buf b = BUF_INIT(65536), word = BUF_INIT(65536);

	if (c->quiet || !c->err_style.width)
		return;
	add_seconds(&word, (int64_t)(clock_mono(c->clock) - g->begun));
	buf_addf(&b, "%s ", frames[g->frame++ % COUNT_OF(frames)]);
	add_padded(&b, buf_str(&word), 5, true);
	buf_adds(&b, "  ");
	if (trouble)
		buf_addf(&b, "%s; connecting again", trouble);
	else
		add_standing(g, &b);
	buf_clear(&word);
	text_add_cut(&word, text_safe(&c->arena, buf_str(&b)),
		     c->err_style.width - 1);
	fprintf(c->err, "\r\033[K%s", buf_str(&word));
	fflush(c->err);
	g->line = true;
	buf_release(&b);
	buf_release(&word);
}

static void add_feeds(struct progress *g, struct feeds *feeds)
{
	struct cli *c = g->cli;
	const struct kind *k = g->goal->kind;
	const char *name = node_text(g->goal->doc, "name");
	const char *within = k->unique_within
				     ? node_text(g->goal->doc, k->unique_within)
				     : NULL;
	struct buf b = BUF_INIT(65536);
	struct feed_conf thing = {.fn = on_thing, .ctx = g};
	struct feed_conf events = {
		.target = arena_printf(&c->arena, "/v1/events&objectId=%s",
				       g->id),
		.optional = true,
		.fn = on_happening,
		.ctx = g,
	};

	buf_addf(&b, "/v1/%s", k->plural);
	if (name) {
		buf_adds(&b, "&name=");
		uri_add_escaped(&b, name);
	}
	if (within && strcmp(k->unique_within, "id") != 0) {
		buf_addf(&b, "&%s=", k->unique_within);
		uri_add_escaped(&b, within);
	}
	thing.target = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	feeds_add(feeds, &thing);
	feeds_add(feeds, &events);
}

/* Why it is stuck, as a failure. */
static int stuck(struct progress *g, struct failure *p)
{
	struct cli *c = g->cli;
	const struct kind *k = g->goal->kind;
	const char *message = node_text(g->doc, "status.reason.message");
	const char *state = node_text(g->doc, "status.state");
	const char *waits = node_text(g->doc, "status.reason.waitsFor");
	const char *name = node_text(g->doc, "name");

	p->hint = arena_printf(&c->arena, "see 'muster %s %s %s'", k->name,
			       node_text(g->doc, "spec.power") ? "explain"
							       : "get",
			       name ? name : g->id);
	return err_set(&p->err, ERR_PROVIDER, "it is %s%s%s%s%s",
		       state ? state : "stuck", waits ? " and waits for " : "",
		       !waits                    ? ""
		       : is(waits, "specChange") ? "a change of what is wanted"
						 : "an operator",
		       message ? ": " : "", message ? message : "");
}

static void leave(struct progress *g, struct terminal *t)
{
	struct cli *c = g->cli;
	const char *name = node_text(g->goal->doc, "name");

	wipe(g);
	terminal_close(t);
	cli_say(c,
		"\nNot waiting any more; the work goes on.  To follow it:"
		"\n  muster %s watch %s",
		g->goal->kind->name, text_safe(&c->arena, name ? name : g->id));
	terminal_interrupt();
}

/* The events of the change that ended it come with it, or a little later. */
static void drain(struct progress *g, struct feeds *feeds)
{
	uint64_t end = clock_mono(g->cli->clock) + LAST_MS, now;
	int64_t revision = g->doc ? int_at(g->doc, "revision") : 0;
	struct failure p = {0};

	while ((now = clock_mono(g->cli->clock)) < end) {
		if (!g->gone && g->events_ready && g->told >= revision)
			break;
		if (feeds_turn(feeds, NULL, 0, (int)(end - now), &p) < 0)
			break;
	}
	flush_steps(g);
}

/* 1 when it has come to its end, 0 while it has not. */
static int look(struct progress *g, struct failure *p)
{
	enum progress_verdict v = PROGRESS_WORKING;

	if (g->gone && g->goal->aim == PROGRESS_GONE)
		return 1;
	if (g->gone)
		return err_set(&p->err, ERR_NOT_FOUND,
			       "it was deleted meanwhile");
	if (g->there && g->doc)
		v = progress_judge(g->goal, g->doc);
	if (v == PROGRESS_FAILED)
		return stuck(g, p);
	return v == PROGRESS_REACHED;
}

static int watch(struct progress *g, struct feeds *feeds, struct failure *p)
{
	struct cli *c = g->cli;
	uint64_t most = c->timeout_ms ? c->timeout_ms : WAIT_MS;
	struct terminal t;
	int rc = 0;

	terminal_open(&t);
	while (rc == 0) {
		struct pollfd fds[2];
		size_t n = terminal_polled(&t, fds);
		uint64_t spent = clock_mono(c->clock) - g->begun;
		char key;

		if (spent >= most) {
			rc = err_set(&p->err, ERR_TIMEOUT,
				     "it has not come to that in time; it may "
				     "still");
			break;
		}
		rc = feeds_turn(feeds, fds, n, TICK_MS, p);
		if (terminal_read(&t, fds, &key) == TERMINAL_STOP)
			leave(g, &t);
		if (rc == 0 && feeds_ready(feeds))
			rc = look(g, p);
		if (rc == 0)
			draw(g, feeds);
	}
	if (rc > 0 || p->err.code == ERR_PROVIDER)
		drain(g, feeds);
	wipe(g);
	terminal_close(&t);
	return rc < 0 ? -1 : 0;
}

int progress_wait(struct cli *c, const struct progress_goal *goal,
		  struct node **ret, struct failure *p)
{
	struct progress g = {
		.cli = c,
		.goal = goal,
		.id = node_text(goal->doc, "id"),
		.since = goal->aim == PROGRESS_UP
				 ? clock_wall(c->clock)
				 : time_at(goal->doc, "updatedAt"),
		.begun = clock_mono(c->clock),
	};
	struct feeds *feeds = feeds_new(c);
	int rc;

	if (!flags_state(goal->kind, &c->arena, &g.path))
		g.path = NULL;
	arena_init(&g.arena, 2 * DOC_MOST);
	add_feeds(&g, feeds);
	rc = watch(&g, feeds, p);
	*ret = NULL;
	if (rc == 0 && !g.gone && g.doc)
		*ret = copy(g.doc, &c->arena);
	flush_steps(&g);
	feeds_free(feeds);
	arena_release(&g.arena);
	return rc;
}
