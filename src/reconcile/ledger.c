#include "reconcile/ledger.h"

#include <assert.h>

#include "reconcile/queue.h"

/* Of so many that begin one is of the lowest rank. */
#define TURNS 16

/* What a provider that is too busy and does not say for how long gets. */
#define BUSY_MS 1000

/* A call, in thousandths: what one a second gains in a millisecond. */
#define ONE 1000

void ledger_init(struct ledger *l, uint64_t now)
{
	*l = (struct ledger){.at_once = 1, .credit_at = now};
	for (size_t i = 0; i < CALL_RANKS; i++)
		list_init(&l->waiting[i]);
}

/* How many may begin at the same moment: a tenth of a second's worth. */
static uint64_t burst(const struct ledger *l)
{
	return l->per_second < 20 ? 1 : l->per_second / 10;
}

/* How many more in a second, so that with a burst at its beginning no second has
 * more than per_second. */
static uint64_t gain(const struct ledger *l)
{
	return l->per_second - burst(l) + 1;
}

static uint64_t credit(const struct ledger *l, uint64_t now)
{
	uint64_t have = l->credit + (now - l->credit_at) * gain(l);

	return have < burst(l) * ONE ? have : burst(l) * ONE;
}

void ledger_limit(struct ledger *l, unsigned at_once, unsigned per_second)
{
	l->at_once = at_once;
	l->per_second = per_second;
	if (l->credit > burst(l) * ONE)
		l->credit = burst(l) * ONE;
}

void ledger_add(struct ledger *l, struct ledger_entry *e)
{
	list_add(&l->waiting[e->rank], &e->link);
	l->n_waiting++;
}

void ledger_put_back(struct ledger *l, struct ledger_entry *e)
{
	list_add(l->waiting[e->rank].next, &e->link);
	l->n_waiting++;
}

void ledger_remove(struct ledger *l, struct ledger_entry *e)
{
	list_remove(&e->link);
	l->n_waiting--;
}

/* There is one that waits. */
static struct ledger_entry *take(struct ledger *l)
{
	bool low_first = ++l->begun % TURNS == 0;

	struct list *link = NULL;

	for (size_t i = 0; !link; i++) {
		assert(i < CALL_RANKS);
		link = list_pop(
			&l->waiting[low_first ? CALL_RANKS - 1 - i : i]);
	}
	return CONTAINER_OF(link, struct ledger_entry, link);
}

struct ledger_entry *ledger_next(struct ledger *l, uint64_t now)
{
	if (ledger_when(l, now) > now)
		return NULL;
	if (l->per_second) {
		l->credit = credit(l, now) - ONE;
		l->credit_at = now;
	}
	l->under_way++;
	l->n_waiting--;
	return take(l);
}

/* Who has no room for more answers well: a deletion would make some. */
static bool is_full_up(const struct err *err)
{
	return err->code == ERR_CAPACITY || err->code == ERR_QUOTA;
}

static bool is_busy(const struct err *err)
{
	return err->code == ERR_RATE ||
	       (err->code != ERR_NONE && !is_full_up(err) &&
		err->retry_after_ms && err->scope >= ERR_SCOPE_REGION);
}

void ledger_end(struct ledger *l, const struct err *err, uint64_t now)
{
	uint64_t until;

	l->under_way--;
	if (!is_busy(err)) {
		if (l->trust && err->code == ERR_NONE &&
		    ++l->trust >= l->at_once)
			l->trust = 0;
		return;
	}
	l->trust = 1;
	until = now + (err->retry_after_ms ? err->retry_after_ms : BUSY_MS);
	if (until > l->blocked_until)
		l->blocked_until = until;
}

static bool is_full(const struct ledger *l)
{
	return l->under_way >= l->at_once ||
	       (l->trust && l->under_way >= l->trust);
}

uint64_t ledger_when(const struct ledger *l, uint64_t now)
{
	uint64_t have, when = now;

	if (!l->n_waiting || l->paused || is_full(l))
		return QUEUE_NEVER;
	if (l->per_second && (have = credit(l, now)) < ONE)
		when += (ONE - have + gain(l) - 1) / gain(l);
	return when > l->blocked_until ? when : l->blocked_until;
}
