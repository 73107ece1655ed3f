#include "reconcile/notices.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void notices_init(struct notices *n, void (*ring)(void *ctx), void *ctx)
{
	*n = (struct notices){.ring = ring, .ctx = ctx};
	pthread_mutex_init(&n->lock, NULL);
}

void notices_release(struct notices *n)
{
	free(n->machines);
	pthread_mutex_destroy(&n->lock);
}

static void add(struct notices *n, const char *machine)
{
	size_t len = strlen(machine);

	if (n->all)
		return;
	for (size_t i = 0; i < n->n; i++)
		if (strcmp(n->machines[i], machine) == 0)
			return;
	if (n->n == NOTICES_MOST || len > NOTICE_LEN) {
		n->all = true;
		n->n = 0;
		return;
	}
	if (!n->machines)
		n->machines = xcalloc(NOTICES_MOST, sizeof(*n->machines));
	memcpy(n->machines[n->n++], machine, len + 1);
}

void notices_add(void *notices, const char *machine)
{
	struct notices *n = notices;
	bool first;

	pthread_mutex_lock(&n->lock);
	first = !n->all && !n->n;
	add(n, machine);
	pthread_mutex_unlock(&n->lock);
	if (first)
		n->ring(n->ctx);
}

void notices_take(struct notices *n, void (*fn)(void *ctx, const char *machine),
		  void *ctx)
{
	char(*machines)[NOTICE_LEN + 1];
	size_t many;
	bool all;

	pthread_mutex_lock(&n->lock);
	machines = n->machines;
	many = n->n;
	all = n->all;
	n->machines = NULL;
	n->n = 0;
	n->all = false;
	pthread_mutex_unlock(&n->lock);
	if (all)
		fn(ctx, NULL);
	for (size_t i = 0; i < many; i++)
		fn(ctx, machines[i]);
	free(machines);
}
