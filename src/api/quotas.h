/* quotas - the rules of quota kinds, quotas and allocations in the API. */
#pragma once

#include "api/call.h"

int quotakind_update(struct call *c, struct tx *tx, const void *old,
		     void *object, struct err *err);
int quotakind_remove(struct call *c, struct tx *tx, const void *old,
		     struct err *err);
int quota_create(struct call *c, struct tx *tx, void *object, struct err *err);
int quota_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err);
int quota_remove(struct call *c, struct tx *tx, const void *old,
		 struct err *err);
int allocation_create(struct call *c, struct tx *tx, void *object,
		      struct err *err);
int allocation_update(struct call *c, struct tx *tx, const void *old,
		      void *object, struct err *err);
int allocation_remove(struct call *c, struct tx *tx, const void *old,
		      struct err *err);

/* GET /v1/organizations/{id}/usage and /v1/projects/{id}/usage. */
void handle_usage(struct call *c);
