/* The list of controllers; a new one is a row here. */
#include "reconcile/engine_priv.h"

const struct controller *const controllers[] = {
	NULL, /* ends it */
};
