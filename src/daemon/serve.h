/* serve - the server: makes every part and hands them down. */
#pragma once

#include "base/err.h"
#include "daemon/config.h"

/* Runs until SIGTERM or SIGINT.  ERR when it cannot start. */
int serve(const struct config *conf, struct err *err);
