/* The nouns' tables drive everything, so what a table must be is checked here,
 * for all that are in the list. */

#include "model/kind.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "test.h"

/* Where a row stands: for messages, and for rules that look upward. */
struct row {
	const struct kind *kind;
	const struct row *up;
	const struct field *f;
	size_t offset; /* in the struct its table belongs to */
	bool in_list;
};

static void add_path(const struct row *r, struct buf *b)
{
	if (!r)
		return;
	add_path(r->up, b);
	buf_addf(b, "/%s", r->f->name);
}

static void rule(bool ok, const struct row *r, const char *words)
{
	struct buf path = BUF_INIT(1000);

	if (ok)
		return;
	add_path(r, &path);
	printf("# %s%s %s\n", r->kind->name, buf_str(&path), words);
	buf_release(&path);
	CHECK(!"a row breaks a rule");
}

/* The flags of the row and of all it stands in. */
static unsigned inherited(const struct row *r)
{
	unsigned flags = 0;

	for (; r; r = r->up)
		flags |= r->f->flags;
	return flags;
}

typedef void row_check(const struct row *r);

static void each_row_of(const struct field *fields, const struct row *up,
			const struct kind *k, row_check *check)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset))) {
		struct row r = {k, up, f, offset,
				(up && up->in_list) || f->item == FIELD_OBJECT};

		check(&r);
		if (f->fields)
			each_row_of(f->fields, &r, k, check);
	}
}

static void each_row(row_check *check)
{
	for (const struct kind *const *k = kinds; *k; k++)
		each_row_of((*k)->fields, NULL, *k, check);
}

static bool is_camel(const char *s)
{
	if (!s || !islower((unsigned char)*s))
		return false;
	while (isalnum((unsigned char)*s))
		s++;
	return !*s;
}

static bool is_sentence(const char *s)
{
	return s && *s && !islower((unsigned char)s[0]) &&
	       s[strlen(s) - 1] == '.';
}

static void kinds_are_named(void)
{
	size_t n = 0;

	for (const struct kind *const *k = kinds; *k; k++, n++) {
		CHECK(is_camel((*k)->name) && is_camel((*k)->plural));
		CHECK((*k)->title && isupper((unsigned char)(*k)->title[0]));
		CHECK(is_sentence((*k)->doc));
		CHECK((*k)->size >= sizeof(struct meta));
		CHECK(kind_find((*k)->name) == *k);
		CHECK(kind_find((*k)->plural) == *k);
		CHECK(kind_index(*k) == n);
	}
	CHECK(n > 0 && n <= KINDS_MOST);
	CHECK(kind_find("") == NULL && kind_find("nothing") == NULL);
}

static void kinds_have_every_upgrade(void)
{
	for (const struct kind *const *k = kinds; *k; k++) {
		CHECK((*k)->version >= 1);
		for (unsigned v = 1; v < (*k)->version; v++)
			CHECK((*k)->upgrades && (*k)->upgrades[v - 1]);
	}
}

static void kinds_begin_with_what_all_have(void)
{
	for (const struct kind *const *k = kinds; *k; k++) {
		struct field_walk w = field_walk(meta_unnamed_fields);
		const struct field *common;

		while ((common = field_walk_next(&w, NULL))) {
			const struct field *f = field_find(
				(*k)->fields, common->name, NULL, NULL);

			CHECK(f && f->offset == common->offset);
		}
		if ((*k)->unique_within) {
			const struct field *f = field_find(
				(*k)->fields, (*k)->unique_within, NULL, NULL);

			CHECK(f && f->type == FIELD_STRING);
			CHECK(f &&
			      f->flags & (FIELD_IMMUTABLE | FIELD_READ_ONLY));
		}
	}
}

static void check_name(const struct row *r)
{
	const struct field *table = r->up ? r->up->f->fields : r->kind->fields;
	struct buf path = BUF_INIT(1000);

	rule(is_camel(r->f->name), r, "is not a camelCase name");
	rule(field_find(table, r->f->name, NULL, NULL) == r->f, r,
	     "has the name of another row");
	rule(is_sentence(r->f->doc), r, "has no sentence of documentation");
	add_path(r, &path);
	rule(path.len < sizeof(((struct err *)0)->field), r,
	     "has a pointer longer than an err can hold");
	buf_release(&path);
}

static void rows_are_named(void)
{
	each_row(check_name);
}

static size_t size_of(const struct field *f)
{
	switch (f->type) {
	case FIELD_STRING:
	case FIELD_RAW:
		return sizeof(const char *);
	case FIELD_INT:
	case FIELD_TIME:
		return sizeof(int64_t);
	case FIELD_BOOL:
		return sizeof(bool);
	case FIELD_ENUM:
		return sizeof(int);
	case FIELD_TAGS:
	case FIELD_LIST:
		return sizeof(struct items);
	case FIELD_OBJECT:
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
	return 0;
}

/* Mark the bytes of the struct that FIELDS use; no two rows share one. */
static void mark(const struct field *fields, size_t base, size_t size,
		 unsigned char *used)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset))) {
		size_t n = size_of(f);

		offset += base;
		if (f->type == FIELD_OBJECT)
			mark(f->fields, offset, size, used);
		CHECK(offset + n <= size);
		for (size_t i = offset; i < offset + n && i < size; i++)
			CHECK(!used[i]++);
		CHECK(n < 2 || offset % (n < 8 ? n : 8) == 0);
		if (f->type == FIELD_LIST && f->item == FIELD_OBJECT) {
			auto_free unsigned char *own = xcalloc(f->size, 1);

			mark(f->fields, 0, f->size, own);
		}
	}
}

static void rows_have_members_of_their_own(void)
{
	for (const struct kind *const *k = kinds; *k; k++) {
		auto_free unsigned char *used = xcalloc((*k)->size, 1);

		mark((*k)->fields, 0, (*k)->size, used);
	}
}

static void check_names(const struct row *r)
{
	const char *const *names = r->f->names;

	rule(names && !names[0] && names[1], r,
	     "is an enum without names, or whose names[0] is not NULL");
	for (int i = 1; names && names[i]; i++) {
		rule(names[i][0] != '\0', r, "has an empty name");
		for (int j = 1; j < i; j++)
			rule(strcmp(names[i], names[j]) != 0, r,
			     "has a name twice");
	}
}

static void check_shape(const struct row *r)
{
	const struct field *f = r->f;
	bool enums = f->type == FIELD_ENUM || f->item == FIELD_ENUM;
	bool objects = f->type == FIELD_OBJECT || f->item == FIELD_OBJECT;
	bool strings = f->type == FIELD_STRING || f->item == FIELD_STRING;

	if (enums)
		check_names(r);
	rule(enums == (f->names != NULL), r, "has names but is no enum");
	rule(objects == (f->fields != NULL), r, "has fields, or lacks them");
	rule(strings || !f->format, r, "has a format but is no string");
	rule(strings || !f->refers, r, "refers to a kind but is no string");
	rule((f->type == FIELD_LIST) == (f->item != FIELD_END), r,
	     "has an item but is no list, or the other way round");
	rule((f->type == FIELD_LIST) == (f->size != 0), r,
	     "has an item size but is no list, or the other way round");
	rule(f->min <= f->max || !f->max, r, "has a min above its max");
	rule(!f->refers || kind_find(f->refers), r,
	     "refers to a kind that is not there");
	rule(!f->refers || f->format == &format_uuid, r,
	     "refers to a kind but is not a UUID");
}

static void rows_have_the_shape_of_their_type(void)
{
	each_row(check_shape);
}

static void check_flags(const struct row *r)
{
	/* What nobody can set, a digest, is found by; filters pass it over. */
	const unsigned shown =
		FIELD_COLUMN | FIELD_WIDE | FIELD_STATE |
		(r->f->flags & FIELD_READ_ONLY ? 0 : FIELD_INDEX);
	const unsigned fixed = FIELD_READ_ONLY | FIELD_IMMUTABLE | FIELD_SECRET;
	const struct field *f = r->f;
	unsigned above = inherited(r->up), all = above | f->flags;

	rule(!(all & FIELD_SECRET) || !(f->flags & shown), r,
	     "is a secret that is shown");
	rule(!(f->flags & FIELD_STATE) || f->type == FIELD_ENUM, r,
	     "is a state but no enum");
	rule(!(f->flags & FIELD_SPARSE) ||
		     (f->type == FIELD_INT && !f->fallback),
	     r, "is 0 when it is absent but no plain number");
	rule(!(f->flags & FIELD_ALWAYS) || f->type == FIELD_TAGS ||
		     f->type == FIELD_LIST || f->type == FIELD_OBJECT,
	     r, "is always written but has no empty value");
	/* Otherwise the schema says that the object may be left out, and the
	 * decoder that something in it is missing. */
	rule(!(f->flags & FIELD_REQUIRED) || !r->up ||
		     r->up->f->type == FIELD_LIST || all & FIELD_READ_ONLY ||
		     r->up->f->flags & FIELD_REQUIRED,
	     r, "is required in an object that is not");
	rule(!(f->flags & FIELD_REQUIRED) || !f->fallback, r,
	     "is required and has a default");
	/* field_settle() looks at a list as a whole. */
	rule(!(r->up && r->up->in_list && f->flags & fixed) || above & fixed, r,
	     "cannot be settled by itself in a list");
	rule(!(f->type == FIELD_BOOL && all & FIELD_IMMUTABLE &&
	       !(all & FIELD_READ_ONLY)),
	     r, "is an immutable boolean: false is not told from absent");
}

static void rows_have_flags_that_agree(void)
{
	each_row(check_flags);
}

/* The default, sent by a user, is accepted. */
static void check_fallback(const struct row *r)
{
	struct field row[2] = {*r->f, {0}};
	struct violations bad;
	struct arena a;
	struct err err;
	struct node *n, *doc;
	void *out;

	if (!r->f->fallback)
		return;
	arena_init(&a, 1 << 20);
	violations_init(&bad, &a);
	row[0].offset = 0;
	row[0].flags = 0;
	row[0].fallback = NULL;
	n = json_parse(r->f->fallback, strlen(r->f->fallback), &a, &err);
	rule(n != NULL, r, "has a default that is not JSON");
	doc = node_new_object(&a);
	out = arena_alloc(&a, r->kind->size);
	if (n && node_set(&a, doc, row[0].name, n)) {
		field_decode(row, doc, FIELD_CREATE, out, &bad);
		rule(bad.n == 0, r, "has a default that is refused");
		rule(row[0].type == FIELD_BOOL || !field_absent(row, out), r,
		     "has a default that means absent");
	}
	arena_release(&a);
}

static void defaults_are_accepted(void)
{
	each_row(check_fallback);
}

static size_t offset_of(const struct kind *k, const char *name)
{
	struct field_walk w = field_walk(k->fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset)))
		if (strcmp(f->name, name) == 0)
			return offset;
	return 0;
}

/* Asked for every object that is read: the table is not searched for it. */
static void a_kind_says_where_its_owner_stands(void)
{
	for (const struct kind *const *k = kinds; *k; k++) {
		if ((*k)->organization_at != offset_of(*k, "organizationId") ||
		    (*k)->project_at != offset_of(*k, "projectId")) {
			printf("# %s\n", (*k)->name);
			CHECK(!"it is where the table says");
		}
	}
}

int main(void)
{
	RUN(kinds_are_named);
	RUN(kinds_have_every_upgrade);
	RUN(kinds_begin_with_what_all_have);
	RUN(rows_are_named);
	RUN(rows_have_members_of_their_own);
	RUN(rows_have_the_shape_of_their_type);
	RUN(rows_have_flags_that_agree);
	RUN(defaults_are_accepted);
	RUN(a_kind_says_where_its_owner_stands);
	return test_done();
}
