/*
 * field_seal - secret fields on their way to the store and back.
 *
 * A field flagged FIELD_SECRET is written as one string, whatever it is: what
 * the caller makes of the JSON it would have been.  Paths are those of the
 * document: "spec.credentials", "accounts[2].password".
 */
#pragma once

#include "base/field.h"

#define FIELD_PATH_MOST 256

struct field_seal {
	/* Append what is kept instead of the LEN bytes of JSON, without
	 * anything that JSON would escape. */
	void (*fn)(void *ctx, const char *path, const char *json, size_t len,
		   struct buf *out);
	void *ctx;
};

/* Like field_encode() with FIELD_FULL, secrets sealed. */
void field_encode_sealed(const struct field *fields, const void *object,
			 const struct field_seal *seal, struct buf *out);

struct field_open {
	/* Append the JSON that VALUE, a secret as it was read, stands for; or
	 * nothing, when it is what it should be. */
	int (*fn)(void *ctx, const char *path, const struct node *value,
		  struct buf *out, struct err *err);
	void *ctx;
};

/* Put what is opened into DOC, in place of what was sealed. */
int field_open_sealed(const struct field *fields, struct node *doc,
		      struct arena *a, const struct field_open *open,
		      struct err *err) MUST_CHECK;

/* "a.b" and "a[2]" from "a", whose length is LEN; the new length. */
size_t field_path_add(char path[FIELD_PATH_MOST], size_t len, const char *name);
size_t field_path_index(char path[FIELD_PATH_MOST], size_t len, size_t i);
