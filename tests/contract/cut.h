/*
 * cut - a way to a libvirtd that breaks when it is told to: after so many calls,
 * before or after one was carried out.
 *
 * Until it is mended nobody is there.  Calls of who connects are counted by what
 * libvirt sends: each packet has its length first, then what sort it is of.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct cut;

/* The socket PATH leads to the socket TO; both live as long as it. */
struct cut *cut_open(const char *path, const char *to);
void cut_close(struct cut *c);

/* At call number NTH from now, counted from 1 (0: never).  ANSWERED: it is
 * carried out, and its answer is lost; otherwise it is not. */
void cut_at(struct cut *c, unsigned nth, bool answered);

/* Process PID is killed when it breaks (0: none is), before it could notice. */
void cut_kills(struct cut *c, pid_t pid);
bool cut_happened(struct cut *c);
unsigned cut_calls(struct cut *c); /* since the last cut_at() */
void cut_mend(struct cut *c);
