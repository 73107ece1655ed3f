/* identities - the rules of users, groups, roles and tokens in the API. */
#pragma once

#include "api/call.h"

int organization_update(struct call *c, struct tx *tx, const void *old,
			void *object, struct err *err);
int user_update(struct call *c, struct tx *tx, const void *old, void *object,
		struct err *err);
int group_create(struct call *c, struct tx *tx, void *object, struct err *err);
int group_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err);
int role_create(struct call *c, struct tx *tx, void *object, struct err *err);
int role_update(struct call *c, struct tx *tx, const void *old, void *object,
		struct err *err);
int role_remove(struct call *c, struct tx *tx, const void *old,
		struct err *err);
int token_create(struct call *c, struct tx *tx, void *object, struct err *err);

/* POST /v1/tokens/{id}/rotate: a new secret; the old one is void at once. */
void handle_rotate(struct call *c);
