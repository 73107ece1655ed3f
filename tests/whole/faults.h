/* faults - what happens in the cloud that nobody asked for. */
#pragma once

struct act;
struct rig;

/* Something happens to a machine. */
void cloud_drifts(struct rig *r, const struct act *act);

/* It has a machine besides: ours and nobody's, ours and somebody's, another
 * installation's, or a stranger's. */
void cloud_strays(struct rig *r, const struct act *act);

/* Lists are not as they should be; most machines are not shown for a time. */
void cloud_lists(struct rig *r, const struct act *act);
void cloud_hides(struct rig *r, const struct act *act);

/* What nobody has heard of does not last. */
void cloud_clears(struct rig *r);
