/* start - a disk to begin on, made once for each setting that has its own. */
#pragma once

struct setting;
struct start;

const struct start *start_of(const struct setting *s);
