#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/token.h"
#include "store/read.h"

static struct model *model(const struct ask *a)
{
	return &a->world->model;
}

static uint64_t now(const struct ask *a)
{
	return store_revision(a->world->store);
}

static bool same(const struct fact *f, const char *json, size_t len)
{
	return f && strlen(f->json) == len && memcmp(f->json, json, len) == 0;
}

/* A document in a reply, as far as it is needed here. */
struct seen {
	char id[40];
	uint64_t revision;
};

static bool read_document(const struct ask *a, struct seen *ret)
{
	struct arena arena;
	struct err err;
	struct node *n;
	bool ok;

	arena_init(&arena, (size_t)1 << 20);
	n = json_parse(a->reply, a->len, &arena, &err);
	ok = n && node_get(n, "revision") && node_text(n, "id");
	if (ok) {
		snprintf(ret->id, sizeof(ret->id), "%s", node_text(n, "id"));
		ret->revision = (uint64_t)node_int(node_get(n, "revision"));
	}
	arena_release(&arena);
	return ok;
}

/* What was to be changed only as it was known has not changed before. */
static void check_match(struct ask *a, const struct seen *s)
{
	const struct fact *before =
		model_at(model(a), s->revision - 1, a->noun, s->id);

	if (a->if_match && (!before || before->revision != a->if_match))
		model_broken(model(a), "%s: written over what %llu was",
			     a->target, (unsigned long long)a->if_match);
}

/* Rule 12: what was acknowledged is on the disk, once, as it was told. */
static void check_written(struct ask *a)
{
	struct seen s;

	if (!read_document(a, &s)) {
		model_broken(model(a), "%s: an answer without id and revision",
			     a->target);
		return;
	}
	if (s.revision > model(a)->newest)
		model_broken(model(a),
			     "acknowledged revision %llu is not "
			     "durable",
			     (unsigned long long)s.revision);
	else if (!same(model_at(model(a), s.revision, a->noun, s.id), a->reply,
		       a->len))
		model_broken(model(a),
			     "%s: told otherwise than written: %.200s",
			     a->target, a->reply);
	check_match(a, &s);
	/* A key is forgotten with the log that holds it. */
	if (model_count(model(a), a->op) != 1 && !a->world->small_log)
		model_broken(model(a), "op %ld was done %zu times", a->op,
			     model_count(model(a), a->op));
}

static bool was_absent(const struct ask *a, const char *kind, const char *id)
{
	for (uint64_t r = a->started; r <= now(a); r++)
		if (!model_at(model(a), r, kind, id))
			return true;
	return false;
}

/* A refusal must have been right at some moment between asking and answer. */
static void check_refused(struct ask *a)
{
	struct model *m = model(a);

	if (a->op >= 0 && !a->world->retried[a->op % OPS_MOST]) {
		a->world->refused[a->op % OPS_MOST] = true;
		if (model_count(m, a->op))
			model_broken(m, "op %ld was refused and done", a->op);
	}
	switch (a->status) {
	case 404:
		if (!was_absent(a, a->noun, a->id))
			model_broken(m, "%s: 404 for what is there", a->target);
		break;
	case 409:
		if (model_dying(m, a->started, now(a), a->noun, a->id) ||
		    model_dying(m, a->started, now(a), "organization",
				a->within))
			break;
		if (a->kind == ASK_DELETE
			    ? !model_used(m, a->started, now(a), "project",
					  a->id)
			    : !model_named(m, a->started, now(a), a->noun,
					   a->within, a->name) &&
				      !a->retry)
			model_broken(m, "%s: 409 without a conflict",
				     a->target);
		break;
	case 412:
		if (!a->if_match)
			model_broken(m, "%s: 412 unasked", a->target);
		break;
	case 422:
		if (!was_absent(a, "organization", a->within))
			model_broken(m, "%s: 422 although all is there: %s",
				     a->target, a->reply);
		break;
	case 503:
		break;
	default:
		model_broken(m, "%s %s: answered %d %.200s", a->x.method,
			     a->target, a->status, a->reply);
	}
}

static void check_change(struct ask *a)
{
	if (a->kind == ASK_DELETE && a->status == 202) {
		if (!model_dying(model(a), a->started, now(a), a->noun, a->id))
			model_broken(model(a), "%s: accepted, and not begun",
				     a->target);
	} else if (a->kind == ASK_DELETE && a->status == 204) {
		if (!was_absent(a, a->noun, a->id))
			model_broken(model(a), "%s: deleted and still there",
				     a->target);
	} else if (a->status == 200 || a->status == 201) {
		check_written(a);
	} else {
		check_refused(a);
	}
}

static void check_get(struct ask *a)
{
	uint64_t at = a->at ? a->at : now(a);
	const struct fact *f = model_at(model(a), at, a->noun, a->id);

	if (a->status == 410 && a->world->small_log)
		return;
	if (f ? a->status != 200 || !same(f, a->reply, a->len)
	      : a->status != 404)
		model_broken(model(a), "%s at %llu: %d %.200s", a->target,
			     (unsigned long long)at, a->status, a->reply);
}

/* The objects of a kind at AT in order of id, after AFTER, into LIST. */
static size_t expect_list(const struct model *m, uint64_t at, const char *kind,
			  const char *within, const struct fact **list)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct fact *f = &m->facts[i];
		size_t j;

		if (strcmp(f->kind, kind) != 0 ||
		    model_at(m, at, kind, f->id) != f ||
		    (within[0] && strcmp(f->within, within) != 0))
			continue;
		for (j = n++; j > 0 && strcmp(list[j - 1]->id, f->id) > 0; j--)
			list[j] = list[j - 1];
		list[j] = f;
	}
	return n;
}

static void compare_items(struct ask *a, const struct node *items,
			  const struct fact **want, size_t n, uint64_t at)
{
	for (size_t i = 0; i < node_count(items); i++) {
		struct buf b = BUF_INIT((size_t)1 << 20);

		json_write(node_at(items, i), false, &b);
		if (i >= n || !same(want[i], b.data, b.len))
			model_broken(model(a),
				     "%s at %llu: item %zu of %zu is %.200s",
				     a->target, (unsigned long long)at, i, n,
				     b.data);
		buf_release(&b);
	}
}

static void check_list(struct ask *a)
{
	const struct fact **want =
		xcalloc(model(a)->n + 1, sizeof(struct fact *));
	struct arena arena;
	struct node *n, *items;
	struct err err;
	uint64_t at;
	size_t count;

	arena_init(&arena, (size_t)8 << 20);
	n = a->status == 200 ? json_parse(a->reply, a->len, &arena, &err)
			     : NULL;
	if (n) {
		items = node_get(n, "items");
		at = (uint64_t)node_int(node_get(n, "revision"));
		count = expect_list(model(a), at, a->noun, a->within, want);
		compare_items(a, items, want, count, at);
		if (node_count(items) < count && !node_get(n, "next"))
			model_broken(model(a), "%s: %zu of %zu and no next",
				     a->target, node_count(items), count);
		if (at != (a->at ? a->at : now(a)))
			model_broken(model(a), "%s: shows revision %llu",
				     a->target, (unsigned long long)at);
	} else if (a->status != 410 || !a->world->small_log) {
		model_broken(model(a), "%s: %d %.100s", a->target, a->status,
			     a->reply);
	}
	arena_release(&arena);
	free(want);
}

void check_answer(struct ask *a)
{
	switch (a->kind) {
	case ASK_CREATE:
	case ASK_UPDATE:
	case ASK_DELETE:
		check_change(a);
		break;
	case ASK_PLAN:
		if (a->status != 200)
			check_refused(a);
		else if (model_count(model(a), a->op))
			model_broken(model(a), "a plan changed something");
		break;
	case ASK_GET:
		check_get(a);
		break;
	case ASK_WAIT:
		if (a->status == 204 || a->status == 404) {
			if (model_at(model(a), now(a), a->noun, a->id))
				model_broken(model(a), "%s: not gone",
					     a->target);
		} else {
			check_get(a);
		}
		break;
	case ASK_LIST:
		check_list(a);
		break;
	case ASK_WATCH:
		if (a->status == 410 && !a->world->small_log)
			model_broken(model(a), "a watch was told 410");
		break;
	}
}

void sight_release(struct sight *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->snapshot[i]);
	free(s->snapshot);
	*s = (struct sight){0};
}

/* The next change of this noun after POSITION that the filter lets through. */
static const struct fact *next_fact(const struct model *m, const char *noun,
				    const struct sight *s)
{
	size_t skip = s->partial;

	for (size_t i = 0; i < m->n; i++) {
		const struct fact *f = &m->facts[i];
		const struct fact *doc =
			f->json || f->prior < 0 ? f : &m->facts[f->prior];

		if (f->revision > s->position && strcmp(f->kind, noun) == 0 &&
		    (!s->within[0] || strcmp(doc->within, s->within) == 0) &&
		    skip-- == 0)
			return f;
	}
	return NULL;
}

static void see_ready(struct ask *a, uint64_t revision)
{
	struct sight *s = a->sight;
	const struct fact **want =
		xcalloc(model(a)->n + 1, sizeof(struct fact *));
	size_t n = expect_list(model(a), revision, a->noun, s->within, want);

	if (n != s->n)
		model_broken(model(a), "a snapshot of %zu has %zu", n, s->n);
	for (size_t i = 0; i < n && i < s->n; i++)
		if (strcmp(want[i]->json, s->snapshot[i]) != 0)
			model_broken(model(a), "a snapshot has %.200s",
				     s->snapshot[i]);
	sight_release(s);
	snprintf(s->within, sizeof(s->within), "%s", a->within);
	s->ready = true;
	s->position = revision;
	free(want);
}

/* Of several events of one revision only the last has its id. */
static void see_change(struct ask *a, uint64_t id, const char *event,
		       const char *data, size_t len)
{
	struct sight *s = a->sight;
	const struct fact *f = next_fact(model(a), a->noun, s);
	bool put = strcmp(event, "put") == 0;

	if (!f || (id && f->revision != id) || put != (f->json != NULL) ||
	    !strstr(data, f->id) || (put && !same(f, data, len)))
		model_broken(model(a),
			     "a watch at %llu saw %s %llu, not %llu: %.200s",
			     (unsigned long long)s->position, event,
			     (unsigned long long)id,
			     f ? (unsigned long long)f->revision : 0, data);
	if (f && f->revision > store_revision(a->world->store))
		model_broken(model(a), "a watch saw %llu before it was durable",
			     (unsigned long long)id);
	s->partial++;
	if (!id)
		return;
	s->position = id;
	s->partial = 0;
	f = next_fact(model(a), a->noun, s);
	if (f && f->revision == id)
		model_broken(model(a), "a watch was told %llu was all",
			     (unsigned long long)id);
}

static void see(struct ask *a, uint64_t id, const char *event, const char *data)
{
	struct sight *s = a->sight;

	if (strcmp(event, "error") == 0) {
		if (!a->world->small_log)
			model_broken(model(a), "a watch ended: %.200s", data);
		s->ended = true;
	} else if (strcmp(event, "ready") == 0) {
		see_ready(a, id);
	} else if (s->ready) {
		see_change(a, id, event, data, strlen(data));
	} else {
		s->snapshot = xrealloc(s->snapshot, s->n + 1, sizeof(char *));
		s->snapshot[s->n++] = xstrdup(data);
	}
}

void check_events(struct ask *a)
{
	char *p = a->reply, *save, *line;
	char *event = NULL, *data = NULL;
	uint64_t id = 0;

	while ((line = strtok_r(p, "\n", &save))) {
		p = NULL;
		if (strncmp(line, "id: ", 4) == 0) {
			id = strtoull(line + 4, NULL, 10);
		} else if (strncmp(line, "event: ", 7) == 0) {
			event = line + 7;
		} else if (strncmp(line, "data: ", 6) == 0) {
			data = line + 6;
			see(a, id, event ? event : "?", data);
			id = 0;
		}
	}
}

void check_complete(struct world *w, const char *noun, const struct sight *s)
{
	const struct fact *f = next_fact(&w->model, noun, s);

	if (s->ready && !s->ended && f)
		model_broken(&w->model, "a watch never saw revision %llu",
			     (unsigned long long)f->revision);
}

void check_world(struct world *w)
{
	for (size_t i = 0; i < w->model.n; i++) {
		const struct fact *f = &w->model.facts[i];
		const struct kind *k = store_kind(w->store, f->kind);
		const struct fact *is =
			model_at(&w->model, w->model.newest, f->kind, f->id);
		struct record r;
		bool there = store_get(w->store, 0, k, f->id, &r);

		if (there != (is != NULL))
			model_broken(&w->model, "%s %s is %s", f->kind, f->id,
				     there ? "back" : "lost");
		else if (there && k != &token_kind && !same(is, r.json, r.len))
			model_broken(&w->model, "%s %s differs", f->kind,
				     f->id);
	}
	for (long op = 0; op < w->ops && op < OPS_MOST; op++)
		if (w->refused[op] && !w->retried[op] &&
		    model_count(&w->model, op))
			model_broken(&w->model,
				     "op %ld was refused, and done "
				     "all the same",
				     op);
}
