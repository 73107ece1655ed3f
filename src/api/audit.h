/* audit - the audit trail, written and read; see store/audit.h. */
#pragma once

#include "api/call.h"

/* GET /v1/audit: newest first, or all of it as lines. */
void handle_audit(struct call *c);

/* The call, whose caller is known, is refused: leave a note of it. */
void call_audit_refusal(struct call *c, enum err_code code);
