#include "cli/flags.h"

#include <assert.h>
#include <string.h>

#include "base/field_ops.h"
#include "cli/text.h"

struct maker {
	struct flags *flags;
	enum command_fields which;
	bool narrows; /* these only tell names apart */
	const struct command_option *const *taken;
	struct arena *arena;
};

static bool is_taken(const struct maker *m, const char *name)
{
	for (const struct command_option *const *t = m->taken; *t; t++)
		for (const struct command_option *o = *t; o->name; o++)
			if (strcmp(o->name, name) == 0)
				return true;
	for (size_t i = 0; i < m->flags->n; i++)
		if (strcmp(m->flags->options[i].name, name) == 0)
			return true;
	return false;
}

static void add(struct maker *m, const struct command_option *o,
		const struct field *f, const char *path, enum flag_role role)
{
	struct flags *flags = m->flags;
	size_t i = flags->n;

	assert(i + 1 < FLAGS_MOST);
	flags->options[i] = *o;
	if (is_taken(m, o->name))
		flags->options[i].name = arena_printf(
			m->arena, "%s-%s", flags->kind->name, o->name);
	if (is_taken(m, flags->options[i].name))
		return;
	flags->rows[i] = (struct flag){f, path, role, m->narrows};
	flags->n++;
}

static const char *without_end(struct arena *a, const char *s, const char *end)
{
	size_t len = strlen(s), cut = strlen(end);

	if (len <= cut || strcmp(s + len - cut, end) != 0)
		return s;
	return arena_memdup(a, s, len - cut);
}

/* One of several: "ssh-public-keys" is given as --ssh-public-key. */
static const char *singular(struct arena *a, const char *s)
{
	const char *shorter = without_end(a, s, "sses");

	return shorter == s ? without_end(a, s, "s")
			    : arena_printf(a, "%sss", shorter);
}

/* What is too long to be typed. */
static const char *shortened(struct arena *a, const char *s)
{
	static const char full[] = "ssh-certificate-authority";
	size_t len = sizeof(full) - 1;

	return strncmp(s, full, len) == 0 ? arena_printf(a, "ssh-ca%s", s + len)
					  : s;
}

static bool is_many(const struct field *f)
{
	return f->type == FIELD_LIST || f->type == FIELD_TAGS;
}

static const char *argument_of(const struct field *f)
{
	enum field_type type = f->type == FIELD_LIST ? f->item : f->type;

	switch (type) {
	case FIELD_INT:
		return "N";
	case FIELD_BOOL:
		return "true|false";
	case FIELD_TIME:
		return "TIME";
	case FIELD_ENUM:
		return "WORD";
	case FIELD_RAW:
		return "JSON";
	case FIELD_TAGS:
		return "KEY=VALUE";
	case FIELD_OBJECT:
		return "KEY=VALUE,...";
	case FIELD_STRING:
		return strcmp(f->name, "name") == 0 ? "NAME" : "TEXT";
	case FIELD_LIST:
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
	return "TEXT";
}

static void add_keys(const struct field *fields, struct buf *b)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	const char *before = "";

	while ((f = field_walk_next(&w, NULL))) {
		buf_addf(b, "%s%s", before, f->name);
		before = ", ";
	}
}

static const char *doc_of(const struct maker *m, const struct field *f)
{
	struct buf b = BUF_INIT(4096);
	const char *doc;

	buf_adds(&b, f->doc ? f->doc : "");
	if (f->type == FIELD_TIME)
		buf_adds(&b, "  A time (RFC 3339), or one from now: +2h.");
	if (f->format == &format_base64)
		buf_adds(&b, "  @FILE reads a file, and encodes it.");
	else if (f->type == FIELD_RAW || f->flags & FIELD_SECRET)
		buf_adds(&b, "  @FILE reads it from a file.");
	if (f->type == FIELD_LIST && f->item == FIELD_OBJECT) {
		buf_adds(&b, "  Keys: ");
		add_keys(f->fields, &b);
		buf_adds(&b, "; without keys, in that order.");
	}
	if (f->type == FIELD_ENUM) {
		for (size_t i = 1; f->names[i]; i++)
			buf_addf(&b, "%s%s", i == 1 ? "  One of " : ", ",
				 f->names[i]);
		buf_addc(&b, '.');
	}
	if (m->which == COMMAND_CREATE && f->fallback)
		buf_addf(&b, "  Default: %s.", f->fallback);
	if (is_many(f))
		buf_adds(&b, "  May be repeated.");
	if (m->which == COMMAND_CREATE && f->flags & FIELD_REQUIRED)
		buf_adds(&b, "  Required.");
	if (m->narrows)
		buf_adds(&b, "  Only tells names apart.");
	doc = arena_strdup(m->arena, buf_str(&b));
	buf_release(&b);
	return doc;
}

/* --public-ip, --public-ip=false and --no-public-ip. */
static void add_switch(struct maker *m, const struct field *f,
		       struct command_option *o, const char *path)
{
	static const char *const words[] = {"true", "false", NULL};
	struct command_option not = {
		.name = arena_printf(m->arena, "no-%s", o->name),
		.doc = arena_printf(m->arena, "The same as --%s=false.",
				    o->name),
	};

	o->flags |= OPTION_MAYBE;
	o->choices = words;
	add(m, o, f, path, FLAG_VALUE);
	if (m->which != COMMAND_FILTERS)
		add(m, &not, f, path, FLAG_NOT);
}

static void add_reference(struct maker *m, const struct field *f,
			  struct command_option *o, const char *path)
{
	const char *full = o->name;

	o->name = without_end(m->arena, full, is_many(f) ? "-ids" : "-id");
	o->argument = "NAME-OR-ID";
	o->refers = f->refers;
	add(m, o, f, path, FLAG_NAME);
	o->name = is_many(f) ? singular(m->arena, full) : full;
	o->argument = "ID";
	o->refers = NULL;
	o->doc = "The same, by id alone.";
	add(m, o, f, path, FLAG_VALUE);
}

static void add_field(struct maker *m, const struct field *f, const char *path,
		      const char *prefix)
{
	struct command_option o = {
		.name = shortened(m->arena,
				  arena_printf(m->arena, "%s%s", prefix,
					       text_kebab(m->arena, f->name))),
		.argument = argument_of(f),
		.doc = doc_of(m, f),
		.flags = is_many(f) ? OPTION_MANY : 0,
		.choices = f->type == FIELD_ENUM ? f->names + 1 : NULL,
	};
	struct command_option remove = {
		.flags = OPTION_MANY,
		.argument = "KEY",
		.doc = "Remove the one of that key.  May be repeated.",
	};

	if (f->refers) {
		add_reference(m, f, &o, path);
		return;
	}
	if (f->type == FIELD_BOOL) {
		add_switch(m, f, &o, path);
		return;
	}
	if (is_many(f))
		o.name = singular(m->arena, o.name);
	add(m, &o, f, path, FLAG_VALUE);
	if (f->type == FIELD_TAGS && m->which == COMMAND_UPDATE) {
		remove.name = arena_printf(m->arena, "remove-%s", o.name);
		add(m, &remove, f, path, FLAG_REMOVE);
	}
}

/* A field of the top level that says whose a thing is, or where. */
static bool is_place(const struct field *f)
{
	return f->refers && f->type == FIELD_STRING && f->flags & FIELD_INDEX;
}

static bool is_set(enum command_fields which, const struct field *f)
{
	unsigned never = FIELD_READ_ONLY;

	if (which == COMMAND_UPDATE)
		never |= FIELD_IMMUTABLE;
	return (which == COMMAND_CREATE || which == COMMAND_UPDATE) &&
	       !(f->flags & never);
}

static bool is_wanted(const struct maker *m, const struct field *f, bool top)
{
	const char *within = m->flags->kind->unique_within;

	if (m->narrows)
		return top && f->refers && !is_set(m->which, f) &&
		       (is_place(f) ||
			(within && strcmp(f->name, within) == 0));
	if (m->which != COMMAND_FILTERS)
		return is_set(m->which, f);
	if (f->flags & FIELD_SECRET)
		return false;
	return f->flags & FIELD_STATE ||
	       (top && (f->flags & FIELD_INDEX || f->refers ||
			strcmp(f->name, "name") == 0));
}

static void add_fields(struct maker *m, const struct field *fields,
		       const char *path, const char *prefix)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		bool top = !*path;
		const char *here = arena_printf(m->arena, "%s%s%s", path,
						top ? "" : ".", f->name);
		const char *below = prefix;

		if (f->type != FIELD_OBJECT) {
			if (is_wanted(m, f, top))
				add_field(m, f, here, prefix);
			continue;
		}
		if (m->which != COMMAND_FILTERS && !is_wanted(m, f, top))
			continue;
		if (!top || (strcmp(f->name, "spec") != 0 &&
			     strcmp(f->name, "status") != 0))
			below = arena_printf(m->arena, "%s%s-", prefix,
					     text_kebab(m->arena, f->name));
		add_fields(m, f->fields, here, below);
	}
}

/* What a verb does not set can still tell names apart. */
static void add_narrowing(struct maker *m)
{
	if (m->which != COMMAND_UPDATE && m->which != COMMAND_CREATE)
		return;
	m->narrows = true;
	add_fields(m, m->flags->kind->fields, "", "");
}

void flags_make(struct flags *ret, const struct kind *k,
		enum command_fields which,
		const struct command_option *const *taken, struct arena *a)
{
	struct maker m = {ret, which, which == COMMAND_NARROW, taken, a};

	*ret = (struct flags){
		.kind = k,
		.options = arena_alloc(a, FLAGS_MOST * sizeof(*ret->options)),
		.rows = arena_alloc(a, FLAGS_MOST * sizeof(*ret->rows)),
	};
	add_fields(&m, k->fields, "", "");
	add_narrowing(&m);
	ret->options[ret->n] = (struct command_option){0};
}

/* "spec.flavorId" leads to what "/spec/flavorId/…" points to. */
static bool leads_to(const char *path, const char *pointer)
{
	if (*pointer++ != '/')
		return false;
	for (; *path; path++, pointer++)
		if (*pointer != (*path == '.' ? '/' : *path))
			return false;
	return *pointer == '\0' || *pointer == '/';
}

const char *flags_of_pointer(const struct flags *f, const char *pointer)
{
	for (size_t i = 0; i < f->n; i++)
		if (leads_to(f->rows[i].path, pointer))
			return f->options[i].name;
	return NULL;
}

static const char *sample(const struct flag *row, struct arena *a)
{
	const struct field *f = row->field;

	if (row->role == FLAG_NAME)
		return arena_printf(a, "my-%s", f->refers);
	if (f->type == FIELD_ENUM)
		return f->names[1];
	if (f->type == FIELD_INT)
		return arena_printf(a, "%lld",
				    (long long)(f->min > 0 ? f->min : 1));
	return "VALUE";
}

const char *flags_required(const struct kind *k, struct arena *a)
{
	static const struct command_option *const taken[] = {NULL};
	struct buf b = BUF_INIT(4096);
	const char *text, *last = "name";
	struct flags f;

	flags_make(&f, k, COMMAND_CREATE, taken, a);
	for (size_t i = 0; i < f.n; i++) {
		const struct flag *row = &f.rows[i];

		/* A reference has two flags; the first is for people. */
		if (!(row->field->flags & FIELD_REQUIRED) || row->narrows ||
		    strcmp(row->path, last) == 0)
			continue;
		last = row->path;
		buf_addf(&b, " --%s %s", f.options[i].name, sample(row, a));
	}
	text = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return text;
}

static const struct field *find_state(const struct field *fields,
				      const char *path, struct arena *a,
				      const char **ret_path)
{
	struct field_walk w = field_walk(fields);
	const struct field *f, *found;

	while ((f = field_walk_next(&w, NULL))) {
		const char *here = arena_printf(a, "%s%s%s", path,
						*path ? "." : "", f->name);

		if (f->flags & FIELD_STATE) {
			*ret_path = here;
			return f;
		}
		if (f->type != FIELD_OBJECT)
			continue;
		found = find_state(f->fields, here, a, ret_path);
		if (found)
			return found;
	}
	return NULL;
}

const struct field *flags_state(const struct kind *k, struct arena *a,
				const char **ret_path)
{
	const char *path;
	const struct field *f = find_state(k->fields, "", a, &path);

	if (f && ret_path)
		*ret_path = path;
	return f;
}
