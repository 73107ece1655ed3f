/*
 * golden - XML held against a file, in which it is indented.
 *
 * The folder is the program's argument.  White space between two tags is
 * nothing; all else counts.
 */
#pragma once

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "test.h"

static const char *golden_folder;

static inline void golden_strip(const char *text, struct buf *out)
{
	for (const char *p = text; *p; p++) {
		size_t gap = strspn(p, " \t\r\n");
		bool between = (p == text || p[-1] == '>') &&
			       (p[gap] == '<' || !p[gap]);

		if (gap && between) {
			p += gap;
			if (!*p)
				break;
		}
		buf_addc(out, *p);
	}
}

static inline bool golden_read(const char *name, struct buf *out)
{
	char path[512], piece[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s.xml", golden_folder, name);
	f = fopen(path, "r");
	while (f && (n = fread(piece, 1, sizeof(piece), f)))
		buf_add(out, piece, n);
	if (f)
		fclose(f);
	return f;
}

/* GOT is what the file NAME.xml has. */
static inline bool golden_same(const char *name, const char *got)
{
	struct buf file = BUF_INIT((size_t)4 << 20),
		   want = BUF_INIT((size_t)4 << 20),
		   have = BUF_INIT((size_t)4 << 20);
	bool same;

	golden_strip(got, &have);
	same = golden_read(name, &file);
	golden_strip(buf_str(&file), &want);
	same = same && strcmp(buf_str(&want), buf_str(&have)) == 0;
	if (!same)
		printf("# %s.xml is not what was written:\n# %s\n", name,
		       buf_str(&have));
	buf_release(&file);
	buf_release(&want);
	buf_release(&have);
	return same;
}
