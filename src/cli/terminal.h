/*
 * terminal - signals as something to read, keys one by one, the whole screen.
 *
 * What was changed is put back by terminal_close(), which whoever opened it
 * calls on every way out.
 */
#pragma once

#include <poll.h>
#include <stdio.h>
#include <termios.h>

#include "base/buf.h"

enum terminal_event {
	TERMINAL_NONE,
	TERMINAL_STOP,   /* Ctrl-C, or asked to end */
	TERMINAL_RESIZE, /* another width or height */
	TERMINAL_KEY,
};

struct terminal {
	int signals;  /* to poll for reading */
	int keys;     /* the same; -1: none are read */
	FILE *screen; /* it was taken over; NULL: it was not */
	struct termios before, during;
};

/* From now on SIGINT, SIGTERM, SIGWINCH and the like are read, not acted upon;
 * when it is to stop for a while the terminal is given back meanwhile. */
void terminal_open(struct terminal *t);

/* Take keys from IN, and the screen from OUT: what was on it comes back. */
void terminal_take(struct terminal *t, FILE *in, FILE *out);

/* Take keys from IN, all of them: none is for the terminal itself.  False when
 * IN is none. */
bool terminal_take_raw(struct terminal *t, FILE *in);

void terminal_close(struct terminal *t);

/* What to poll, at most 2; returns how many. */
size_t terminal_polled(const struct terminal *t, struct pollfd fds[2]);

/* What came; a key goes to *RET_KEY. */
enum terminal_event terminal_read(struct terminal *t, const struct pollfd *fds,
				  char *ret_key);

/* Columns and rows of what OUT is; 0 when it is no terminal. */
void terminal_size(FILE *out, size_t *ret_columns, size_t *ret_rows);

/* End as an interrupted program does. */
void terminal_interrupt(void);
