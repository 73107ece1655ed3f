/*
 * sample - a struct with a field of every type and flag, for tests of the
 * field tables that must not depend on what the nouns happen to have.
 */
#pragma once

#include "base/field_ops.h"

struct sample_part {
	const char *label;
	int64_t size;
	bool last;
	struct items words;
};

struct sample_inner {
	int64_t size;
	const char *key, *password;
	int mode;
	struct items parts; /* of struct sample_part */
};

struct sample_common {
	const char *id, *name;
	int64_t made_at;
};

struct sample {
	struct sample_common common;
	struct items tags;
	int64_t count, limit;
	bool on;
	int64_t until;
	int mode;
	const char *options, *owner, *token, *note;
	struct items words;   /* of const char * */
	struct items numbers; /* of int64_t */
	struct sample_inner inner, fixed, seen;
};

enum { SAMPLE_FAST = 1, SAMPLE_SLOW, SAMPLE_STILL };

static const char *const sample_modes[] = {NULL, "fast", "slow", "still", NULL};

#define SAMPLE_AT(type, member) offsetof(struct type, member)

static const struct field sample_part_fields[] = {
	{"label", FIELD_STRING, FIELD_REQUIRED, SAMPLE_AT(sample_part, label),
	 "A label.", &format_name},
	{"size", FIELD_INT, 0, SAMPLE_AT(sample_part, size), "A size.",
	 .min = 1, .max = 100},
	{"last", FIELD_BOOL, 0, SAMPLE_AT(sample_part, last), "The last one."},
	{"words", FIELD_LIST, 0, SAMPLE_AT(sample_part, words), "Words.",
	 .item = FIELD_STRING, .size = sizeof(const char *)},
	{0},
};

static const struct field sample_inner_fields[] = {
	{"size", FIELD_INT, 0, SAMPLE_AT(sample_inner, size), "A size.",
	 .min = -10, .max = 10, .fallback = "7"},
	{"key", FIELD_STRING, 0, SAMPLE_AT(sample_inner, key), "A key."},
	{"password", FIELD_STRING, FIELD_SECRET,
	 SAMPLE_AT(sample_inner, password), "A secret."},
	{"mode", FIELD_ENUM, 0, SAMPLE_AT(sample_inner, mode), "A mode.",
	 .names = sample_modes, .fallback = "\"slow\""},
	{"parts", FIELD_LIST, 0, SAMPLE_AT(sample_inner, parts), "Parts.",
	 .item = FIELD_OBJECT, .fields = sample_part_fields,
	 .size = sizeof(struct sample_part), .max = 4},
	{0},
};

static const struct field sample_common_fields[] = {
	{"id", FIELD_STRING, FIELD_READ_ONLY, SAMPLE_AT(sample_common, id),
	 "Its id.", &format_uuid},
	{"name", FIELD_STRING, FIELD_REQUIRED | FIELD_IMMUTABLE,
	 SAMPLE_AT(sample_common, name), "Its name.", &format_name, .min = 1,
	 .max = 63},
	{"madeAt", FIELD_TIME, FIELD_READ_ONLY,
	 SAMPLE_AT(sample_common, made_at), "When it was made."},
	{0},
};

static const struct field sample_fields[] = {
	{.type = FIELD_INCLUDE, .fields = sample_common_fields},
	{"tags", FIELD_TAGS, 0, SAMPLE_AT(sample, tags), "Tags."},
	{"count", FIELD_INT, FIELD_REQUIRED, SAMPLE_AT(sample, count),
	 "A count."},
	{"limit", FIELD_INT, FIELD_IMMUTABLE, SAMPLE_AT(sample, limit),
	 "A limit with a default.", .max = 1000, .fallback = "10"},
	{"on", FIELD_BOOL, 0, SAMPLE_AT(sample, on), "On or off.",
	 .fallback = "true"},
	{"until", FIELD_TIME, 0, SAMPLE_AT(sample, until), "A time."},
	{"mode", FIELD_ENUM, 0, SAMPLE_AT(sample, mode), "A mode.",
	 .names = sample_modes},
	{"options", FIELD_RAW, 0, SAMPLE_AT(sample, options), "Anything.",
	 .max = 200},
	{"owner", FIELD_STRING, FIELD_IMMUTABLE, SAMPLE_AT(sample, owner),
	 "An owner.", &format_uuid},
	{"token", FIELD_STRING, FIELD_SECRET, SAMPLE_AT(sample, token),
	 "A secret."},
	{"note", FIELD_STRING, 0, SAMPLE_AT(sample, note), "A note.",
	 &format_text, .min = 2, .max = 20},
	{"words", FIELD_LIST, FIELD_ALWAYS, SAMPLE_AT(sample, words), "Words.",
	 &format_word, .item = FIELD_STRING, .size = sizeof(const char *),
	 .max = 5},
	{"numbers", FIELD_LIST, 0, SAMPLE_AT(sample, numbers), "Numbers.",
	 .item = FIELD_INT, .size = sizeof(int64_t)},
	{"inner", FIELD_OBJECT, 0, SAMPLE_AT(sample, inner), "Wanted.",
	 .fields = sample_inner_fields},
	{"fixed", FIELD_OBJECT, FIELD_IMMUTABLE, SAMPLE_AT(sample, fixed),
	 "Set once.", .fields = sample_inner_fields},
	{"seen", FIELD_OBJECT, FIELD_READ_ONLY, SAMPLE_AT(sample, seen),
	 "Seen.", .fields = sample_inner_fields},
	{0},
};
