/*
 * records - structs that are kept, each in a file of its own: FOLDER/UUID.json.
 *
 * A record is written whole or not at all.  Any thread may call; of one id one
 * at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/field.h"

struct records {
	const char *folder;
	const struct field *fields;
	size_t size; /* of the struct */
};

/* Makes the folder. */
int records_open(const struct records *r, struct err *err) MUST_CHECK;

/* ERR_NOT_FOUND, also of what is no UUID. */
int records_get(const struct records *r, const char *id, struct arena *a,
		void *ret, struct err *err) MUST_CHECK;
int records_put(const struct records *r, const char *id, const void *record,
		struct err *err) MUST_CHECK;
int records_remove(const struct records *r, const char *id,
		   struct err *err) MUST_CHECK;
/* All of them, one after the other; what cannot be read is left out. */
int records_list(const struct records *r, struct arena *a, struct items *ret,
		 struct err *err) MUST_CHECK;

/* "FOLDER/ID.END", in A. */
const char *records_path(const struct records *r, const char *id,
			 const char *end, struct arena *a);
