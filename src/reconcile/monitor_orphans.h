/* monitor_orphans - what carries our tags and is nobody's: found, kept an eye on,
 * and removed where that is wanted. */
#pragma once

#include "reconcile/monitor_sweep.h"

struct provider;

/* What is listed as orphans is not what STRAYS are. */
bool monitor_orphans_news(const struct region *r, const struct region_write *w);
void monitor_write_orphans(struct tx *tx, struct region *r,
			   const struct region_write *w);

/* S carries our tags, and is not what is known under its name.  BEFORE are the
 * first sights of the last sweep. */
void monitor_take_stray(struct sweep *sweep, const struct map *before,
			const struct provider_facts *f, const struct stray *s,
			int64_t began);

/* Have the next page of what is no machine read, then go on with SWEEP_COUNT. */
void monitor_ask_things(struct work *w, struct sweep *sweep,
			const struct map *before);

/* The provider is asked to remove the thing S, if it is still listed as ours;
 * RET tells. */
int monitor_remove_thing(struct provider *p, const char *installation,
			 const struct stray *s, struct arena *a, bool *ret,
			 struct err *err);

/* What S names: a server, or an object; NULL when there is none. */
const void *monitor_owner(struct work *w, const struct stray *s);

/* Have the next orphan that is to go removed; false when there is none. */
bool monitor_remove_orphan(struct work *w, struct sweep *sweep);
