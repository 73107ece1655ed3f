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

/* What became of it. */
int story_events(struct cli *c, int argc, char **argv);
int story_explain(struct cli *c, int argc, char **argv);

/* A guest image, made here. */
int image_build(struct cli *c, int argc, char **argv);

/* What is nobody's. */
int region_orphans(struct cli *c, int argc, char **argv);
