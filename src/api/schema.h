/* schema - JSON Schema of a table of fields, for the OpenAPI document. */
#pragma once

#include "base/buf.h"
#include "model/kind.h"

enum schema_use {
	SCHEMA_READ,    /* what is answered */
	SCHEMA_CREATE,  /* what POST takes */
	SCHEMA_REPLACE, /* what PUT takes */
	SCHEMA_PATCH,   /* what PATCH takes: all of it optional, null removes */
};

/* An object schema, closed: other members are not valid. */
void schema_write(const struct field *fields, enum schema_use use,
		  struct buf *out);
