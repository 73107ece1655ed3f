/*
 * yaml - YAML text to the same tree as JSON, and back, by libyaml.
 *
 * One document; keys are strings and come once; anchors, aliases and tags are
 * refused.  Plain scalars follow YAML's core schema (null, true, false, decimal
 * integers within 64 bits, fractions); quoted ones are text.
 */
#pragma once

#include "base/json.h"

/* NULL with ERR_INVALID (where and why) or ERR_TOO_LARGE. */
struct node *yaml_parse(const char *text, size_t len, struct arena *a,
			struct err *err) MUST_CHECK;

void yaml_write(const struct node *n, struct buf *out);
