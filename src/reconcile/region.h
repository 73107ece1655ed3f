/*
 * region - the controller of regions: has the provider open, reads its catalogue
 * now and then, and shows what it found.  What was known stays when it fails.
 *
 * A sync is asked for by setting the region's status.syncedAt to 0.  A region
 * that is being deleted is closed: a cascade takes away what it offered.
 */
#pragma once

#include "reconcile/controller.h"

extern const struct controller region_controller;
