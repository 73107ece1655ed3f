/* meddle - what others do at the cloud of a yard, and what it loses. */
#pragma once

#include "yard.h"

/* Have calls made and answered until one has made a machine: its answer never
 * comes.  Its id is the answer. */
const char *meddle_lose_launch(struct yard *y);

/* Have it make a thing ("network", "volume", …) for an object of that id, of that
 * installation; its id is the answer. */
const char *meddle_thing(struct yard *y, const char *kind, const char *ours,
			 const char *installation);

/* Have it remove a thing. */
void meddle_remove(struct yard *y, const char *kind, const char *id);

/* The cloud has a thing of that id. */
bool meddle_has_thing(struct yard *y, const char *id);

/* Somebody gives a machine these tags instead of its own. */
void meddle_tag(struct yard *y, const char *machine, const char *server,
		const char *installation);
