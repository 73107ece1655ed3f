/*
 * sim_link - the way to a simulated cloud: in this process, or over HTTP to
 * another one.  May be used from several threads at a time.
 */
#pragma once

#include "provider/provider.h"
#include "provider/sim_cloud.h"

struct sim_link;

/* A cloud that is in another process is asked how it behaves. */
int sim_link_open(const struct provider_conf *conf,
		  const struct sim_options *options, struct sim_link **out,
		  struct err *err);
void sim_link_close(struct sim_link *l); /* NULL is fine */

/* How the cloud behaves, as it was when the link was made. */
const struct sim_options *sim_link_options(const struct sim_link *l);

int sim_link_call(struct sim_link *l, enum sim_call call, const void *ask,
		  struct arena *a, void *answer, struct err *err) MUST_CHECK;

/* The cloud in this process; NULL when it is in another.  For tests, while no
 * call is under way. */
struct sim_cloud *sim_link_cloud(struct sim_link *l);
