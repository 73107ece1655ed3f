/*
 * watch: a list as a stream of events, printed as they come.
 *
 * What was seen is remembered (id, name, revision), so that a new one can be
 * told from a changed one, and so that nothing is missed or said twice when
 * the stream has to begin anew because the server no longer has the revision
 * at which it broke off.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "base/yaml.h"
#include "cli/noun.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/resolve.h"
#include "cli/sse.h"
#include "cli/text.h"
#include "http/uri.h"

struct seen {
	char *id, *name;
	int64_t revision;
	unsigned turn; /* of the stream in which it was last there */
};

struct watch {
	struct verb verb;
	const char *only; /* the id to show, or NULL: all */
	const char *target;
	struct map seen;
	char after[SSE_WORD_MOST]; /* the last event's id, or "" */
	unsigned turn;             /* streams begun from the start */
	bool ready;                /* what is there has all come */
	bool heard;                /* anything came since the last connect */
	struct failure *failure;   /* the server's own last words */
	bool failed;

	struct arena arena; /* of one event */
	struct table table;
	struct output_columns columns;
	bool headed;
};

static struct seen *remember(struct watch *w, const struct node *doc,
			     const char *id)
{
	const char *name = node_text(doc, "name");
	struct seen *s = xcalloc(1, sizeof(*s));

	s->id = xstrdup(id);
	s->name = xstrdup(name ? name : id);
	s->revision = -1;
	map_add(&w->seen, s->id, s);
	return s;
}

static void forget(struct watch *w, struct seen *s)
{
	map_remove(&w->seen, s->id);
	free(s->id);
	free(s->name);
	free(s);
}

static int64_t revision_of(const struct node *doc)
{
	const struct node *n = node_get(doc, "revision");

	return n && node_type(n) == NODE_INT ? node_int(n) : 0;
}

static const char *time_text(struct watch *w, char text[CLOCK_TEXT_LEN + 1])
{
	int64_t now = clock_wall(w->verb.cli->clock);
	time_t seconds = (time_t)(now / 1000);
	struct tm tm;

	clock_format(now, text);
	if (!w->columns.wide && localtime_r(&seconds, &tm))
		strftime(text, CLOCK_TEXT_LEN + 1, "%H:%M:%S", &tm);
	return text;
}

static enum tone event_tone(const char *event)
{
	if (strcmp(event, "created") == 0)
		return TONE_GOOD;
	if (strcmp(event, "deleted") == 0)
		return TONE_BAD;
	return strcmp(event, "changed") == 0 ? TONE_BUSY : TONE_FAINT;
}

static void learn_names(struct watch *w, struct node *doc)
{
	struct cli *c = w->verb.cli;
	struct node *items = node_new_array(&w->arena);

	node_append(&w->arena, items, doc);
	output_learn(c, &w->columns, items);
}

static void begin_table(struct watch *w)
{
	struct cli *c = w->verb.cli;

	output_columns(&w->columns, w->verb.kind, c->output == OUTPUT_WIDE,
		       &c->arena);
	/* The time of the event is told; ages would be of that moment. */
	for (size_t i = w->columns.n; i-- > 0 && !w->columns.wide;)
		if (w->columns.list[i].field->type == FIELD_TIME)
			w->columns.n = i;
	table_init(&w->table, &w->arena);
	table_column(&w->table, "TIME", 0);
	/* As wide as the longest of them, for they come one by one. */
	table_column(&w->table, "EVENT  ", 0);
	output_begin(&w->columns, &w->table);
}

/* Rows are printed when the first stream has told all that is there, so that
 * they can be aligned, and from then on one by one. */
static void flush_table(struct watch *w)
{
	struct cli *c = w->verb.cli;
	struct buf b = BUF_INIT((size_t)64 << 20);

	if (!w->ready)
		return;
	table_write(&w->table, &c->style, !w->headed, &b);
	w->headed = true;
	/* The widths stay, the cells are done with. */
	w->table.cells = NULL;
	w->table.n_cells = w->table.room = w->table.written = 0;
	cli_print(c, &b);
	fflush(c->out);
}

static void print_row(struct watch *w, const char *event, struct node *doc)
{
	struct cli *c = w->verb.cli;
	char text[CLOCK_TEXT_LEN + 1];

	learn_names(w, doc);
	table_cell(&w->table, time_text(w, text), TONE_FAINT);
	table_cell(&w->table, event, event_tone(event));
	output_row(c, &w->columns, doc, &w->table);
	flush_table(w);
}

static void print_json(struct watch *w, const char *event, struct node *doc,
		       bool yaml)
{
	struct buf text = BUF_INIT((size_t)64 << 20);
	struct buf safe = BUF_INIT((size_t)256 << 20);
	struct node *line = node_new_object(&w->arena);

	node_set(&w->arena, line, "event",
		 node_new_string(&w->arena, event, strlen(event)));
	node_set(&w->arena, line, "object", doc);
	if (yaml) {
		buf_adds(&text, "---\n");
		yaml_write(line, &text);
	} else {
		json_write(line, false, &text);
		buf_addc(&text, '\n');
	}
	text_add_document(&safe, buf_str(&text), text.len);
	buf_release(&text);
	cli_print(w->verb.cli, &safe);
}

static void print_event(struct watch *w, const char *event, struct node *doc)
{
	struct cli *c = w->verb.cli;

	switch (c->output) {
	case OUTPUT_JSON:
	case OUTPUT_YAML:
		print_json(w, event, doc, c->output == OUTPUT_YAML);
		break;
	case OUTPUT_NAME:
		fprintf(c->out, "%s/%s\n", w->verb.kind->name,
			text_safe(&w->arena, node_text(doc, "name")
						     ? node_text(doc, "name")
						     : "?"));
		break;
	case OUTPUT_DEFAULT:
	case OUTPUT_TABLE:
	case OUTPUT_WIDE:
		print_row(w, event, doc);
		break;
	}
	fflush(c->out);
}

static void on_put(struct watch *w, struct node *doc)
{
	const char *id = node_text(doc, "id");
	struct seen *s = id ? map_get(&w->seen, id) : NULL;
	bool is_new = !s;

	if (!id || (w->only && strcmp(w->only, id) != 0))
		return;
	if (is_new)
		s = remember(w, doc, id);
	s->turn = w->turn;
	if (s->revision == revision_of(doc))
		return;
	s->revision = revision_of(doc);
	print_event(w, is_new ? (w->ready ? "created" : "present") : "changed",
		    doc);
}

static void on_delete(struct watch *w, struct node *doc)
{
	const char *id = node_text(doc, "id");
	struct seen *s = id ? map_get(&w->seen, id) : NULL;

	/* After a new connection a deletion may be told again. */
	if (!s)
		return;
	if (!node_get(doc, "name"))
		node_set(&w->arena, doc, "name",
			 node_new_string(&w->arena, s->name, strlen(s->name)));
	print_event(w, "deleted", doc);
	forget(w, s);
}

/* All that is there has come: what did not went while we were not looking. */
static void on_ready(struct watch *w)
{
	struct seen *s;
	size_t i = 0;

	w->ready = true;
	if (w->verb.cli->output <= OUTPUT_WIDE)
		flush_table(w);
	while ((s = map_next(&w->seen, &i))) {
		struct node *doc;

		if (s->turn == w->turn)
			continue;
		doc = node_new_object(&w->arena);
		node_set(&w->arena, doc, "id",
			 node_new_string(&w->arena, s->id, strlen(s->id)));
		on_delete(w, doc);
		i = 0; /* it was taken out under the walk */
	}
}

static bool on_error(struct watch *w, const struct node *body)
{
	const struct node *n = node_get(body, "status");
	int status = n && node_type(n) == NODE_INT ? (int)node_int(n) : 500;

	failure_read(w->failure, status, NULL, body, &w->verb.cli->arena);
	w->failed = true;
	return false;
}

/* The document of an event; what is no document is passed over. */
static bool on_event(void *ctx, const struct sse_event *e)
{
	struct watch *w = ctx;
	struct err why;
	struct node *doc = json_parse(e->data, e->len, &w->arena, &why);
	bool go_on = true;

	w->heard = true;
	if (!doc || node_type(doc) != NODE_OBJECT)
		return true;
	if (strcmp(e->event, "put") == 0)
		on_put(w, doc);
	else if (strcmp(e->event, "delete") == 0)
		on_delete(w, doc);
	else if (strcmp(e->event, "ready") == 0)
		on_ready(w);
	else if (strcmp(e->event, "error") == 0)
		go_on = on_error(w, doc);
	if (e->id)
		memcpy(w->after, e->id, strlen(e->id) + 1);
	/* Rows that wait to be aligned are still in the arena. */
	if (!w->table.n_cells)
		arena_clear(&w->arena);
	return go_on;
}

static bool on_data(void *ctx, const char *bytes, size_t len)
{
	return sse_feed(ctx, bytes, len);
}

/* One connection, to its end. */
static int run_stream(struct watch *w, struct failure *p)
{
	struct cli *c = w->verb.cli;
	struct sse sse;
	const struct request_sink sink = {on_data, &sse};
	int rc;

	if (!w->after[0])
		w->turn++;
	w->heard = w->failed = false;
	w->failure = p;
	sse_init(&sse, on_event, w);
	rc = request_stream(c, w->target, w->after[0] ? w->after : NULL, &sink,
			    p);
	sse_release(&sse);
	return rc < 0 || w->failed ? -1 : 0;
}

/* Whether it is worth connecting again after P. */
static bool may_go_on(const struct watch *w, const struct failure *p)
{
	if (p->err.code == ERR_GONE)
		return true;
	return w->turn && w->ready && err_passes(&p->err);
}

static int run_watch(struct watch *w)
{
	struct cli *c = w->verb.cli;

	for (unsigned tries = 0;; tries++) {
		struct failure p = {0};
		int rc = run_stream(w, &p);

		if (rc < 0 && !may_go_on(w, &p))
			return noun_fail(&w->verb, &p);
		if (w->heard)
			tries = 0;
		if (rc < 0 && p.err.code == ERR_GONE) {
			w->after[0] = '\0';
			cli_say(c, "muster: too long away to go on; reading "
				   "everything again");
		} else {
			cli_say(c, "muster: %s; connecting again",
				rc < 0 ? text_safe(&c->arena, p.err.msg)
				       : "the stream ended");
		}
		request_back_off(c, tries);
	}
}

static int watch_target(struct watch *w, struct failure *p)
{
	struct verb *v = &w->verb;
	struct buf b = BUF_INIT(65536);
	int rc;

	buf_addf(&b, "/v1/%s", v->kind->plural);
	rc = flags_query(&v->flags, &v->args, &v->world, &b, p);
	if (v->args.n_words) {
		const char *text = v->args.words[0];

		if (uuid_valid(text, strlen(text))) {
			w->only = text;
		} else {
			buf_adds(&b, "&name=");
			uri_add_escaped(&b, text);
		}
	}
	w->target = arena_strdup(&v->cli->arena, buf_str(&b));
	buf_release(&b);
	return rc;
}

int noun_watch(struct cli *c, int argc, char **argv)
{
	struct watch w = {0};
	struct failure p = {0};
	struct seen *s;
	size_t i = 0;
	int rc;

	if (noun_begin(&w.verb, c, argc, argv) < 0 ||
	    cli_words(c, &w.verb.args, 0, 1) < 0)
		return EXIT_USAGE;
	if (w.verb.args.n_words && args_has(&w.verb.args, "name"))
		return cli_usage(c, "the name is given twice");
	if (watch_target(&w, &p) < 0)
		return noun_fail(&w.verb, &p);
	arena_init(&w.arena, (size_t)1 << 30);
	begin_table(&w);
	rc = run_watch(&w);
	while ((s = map_next(&w.seen, &i))) {
		forget(&w, s);
		i = 0;
	}
	map_release(&w.seen);
	arena_release(&w.arena);
	return rc;
}
