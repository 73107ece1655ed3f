/* serve - the server: makes every part and hands them down. */
#pragma once

#include "base/err.h"
#include "daemon/config.h"

/* Whether the files that CONF names can be used; makes nothing. */
int serve_check(const struct config *conf, struct err *err);

/* Runs until SIGTERM or SIGINT.  ERR when it cannot start. */
int serve(const struct config *conf, struct err *err);
