/* help - what the tables say, for people and for shells. */
#pragma once

#include "cli/page.h"

/* What 'muster help' shows. */
void help_overview(struct cli *c, struct buf *out);

/* What 'muster help COMMAND' shows. */
void help_page(struct cli *c, const struct page *p, struct buf *out);

/* A manual page in roff; P is NULL for muster(1) itself. */
void man_page(struct cli *c, const struct page *p, struct buf *out);

/* Completion scripts. */
void completion_bash(struct cli *c, struct buf *out);
void completion_zsh(struct cli *c, struct buf *out);
void completion_fish(struct cli *c, struct buf *out);
