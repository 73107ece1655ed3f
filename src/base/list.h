/*
 * list - an intrusive doubly linked ring.
 *
 * A list head is a struct list of its own; members embed one.  An unlinked
 * member points to itself, so list_remove() may be called twice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_remove(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

/* At the end of HEAD's list. */
static inline void list_add(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

/* The first member, taken out; NULL when there is none. */
static inline struct list *list_pop(struct list *head)
{
	struct list *l = head->next;

	if (l == head)
		return NULL;
	list_remove(l);
	return l;
}
