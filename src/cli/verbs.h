/*
 * verbs - what some nouns can do besides, or in a way of their own.
 *
 * A verb of a machine is one request to its path; a table says which, and what
 * there is to wait for.
 */
#pragma once

#include "cli/noun.h"

extern const struct command usage_verbs[], token_verbs[], group_verbs[];

/* start, stop, reboot, rebuild, pause, resume, sync, accept. */
int machine_act(struct cli *c, int argc, char **argv);
int machine_snapshot(struct cli *c, int argc, char **argv);

/* Ways in. */
int machine_console(struct cli *c, int argc, char **argv);
int machine_output(struct cli *c, int argc, char **argv);
int machine_certificate(struct cli *c, int argc, char **argv);
int machine_key(struct cli *c, int argc, char **argv);

/* "muster console", "muster ssh". */
extern const struct command_option console_options[], ssh_options[];
int console_run(struct cli *c, int argc, char **argv);
int ssh_run(struct cli *c, int argc, char **argv);

/* Print where the console is of the one that V names. */
int machine_console_address(struct verb *v);

/* Ask for what is at SUFFIX of the path of instance ID; *RET is there when this
 * succeeds. */
struct request;
int machine_ask(struct verb *v, struct request *r, const char *id,
		const char *suffix, struct node **ret,
		struct failure *p) MUST_CHECK;

/* What became of it. */
int story_events(struct cli *c, int argc, char **argv);
int story_explain(struct cli *c, int argc, char **argv);

/* A guest image, made here. */
int image_build(struct cli *c, int argc, char **argv);

/* What is nobody's. */
int region_orphans(struct cli *c, int argc, char **argv);
