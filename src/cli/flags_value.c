/* What is typed after a flag, as JSON. */
#include <string.h>

#include "base/clock.h"
#include "base/field_ops.h"
#include "base/yaml.h"
#include "cli/flags.h"
#include "cli/settings.h"
#include "cli/text.h"
#include "http/uri.h"

struct value {
	const struct flags_world *world;
	const char *flag; /* what it is the value of, for messages */
	bool by_name;     /* references come by name */
	struct failure *failure;
};

static struct node *wrong(const struct value *v, const char *text,
			  const char *what)
{
	failure_usage(v->failure, "--%s: '%s' is not %s", v->flag, text, what);
	return NULL;
}

static struct node *string(const struct value *v, const char *text)
{
	return node_new_string(v->world->arena, text, strlen(text));
}

static struct node *time_value(const struct value *v, const char *text)
{
	int64_t at;
	uint64_t ahead;

	if (text[0] == '+' && text_duration(text + 1, &ahead) == 0) {
		char formatted[CLOCK_TEXT_LEN + 1];

		clock_format(v->world->now + (int64_t)ahead, formatted);
		return string(v, formatted);
	}
	if (clock_parse(text, strlen(text), &at) < 0)
		return wrong(v, text,
			     "a time like 2026-11-15T04:40:28Z or +2h");
	return string(v, text);
}

static struct node *bool_value(const struct value *v, const char *text)
{
	bool yes = !*text || strcmp(text, "true") == 0;

	if (!yes && strcmp(text, "false") != 0)
		return wrong(v, text, "true or false");
	return node_new_bool(v->world->arena, yes);
}

static struct node *int_value(const struct value *v, const char *text)
{
	int64_t i;

	if (text_int(text, &i) < 0)
		return wrong(v, text, "a whole number");
	return node_new_int(v->world->arena, i);
}

static struct node *enum_value(const struct value *v, const struct field *f,
			       const char *text)
{
	const char *near;

	for (size_t i = 1; f->names[i]; i++)
		if (strcmp(f->names[i], text) == 0)
			return string(v, text);
	near = text_nearest(text, f->names + 1);
	if (near)
		failure_usage(v->failure,
			      "--%s cannot be '%s'; did you mean '%s'?",
			      v->flag, text, near);
	else
		wrong(v, text, "a word that it knows");
	return NULL;
}

/* TEXT, or what is in the file that "@FILE" names. */
static const char *contents(const struct value *v, const char *text)
{
	size_t len;

	if (text[0] != '@')
		return text;
	if (settings_read_file(text + 1, v->world->arena, &text, &len,
			       &v->failure->err) == 0)
		return text;
	v->failure->usage = true;
	err_wrap(&v->failure->err, "--%s", v->flag);
	return NULL;
}

/* What is in a file, in base64.  One that is far too large would be refused
 * before anybody could say what it was. */
static struct node *encoded_file(const struct value *v, const struct field *f,
				 const char *path)
{
	struct arena *a = v->world->arena;
	const char *bytes;
	size_t len;

	if (settings_read_file(path, a, &bytes, &len, &v->failure->err) < 0) {
		v->failure->usage = true;
		err_wrap(&v->failure->err, "--%s", v->flag);
		return NULL;
	}
	if (f->max && len > (size_t)f->max / 4 * 3) {
		failure_usage(v->failure,
			      "--%s: %s has %zu bytes; at most %zu are taken",
			      v->flag, path, len, (size_t)f->max / 4 * 3);
		return NULL;
	}
	return string(v, text_base64(a, bytes, len));
}

static struct node *raw_value(const struct value *v, const char *text)
{
	struct node *n;

	text = contents(v, text);
	if (!text)
		return NULL;
	n = yaml_parse(text, strlen(text), v->world->arena, &v->failure->err);
	if (n)
		return n;
	v->failure->usage = true;
	err_wrap(&v->failure->err, "--%s", v->flag);
	return NULL;
}

static struct node *string_value(const struct value *v, const struct field *f,
				 const char *text)
{
	if (f->refers && v->by_name &&
	    v->world->resolve(v->world->ctx, f->refers, text, &text,
			      v->failure) < 0)
		return NULL;
	if (f->format == &format_base64 && text[0] == '@')
		return encoded_file(v, f, text + 1);
	if (f->flags & FIELD_SECRET)
		text = contents(v, text);
	return text ? string(v, text) : NULL;
}

static struct node *item_value(const struct value *v, const struct field *f,
			       const char *text);

/* A value of TYPE, which is the row's own or that of its items. */
static struct node *typed_value(const struct value *v, const struct field *f,
				enum field_type type, const char *text)
{
	switch (type) {
	case FIELD_STRING:
		return string_value(v, f, text);
	case FIELD_INT:
		return int_value(v, text);
	case FIELD_BOOL:
		return bool_value(v, text);
	case FIELD_TIME:
		return time_value(v, text);
	case FIELD_ENUM:
		return enum_value(v, f, text);
	case FIELD_OBJECT:
		return item_value(v, f, text);
	case FIELD_RAW:
	case FIELD_TAGS:
	case FIELD_LIST:
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
	return raw_value(v, text);
}

/* The row that KEY ("volumeId", "volume" or "mount-path") means. */
static const struct field *row_of_key(const struct value *v,
				      const struct field *fields,
				      const char *key, bool *ret_by_name)
{
	struct arena *a = v->world->arena;
	struct field_walk w = field_walk(fields);
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		const char *kebab = text_kebab(a, f->name);

		*ret_by_name =
			f->refers &&
			strcmp(arena_printf(a, "%s-id", key), kebab) == 0;
		if (*ret_by_name || strcmp(key, f->name) == 0 ||
		    strcmp(key, kebab) == 0)
			return f;
	}
	return NULL;
}

static int set_pair(const struct value *v, const struct field *fields,
		    char *pair, struct node *object)
{
	char *equals = strchr(pair, '=');
	struct value part = *v;
	const struct field *f;
	struct node *n;

	*equals = '\0';
	f = row_of_key(v, fields, pair, &part.by_name);
	if (!f)
		return failure_usage(v->failure, "--%s has no key '%s'",
				     v->flag, pair);
	n = typed_value(&part, f, f->type, equals + 1);
	if (!n)
		return -1;
	node_set(v->world->arena, object, f->name, n);
	return 0;
}

/* F can hold TEXT, as far as one can tell by looking at it. */
static bool can_hold(const struct field *f, const char *text)
{
	int64_t i;

	switch (f->type) {
	case FIELD_INT:
		return text_int(text, &i) == 0;
	case FIELD_BOOL:
		return strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
	case FIELD_ENUM:
		for (size_t n = 1; f->names[n]; n++)
			if (strcmp(f->names[n], text) == 0)
				return true;
		return false;
	case FIELD_STRING:
		return f->refers || !f->format ||
		       f->format->check(text, strlen(text));
	default:
		return false;
	}
}

/* A value without a key goes to the next field that can hold it. */
static int set_next(const struct value *v, struct field_walk *w,
		    const char *text, struct node *object)
{
	struct value part = *v;
	const struct field *f;
	struct node *n;

	do {
		f = field_walk_next(w, NULL);
	} while (f && !can_hold(f, text));
	if (!f)
		return failure_usage(v->failure,
				     "--%s: no place for '%s'; say KEY=%s",
				     v->flag, text, text);
	part.by_name = f->refers != NULL;
	n = typed_value(&part, f, f->type, text);
	if (!n)
		return -1;
	node_set(v->world->arena, object, f->name, n);
	return 0;
}

/* The next part of an item, and whether it is KEY=VALUE: a path or an address
 * may have an equals sign, too, but not before anything else. */
static bool is_pair(const char *part)
{
	size_t key = strspn(part, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789");

	return key && part[key] == '=';
}

/* "volume=data,mountPath=/srv", "data,/srv", "data:/srv", or a JSON object. */
static struct node *item_value(const struct value *v, const struct field *f,
			       const char *text)
{
	struct arena *a = v->world->arena;
	struct node *object = node_new_object(a);
	struct field_walk w = field_walk(f->fields);
	const char *gap = strpbrk(text, ",=") ? "," : ":";

	if (text[0] == '{' || text[0] == '@')
		return raw_value(v, text);
	while (*text) {
		size_t len = strcspn(text, gap);
		char *part = arena_memdup(a, text, len);

		if ((is_pair(part) ? set_pair(v, f->fields, part, object)
				   : set_next(v, &w, part, object)) < 0)
			return NULL;
		text += len + (text[len] != '\0');
	}
	return object;
}

/* The object at PATH without its last word, which goes to *RET_LAST; made when
 * it is not there. */
static struct node *parent_at(struct node *root, const char *path,
			      struct arena *a, const char **ret_last)
{
	for (;;) {
		size_t len = strcspn(path, ".");
		const char *key = arena_memdup(a, path, len);
		struct node *n = node_get(root, key);

		*ret_last = key;
		if (!path[len])
			return root;
		if (!n) {
			n = node_new_object(a);
			node_set(a, root, key, n);
		}
		root = n;
		path += len + 1;
	}
}

static int set_tag(const struct value *v, struct node *tags, const char *text)
{
	const char *equals = strchr(text, '=');
	struct arena *a = v->world->arena;

	if (!equals || equals == text)
		return failure_usage(v->failure, "--%s: '%s' is not KEY=VALUE",
				     v->flag, text);
	node_set(a, tags, arena_memdup(a, text, (size_t)(equals - text)),
		 string(v, equals + 1));
	return 0;
}

/* The list or the tags at NAME, made when they are not there. */
static struct node *collection(struct node *in, const char *name,
			       enum field_type type, struct arena *a)
{
	enum node_type want = type == FIELD_LIST ? NODE_ARRAY : NODE_OBJECT;
	struct node *n = node_get(in, name);

	if (n && node_type(n) == want)
		return n;
	n = type == FIELD_LIST ? node_new_array(a) : node_new_object(a);
	node_set(a, in, name, n);
	return n;
}

static int set_flag(const struct value *v, const struct flag *row,
		    const char *text, struct node *patch)
{
	const struct field *f = row->field;
	struct arena *a = v->world->arena;
	const char *name;
	struct node *in = parent_at(patch, row->path, a, &name), *n;

	if (row->role == FLAG_NOT) {
		node_set(a, in, name, node_new_bool(a, false));
		return 0;
	}
	if (row->role == FLAG_REMOVE) {
		node_set(a, collection(in, name, f->type, a), text,
			 node_new_null(a));
		return 0;
	}
	if (!*text && f->type != FIELD_BOOL) {
		/* A secret that is absent stays as it is. */
		n = f->type == FIELD_STRING && f->flags & FIELD_SECRET
			    ? string(v, "")
			    : node_new_null(a);
		node_set(a, in, name, n);
		return 0;
	}
	if (f->type == FIELD_TAGS)
		return set_tag(v, collection(in, name, f->type, a), text);
	n = typed_value(v, f, f->type == FIELD_LIST ? f->item : f->type, text);
	if (!n)
		return -1;
	if (f->type == FIELD_LIST)
		node_append(a, collection(in, name, f->type, a), n);
	else
		node_set(a, in, name, n);
	return 0;
}

/* The flag an argument was given for, or NULL when it is another option. */
static const struct flag *flag_of(const struct flags *f, const struct arg *arg)
{
	for (size_t i = 0; i < f->n; i++)
		if (arg->option == &f->options[i])
			return &f->rows[i];
	return NULL;
}

int flags_patch(const struct flags *f, const struct args *args,
		const struct flags_world *w, struct node **ret,
		struct failure *p)
{
	struct node *patch = node_new_object(w->arena);

	for (size_t i = 0; i < args->n; i++) {
		const struct arg *arg = &args->given[i];
		const struct flag *row = flag_of(f, arg);
		struct value v = {w, arg->option->name, false, p};

		if (!row || row->narrows)
			continue;
		v.by_name = row->role == FLAG_NAME;
		if (set_flag(&v, row, arg->value ? arg->value : "", patch) < 0)
			return -1;
	}
	*ret = patch;
	return 0;
}

/* The query word of a field: "tag" for tags, else the field's own name. */
static const char *query_word(const struct field *f)
{
	return f->type == FIELD_TAGS ? "tag" : f->name;
}

int flags_query(const struct flags *f, const struct args *args,
		const struct flags_world *w, struct buf *out, struct failure *p)
{
	for (size_t i = 0; i < args->n; i++) {
		const struct arg *arg = &args->given[i];
		const struct flag *row = flag_of(f, arg);
		const char *text = arg->value ? arg->value : "true";

		if (!row)
			continue;
		if (row->role == FLAG_NAME &&
		    w->resolve(w->ctx, row->field->refers, text, &text, p) < 0)
			return -1;
		if (row->field->type == FIELD_TAGS && !strchr(text, '='))
			return failure_usage(p, "--%s: '%s' is not KEY=VALUE",
					     arg->option->name, text);
		buf_addf(out, "&%s=", query_word(row->field));
		uri_add_escaped(out, text);
	}
	return 0;
}
