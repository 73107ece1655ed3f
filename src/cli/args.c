#include "cli/args.h"

#include <string.h>

#include "cli/text.h"

struct reader {
	const struct command_option *const *tables;
	int argc, i;
	char **argv;
	struct arena *arena;
	struct args *args;
	struct err *err;
};

static const struct command_option *find(const struct reader *r,
					 const char *name, size_t len)
{
	for (const struct command_option *const *t = r->tables; *t; t++)
		for (const struct command_option *o = *t; o->name; o++)
			if (strncmp(o->name, name, len) == 0 && !o->name[len])
				return o;
	return NULL;
}

static const struct command_option *find_letter(const struct reader *r,
						char letter)
{
	for (const struct command_option *const *t = r->tables; *t; t++)
		for (const struct command_option *o = *t; o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

static int unknown(const struct reader *r, const char *name, size_t len)
{
	const char *words[256], *near;
	size_t n = 0;

	for (const struct command_option *const *t = r->tables; *t; t++)
		for (const struct command_option *o = *t; o->name; o++)
			if (n + 1 < COUNT_OF(words))
				words[n++] = o->name;
	words[n] = NULL;
	near = text_nearest(arena_memdup(r->arena, name, len), words);
	if (near)
		return err_set(r->err, ERR_INVALID,
			       "unknown option '--%.*s'; did you mean '--%s'?",
			       (int)len, name, near);
	return err_set(r->err, ERR_INVALID, "unknown option '--%.*s'", (int)len,
		       name);
}

static int check_choice(const struct reader *r, const struct command_option *o,
			const char *value)
{
	const char *near;
	struct buf b = BUF_INIT(256);

	if (!o->choices || !value || !*value)
		return 0;
	for (const char *const *c = o->choices; *c; c++)
		if (strcmp(*c, value) == 0)
			return 0;
	near = text_nearest(value, o->choices);
	for (const char *const *c = o->choices; *c; c++)
		buf_addf(&b, "%s%s", c == o->choices ? "" : ", ", *c);
	err_set(r->err, ERR_INVALID, "--%s cannot be '%s': it is one of %s",
		o->name, value, buf_str(&b));
	buf_release(&b);
	if (near)
		err_set(r->err, ERR_INVALID,
			"--%s cannot be '%s'; did you mean '%s'?", o->name,
			value, near);
	return -1;
}

static int give(struct reader *r, const struct command_option *o,
		const char *value)
{
	if (check_choice(r, o, value) < 0)
		return -1;
	r->args->given[r->args->n++] = (struct arg){o, value};
	return 0;
}

static int needs(const struct reader *r, const struct command_option *o)
{
	return err_set(r->err, ERR_INVALID, "--%s needs a value: --%s %s",
		       o->name, o->name, o->argument);
}

static int long_option(struct reader *r)
{
	const char *name = r->argv[r->i] + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct command_option *o = find(r, name, len);

	if (!o)
		return unknown(r, name, len);
	if (value && !o->argument)
		return err_set(r->err, ERR_INVALID, "--%s takes no value",
			       o->name);
	if (!value && o->argument && !(o->flags & OPTION_MAYBE)) {
		if (r->i + 1 >= r->argc)
			return needs(r, o);
		value = r->argv[++r->i];
	}
	return give(r, o, value);
}

static int letters(struct reader *r)
{
	for (const char *p = r->argv[r->i] + 1; *p; p++) {
		const struct command_option *o = find_letter(r, *p);

		if (!o)
			return err_set(r->err, ERR_INVALID,
				       "unknown option '-%c'", *p);
		if (!o->argument || (o->flags & OPTION_MAYBE && !p[1])) {
			if (give(r, o, NULL) < 0)
				return -1;
			continue;
		}
		if (p[1])
			return give(r, o, p + 1);
		if (r->i + 1 >= r->argc)
			return needs(r, o);
		return give(r, o, r->argv[++r->i]);
	}
	return 0;
}

static int parse(struct reader *r, bool head)
{
	bool ended = false;

	*r->args = (struct args){
		/* A letter can be an option, so count letters. */
		.words = arena_alloc(r->arena,
				     (size_t)(r->argc + 1) * sizeof(char *)),
	};
	for (int i = 0; i < r->argc; i++)
		r->args->n += strlen(r->argv[i]) + 1;
	r->args->given =
		arena_alloc(r->arena, r->args->n * sizeof(*r->args->given));
	r->args->n = 0;
	for (r->i = 1; r->i < r->argc; r->i++) {
		const char *arg = r->argv[r->i];

		if (ended || arg[0] != '-' || !arg[1]) {
			if (head)
				break;
			r->args->words[r->args->n_words++] = arg;
		} else if (strcmp(arg, "--") == 0) {
			ended = true;
		} else if ((arg[1] == '-' ? long_option(r) : letters(r)) < 0) {
			return -1;
		}
	}
	return r->i;
}

int args_parse(const struct command_option *const *tables, int argc,
	       char **argv, struct arena *a, struct args *ret, struct err *err)
{
	struct reader r = {tables, argc, 0, argv, a, ret, err};

	return parse(&r, false) < 0 ? -1 : 0;
}

int args_parse_head(const struct command_option *const *tables, int argc,
		    char **argv, struct arena *a, struct args *ret,
		    struct err *err)
{
	struct reader r = {tables, argc, 0, argv, a, ret, err};

	return parse(&r, true);
}

const char *args_value(const struct args *args, const char *name)
{
	for (size_t i = args->n; i-- > 0;)
		if (strcmp(args->given[i].option->name, name) == 0)
			return args->given[i].value ? args->given[i].value : "";
	return NULL;
}

bool args_has(const struct args *args, const char *name)
{
	return args_value(args, name) != NULL;
}

bool args_want_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 ||
		    strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}
