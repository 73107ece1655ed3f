#include "shrink.h"

#include <string.h>

struct shrinking {
	struct tape *t; /* the shortest yet that breaks */
	bool (*broken)(const struct tape *t, void *ctx);
	void *ctx;
	unsigned tried, tries;
};

static bool spent(const struct shrinking *s)
{
	return s->tried == s->tries;
}

/* Whether OTHER breaks, too; it is the tape then. */
static bool take(struct shrinking *s, const struct tape *other)
{
	if (spent(s))
		return false;
	s->tried++;
	if (!s->broken(other, s->ctx))
		return false;
	*s->t = *other;
	return true;
}

static bool leave_out(struct shrinking *s, uint32_t at, uint32_t n)
{
	struct tape other = *s->t;

	other.n -= n;
	memmove(&other.acts[at], &other.acts[at + n],
		(other.n - at) * sizeof(other.acts[0]));
	memset(&other.acts[other.n], 0, n * sizeof(other.acts[0]));
	return take(s, &other);
}

/* Chunks of N, the last first: what comes after a rule is broken is not
 * needed, and is most of a tape. */
static bool leave_out_chunks(struct shrinking *s, uint32_t n)
{
	bool any = false;

	for (uint32_t end = s->t->n; end > 0 && !spent(s);) {
		uint32_t at = end > n ? end - n : 0;

		any |= leave_out(s, at, end - at);
		end = at;
	}
	return any;
}

static bool leave_out_acts(struct shrinking *s)
{
	bool any = false;

	for (uint32_t n = (s->t->n + 1) / 2; n > 1; n /= 2)
		any |= leave_out_chunks(s, n);
	/* An act is often needed by another alone: again, once that is gone. */
	while (leave_out_chunks(s, 1))
		any = true;
	return any;
}

/* The number at AT, which is a byte of the tape's. */
static uint32_t number_at(const struct tape *t, size_t at)
{
	uint32_t number;

	memcpy(&number, (const char *)t + at, sizeof(number));
	return number;
}

static bool try_number(struct shrinking *s, size_t at, uint32_t number)
{
	struct tape other = *s->t;

	memcpy((char *)&other + at, &number, sizeof(number));
	return take(s, &other);
}

static bool lessen(struct shrinking *s, size_t at)
{
	uint32_t low = 0, was = number_at(s->t, at), high = was;

	if (was == 0 || try_number(s, at, 0))
		return was != 0;
	while (high - low > 1 && !spent(s)) {
		uint32_t middle = low + (high - low) / 2;

		if (try_number(s, at, middle))
			high = middle;
		else
			low = middle;
	}
	return high < was;
}

static bool lessen_numbers(struct shrinking *s)
{
	bool any = lessen(s, offsetof(struct tape, setting));

	for (uint32_t i = 0; i < s->t->n; i++) {
		any |= lessen(s, offsetof(struct tape, acts[i].who));
		any |= lessen(s, offsetof(struct tape, acts[i].what));
		any |= lessen(s, offsetof(struct tape, acts[i].seed));
	}
	return any;
}

unsigned shrink(struct tape *t, bool (*broken)(const struct tape *t, void *ctx),
		void *ctx, unsigned tries)
{
	struct shrinking s = {
		.t = t, .broken = broken, .ctx = ctx, .tries = tries};

	/* With smaller numbers, acts may do without others. */
	do
		leave_out_acts(&s);
	while (lessen_numbers(&s) && !spent(&s));
	return s.tried;
}
