#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Many sets have a single member: that of a name, for one. */
enum { RUN_MOST = 256, RUN_FIRST = 1 };

struct sorted_run {
	size_t n, room;
	void *members[];
};

void sorted_init(struct sorted *s, const char *(*key)(const void *))
{
	*s = (struct sorted){.key = key};
}

void sorted_release(struct sorted *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->runs[i]);
	free(s->runs);
	sorted_init(s, s->key);
}

static struct sorted_run *run_new(size_t room)
{
	struct sorted_run *r = xmalloc(sizeof(*r) + room * sizeof(void *));

	r->n = 0;
	r->room = room;
	return r;
}

static int compare(const struct sorted *s, const struct sorted_run *r, size_t i,
		   const char *key)
{
	return strcmp(s->key(r->members[i]), key);
}

/* The last run that begins at or before KEY; the first run when none does.
 * The last one is tried first: what is new mostly goes there. */
static size_t find_run(const struct sorted *s, const char *key)
{
	size_t low = 0, high = s->n;

	if (high > 1) {
		high--;
		if (compare(s, s->runs[high], 0, key) <= 0)
			return high;
	}
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (compare(s, s->runs[mid], 0, key) <= 0)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* The first place in R whose key is not less than KEY; or R->n.  Sought from
 * the end in growing steps, for the same reason. */
static size_t find_place(const struct sorted *s, const struct sorted_run *r,
			 const char *key)
{
	size_t low = 0, high = r->n;

	for (size_t step = 1; step < high; step *= 2) {
		if (compare(s, r, high - step, key) < 0) {
			low = high - step + 1;
			break;
		}
		high -= step;
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(s, r, mid, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_at(const struct sorted *s, const struct sorted_run *r, size_t i,
		  const char *key)
{
	return i < r->n && compare(s, r, i, key) == 0;
}

static void insert_run(struct sorted *s, size_t at, struct sorted_run *r)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1;
		s->runs =
			xrealloc(s->runs, s->room, sizeof(struct sorted_run *));
	}
	memmove(s->runs + at + 1, s->runs + at,
		(s->n - at) * sizeof(struct sorted_run *));
	s->runs[at] = r;
	s->n++;
}

/* Halve a full run.  A run that grows at its end only, as one of ids made in
 * order does, is left full and a new one begun. */
static void split(struct sorted *s, size_t at, bool at_end)
{
	struct sorted_run *old = s->runs[at], *new = run_new(RUN_MOST);
	size_t keep = at_end ? old->n : old->n / 2;

	new->n = old->n - keep;
	memcpy(new->members, old->members + keep, new->n * sizeof(void *));
	old->n = keep;
	insert_run(s, at + 1, new);
}

/* KEY comes after all others, as what is new mostly does. */
static bool is_last(const struct sorted *s, const char *key)
{
	const struct sorted_run *r = s->runs[s->n - 1];

	return !r->n || compare(s, r, r->n - 1, key) < 0;
}

bool sorted_add(struct sorted *s, void *member)
{
	const char *key = s->key(member);
	struct sorted_run *r;
	size_t at, i;

	if (!s->n)
		insert_run(s, 0, run_new(RUN_FIRST));
	if (is_last(s, key)) {
		at = s->n - 1;
		r = s->runs[at];
		i = r->n;
	} else {
		at = find_run(s, key);
		r = s->runs[at];
		i = find_place(s, r, key);
		if (is_at(s, r, i, key))
			return false;
	}
	if (r->n == r->room && r->room < RUN_MOST) {
		size_t room = 4 * r->room;

		r = xrealloc(r, 1, sizeof(*r) + room * sizeof(void *));
		r->room = room;
		s->runs[at] = r;
	} else if (r->n == r->room) {
		split(s, at, i == r->n);
		if (i > r->n || (i == r->n && s->runs[at + 1]->n == 0)) {
			i -= r->n;
			r = s->runs[at + 1];
		}
	}
	memmove(r->members + i + 1, r->members + i,
		(r->n - i) * sizeof(void *));
	r->members[i] = member;
	r->n++;
	s->count++;
	return true;
}

void *sorted_get(const struct sorted *s, const char *key)
{
	const struct sorted_run *r;
	size_t i;

	if (!s->n)
		return NULL;
	r = s->runs[find_run(s, key)];
	i = find_place(s, r, key);
	return is_at(s, r, i, key) ? r->members[i] : NULL;
}

void *sorted_remove(struct sorted *s, const char *key)
{
	struct sorted_run *r;
	size_t at, i;
	void *member;

	if (!s->n)
		return NULL;
	at = find_run(s, key);
	r = s->runs[at];
	i = find_place(s, r, key);
	if (!is_at(s, r, i, key))
		return NULL;
	member = r->members[i];
	r->n--;
	memmove(r->members + i, r->members + i + 1,
		(r->n - i) * sizeof(void *));
	s->count--;
	if (!r->n) {
		free(r);
		s->n--;
		memmove(s->runs + at, s->runs + at + 1,
			(s->n - at) * sizeof(struct sorted_run *));
	}
	return member;
}

struct sorted_walk sorted_from(const struct sorted *s, const char *after)
{
	struct sorted_walk w = {s, 0, 0};

	if (!after || !s->n)
		return w;
	w.run = find_run(s, after);
	w.i = find_place(s, s->runs[w.run], after);
	if (is_at(s, s->runs[w.run], w.i, after))
		w.i++;
	return w;
}

void *sorted_next(struct sorted_walk *w)
{
	while (w->run < w->set->n) {
		const struct sorted_run *r = w->set->runs[w->run];

		if (w->i < r->n)
			return r->members[w->i++];
		w->run++;
		w->i = 0;
	}
	return NULL;
}
