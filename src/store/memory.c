#include "store/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/audit.h"
#include "store/store_priv.h"

struct disk {
	struct row *rows; /* in order; a dropped one has revision 0 */
	size_t n, room;
	uint64_t newest, horizon;
	struct disk_audit *audits; /* in order, what is trimmed left out */
	size_t n_audits, audits_room;
	struct chain head, trimmed;
	void (*tap)(void *ctx, const struct row *row);
	void *tap_ctx;
};

struct memory {
	struct backend base; /* first: a backend is cast to its memory */
	struct disk *disk;
	struct batch *batch;
	backend_feed *feed;
	void *ctx;
	uint64_t seen;
};

static struct memory *memory(struct backend *b)
{
	return (struct memory *)b;
}

struct disk *disk_new(void)
{
	struct disk *d = xcalloc(1, sizeof(*d));

	d->horizon = 1;
	chain_begin(&d->head, DISK_INSTALLATION);
	d->trimmed = d->head;
	return d;
}

static void set_data(struct row *row, const char *data, size_t len)
{
	union {
		const char *read;
		char *write;
	} old = {row->data};

	free(old.write);
	row->data = data ? xmemdup(data, len) : NULL;
	row->len = len;
}

void disk_free(struct disk *d)
{
	for (size_t i = 0; i < d->n; i++)
		set_data(&d->rows[i], NULL, 0);
	free(d->rows);
	for (size_t i = 0; i < d->n_audits; i++)
		free(d->audits[i].note);
	free(d->audits);
	free(d);
}

struct disk *disk_copy(const struct disk *d)
{
	struct disk *copy = xcalloc(1, sizeof(*copy));

	*copy = *d;
	copy->tap = NULL;
	copy->room = d->n;
	copy->rows = xcalloc(d->n + 1, sizeof(*d->rows));
	for (size_t i = 0; i < d->n; i++) {
		copy->rows[i] = d->rows[i];
		copy->rows[i].data = NULL;
		set_data(&copy->rows[i], d->rows[i].data, d->rows[i].len);
	}
	copy->audits_room = d->n_audits;
	copy->audits = xcalloc(d->n_audits + 1, sizeof(*d->audits));
	for (size_t i = 0; i < d->n_audits; i++) {
		const struct audit *e = &d->audits[i].note->entry;

		copy->audits[i] = d->audits[i];
		copy->audits[i].note =
			note_new(e->organization, e->text, e->len);
		copy->audits[i].note->entry.at = e->at;
		copy->audits[i].note->entry.revision = e->revision;
	}
	return copy;
}

void disk_tell(const struct disk *d)
{
	for (size_t i = 0; d->tap && i < d->n; i++)
		if (d->rows[i].data)
			d->tap(d->tap_ctx, &d->rows[i]);
}

size_t disk_audits(const struct disk *d, const struct disk_audit **ret)
{
	*ret = d->audits;
	return d->n_audits;
}

bool disk_audits_hold(const struct disk *d)
{
	struct chain c = d->trimmed;

	for (size_t i = 0; i < d->n_audits; i++) {
		chain_add(&c, &d->audits[i].note->entry);
		if (d->audits[i].seq != c.seq ||
		    memcmp(d->audits[i].hash, c.hash, sizeof(c.hash)) != 0)
			return false;
	}
	return c.seq == d->head.seq &&
	       memcmp(c.hash, d->head.hash, sizeof(c.hash)) == 0;
}

size_t disk_rows(const struct disk *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->rows[i].data != NULL;
	return n;
}

void disk_tear(struct disk *d, uint64_t revision)
{
	set_data(&d->rows[revision - 1], NULL, 0);
}

void disk_tap(struct disk *d, void (*fn)(void *ctx, const struct row *row),
	      void *ctx)
{
	d->tap = fn;
	d->tap_ctx = ctx;
}

static int feed_from(struct memory *m, uint64_t from, struct err *err)
{
	struct disk *d = m->disk;

	for (uint64_t r = from; r <= d->newest; r++) {
		const struct row *row = &d->rows[r - 1];

		m->seen = r;
		if (row->data && m->feed(m->ctx, row, err) < 0)
			return -1;
	}
	return 0;
}

bool memory_behind(const struct backend *b)
{
	const struct memory *m = (const struct memory *)b;

	return m->seen + 1 < m->disk->horizon;
}

static int memory_load(struct backend *b, backend_feed *feed, void *ctx,
		       uint64_t *ret_horizon, struct err *err)
{
	struct memory *m = memory(b);

	m->feed = feed;
	m->ctx = ctx;
	*ret_horizon = m->disk->horizon;
	return feed_from(m, 1, err);
}

static void memory_commit(struct backend *b, struct batch *batch)
{
	assert(!memory(b)->batch);
	memory(b)->batch = batch;
}

static void memory_audit(struct backend *b, struct audit_query *q)
{
	const struct disk *d = memory(b)->disk;
	size_t i = d->n_audits;

	while (i-- > 0) {
		const struct disk_audit *a = &d->audits[i];

		if (q->filter.before && a->seq >= q->filter.before)
			continue;
		if (!audit_query_take(q, a->seq, &a->note->entry, a->hash))
			break;
	}
	q->done(q);
}

static void memory_close(struct backend *b)
{
	free(memory(b));
}

static const struct backend_ops memory_ops = {
	.name = "memory",
	.load = memory_load,
	.commit = memory_commit,
	.audit = memory_audit,
	.close = memory_close,
};

struct backend *memory_open(struct disk *d)
{
	struct memory *m = xcalloc(1, sizeof(*m));

	m->base.ops = &memory_ops;
	memcpy(m->base.installation, DISK_INSTALLATION,
	       sizeof(DISK_INSTALLATION));
	m->disk = d;
	return &m->base;
}

bool memory_pending(const struct backend *b)
{
	return ((const struct memory *)b)->batch;
}

static void write_audit(struct disk *d, const struct audit *e)
{
	struct disk_audit *a;

	if (d->n_audits == d->audits_room) {
		d->audits_room = d->audits_room ? 2 * d->audits_room : 64;
		d->audits =
			xrealloc(d->audits, d->audits_room, sizeof(*d->audits));
	}
	a = &d->audits[d->n_audits++];
	a->note = note_new(e->organization, e->text, e->len);
	a->note->entry.at = e->at;
	a->note->entry.revision = e->revision;
	chain_add(&d->head, e);
	a->seq = d->head.seq;
	memcpy(a->hash, d->head.hash, sizeof(a->hash));
}

/* One at a time, so that tests see what lies between. */
static void trim_audits(struct disk *d, struct batch *batch)
{
	struct disk_audit *first = d->audits;

	if (!d->n_audits || first->note->entry.at >= batch->audit_from)
		return;
	d->trimmed.seq = first->seq;
	memcpy(d->trimmed.hash, first->hash, sizeof(first->hash));
	free(first->note);
	d->n_audits--;
	memmove(first, first + 1, d->n_audits * sizeof(*first));
	batch->audit_more =
		d->n_audits && first->note->entry.at < batch->audit_from;
}

static void write_batch(struct disk *d, struct batch *batch)
{
	for (size_t i = 0; i < batch->n_audits; i++)
		write_audit(d, &batch->audits[i]);
	trim_audits(d, batch);
	for (size_t i = 0; i < batch->n; i++) {
		if (d->n == d->room) {
			d->room = d->room ? 2 * d->room : 64;
			d->rows = xrealloc(d->rows, d->room, sizeof(*d->rows));
		}
		d->rows[d->n] = batch->rows[i];
		d->rows[d->n].data = NULL;
		set_data(&d->rows[d->n], batch->rows[i].data,
			 batch->rows[i].len);
		d->newest = batch->rows[i].revision;
		if (d->tap)
			d->tap(d->tap_ctx, &batch->rows[i]);
		d->n++;
		assert(d->newest == d->n);
	}
	if (batch->horizon < d->horizon)
		return;
	for (size_t i = 0; i < batch->n_trims; i++) {
		const struct trim *t = &batch->trims[i];

		set_data(&d->rows[t->revision - 1], t->data, t->len);
	}
	d->horizon = batch->horizon;
}

static bool guard_holds(const struct memory *m)
{
	const struct batch *b = m->batch;

	return !b->n || b->rows[0].revision == m->disk->newest + 1;
}

void memory_answer(struct backend *b, enum memory_fate fate)
{
	struct memory *m = memory(b);
	struct batch *batch = m->batch;

	assert(batch);
	if (!guard_holds(m)) {
		batch->result = BATCH_LOST;
		if (memory_behind(b) ||
		    feed_from(m, m->seen + 1, &batch->err) < 0)
			abort();
	} else if (fate == MEMORY_REFUSED) {
		batch->result = BATCH_FAILED;
		err_set(&batch->err, ERR_UNAVAILABLE,
			"the disk is full: nothing was written");
	} else {
		batch->result = BATCH_DONE;
		write_batch(m->disk, batch);
		if (batch->n) /* else others may have written since */
			m->seen = m->disk->newest;
	}
	m->batch = NULL;
	batch->done(batch);
}

void memory_write_silently(struct backend *b)
{
	struct memory *m = memory(b);

	if (m->batch && guard_holds(m))
		write_batch(m->disk, m->batch);
}

int memory_poll(struct backend *b, struct err *err)
{
	if (memory_behind(b))
		return err_set(err, ERR_GONE,
			       "what was written meanwhile is trimmed already: "
			       "open the disk anew");
	return feed_from(memory(b), memory(b)->seen + 1, err);
}
