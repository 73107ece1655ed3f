/* stray - machines that the cloud has and Muster did not ask for. */
#pragma once

#include <stdbool.h>

struct act;
struct rig;

/* One comes: with our tags and a server that never was, or somebody else's. */
void stray_come(struct rig *r, const struct act *act);

/* There is one that Muster cannot know to be one yet. */
bool stray_is_young(const struct rig *r);
