#include "rig/shelves.h"

#include <stdio.h>

static const char *const color_names[] = {NULL, "red", "blue", NULL};

const struct field shelf_fields[] = {META_FIELDS, {0}};

const struct kind shelf_kind = {
	.name = "shelf",
	.plural = "shelves",
	.title = "Shelf",
	.size = sizeof(struct shelf),
	.fields = shelf_fields,
	.version = 1,
};

const struct field book_fields[] = {
	META_FIELDS,
	{"shelfId", FIELD_STRING, FIELD_INDEX, offsetof(struct book, shelf_id),
	 .refers = "shelf"},
	{"alsoIds", FIELD_LIST, FIELD_INDEX, offsetof(struct book, also),
	 .item = FIELD_STRING, .size = sizeof(const char *), .refers = "shelf"},
	{"color", FIELD_ENUM, FIELD_INDEX, offsetof(struct book, color),
	 .names = color_names},
	{"note", FIELD_STRING, FIELD_SECRET, offsetof(struct book, note)},
	{0},
};

const struct kind book_kind = {
	.name = "book",
	.plural = "books",
	.title = "Book",
	.size = sizeof(struct book),
	.fields = book_fields,
	.unique_within = "shelfId",
	.version = 1,
};

const struct kind *const shelves_kinds[] = {&shelf_kind, &book_kind, NULL};

const char *shelves_id(char out[37], unsigned space, unsigned i)
{
	snprintf(out, 37, "%08x-0000-4000-8000-%012x", space, i);
	return out;
}

struct shelf shelf_of(const char *id, const char *name)
{
	return (struct shelf){
		.meta = {.id = id, .name = name, .generation = FIELD_NONE}};
}

struct book book_of(const char *id, const char *name, const char *shelf)
{
	return (struct book){
		.meta = {.id = id, .name = name, .generation = FIELD_NONE},
		.shelf_id = shelf};
}
