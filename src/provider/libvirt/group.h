/*
 * group - security groups, as filters of libvirt's on each host.
 *
 * A group's filter is the same on every host; a machine's is on its own.  When
 * the members of a group that others name are others, the filters of those are
 * made anew, on every host and for machines that run.
 */
#pragma once

#include "provider/libvirt/filter.h"
#include "provider/libvirt/network.h"

int group_ensure(struct provider *p, const struct group_spec *spec,
		 struct arena *a, struct backing *ret,
		 struct err *err) MUST_CHECK;
int group_remove(struct provider *p, const struct backing_id *id,
		 struct err *err) MUST_CHECK;
int group_things(struct lv *lv, const char *installation, struct arena *a,
		 struct buf *things, struct err *err) MUST_CHECK;

/* Every group of NAMES (const char *) is there on H, brought from another host
 * when it is not; ERR_INVALID when there is none of a name. */
int group_bring(struct host *h, const struct items *names, struct arena *a,
		struct err *err) MUST_CHECK;

/* Who is in these groups is not who was; NAMES is of const char *.  A host that
 * does not answer is not waited for: group_catch_up() tells it. */
int group_follow(struct lv *lv, const struct items *names, struct arena *a,
		 struct err *err) MUST_CHECK;

/* Tells every host who is in which group, if one was not told when it was due:
 * it may let somebody in who is somebody else by now. */
void group_catch_up(struct lv *lv);
