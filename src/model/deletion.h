/*
 * deletion - how the deletion of something begins that a provider has, too.
 *
 * Whoever asks for it (a caller, a cascade, an expiry) writes the object as
 * this leaves it; its controller does the rest, and deletes the document last.
 */
#pragma once

#include "model/kind.h"

/* OBJECT, of kind K, is being deleted from NOW on, as BY asked: deletedAt and,
 * where it has one, its state say so.  Nothing when it is already. */
void deletion_begin(const struct kind *k, void *object, int64_t now,
		    const char *by);
