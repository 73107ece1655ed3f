/*
 * regional - the rules in the API of what is in a region: what the tables of
 * fields cannot say.
 */
#pragma once

#include "api/call.h"

struct region;

int region_create(struct call *c, struct tx *tx, void *object, struct err *err);
int region_update(struct call *c, struct tx *tx, const void *old, void *object,
		  struct err *err);
int region_remove(struct call *c, struct tx *tx, const void *old,
		  struct err *err);

int network_create(struct call *c, struct tx *tx, void *object,
		   struct err *err);
int network_update(struct call *c, struct tx *tx, const void *old, void *object,
		   struct err *err);
int securitygroup_create(struct call *c, struct tx *tx, void *object,
			 struct err *err);
int securitygroup_update(struct call *c, struct tx *tx, const void *old,
			 void *object, struct err *err);

int sshca_create(struct call *c, struct tx *tx, void *object, struct err *err);

int volume_create(struct call *c, struct tx *tx, void *object, struct err *err);
int volume_update(struct call *c, struct tx *tx, const void *old, void *object,
		  struct err *err);
int volume_remove(struct call *c, struct tx *tx, const void *old,
		  struct err *err);

int image_create(struct call *c, struct tx *tx, void *object, struct err *err);
int image_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err);
int image_remove(struct call *c, struct tx *tx, const void *old,
		 struct err *err);

/* POST /v1/regions/{id}/sync: read its catalogue now. */
void handle_sync(struct call *c);

/* POST /v1/regions/{id}/accept: what is missing there is gone. */
void handle_accept(struct call *c);

/* POST /v1/volumes/{id}/snapshot: an image of what is on it. */
void handle_volume_snapshot(struct call *c);
extern const struct field volume_snapshot_fields[];

/* The region ID, which the caller sees; named at POINTER otherwise. */
int regional_find(struct call *c, struct tx *tx, const char *id,
		  const char *pointer, const struct region **ret,
		  struct err *err) MUST_CHECK;

/* R can do that, as far as it is known yet; WHAT says what it would be. */
int regional_can(const struct region *r, const char *capability,
		 const char *what, struct err *err) MUST_CHECK;

/* R has that zone; NULL is any. */
int regional_zone(const struct region *r, const char *zone, const char *pointer,
		  struct err *err) MUST_CHECK;
