#include "cli/page.h"

#include <string.h>

#include "cli/flags.h"
#include "cli/noun.h"
#include "cli/text.h"
#include "model/kind.h"

/* Everyone's verbs, those that the noun has its own of being its own, then the
 * rest of them. */
static const struct command *verbs_of(struct cli *c, const struct kind *k)
{
	const struct command *first =
		k->read_only ? noun_reading_verbs : noun_verbs;
	const struct command *own = noun_own_verbs(k), *mine;
	struct command *all;
	size_t n = 0, more = 0;

	while (first[n].name)
		n++;
	while (own && own[more].name)
		more++;
	if (!more)
		return first;
	all = arena_alloc(&c->arena, (n + more + 1) * sizeof(*all));
	for (size_t i = 0; i < n; i++) {
		mine = command_find(own, first[i].name);
		all[i] = mine ? *mine : first[i];
	}
	for (; own->name; own++)
		if (!command_find(first, own->name))
			all[n++] = *own;
	return all;
}

static struct page noun_page(struct cli *c, const struct kind *k)
{
	struct command *command = arena_alloc(&c->arena, sizeof(*command));

	*command = (struct command){
		.name = k->name,
		.summary = k->doc,
		.help = k->doc,
		.children = verbs_of(c, k),
	};
	return (struct page){k->name, command, k};
}

static struct page command_page(const struct command *command)
{
	return (struct page){
		command->name,
		command,
		command->noun ? kind_find(command->noun) : NULL,
	};
}

bool page_find(struct cli *c, const char *name, struct page *ret)
{
	const struct kind *k = kind_find(name);

	for (const struct command *const *t = c->tables; *t; t++) {
		const struct command *command = command_find(*t, name);

		if (!command)
			continue;
		*ret = command_page(command);
		return true;
	}
	if (!k || k->internal)
		return false;
	*ret = noun_page(c, k);
	return true;
}

struct page page_child(struct cli *c, const struct page *p,
		       const struct command *child)
{
	return (struct page){
		arena_printf(&c->arena, "%s %s", p->path, child->name),
		child,
		p->kind,
	};
}

bool page_find_child(struct cli *c, const struct page *p, const char *name,
		     struct page *ret)
{
	const struct command *child = command_find(p->command->children, name);

	if (!child)
		return false;
	*ret = page_child(c, p, child);
	return true;
}

int page_unknown(struct cli *c, const struct page *p, const char *name,
		 struct failure *failure)
{
	const char *words[128], *near;
	struct page known;
	size_t n = 0, i = 0;

	while (!p && n + 1 < COUNT_OF(words) && page_next(c, &i, &known))
		words[n++] = known.path;
	for (const struct command *k = p ? p->command->children : NULL;
	     k && k->name && n + 1 < COUNT_OF(words); k++)
		words[n++] = k->name;
	words[n] = NULL;
	near = text_nearest(name, words);
	if (near)
		return failure_usage(failure,
				     "unknown command '%s%s%s'; did you mean "
				     "'%s%s%s'?",
				     p ? p->path : "", p ? " " : "", name,
				     p ? p->path : "", p ? " " : "", near);
	return failure_usage(failure, "unknown command '%s%s%s'",
			     p ? p->path : "", p ? " " : "", name);
}

bool page_next(struct cli *c, size_t *i, struct page *ret)
{
	size_t at = (*i)++;

	for (const struct command *const *t = c->tables; *t; t++)
		for (const struct command *k = *t; k->name; k++)
			if (at-- == 0) {
				*ret = command_page(k);
				return true;
			}
	for (const struct kind *const *k = kinds; *k; k++)
		if (!(*k)->internal && at-- == 0) {
			*ret = noun_page(c, *k);
			return true;
		}
	return false;
}

static size_t count(const struct command_option *o)
{
	size_t n = 0;

	while (o && o[n].name)
		n++;
	return n;
}

const struct command_option *page_options(struct cli *c, const struct page *p,
					  struct flags *ret_flags)
{
	static const struct command_option none[] = {{0}};
	const struct command_option *own =
		p->command->options ? p->command->options : none;
	const struct command_option *const taken[] = {own, cli_options, NULL};
	struct command_option *all;
	struct flags flags = {.options = NULL};
	size_t n = count(own);

	if (p->kind && p->command->fields != COMMAND_NO_FIELDS)
		flags_make(&flags, p->kind, p->command->fields, taken,
			   &c->arena);
	if (ret_flags)
		*ret_flags = flags;
	all = arena_alloc(&c->arena, (n + flags.n + 1) * sizeof(*all));
	if (flags.n)
		memcpy(all, flags.options, flags.n * sizeof(*all));
	memcpy(all + flags.n, own, n * sizeof(*all));
	for (size_t i = 0; i < flags.n + n; i++)
		all[i].doc = page_text(c, p, all[i].doc);
	return all;
}

const char *page_usage(struct cli *c, const struct page *p)
{
	const char *rest = p->command->usage;

	if (!rest)
		rest = p->command->children ? "COMMAND" : "";
	return arena_printf(
		&c->arena, "%s%s%s%s", p->path, *rest ? " " : "",
		page_text(c, p, rest),
		p->command->options || p->command->fields ? " [options]" : "");
}

const char *page_text(struct cli *c, const struct page *p, const char *text)
{
	return cli_expand(&c->arena, text, p->kind);
}
