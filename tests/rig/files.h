/* files - folders and files for tests; what cannot be done aborts. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buf;
struct store;

/* A new folder; and one removed with the files in it. */
void files_new(char dir[32]);
void files_remove(const char *dir);

/* Copy every file of FROM into TO: what a crash at this moment would leave. */
void files_copy(const char *from, const char *to);

/* "DIR/NAME". */
const char *files_path(char out[64], const char *dir, const char *name);

/* A whole file, to free() and to write. */
char *files_read(const char *path, size_t *ret_len);
void files_write(const char *path, const void *p, size_t len);

/* Everything a store knows, as text: equal text, equal store. */
void dump_store(const struct store *s, struct buf *out);
