#include "base/sorted.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { RUN_MOST = 64, RUN_FIRST = 4 };

/* The first bytes of a key are kept beside its owner: most comparisons end
 * there, and need not fetch the key from wherever it is. */
struct member {
	uint64_t head;
	void *is;
};

struct sorted_run {
	size_t n, room;
	struct member members[];
};

struct sorted_top {
	uint64_t head; /* of the run's first member */
	struct sorted_run *run;
};

/* What is sought: a key with its head. */
struct sought {
	uint64_t head;
	const char *key;
};

/* In the order of strcmp(): the first byte counts most, and what is behind the
 * end is nothing. */
static struct sought sought(const char *key)
{
	uint64_t head = 0;

	for (unsigned i = 0; i < sizeof(head) && key[i]; i++)
		head |= (uint64_t)(unsigned char)key[i] << (56 - 8 * i);
	return (struct sought){head, key};
}

void sorted_init(struct sorted *s, const char *(*key)(const void *))
{
	*s = (struct sorted){.key = key};
}

void sorted_release(struct sorted *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->tops[i].run);
	if (s->room)
		free(s->tops);
	sorted_init(s, s->key);
}

static struct sorted_run *run_new(size_t room)
{
	struct sorted_run *r =
		xmalloc(sizeof(*r) + room * sizeof(r->members[0]));

	r->n = 0;
	r->room = room;
	return r;
}

static int compare_heads(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare(const struct sorted *s, const struct member *m,
		   const struct sought *w)
{
	return m->head != w->head ? compare_heads(m->head, w->head)
				  : strcmp(s->key(m->is), w->key);
}

/* Run AT's first member. */
static int compare_first(const struct sorted *s, size_t at,
			 const struct sought *w)
{
	const struct sorted_top *top = &s->tops[at];

	return top->head != w->head ? compare_heads(top->head, w->head)
				    : compare(s, top->run->members, w);
}

/* The last run that begins at or before what is sought; the first run when none
 * does.  The last one is tried first: what is new mostly goes there. */
static size_t find_run(const struct sorted *s, const struct sought *w)
{
	size_t low = 0, high = s->n;

	if (high > 1) {
		high--;
		if (compare_first(s, high, w) <= 0)
			return high;
	}
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (compare_first(s, mid, w) <= 0)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* The first place in R whose key is not less than what is sought; or R->n. */
static size_t find_place(const struct sorted *s, const struct sorted_run *r,
			 const struct sought *w)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare(s, &r->members[mid], w) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_at(const struct sorted *s, const struct sorted_run *r, size_t i,
		  const struct sought *w)
{
	return i < r->n && compare(s, &r->members[i], w) == 0;
}

static void insert_run(struct sorted *s, size_t at, struct sorted_run *r)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1;
		s->tops = xrealloc(s->tops, s->room, sizeof(*s->tops));
	}
	memmove(s->tops + at + 1, s->tops + at, (s->n - at) * sizeof(*s->tops));
	s->tops[at] = (struct sorted_top){.run = r};
	s->n++;
}

/* Halve a full run.  A run that grows at its end only, as one of ids made in
 * order does, is left full and a new one begun. */
static void split(struct sorted *s, size_t at, bool at_end)
{
	struct sorted_run *old = s->tops[at].run, *new = run_new(RUN_MOST);
	size_t keep = at_end ? old->n : old->n / 2;

	new->n = old->n - keep;
	memcpy(new->members, old->members + keep,
	       new->n * sizeof(new->members[0]));
	old->n = keep;
	insert_run(s, at + 1, new);
	if (new->n)
		s->tops[at + 1].head = new->members[0].head;
}

/* It comes after all others, as what is new mostly does. */
static bool is_last(const struct sorted *s, const struct sought *w)
{
	const struct sorted_run *r = s->tops[s->n - 1].run;

	return !r->n || compare(s, &r->members[r->n - 1], w) < 0;
}

/* M at place I of run AT, which has room for it. */
static void put(struct sorted *s, size_t at, size_t i, struct member m)
{
	struct sorted_run *r = s->tops[at].run;

	memmove(r->members + i + 1, r->members + i,
		(r->n - i) * sizeof(r->members[0]));
	r->members[i] = m;
	r->n++;
	if (i == 0)
		s->tops[at].head = m.head;
	s->count++;
}

/* Many sets have a single member: that of a name, for one. */
static bool is_single(const struct sorted *s)
{
	return !s->room && s->count;
}

static bool is_only(const struct sorted *s, const char *key)
{
	return is_single(s) && strcmp(s->key(s->only), key) == 0;
}

/* The first run, with what was the only member. */
static void begin_runs(struct sorted *s)
{
	void *only = is_single(s) ? s->only : NULL;

	s->tops = s->room ? s->tops : NULL;
	s->count = 0;
	insert_run(s, 0, run_new(RUN_FIRST));
	if (only)
		put(s, 0, 0, (struct member){sought(s->key(only)).head, only});
}

bool sorted_add(struct sorted *s, void *member)
{
	const struct sought w = sought(s->key(member));
	struct sorted_run *r;
	size_t at, i;

	if (is_only(s, w.key))
		return false;
	if (!s->room && !s->count) {
		s->only = member;
		s->count = 1;
		return true;
	}
	if (!s->n)
		begin_runs(s);
	if (is_last(s, &w)) {
		at = s->n - 1;
		r = s->tops[at].run;
		i = r->n;
	} else {
		at = find_run(s, &w);
		r = s->tops[at].run;
		i = find_place(s, r, &w);
		if (is_at(s, r, i, &w))
			return false;
	}
	if (r->n == r->room && r->room < RUN_MOST) {
		size_t room = 4 * r->room;

		r = xrealloc(r, 1, sizeof(*r) + room * sizeof(r->members[0]));
		r->room = room;
		s->tops[at].run = r;
	} else if (r->n == r->room) {
		split(s, at, i == r->n);
		if (i > r->n || (i == r->n && s->tops[at + 1].run->n == 0)) {
			i -= r->n;
			at++;
		}
	}
	put(s, at, i, (struct member){w.head, member});
	return true;
}

void *sorted_get(const struct sorted *s, const char *key)
{
	const struct sought w = sought(key);
	const struct sorted_run *r;
	size_t i;

	if (is_only(s, key))
		return s->only;
	if (!s->n)
		return NULL;
	r = s->tops[find_run(s, &w)].run;
	i = find_place(s, r, &w);
	return is_at(s, r, i, &w) ? r->members[i].is : NULL;
}

/* What is at place I of run AT. */
static void *take(struct sorted *s, size_t at, size_t i)
{
	struct sorted_run *r = s->tops[at].run;
	void *member = r->members[i].is;

	r->n--;
	memmove(r->members + i, r->members + i + 1,
		(r->n - i) * sizeof(r->members[0]));
	s->count--;
	if (r->n) {
		s->tops[at].head = r->members[0].head;
	} else {
		free(r);
		s->n--;
		memmove(s->tops + at, s->tops + at + 1,
			(s->n - at) * sizeof(*s->tops));
	}
	return member;
}

void *sorted_remove(struct sorted *s, const char *key)
{
	const struct sought w = sought(key);
	size_t at, i;

	if (is_only(s, key)) {
		s->count = 0;
		return s->only;
	}
	if (!s->n)
		return NULL;
	at = find_run(s, &w);
	i = find_place(s, s->tops[at].run, &w);
	return is_at(s, s->tops[at].run, i, &w) ? take(s, at, i) : NULL;
}

struct sorted_walk sorted_from(const struct sorted *s, const char *after)
{
	struct sorted_walk w = {s, 0, 0};
	struct sought after_that;

	if (after && is_single(s))
		w.i = strcmp(s->key(s->only), after) <= 0;
	if (!after || !s->n)
		return w;
	after_that = sought(after);
	w.run = find_run(s, &after_that);
	w.i = find_place(s, s->tops[w.run].run, &after_that);
	if (is_at(s, s->tops[w.run].run, w.i, &after_that))
		w.i++;
	return w;
}

void *sorted_next(struct sorted_walk *w)
{
	if (is_single(w->set))
		return w->i++ ? NULL : w->set->only;
	while (w->run < w->set->n) {
		const struct sorted_run *r = w->set->tops[w->run].run;

		if (w->i < r->n)
			return r->members[w->i++].is;
		w->run++;
		w->i = 0;
	}
	return NULL;
}

const void *sorted_ahead(const struct sorted_walk *w, size_t n)
{
	size_t i = w->i + n, run = w->run;

	for (; run < w->set->n && run < w->run + 2; run++) {
		const struct sorted_run *r = w->set->tops[run].run;

		if (i < r->n)
			return r->members[i].is;
		i -= r->n;
	}
	return NULL;
}
