/*
 * notes - the audit trail's entries on their way to the backend.
 *
 * A transaction's note goes with its row.  One of a refused request waits for
 * the next batch, or for the tick: it is nobody's reason to write at once, and
 * no more than NOTES_MOST wait.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/audit.h"
#include "store/store_priv.h"

#define NOTES_MOST 1024

/* How often the trail is looked at for what is too old. */
#define TRIM_EVERY_MS 60000

struct note *note_new(const char *organization, const char *text, size_t len)
{
	size_t more = organization ? strlen(organization) + 1 : 0;
	struct note *n = xmalloc(sizeof(*n) + len + 1 + more);

	list_init(&n->link);
	memcpy(n->bytes, text, len);
	n->bytes[len] = '\0';
	n->entry = (struct audit){.text = n->bytes, .len = len};
	if (organization) {
		memcpy(n->bytes + len + 1, organization, more);
		n->entry.organization = n->bytes + len + 1;
	}
	return n;
}

void store_note(struct store *s, const char *organization, const char *text,
		size_t len)
{
	struct note *n;

	if (s->notes.n >= NOTES_MOST) {
		s->notes.omitted++;
		return;
	}
	n = note_new(organization, text, len);
	n->entry.at = clock_wall(s->conf.clock);
	list_add(&s->notes.waiting, &n->link);
	s->notes.n++;
}

void store_omit_note(struct store *s)
{
	s->notes.omitted++;
}

bool notes_due(const struct store *s)
{
	const struct notes *n = &s->notes;

	return n->n || n->omitted ||
	       (s->conf.audit_age_ms &&
		n->trim_at <= clock_mono(s->conf.clock));
}

static void add(struct store *s, const struct audit *e)
{
	struct notes *n = &s->notes;

	if (s->batch.n_audits == n->room) {
		n->room = n->room ? 2 * n->room : 256;
		n->list = xrealloc(n->list, n->room, sizeof(*n->list));
	}
	n->list[s->batch.n_audits++] = *e;
}

/* That some were left out is itself an entry, at most one a tick. */
static void add_omitted(struct store *s)
{
	struct buf b = BUF_INIT(256);
	struct note *n;

	buf_addf(&b,
		 "{\"who\":{\"name\":\"muster\"},\"action\":\"omit\","
		 "\"count\":%llu,\"result\":\"ok\"}",
		 (unsigned long long)s->notes.omitted);
	n = note_new(NULL, b.data, b.len);
	n->entry.at = clock_wall(s->conf.clock);
	s->notes.omitted = 0;
	list_add(&s->notes.waiting, &n->link);
	s->notes.n++;
	buf_release(&b);
}

void notes_take(struct store *s, bool tick)
{
	struct notes *n = &s->notes;
	uint64_t now = clock_mono(s->conf.clock);
	struct list *l;

	for (l = s->flying.next; l != &s->flying; l = l->next) {
		const struct change *c =
			CONTAINER_OF(l, struct txn, link)->change;

		if (!c->note)
			continue;
		c->note->entry.at = c->at;
		c->note->entry.revision = c->revision;
		add(s, &c->note->entry);
	}
	if (tick && n->omitted)
		add_omitted(s);
	while ((l = list_pop(&n->waiting))) {
		list_add(&n->flying, l);
		add(s, &CONTAINER_OF(l, struct note, link)->entry);
	}
	s->batch.audits = n->list;
	if (n->trim_at <= now && s->conf.audit_age_ms) {
		n->trim_at = now + TRIM_EVERY_MS;
		s->batch.audit_from =
			clock_wall(s->conf.clock) - s->conf.audit_age_ms;
	}
}

static void drop(struct list *notes)
{
	struct list *l = notes->next;

	while (l != notes) {
		struct list *next = l->next;

		free(CONTAINER_OF(l, struct note, link));
		l = next;
	}
	list_init(notes);
}

/* What was not written waits again, before those that came meanwhile. */
void notes_settle(struct store *s, bool written)
{
	struct notes *n = &s->notes;
	struct list *l;

	if (!written) {
		while ((l = list_pop(&n->waiting)))
			list_add(&n->flying, l);
		while ((l = list_pop(&n->flying)))
			list_add(&n->waiting, l);
		return;
	}
	for (l = n->flying.next; l != &n->flying; l = l->next)
		n->n--;
	drop(&n->flying);
	if (s->batch.audit_more)
		n->trim_at = 0;
}

void notes_init(struct store *s)
{
	list_init(&s->notes.waiting);
	list_init(&s->notes.flying);
}

void notes_release(struct store *s)
{
	drop(&s->notes.waiting);
	drop(&s->notes.flying);
	free(s->notes.list);
}

void store_audit(struct store *s, struct audit_query *q)
{
	s->backend->ops->audit(s->backend, q);
}
