#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/line.h"

void model_broken(struct model *m, const char *fmt, ...)
{
	va_list ap;

	if (m->why[0])
		return;
	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
}

void model_release(struct model *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->facts[i].json);
	free(m->facts);
	*m = (struct model){0};
}

static long newest_fact(const struct model *m, const char *kind, const char *id)
{
	for (size_t i = m->n; i-- > 0;)
		if (strcmp(m->facts[i].id, id) == 0 &&
		    strcmp(m->facts[i].kind, kind) == 0)
			return (long)i;
	return -1;
}

/* The fact that held at AT, going back from the newest one at I. */
static const struct fact *back_to(const struct model *m, long i, uint64_t at)
{
	while (i >= 0 && m->facts[i].revision > at)
		i = m->facts[i].prior;
	return i >= 0 ? &m->facts[i] : NULL;
}

const struct fact *model_at(const struct model *m, uint64_t at,
			    const char *kind, const char *id)
{
	const struct fact *f = back_to(m, newest_fact(m, kind, id), at);

	return f && f->json ? f : NULL;
}

/* Fact I held at some revision from FROM to TO. */
static bool held(const struct model *m, size_t i, uint64_t from, uint64_t to)
{
	const struct fact *f = &m->facts[i];

	if (!f->json || f->revision > to)
		return false;
	for (size_t j = i + 1; j < m->n; j++)
		if (m->facts[j].prior == (long)i)
			return m->facts[j].revision > from;
	return true;
}

bool model_named(const struct model *m, uint64_t from, uint64_t to,
		 const char *kind, const char *within, const char *name)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct fact *f = &m->facts[i];

		if (strcmp(f->kind, kind) == 0 && strcmp(f->name, name) == 0 &&
		    strcmp(f->within, within) == 0 && held(m, i, from, to))
			return true;
	}
	return false;
}

bool model_used(const struct model *m, uint64_t from, uint64_t to,
		const char *kind, const char *id)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->facts[i].kind, kind) == 0 &&
		    strcmp(m->facts[i].within, id) == 0 && held(m, i, from, to))
			return true;
	return false;
}

bool model_dying(const struct model *m, uint64_t from, uint64_t to,
		 const char *kind, const char *id)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->facts[i].dying && strcmp(m->facts[i].id, id) == 0 &&
		    strcmp(m->facts[i].kind, kind) == 0 && held(m, i, from, to))
			return true;
	return false;
}

size_t model_count(const struct model *m, long op)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->facts[i].op == op;
	return n;
}

static void copy(char *to, size_t room, const char *s)
{
	snprintf(to, room, "%s", s ? s : "");
}

/* Rules 6 and 12 and unique names, at the revision where F becomes true. */
static void check_rules(struct model *m, const struct fact *f)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct fact *g = &m->facts[i];

		if (g->json && f->name[0] && strcmp(g->kind, f->kind) == 0 &&
		    strcmp(g->id, f->id) != 0 && f->json &&
		    strcmp(g->name, f->name) == 0 &&
		    strcmp(g->within, f->within) == 0 &&
		    held(m, i, f->revision, f->revision))
			model_broken(m, "revision %llu: the name %s twice",
				     (unsigned long long)f->revision, f->name);
	}
	if (f->json && strcmp(f->kind, "project") == 0 &&
	    !model_at(m, f->revision, "organization", f->within))
		model_broken(m, "revision %llu: project without organization",
			     (unsigned long long)f->revision);
	if (f->json && f->prior < 0 && strcmp(f->kind, "project") == 0 &&
	    model_dying(m, f->revision, f->revision, "organization", f->within))
		model_broken(m, "revision %llu: added to what is being deleted",
			     (unsigned long long)f->revision);
	if (!f->json && strcmp(f->kind, "organization") == 0 &&
	    model_used(m, f->revision, f->revision, "project", f->id))
		model_broken(m, "revision %llu: organization deleted in use",
			     (unsigned long long)f->revision);
	if (!f->json && f->prior < 0)
		model_broken(m, "revision %llu: deleted what was not there",
			     (unsigned long long)f->revision);
}

static void read_document(struct model *m, struct fact *f, const struct line *l)
{
	struct arena a;
	struct err err;
	struct node *n;
	const char *op;

	arena_init(&a, (size_t)1 << 20);
	n = json_parse(l->json, l->len, &a, &err);
	if (!n) {
		model_broken(m, "a document that is not JSON");
		arena_release(&a);
		return;
	}
	f->json = xmemdup(l->json, l->len);
	copy(f->name, sizeof(f->name), node_text(n, "name"));
	copy(f->within, sizeof(f->within), node_text(n, "organizationId"));
	op = node_text(n, "description");
	f->op = op && op[0] >= '0' && op[0] <= '9' ? strtol(op, NULL, 10) : -1;
	/* Beginning to go is not another change by whoever made it. */
	f->dying = node_get(n, "deletedAt");
	if (f->dying)
		f->op = -1;
	if (!node_get(n, "revision") ||
	    node_int(node_get(n, "revision")) != (int64_t)f->revision)
		model_broken(m, "a document with another revision than %llu",
			     (unsigned long long)f->revision);
	arena_release(&a);
}

static void add_fact(struct model *m, uint64_t revision, const struct line *l)
{
	struct fact f = {.revision = revision, .op = -1};

	copy(f.kind, sizeof(f.kind), l->kind);
	copy(f.id, sizeof(f.id), l->id);
	f.prior = newest_fact(m, f.kind, f.id);
	if (l->type == '+')
		read_document(m, &f, l);
	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 64;
		m->facts = xrealloc(m->facts, m->room, sizeof(*m->facts));
	}
	m->facts[m->n++] = f;
	check_rules(m, &f);
}

void model_row(struct model *m, const struct row *row)
{
	const char *p = row->data, *end = row->data + row->len;
	struct line l;
	struct err err;
	int r;

	if (row->revision != m->newest + 1)
		model_broken(m, "revision %llu came after %llu",
			     (unsigned long long)row->revision,
			     (unsigned long long)m->newest);
	m->newest = row->revision;
	while ((r = line_read(&p, end, &l, &err)) > 0)
		if (l.type != '=')
			add_fact(m, row->revision, &l);
	if (r < 0)
		model_broken(m, "a row that cannot be read: %s", err.msg);
}
