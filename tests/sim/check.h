/* check - an answer held against the model. */
#pragma once

#include "world.h"

/* The answered ask A was answered as what happened demands. */
void check_answer(struct ask *a);

/* Take what a stream said into its client's sight, event by event. */
void check_events(struct ask *a);

/* With everything still: S has seen all there is. */
void check_complete(struct world *w, const char *noun, const struct sight *s);

/* The server's view of everything is the model's. */
void check_world(struct world *w);

void sight_release(struct sight *s);
