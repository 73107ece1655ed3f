/* given - a value on the command line that is a document: JSON, or the name of
 * a file with JSON or YAML in it. */
#pragma once

#include "base/json.h"

/* What begins with a brace is JSON.  The tree lives in A. */
struct node *given_document(const char *text, struct arena *a,
			    struct err *err) MUST_CHECK;
