/* session - the commands about who one is and where: login, logout, whoami,
 * context, version, and the commands that explain the others. */
#pragma once

#include "cli/cli.h"

extern const struct command context_commands[];
extern const struct command_option login_options[], version_options[],
	man_options[];

int session_login(struct cli *c, int argc, char **argv);
int session_logout(struct cli *c, int argc, char **argv);
int session_whoami(struct cli *c, int argc, char **argv);
int session_version(struct cli *c, int argc, char **argv);
int session_help(struct cli *c, int argc, char **argv);
int session_man(struct cli *c, int argc, char **argv);
int session_completion(struct cli *c, int argc, char **argv);
