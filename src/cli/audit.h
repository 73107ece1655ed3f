/* audit - reading the audit trail over the API. */
#pragma once

#include "cli/cli.h"

extern const struct command_option audit_list_options[];
extern const struct command_option audit_export_options[];

int audit_list(struct cli *c, int argc, char **argv);
int audit_export(struct cli *c, int argc, char **argv);
