/*
 * Completion scripts.  Each is a list of what may follow which words, written
 * from the tables, and a little of the shell's own language around it.
 */
#include <string.h>

#include "cli/flags.h"
#include "cli/help.h"
#include "model/kind.h"

/* One command that can be run, with what it takes. */
typedef void leaf(struct cli *c, const struct page *p, struct buf *out);

static void each_leaf(struct cli *c, leaf *fn, struct buf *out)
{
	struct page p;
	size_t i = 0;

	while (page_next(c, &i, &p)) {
		const struct command *k = p.command->children;

		if (!k)
			fn(c, &p, out);
		for (; k && k->name; k++) {
			struct page below = page_child(c, &p, k);

			fn(c, &below, out);
		}
	}
}

static void add_names(struct cli *c, struct buf *out)
{
	struct page p;
	size_t i = 0;

	while (page_next(c, &i, &p))
		buf_addf(out, "%s%s", i > 1 ? " " : "", p.path);
}

static void add_flag_names(const struct command_option *o, struct buf *out)
{
	for (; o->name; o++)
		buf_addf(out, "--%s ", o->name);
}

static void bash_options(struct cli *c, const struct page *p, struct buf *out)
{
	buf_addf(out, "\t('%s') opts='", p->path);
	add_flag_names(page_options(c, p, NULL), out);
	buf_adds(out, "' ;;\n");
}

/* What may follow an option of the command at PATH, or of any when it is "*":
 * words, names of things, files. */
static void bash_value(const char *path, const struct command_option *o,
		       struct buf *out)
{
	bool is_file = o->argument && (strcmp(o->argument, "FILE") == 0 ||
				       strcmp(o->argument, "DIR") == 0);

	if (!o->argument || o->flags & OPTION_MAYBE ||
	    (!o->choices && !o->refers && !is_file))
		return;
	buf_addf(out, "\t(%s' --%s'", path, o->name);
	if (o->letter)
		buf_addf(out, "|%s' -%c'", path, o->letter);
	buf_adds(out, ") ");
	if (o->refers) {
		buf_addf(out, "_muster_words \"$(_muster_names %s)\"",
			 o->refers);
	} else if (o->choices) {
		buf_adds(out, "_muster_words '");
		for (const char *const *w = o->choices; *w; w++)
			buf_addf(out, "%s ", *w);
		buf_addc(out, '\'');
	} else {
		buf_adds(out, "compopt -o filenames 2>/dev/null; mapfile -t "
			      "COMPREPLY < <(compgen -f -- \"$cur\")");
	}
	buf_adds(out, "; return ;;\n");
}

static void bash_values(struct cli *c, const struct page *p, struct buf *out)
{
	const char *path = arena_printf(&c->arena, "'%s'", p->path);

	for (const struct command_option *o = page_options(c, p, NULL); o->name;
	     o++)
		bash_value(path, o, out);
}

static void bash_children(struct cli *c, struct buf *out)
{
	struct page p;
	size_t i = 0;

	while (page_next(c, &i, &p)) {
		const struct command *k = p.command->children;

		if (!k)
			continue;
		buf_addf(out, "\t(%s) subs='", p.path);
		for (; k->name; k++)
			buf_addf(out, "%s ", k->name);
		buf_adds(out, "' ;;\n");
	}
}

static void bash_nouns(struct buf *out)
{
	for (const struct kind *const *k = kinds; *k; k++)
		if (!(*k)->internal)
			buf_addf(out, "%s|", (*k)->name);
}

/* A plural means its noun. */
static void add_plurals(const char *variable, struct buf *out)
{
	for (const struct kind *const *k = kinds; *k; k++)
		if (!(*k)->internal)
			buf_addf(out, "\t(%s) %s=%s ;;\n", (*k)->plural,
				 variable, (*k)->name);
}

/* The common options whose value is no command. */
static void add_valued(const char *gap, struct buf *out)
{
	const char *before = "";

	for (const struct command_option *o = cli_options; o->name; o++) {
		if (!o->argument)
			continue;
		buf_addf(out, "%s--%s", before, o->name);
		if (o->letter)
			buf_addf(out, "%s-%c", gap, o->letter);
		before = gap;
	}
}

/* compgen expands what it is given: only plain names may reach it. */
static void bash_head(struct buf *out)
{
	buf_adds(out,
		 "# bash completion for muster; made by 'muster completion "
		 "bash'.\n"
		 "_muster_names() {\n"
		 "\tmuster \"$1\" list -o name --quiet --timeout 3s "
		 "2>/dev/null |\n"
		 "\t\tsed -n 's,^[a-z]*/\\([A-Za-z0-9._-]*\\)$,\\1,p'\n"
		 "}\n"
		 "_muster_words() {\n"
		 "\tCOMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
		 "}\n"
		 "_muster() {\n"
		 "\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
		 "prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		 "\tlocal cmd= sub= subs= opts= skip= i w\n"
		 "\tCOMPREPLY=()\n"
		 "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		 "\t\tw=${COMP_WORDS[i]}\n"
		 "\t\tif [[ -n $skip ]]; then skip=; continue; fi\n"
		 "\t\tcase $w in\n"
		 "\t\t(");
	add_valued("|", out);
	buf_adds(out, ") skip=1 ;;\n"
		      "\t\t(-*) ;;\n"
		      "\t\t(*) if [[ -z $cmd ]]; then cmd=$w\n"
		      "\t\telif [[ -z $sub ]]; then sub=$w; fi ;;\n"
		      "\t\tesac\n"
		      "\tdone\n"
		      "\tcase $cmd in\n");
	add_plurals("cmd", out);
	buf_adds(out, "\tesac\n\tcase $cmd in\n");
}

/* A verb that takes the name of what there is. */
static bool takes_name(const struct command *k)
{
	return k->usage && strstr(k->usage, "NAME-OR-ID");
}

/* Those of every noun, each once: "get|update|…". */
static void add_verbs_with_names(struct cli *c, struct buf *out)
{
	const char *words[128];
	struct page p;
	size_t i = 0, n = 0;

	while (page_next(c, &i, &p)) {
		const struct command *k = p.kind ? p.command->children : NULL;

		for (; k && k->name; k++) {
			bool known = !takes_name(k) || n == COUNT_OF(words);

			for (size_t j = 0; j < n && !known; j++)
				known = strcmp(words[j], k->name) == 0;
			if (known)
				continue;
			words[n++] = k->name;
			buf_addf(out, "%s|", k->name);
		}
	}
	buf_adds(out, "use");
}

/* A case for each command that is no noun and takes the name of one. */
static void add_named(struct cli *c, const char *before, const char *after,
		      struct buf *out)
{
	struct page p;
	size_t i = 0;

	while (page_next(c, &i, &p))
		if (p.kind && !p.command->children && takes_name(p.command))
			buf_addf(out, "\t(%s) %s %s%s", p.path, before,
				 p.kind->name, after);
}

static void bash_words(struct cli *c, struct buf *out)
{
	buf_adds(out, "\telif [[ -z $cmd || $cmd == help || $cmd == man ]]; "
		      "then\n\t\t_muster_words '");
	add_names(c, out);
	buf_adds(out, "'\n"
		      "\telif [[ $cmd == completion ]]; then\n"
		      "\t\t_muster_words 'bash zsh fish'\n"
		      "\telif [[ -n $subs && -z $sub ]]; then\n"
		      "\t\t_muster_words \"$subs\"\n"
		      "\telse\n\t\tcase $cmd in\n\t\t(");
	bash_nouns(out);
	buf_adds(out, "context)\n\t\t\tcase $sub in (");
	add_verbs_with_names(c, out);
	buf_adds(out, ")\n"
		      "\t\t\t\t_muster_words \"$(_muster_names \"$cmd\")\" "
		      ";;\n"
		      "\t\t\tesac ;;\n");
	add_named(c, "_muster_words \"$(_muster_names", ")\" ;;\n", out);
	buf_adds(out, "\t\tesac\n\tfi\n}\n"
		      "complete -F _muster muster\n");
}

void completion_bash(struct cli *c, struct buf *out)
{
	bash_head(out);
	bash_children(c, out);
	buf_adds(out, "\tesac\n\tw=$cmd\n"
		      "\t[[ -n $subs ]] && w=\"$cmd $sub\"\n"
		      "\tcase \"$w $prev\" in\n");
	each_leaf(c, bash_values, out);
	for (const struct command_option *o = cli_options; o->name; o++)
		bash_value("*", o, out);
	buf_adds(out, "\tesac\n\tcase $w in\n");
	each_leaf(c, bash_options, out);
	buf_adds(out, "\tesac\n"
		      "\tif [[ $cur == -* ]]; then\n"
		      "\t\t_muster_words \"$opts ");
	add_flag_names(cli_options, out);
	buf_adds(out, "\"\n");
	bash_words(c, out);
}

/* TEXT within zsh's single quotes, as a part of an _arguments spec. */
static void add_spec_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_adds(out, "'\\''");
		else if (strchr("[]:\\", *text))
			buf_addf(out, "\\%c", *text);
		else
			buf_addc(out, *text);
	}
}

static void zsh_value(const struct command_option *o, struct buf *out)
{
	if (!o->argument)
		return;
	buf_adds(out, o->flags & OPTION_MAYBE ? "::" : ":");
	add_spec_text(out, o->argument);
	buf_addc(out, ':');
	if (o->refers)
		buf_addf(out, "{_muster_names %s}", o->refers);
	else if (strcmp(o->argument, "FILE") == 0)
		buf_adds(out, "_files");
	else if (strcmp(o->argument, "DIR") == 0)
		buf_adds(out, "_files -/");
	for (const char *const *w = o->choices; w && *w; w++)
		buf_addf(out, "%s%s%s", w == o->choices ? "(" : " ", *w,
			 w[1] ? "" : ")");
}

static void zsh_option(const struct command_option *o, struct buf *out)
{
	const char *many = o->flags & OPTION_MANY ? "*" : "";

	buf_addf(out, "\t\t'%s--%s%s[", many, o->name,
		 !o->argument              ? ""
		 : o->flags & OPTION_MAYBE ? "=-"
					   : "=");
	add_spec_text(out, o->doc);
	buf_addc(out, ']');
	zsh_value(o, out);
	buf_adds(out, "'\n");
	if (!o->letter)
		return;
	buf_addf(out, "\t\t'%s-%c[", many, o->letter);
	add_spec_text(out, o->doc);
	buf_addc(out, ']');
	zsh_value(o, out);
	buf_adds(out, "'\n");
}

static void zsh_leaf(struct cli *c, const struct page *p, struct buf *out)
{
	const struct command_option *o = page_options(c, p, NULL);

	if (!o->name)
		return;
	buf_addf(out, "\t('%s'%s) flags+=(\n", p->path,
		 strchr(p->path, ' ') ? "" : "' '*");
	for (; o->name; o++)
		zsh_option(o, out);
	buf_adds(out, "\t) ;;\n");
}

static void zsh_word(struct cli *c, const struct page *p, struct buf *out)
{
	buf_addf(out, " '%s:", p->command->name);
	add_spec_text(out, page_text(c, p, p->command->summary));
	buf_addc(out, '\'');
}

static void zsh_words(struct cli *c, struct buf *out)
{
	struct page p;
	size_t i = 0;

	buf_adds(out, "_muster_commands() {\n\tlocal -a all=(");
	while (page_next(c, &i, &p))
		zsh_word(c, &p, out);
	buf_adds(out, ")\n\t_describe command all\n}\n"
		      "_muster_second() {\n\tlocal -a all\n\tcase $noun in\n");
	for (i = 0; page_next(c, &i, &p);) {
		const struct command *k = p.command->children;

		if (!k)
			continue;
		buf_addf(out, "\t(%s) all=(", p.path);
		for (; k->name; k++) {
			struct page below = page_child(c, &p, k);

			zsh_word(c, &below, out);
		}
		buf_adds(out, ") ;;\n");
	}
	add_named(c, "_muster_names", "; return ;;\n", out);
	buf_adds(out, "\t(completion) all=(bash zsh fish) ;;\n"
		      "\t(help|man) _muster_commands; return ;;\n"
		      "\t(*) _files; return ;;\n"
		      "\tesac\n\t_describe command all\n}\n");
}

/* _arguments has variables of its own, cmd among them, that hide ours. */
void completion_zsh(struct cli *c, struct buf *out)
{
	buf_adds(out, "#compdef muster\n"
		      "# zsh completion for muster; made by 'muster completion "
		      "zsh'.\n"
		      "_muster_names() {\n"
		      "\tlocal -a names\n"
		      "\tnames=(${(f)\"$(muster $1 list -o name --quiet "
		      "--timeout 3s 2>/dev/null)\"})\n"
		      "\tcompadd -- ${names##*/}\n}\n");
	zsh_words(c, out);
	buf_adds(out, "_muster_rest() {\n\tcase $verb in\n\t(");
	add_verbs_with_names(c, out);
	buf_adds(out, ") _muster_names $noun ;;\n"
		      "\tesac\n}\n"
		      "_muster() {\n"
		      "\tlocal noun= verb= skip= w\n"
		      "\tlocal -a flags\n"
		      "\tfor w in ${words[2,CURRENT-1]}; do\n"
		      "\t\tif [[ -n $skip ]]; then skip=; continue; fi\n"
		      "\t\tcase $w in\n\t\t(");
	add_valued("|", out);
	buf_adds(out, ") skip=1 ;;\n"
		      "\t\t(-*) ;;\n"
		      "\t\t(*) if [[ -z $noun ]]; then noun=$w\n"
		      "\t\telif [[ -z $verb ]]; then verb=$w; fi ;;\n"
		      "\t\tesac\n\tdone\n\tcase $noun in\n");
	add_plurals("noun", out);
	buf_adds(out, "\tesac\n\tflags=(\n");
	for (const struct command_option *o = cli_options; o->name; o++)
		zsh_option(o, out);
	buf_adds(out, "\t)\n\tcase \"$noun $verb\" in\n");
	each_leaf(c, zsh_leaf, out);
	buf_adds(out, "\tesac\n\t_arguments -S $flags "
		      "'1: :_muster_commands' '2: :_muster_second' "
		      "'*: :_muster_rest'\n}\n"
		      "if [[ $funcstack[1] == _muster ]]; then _muster \"$@\"; "
		      "else compdef _muster muster; fi\n");
}

/* TEXT within fish's single quotes. */
static void add_quoted(struct buf *out, const char *text)
{
	buf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
	buf_addc(out, '\'');
}

static void fish_option(const struct command_option *o, const char *when,
			struct buf *out)
{
	buf_adds(out, "complete -c muster");
	if (when)
		buf_addf(out, " -n '%s'", when);
	buf_addf(out, " -l %s", o->name);
	if (o->letter)
		buf_addf(out, " -s %c", o->letter);
	if (o->argument && (strcmp(o->argument, "FILE") == 0 ||
			    strcmp(o->argument, "DIR") == 0))
		buf_adds(out, " -r -F");
	else if (o->argument && !(o->flags & OPTION_MAYBE))
		buf_adds(out, " -x");
	if (o->refers) {
		buf_addf(out, " -a '(__muster_names %s)'", o->refers);
	} else if (o->choices) {
		buf_adds(out, " -a '");
		for (const char *const *w = o->choices; *w; w++)
			buf_addf(out, "%s ", *w);
		buf_addc(out, '\'');
	}
	buf_adds(out, " -d ");
	add_quoted(out, o->doc);
	buf_addc(out, '\n');
}

/* "__muster_in project create": these words have been typed. */
static void fish_leaf(struct cli *c, const struct page *p, struct buf *out)
{
	const char *when = arena_printf(&c->arena, "__muster_in %s", p->path);

	for (const struct command_option *o = page_options(c, p, NULL); o->name;
	     o++)
		fish_option(o, when, out);
	if (p->kind && takes_name(p->command))
		buf_addf(out,
			 "complete -c muster -n '%s' -a "
			 "'(__muster_names %s)'\n",
			 when, p->kind->name);
}

static void fish_word(struct cli *c, const struct page *p, const char *when,
		      struct buf *out)
{
	buf_addf(out, "complete -c muster -n '%s' -a %s -d ", when,
		 p->command->name);
	add_quoted(out, page_text(c, p, p->command->summary));
	buf_addc(out, '\n');
}

/* __muster_words are the words typed so far, without options and with nouns in
 * the singular; __muster_in tells whether they begin with its arguments, and
 * __muster_at whether they are just these. */
static void fish_head(struct buf *out)
{
	buf_adds(out, "# fish completion for muster; made by 'muster "
		      "completion fish'.\n"
		      "function __muster_names\n"
		      "\tmuster $argv[1] list -o name --quiet --timeout 3s "
		      "2>/dev/null | string replace -r '.*/' ''\n"
		      "end\n"
		      "function __muster_words\n"
		      "\tset -l skip\n"
		      "\tfor w in (commandline -opc)[2..-1]\n"
		      "\t\tif set -q skip[1]\n"
		      "\t\t\tset -e skip[1]\n"
		      "\t\t\tcontinue\n"
		      "\t\tend\n"
		      "\t\tswitch $w\n"
		      "\t\tcase ");
	add_valued(" ", out);
	buf_adds(out, "\n\t\t\tset skip 1\n"
		      "\t\tcase '-*'\n");
	for (const struct kind *const *k = kinds; *k; k++)
		if (!(*k)->internal)
			buf_addf(out, "\t\tcase %s\n\t\t\techo %s\n",
				 (*k)->plural, (*k)->name);
	buf_adds(out, "\t\tcase '*'\n"
		      "\t\t\techo -- $w\n"
		      "\t\tend\n"
		      "\tend\n"
		      "end\n"
		      "function __muster_in\n"
		      "\tset -l words (__muster_words)\n"
		      "\tstring match -q -- \"$argv *\" \"$words \"\n"
		      "end\n"
		      "function __muster_at\n"
		      "\tset -l words (__muster_words)\n"
		      "\ttest \"$words\" = \"$argv\"\n"
		      "end\n"
		      "complete -c muster -f\n");
}

void completion_fish(struct cli *c, struct buf *out)
{
	struct page p;
	size_t i = 0;

	fish_head(out);
	while (page_next(c, &i, &p)) {
		const struct command *k = p.command->children;

		fish_word(c, &p, "__muster_at", out);
		for (; k && k->name; k++) {
			struct page below = page_child(c, &p, k);

			fish_word(c, &below,
				  arena_printf(&c->arena, "__muster_at %s",
					       p.path),
				  out);
		}
	}
	buf_adds(out, "complete -c muster -n '__muster_at completion' -a "
		      "'bash zsh fish'\n"
		      "complete -c muster -n '__muster_at context use' -a "
		      "'(__muster_names context)'\n"
		      "complete -c muster -n '__muster_at context delete' -a "
		      "'(__muster_names context)'\n");
	each_leaf(c, fish_leaf, out);
	for (const struct command_option *o = cli_options; o->name; o++)
		fish_option(o, NULL, out);
}
