/*
 * machine_view - gathers what the planner looks at.
 *
 * The same whether documents are looked up as readers see them, before a call,
 * or inside the transaction that writes down what became of it.
 */
#pragma once

#include "model/kind.h"
#include "reconcile/machine_plan.h"

struct machine_look {
	const void *(*get)(void *ctx, const struct kind *k, const char *id);
	void *ctx;
};

/* What is known and is in no document. */
struct machine_known {
	const struct provider_facts *facts; /* NULL: it is not open */
	unsigned can;
	int64_t started; /* when we began */
	int64_t even;    /* since when time has run evenly */
	int64_t behind;  /* what the clock is behind, if it is */
	/* When we last had a launch asked for, and of which try. */
	int64_t called_at, number, attempt;
};

/* What is waited for: poke when one of these changes. */
struct machine_waits {
	struct {
		const struct kind *kind;
		const char *id;
	} list[48];
	size_t n;
};

/* Fill RET, whose i and s are set, at NOW; what is not ready is added to WAITS,
 * which may be NULL.  Texts are in A. */
void machine_view(const struct machine_look *look,
		  const struct machine_known *known, int64_t now,
		  struct arena *a, struct machine_view *ret,
		  struct machine_waits *waits);

/* What PROVIDER can, as bits. */
unsigned machine_can(const struct provider *p);
