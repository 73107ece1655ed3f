#include "cli/top.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/feed.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/resolve.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "model/project.h"

#define TEXT_MOST  ((size_t)64 << 20)
#define TICK_MS    1000
#define USAGE_MS   2000 /* between two looks at the quota */
#define EVENTS     64   /* that are held */
#define EVENTS_LOW 6    /* that are shown, when there is room */

struct top_event {
	int64_t at;
	char *id, *object, *kind, *reason, *message;
};

struct top {
	struct cli *cli;
	const char *project, *project_name; /* id; or NULL: all */
	struct map rows;                    /* of struct top_row */
	unsigned turn;
	struct top_event events[EVENTS];
	size_t n_events;
	struct node *usage;      /* or NULL */
	struct arena held;       /* of the usage */
	uint64_t usage_at;       /* when it was read */
	bool usage_old, changed; /* since it was read; since it was drawn */
	struct arena arena;      /* of one drawing */
	size_t offset;           /* rows scrolled over */
};

const struct command_option top_options[] = {
	{"project", .argument = "NAME-OR-ID", .doc = "Only of this project.",
	 .refers = "project"},
	{"once", .doc = "Print it once, and end; so it is when the output is "
			"no terminal."},
	{0},
};

static char *copy(const char *s)
{
	return xstrdup(s ? s : "");
}

static int64_t time_at(const struct node *doc, const char *path)
{
	const char *text = node_text(doc, path);
	int64_t at;

	return text && clock_parse(text, strlen(text), &at) == 0 ? at : 0;
}

static int rank_of(const struct top_row *r)
{
	switch (table_state_tone(r->state)) {
	case TONE_BAD:
		return 0;
	case TONE_BUSY:
		return r->reason[0] ? 0 : 1;
	case TONE_GOOD:
	case TONE_PLAIN:
	case TONE_HEAD:
		return r->change[0] || r->reason[0] ? 1 : 2;
	case TONE_FAINT:
		break;
	}
	return 3;
}

int top_compare(const void *a, const void *b)
{
	const struct top_row *x = *(const struct top_row *const *)a;
	const struct top_row *y = *(const struct top_row *const *)b;
	int rank = rank_of(x) - rank_of(y);

	return rank ? rank : strcmp(x->name, y->name);
}

static void row_release(struct top_row *r)
{
	free(r->name);
	free(r->state);
	free(r->address);
	free(r->change);
	free(r->reason);
}

static void forget(struct top *t, struct top_row *r)
{
	map_remove(&t->rows, r->id);
	row_release(r);
	free(r->id);
	free(r);
}

static void fill_row(struct top *t, struct top_row *r, const struct node *doc)
{
	const char *inside = node_text(doc, "status.privateIp");
	const char *outside = node_text(doc, "status.publicIp");
	const char *action = node_text(doc, "status.change.action");
	const char *step = node_text(doc, "status.change.step");
	const char *why = node_text(doc, "status.reason.message");
	const char *code = node_text(doc, "status.reason.code");

	r->name = copy(node_text(doc, "name"));
	r->state = copy(node_text(doc, "status.state"));
	r->address = copy(outside ? outside : inside);
	r->reason = copy(why ? why : code);
	r->created_at = time_at(doc, "createdAt");
	r->turn = t->turn;
	if (action && step) {
		struct buf b = BUF_INIT(256);

		buf_addf(&b, "%s: %s", action, step);
		r->change = copy(buf_str(&b));
		buf_release(&b);
	} else {
		r->change = copy(action);
	}
}

static void on_put(struct top *t, const struct node *doc)
{
	const char *id = node_text(doc, "id");
	struct top_row *r = id ? map_get(&t->rows, id) : NULL;

	if (!id)
		return;
	if (r) {
		row_release(r);
	} else {
		r = xcalloc(1, sizeof(*r));
		r->id = copy(id);
		map_add(&t->rows, r->id, r);
	}
	fill_row(t, r, doc);
}

static void drop_untold(struct top *t)
{
	struct top_row *r;
	size_t i = 0;

	while ((r = map_next(&t->rows, &i)))
		if (r->turn != t->turn) {
			forget(t, r);
			i = 0; /* it was taken out under the walk */
		}
}

static void on_instance(void *ctx, enum feed_what what, struct node *doc)
{
	struct top *t = ctx;
	const char *id = doc ? node_text(doc, "id") : NULL;
	struct top_row *r;

	t->changed = t->usage_old = true;
	switch (what) {
	case FEED_BEGIN:
		t->turn++;
		break;
	case FEED_PUT:
		on_put(t, doc);
		break;
	case FEED_DELETE:
		r = id ? map_get(&t->rows, id) : NULL;
		if (r)
			forget(t, r);
		break;
	case FEED_READY:
		drop_untold(t);
		break;
	}
}

static void event_release(struct top_event *e)
{
	free(e->id);
	free(e->object);
	free(e->kind);
	free(e->reason);
	free(e->message);
}

/* Room for an event from AT on, the newest first; NULL when it is too old. */
static struct top_event *make_room(struct top *t, int64_t at)
{
	size_t i = 0;

	while (i < t->n_events && t->events[i].at > at)
		i++;
	if (i == EVENTS)
		return NULL;
	if (t->n_events == EVENTS)
		event_release(&t->events[--t->n_events]);
	memmove(&t->events[i + 1], &t->events[i],
		(t->n_events - i) * sizeof(t->events[0]));
	t->n_events++;
	return &t->events[i];
}

static void drop_event(struct top *t, const char *id)
{
	for (size_t i = 0; i < t->n_events; i++) {
		if (strcmp(t->events[i].id, id) != 0)
			continue;
		event_release(&t->events[i]);
		memmove(&t->events[i], &t->events[i + 1],
			(t->n_events - i - 1) * sizeof(t->events[0]));
		t->n_events--;
		return;
	}
}

static void on_happening(void *ctx, enum feed_what what, struct node *doc)
{
	struct top *t = ctx;
	const char *id = doc ? node_text(doc, "id") : NULL;
	struct top_event *e;

	t->changed = true;
	/* What happened stays so when its event is no longer kept. */
	if (what != FEED_PUT || !id)
		return;
	drop_event(t, id);
	e = make_room(t, time_at(doc, "lastAt"));
	if (e)
		*e = (struct top_event){
			time_at(doc, "lastAt"),
			copy(id),
			copy(node_text(doc, "objectId")),
			copy(node_text(doc, "objectKind")),
			copy(node_text(doc, "reason")),
			copy(node_text(doc, "message")),
		};
}

/* The quota's use is no list that can be watched: it is read when something
 * has changed, and not too often. */
static void read_usage(struct top *t)
{
	struct cli *c = t->cli;
	uint64_t now = clock_mono(c->clock);
	struct failure p = {0};
	struct node *reply = NULL;
	struct buf b = BUF_INIT((size_t)1 << 20);
	struct err err;

	if (!t->project || !t->usage_old ||
	    (t->usage_at && now - t->usage_at < USAGE_MS))
		return;
	t->usage_old = false;
	t->usage_at = now;
	if (request_get(c,
			arena_printf(&c->arena, "/v1/projects/%s/usage",
				     t->project),
			&reply, &p) < 0 ||
	    !reply)
		return;
	json_write(reply, false, &b);
	arena_clear(&t->held);
	t->usage = json_parse(buf_str(&b), b.len, &t->held, &err);
	t->changed = true;
	buf_release(&b);
}

static const char *age(struct top *t, int64_t at)
{
	struct buf b = BUF_INIT(64);
	const char *text;

	text_add_age(&b, clock_wall(t->cli->clock) - at);
	text = arena_strdup(&t->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void add_head(struct top *t, const struct feeds *feeds, struct buf *out)
{
	struct cli *c = t->cli;
	const char *trouble = feeds_trouble(feeds);

	table_add_toned(out, &c->style, TONE_HEAD, "muster top");
	buf_addf(out, "  %s%s", t->project ? "project " : "all projects",
		 t->project ? text_safe(&t->arena, t->project_name) : "");
	buf_addf(out, "  %s", text_safe(&t->arena, c->target.server));
	if (trouble) {
		buf_adds(out, "  ");
		table_add_toned(out, &c->style, TONE_BAD,
				"not connected; trying again");
	}
	buf_addc(out, '\n');
}

/* "12 instances: 9 running, 2 pending, 1 failed" */
static void add_counts(struct top *t, struct top_row *const *rows, size_t n,
		       struct buf *out)
{
	struct cli *c = t->cli;
	const char *before = ": ";

	buf_addf(out, "%zu instance%s", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++) {
		const char *state = rows[i]->state;
		size_t same = 0;
		bool told = false;

		for (size_t j = 0; j < i && !told; j++)
			told = strcmp(rows[j]->state, state) == 0;
		if (told)
			continue;
		for (size_t j = i; j < n; j++)
			same += strcmp(rows[j]->state, state) == 0;
		buf_adds(out, before);
		before = ", ";
		table_add_toned(out, &c->style, table_state_tone(state),
				arena_printf(&t->arena, "%zu %s", same,
					     text_safe(&t->arena, state)));
	}
	buf_addc(out, '\n');
}

static void add_usage(struct top *t, struct buf *out)
{
	const struct node *items =
		t->usage ? node_get(t->usage, "items") : NULL;
	struct buf line = BUF_INIT(65536), cut = BUF_INIT(65536);

	if (!items || node_type(items) != NODE_ARRAY)
		return;
	for (size_t i = 0; i < node_count(items); i++) {
		const struct node *n = node_at(items, i);
		const struct node *used = node_get(n, "used");
		const struct node *limit = node_get(n, "limit");
		const char *kind = node_text(n, "kind");

		if (!kind || !used || node_type(used) != NODE_INT ||
		    (!node_int(used) && !limit))
			continue;
		buf_addf(&line, "%s%s %lld", line.len ? ", " : "quota: ", kind,
			 (long long)node_int(used));
		if (limit && node_type(limit) == NODE_INT)
			buf_addf(&line, "/%lld", (long long)node_int(limit));
	}
	text_add_cut(&cut, text_safe(&t->arena, buf_str(&line)),
		     t->cli->style.width ? t->cli->style.width : SIZE_MAX);
	if (line.len)
		buf_addf(out, "%s\n", buf_str(&cut));
	buf_release(&line);
	buf_release(&cut);
}

static void add_rows(struct top *t, struct top_row *const *rows, size_t n,
		     struct buf *out)
{
	struct table table;
	bool change = false, why = false;

	for (size_t i = 0; i < n; i++) {
		change = change || rows[i]->change[0];
		why = why || rows[i]->reason[0];
	}
	table_init(&table, &t->arena);
	table_column(&table, "NAME", TABLE_CUT);
	table_column(&table, "STATE", 0);
	table_column(&table, "AGE", TABLE_RIGHT);
	table_column(&table, "ADDRESS", 0);
	if (change)
		table_column(&table, "CHANGE", 0);
	if (why)
		table_column(&table, "REASON", TABLE_CUT);
	for (size_t i = 0; i < n; i++) {
		const struct top_row *r = rows[i];

		table_cell(&table, r->name, TONE_PLAIN);
		table_cell(&table, r->state, table_state_tone(r->state));
		table_cell(&table, age(t, r->created_at), TONE_FAINT);
		table_cell(&table, r->address[0] ? r->address : "-",
			   r->address[0] ? TONE_PLAIN : TONE_FAINT);
		if (change)
			table_cell(&table, r->change, TONE_BUSY);
		if (why)
			table_cell(&table, r->reason, TONE_BAD);
	}
	table_write(&table, &t->cli->style, true, out);
}

static void add_events(struct top *t, size_t n, struct buf *out)
{
	struct table table;

	if (!t->n_events || !n)
		return;
	table_init(&table, &t->arena);
	table_column(&table, "AGO", TABLE_RIGHT);
	table_column(&table, "WHAT", TABLE_CUT);
	table_column(&table, "EVENT", 0);
	table_column(&table, "MESSAGE", TABLE_CUT);
	for (size_t i = 0; i < t->n_events && i < n; i++) {
		const struct top_event *e = &t->events[i];
		const struct top_row *r = map_get(&t->rows, e->object);

		table_cell(&table, age(t, e->at), TONE_FAINT);
		table_cell(&table, r ? r->name : e->kind,
			   r ? TONE_PLAIN : TONE_FAINT);
		table_cell(&table, e->reason, TONE_PLAIN);
		table_cell(&table, e->message, TONE_PLAIN);
	}
	buf_addc(out, '\n');
	table_write(&table, &t->cli->style, true, out);
}

static struct top_row **sorted(struct top *t, size_t *ret_n)
{
	struct top_row **rows, *r;
	size_t i = 0, n = 0;

	while (map_next(&t->rows, &i))
		n++;
	rows = arena_alloc(&t->arena, (n + 1) * sizeof(*rows));
	for (i = n = 0; (r = map_next(&t->rows, &i));)
		rows[n++] = r;
	qsort(rows, n, sizeof(*rows), top_compare);
	*ret_n = n;
	return rows;
}

/* All of it, in HEIGHT lines, or in as many as it takes when that is 0. */
static void draw(struct top *t, const struct feeds *feeds, size_t height,
		 struct buf *out)
{
	size_t n, room, events = EVENTS_LOW;
	struct top_row **rows = sorted(t, &n);

	add_head(t, feeds, out);
	add_counts(t, rows, n, out);
	add_usage(t, out);
	buf_addc(out, '\n');
	if (height && height < 20)
		events = height < 14 ? 0 : 3;
	if (t->n_events < events)
		events = t->n_events;
	/* Head, counts, quota, a gap, the titles and the last line. */
	room = height ? height - (t->usage ? 6 : 5) : n;
	if (height && events)
		room = room > events + 2 ? room - events - 2 : 1;
	if (height && t->offset + room > n)
		t->offset = n > room ? n - room : 0;
	n -= t->offset;
	if (n)
		add_rows(t, rows + t->offset, n < room ? n : room, out);
	if (height && n > room)
		buf_addf(out, "… %zu more (j and k scroll)\n", n - room);
	add_events(t, events, out);
}

static void draw_screen(struct top *t, const struct feeds *feeds)
{
	struct cli *c = t->cli;
	struct buf b = BUF_INIT(TEXT_MOST);
	size_t rows;

	terminal_size(c->out, &c->style.width, &rows);
	fputs("\033[H", c->out);
	draw(t, feeds, rows ? rows : 24, &b);
	/* Each line over what was there, and nothing below the last. */
	for (const char *p = buf_str(&b); *p;) {
		size_t len = strcspn(p, "\n");

		fprintf(c->out, "%.*s\033[K\n", (int)len, p);
		p += len + (p[len] == '\n');
	}
	fputs("\033[J", c->out);
	fprintf(c->out, "\033[%zu;1Hq quits\033[K", rows ? rows : 24);
	fflush(c->out);
	buf_release(&b);
	arena_clear(&t->arena);
	t->changed = false;
}

/* False ends it. */
static bool on_key(struct top *t, char key)
{
	if (key == 'j' || key == ' ')
		t->offset++;
	if (key == 'k' && t->offset)
		t->offset--;
	t->changed = true;
	return key != 'q' && key != 'Q';
}

static int live(struct top *t, struct feeds *feeds, struct failure *p)
{
	struct cli *c = t->cli;
	struct terminal term;
	uint64_t drawn = 0;
	bool go_on = true;
	int rc = 0;

	terminal_open(&term);
	terminal_take(&term, c->in, c->out);
	while (go_on && rc == 0) {
		struct pollfd fds[2];
		size_t n = terminal_polled(&term, fds);
		char key = 0;

		rc = feeds_turn(feeds, fds, n, t->changed ? 50 : TICK_MS, p);
		switch (terminal_read(&term, fds, &key)) {
		case TERMINAL_STOP:
			go_on = false;
			break;
		case TERMINAL_KEY:
			go_on = on_key(t, key);
			break;
		case TERMINAL_RESIZE:
			t->changed = true;
			break;
		case TERMINAL_NONE:
			break;
		}
		if (rc == 0 && feeds_ready(feeds))
			read_usage(t);
		/* A burst of changes is drawn once. */
		if (clock_mono(c->clock) - drawn >= (t->changed ? 50 : 900)) {
			draw_screen(t, feeds);
			drawn = clock_mono(c->clock);
		}
	}
	terminal_close(&term);
	return rc;
}

static int once(struct top *t, struct feeds *feeds, struct failure *p)
{
	struct buf b = BUF_INIT(TEXT_MOST);

	while (!feeds_ready(feeds))
		if (feeds_turn(feeds, NULL, 0, TICK_MS, p) < 0)
			return -1;
	read_usage(t);
	draw(t, feeds, 0, &b);
	cli_print(t->cli, &b);
	return 0;
}

static void add_feeds(struct top *t, struct feeds *feeds)
{
	const char *filter = t->project
				     ? arena_printf(&t->cli->arena,
						    "&projectId=%s", t->project)
				     : "";
	struct feed_conf instances = {
		.target =
			arena_printf(&t->cli->arena, "/v1/instances%s", filter),
		.fn = on_instance,
		.ctx = t,
	};
	struct feed_conf events = {
		.target = arena_printf(&t->cli->arena, "/v1/events%s", filter),
		.optional = true,
		.fn = on_happening,
		.ctx = t,
	};

	feeds_add(feeds, &instances);
	feeds_add(feeds, &events);
}

static void release(struct top *t)
{
	struct top_row *r;
	size_t i = 0;

	while ((r = map_next(&t->rows, &i))) {
		forget(t, r);
		i = 0;
	}
	while (t->n_events)
		event_release(&t->events[--t->n_events]);
	map_release(&t->rows);
	arena_release(&t->arena);
	arena_release(&t->held);
}

int top_run(struct cli *c, int argc, char **argv)
{
	struct top t = {.cli = c, .usage_old = true};
	struct failure p = {0};
	struct resolved found;
	struct feeds *feeds;
	struct args args;
	int rc;

	if (cli_parse(c, top_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	t.project_name = args_value(&args, "project");
	if (cli_target(c, &p) < 0 ||
	    (t.project_name && resolve_id(c, &project_kind, t.project_name,
					  NULL, &found, &p) < 0))
		return cli_fail(c, &p, "show machines", NULL);
	t.project = t.project_name ? found.id : NULL;
	arena_init(&t.arena, (size_t)1 << 30);
	arena_init(&t.held, (size_t)16 << 20);
	feeds = feeds_new(c);
	add_feeds(&t, feeds);
	if (args_has(&args, "once") || !c->style.width || !c->ask)
		rc = once(&t, feeds, &p);
	else
		rc = live(&t, feeds, &p);
	feeds_free(feeds);
	release(&t);
	return rc < 0 ? cli_fail(c, &p, "show machines", NULL) : EXIT_OK;
}
