/* regional - the rules in the API of what is in a region. */
#pragma once

#include "api/call.h"

int image_create(struct call *c, struct tx *tx, void *object, struct err *err);
int network_create(struct call *c, struct tx *tx, void *object,
		   struct err *err);
int securitygroup_create(struct call *c, struct tx *tx, void *object,
			 struct err *err);
int sshca_create(struct call *c, struct tx *tx, void *object, struct err *err);
int volume_create(struct call *c, struct tx *tx, void *object, struct err *err);
int instance_create(struct call *c, struct tx *tx, void *object,
		    struct err *err);
