/*
 * sim_line - the consoles of simulated machines: lines that echo what is typed.
 *
 * A serial line greets with the machine's prompt and sends back each byte.  A
 * line (of text) that says "flood" is answered without end, one that says
 * "deaf" is the last that is read, and one that says "logout" hangs up.  A
 * screen greets as RFB does, and echoes.
 *
 * One thread serves them all, from the first until they are freed.  May be used
 * from several threads at a time.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct sim_lines;

struct sim_lines *sim_lines_new(void);

/* Hangs up. */
void sim_lines_free(struct sim_lines *s); /* NULL is fine */

/* A stream to the console of MACHINE, the caller's to close. */
int sim_line_open(struct sim_lines *s, const char *machine, bool screen,
		  int *ret_fd, struct err *err) MUST_CHECK;

/* Hang up all of MACHINE's. */
void sim_line_cut(struct sim_lines *s, const char *machine);
