/* judge_streams.c - streams: a snapshot of one revision, then every change in
 * its order, none left out and none twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge_rules.h"
#include "judge_view.h"

static struct stream_view *view_of(struct judge *j, unsigned stream)
{
	return stream < STREAMS_MOST ? &j->streams[stream] : NULL;
}

/* Where the first fact after a revision is. */
static size_t after(const struct judge *j, uint64_t revision)
{
	size_t i = j->n_facts;

	while (i > 0 && j->facts[i - 1]->revision > revision)
		i--;
	return i;
}

static const struct fact *next_fact(const struct judge *j,
				    const struct stream_view *s, size_t *at)
{
	for (; *at < j->n_facts; (*at)++)
		if (strcmp(j->facts[*at]->of->kind, s->kind) == 0)
			return j->facts[*at];
	return NULL;
}

void judge_stream(struct judge *j, unsigned stream, const char *kind,
		  uint64_t from)
{
	struct stream_view *s = view_of(j, stream);

	if (!s)
		return;
	memset(s, 0, sizeof(*s));
	snprintf(s->kind, sizeof(s->kind), "%s", kind);
	s->open = true;
	s->ready = from != 0;
	s->upto = from;
	s->began = j->newest;
	s->at = after(j, from);
}

struct told {
	struct text id;
	int64_t revision;
};

static const struct glance_row told_rows[] = {
	{"id", GLANCE_TEXT, offsetof(struct told, id), NULL},
	{"revision", GLANCE_INT, offsetof(struct told, revision), NULL},
	{0},
};

/* What it is, is known when the revision is: until then it must have been so
 * at some time from the beginning on. */
static void see_snapshot(struct judge *j, struct stream_view *s,
			 struct text data)
{
	struct told t = {0};
	const struct fact *f;

	glance(told_rows, data, &t);
	f = view_at(view_find(j, s->kind, t.id), (uint64_t)t.revision);
	if (!f || f->revision != (uint64_t)t.revision || !shows(f, data))
		judge_broken(j, JUDGE_OTHER,
			     "a stream of %s began with what never was: %.200s",
			     s->kind, data.at);
	else if (s->newest < f->revision)
		s->newest = f->revision;
	if (f && f->next && (!s->stale || f->next->revision < s->stale))
		s->stale = f->next->revision;
	s->told++;
}

static void see_ready(struct judge *j, struct stream_view *s, uint64_t id)
{
	enum noun_kind noun = view_noun(s->kind);
	unsigned n = 0;

	for (size_t i = 0; i < j->n[noun]; i++)
		n += strcmp(j->lists[noun][i]->kind, s->kind) == 0 &&
		     view_at(j->lists[noun][i], id);
	if (id < s->began || id > j->newest || n != s->told || s->newest > id ||
	    (s->stale && s->stale <= id))
		judge_broken(j, JUDGE_OTHER,
			     "a stream of %s began with %u of %u at revision "
			     "%llu",
			     s->kind, s->told, n, (unsigned long long)id);
	s->ready = true;
	s->upto = id;
	s->at = after(j, id);
}

static void see_change(struct judge *j, struct stream_view *s, uint64_t id,
		       bool put, struct text data)
{
	const struct fact *f = next_fact(j, s, &s->at), *then;
	struct told t = {0};

	glance(told_rows, data, &t);
	if (!f || (id && f->revision != id) || put != (f->json.at != NULL) ||
	    !text_is(t.id, f->of->id) || t.revision != (int64_t)f->revision ||
	    (put && !shows(f, data))) {
		judge_broken(j, JUDGE_OTHER,
			     "a stream of %s after %llu saw %llu, not %llu: "
			     "%.200s",
			     s->kind, (unsigned long long)s->upto,
			     (unsigned long long)t.revision,
			     f ? (unsigned long long)f->revision : 0, data.at);
		return;
	}
	s->at++;
	then = next_fact(j, s, &s->at);
	if ((id != 0) == (then && then->revision == f->revision))
		judge_broken(j, JUDGE_OTHER,
			     "a stream of %s says wrongly what is the last of "
			     "revision %llu",
			     s->kind, (unsigned long long)f->revision);
	if (id)
		s->upto = id;
}

void judge_event(struct judge *j, unsigned stream, const char *event,
		 const char *id, const char *data, size_t len)
{
	struct stream_view *s = view_of(j, stream);
	uint64_t revision = id ? strtoull(id, NULL, 10) : 0;
	struct text text = {data, len};

	if (!s || !s->open)
		return;
	rules_secrets(j, data, len, "an event");
	if (strcmp(event, "error") == 0) {
		if (!j->forgets)
			judge_broken(j, JUDGE_OTHER,
				     "a stream of %s ended: %.200s", s->kind,
				     data);
		s->open = false;
	} else if (strcmp(event, "ready") == 0) {
		see_ready(j, s, revision);
	} else if (!s->ready) {
		see_snapshot(j, s, text);
	} else {
		see_change(j, s, revision, strcmp(event, "put") == 0, text);
	}
}

void rules_streams_complete(struct judge *j)
{
	for (size_t i = 0; i < STREAMS_MOST; i++) {
		struct stream_view *s = &j->streams[i];
		const struct fact *f =
			s->open && s->ready ? next_fact(j, s, &s->at) : NULL;

		if (f)
			judge_broken(j, JUDGE_OTHER,
				     "a stream of %s never saw revision %llu",
				     s->kind, (unsigned long long)f->revision);
	}
}
