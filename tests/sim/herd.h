/* herd - a yard with instances that run, "web-0" and so on, and a monitor that
 * looks at them. */
#pragma once

#include "yard.h"

#define SECOND 1000
#define MINUTE 60000

/* A yard with N instances that run, looked at once a minute when still. */
void herd_open(struct yard *y, const char *options, int n);

/* The Nth of them, and the provider's id of its machine. */
const char *herd_id(int n);
const struct instance *herd_at(const struct yard *y, int n);
const char *herd_machine(const struct yard *y, int n);

/* As yard_drift() and yard_told(). */
bool herd_drift(struct yard *y, int n, const char *what);
bool herd_told(const struct yard *y, int n, const char *reason);

/* How often REASON was told of the region. */
int64_t herd_region_told(const struct yard *y, const char *reason);
