#include "cli/cli.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "cli/flags.h"
#include "cli/plan.h"
#include "cli/text.h"
#include "http/client.h"
#include "model/kind.h"

#define ARENA_MOST ((size_t)4 << 30)

const char *const command_exits[] = {
	[EXIT_OK] = "It was done.",
	[EXIT_REFUSED] = "The server refused it; or it failed, or waits for "
			 "somebody, with --wait; or 'diff' found a "
			 "difference.",
	[EXIT_USAGE] = "The command line, or a manifest, was wrong.",
	[EXIT_NOT_FOUND] = "There is no such thing, or none that you may see.",
	[EXIT_DENIED] = "Not permitted, or not signed in.",
	[EXIT_CONFLICT] = "In conflict with what is there, changed meanwhile, "
			  "or not allowed to restart or destroy.",
	[EXIT_UNREACHABLE] = "The server could not be reached, or took too "
			     "long; or --wait did.",
	[EXIT_UNAVAILABLE] = "The server is busy or not ready: try again "
			     "later.",
	NULL,
};

static const char *const output_words[] = {
	"table", "wide", "json", "yaml", "name", NULL,
};

const struct command_option cli_options[] = {
	{"server", .argument = "URL",
	 .doc = "The server to talk to (MUSTER_SERVER)."},
	{"token", .argument = "TOKEN",
	 .doc = "The token to send.  Others on this machine can see it here; "
		"MUSTER_TOKEN or 'muster login' keep it to yourself."},
	{"ca-file", .argument = "FILE",
	 .doc = "Trust servers whose certificate is signed by one in this PEM "
		"file (MUSTER_CA_FILE)."},
	{"context", .argument = "NAME",
	 .doc = "Use this context of the settings (MUSTER_CONTEXT)."},
	{"as", .argument = "ID",
	 .doc = "Act for the user or service account with this id, as far as "
		"both may."},
	{"output", 'o', .argument = "FORMAT",
	 .doc = "How to print: table, wide, json, yaml or name.",
	 .choices = output_words},
	{"timeout", .argument = "DURATION",
	 .doc = "Give up after this long: 30s, 5m.  60s for a request, 10m "
		"for --wait, when not given."},
	{"no-color", .doc = "No colours (NO_COLOR)."},
	{"quiet", 'q', .doc = "No remarks, only results and errors."},
	{"help", 'h', .doc = "Explain the command."},
	{0},
};

const struct command *command_find(const struct command *table,
				   const char *name)
{
	for (; table && table->name; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static struct style style_of(FILE *stream)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	bool plain = (no && *no) || !term || strcmp(term, "dumb") == 0;
	struct winsize size = {0};

	if (!isatty(fileno(stream)))
		return (struct style){0};
	if (ioctl(fileno(stream), TIOCGWINSZ, &size) < 0 || !size.ws_col)
		size.ws_col = 80;
	return (struct style){!plain, size.ws_col};
}

void cli_init(struct cli *c, const struct command *const *tables)
{
	*c = (struct cli){
		.in = stdin,
		.out = stdout,
		.err = stderr,
		.clock = &clock_system,
		.random = &random_system,
		.tables = tables,
	};
	arena_init(&c->arena, ARENA_MOST);
}

void cli_release(struct cli *c)
{
	client_free(c->client);
	map_release(&c->names);
	arena_release(&c->arena);
}

static void write_err(const struct cli *c, struct buf *b)
{
	fwrite(buf_str(b), 1, b->len, c->err);
	buf_release(b);
}

static int usage_error(struct cli *c, const struct failure *p)
{
	struct failure_view v = {.style = c->err_style};
	struct buf b = BUF_INIT(65536);

	failure_write(p, &v, &b);
	buf_addf(&b, "Run 'muster help%s%s' to see what it takes.\n",
		 c->path ? " " : "", c->path ? c->path : "");
	write_err(c, &b);
	return EXIT_USAGE;
}

int cli_usage(struct cli *c, const char *fmt, ...)
{
	struct failure p = {.usage = true};
	char msg[sizeof(p.err.msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	err_set(&p.err, ERR_INVALID, "%s", msg);
	return usage_error(c, &p);
}

/* ARG as a shell reads it. */
static void add_quoted(struct buf *out, const char *arg)
{
	if (*arg && !arg[strcspn(arg, " \t\n\"'`$&|;<>()*?[]{}#~!\\")]) {
		text_add_safe(out, arg, strlen(arg));
		return;
	}
	buf_addc(out, '\'');
	for (; *arg; arg++) {
		if (*arg == '\'')
			buf_adds(out, "'\\''");
		else
			text_add_safe(out, arg, 1);
	}
	buf_addc(out, '\'');
}

static bool is_option(const char *arg, const char *name)
{
	size_t len = strlen(name);

	return strncmp(arg, name, len) == 0 && (!arg[len] || arg[len] == '=');
}

const char *cli_again(struct cli *c, const char *allow)
{
	struct buf b = BUF_INIT(65536);
	const char *line;

	buf_adds(&b, "muster");
	for (int i = 1; i < c->argc; i++) {
		const char *arg = c->argv[i];

		/* What was allowed was too little; a token is not for show. */
		if (is_option(arg, "--allow") || is_option(arg, "--token") ||
		    strcmp(arg, "--plan") == 0) {
			i += !strchr(arg, '=') && strcmp(arg, "--plan") != 0;
			continue;
		}
		buf_addc(&b, ' ');
		add_quoted(&b, arg);
	}
	buf_addf(&b, " --allow %s", allow);
	line = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return line;
}

int cli_fail(struct cli *c, const struct failure *p, const char *what,
	     const struct flags *flags)
{
	struct failure_view v = {
		.what = what,
		.flags = flags,
		.server = c->has_target ? c->target.server : NULL,
		.has_token = c->has_target && c->target.token,
		.style = c->err_style,
	};
	const char *need = p->plan ? plan_needs(p->plan) : NULL;
	struct buf b = BUF_INIT((size_t)1 << 20);

	if (p->usage)
		return usage_error(c, p);
	if (need && c->argc)
		v.again = cli_again(c, need);
	failure_write(p, &v, &b);
	write_err(c, &b);
	return failure_exit(p);
}

void cli_say(const struct cli *c, const char *fmt, ...)
{
	va_list ap;

	if (c->quiet)
		return;
	va_start(ap, fmt);
	vfprintf(c->err, fmt, ap);
	va_end(ap);
	fputc('\n', c->err);
}

void cli_print(const struct cli *c, struct buf *b)
{
	fwrite(buf_str(b), 1, b->len, c->out);
	buf_release(b);
}

static enum output output_of(const char *word)
{
	for (size_t i = 0; output_words[i]; i++)
		if (strcmp(output_words[i], word) == 0)
			return (enum output)(i + OUTPUT_TABLE);
	return OUTPUT_DEFAULT;
}

int cli_take(struct cli *c, const struct args *args, struct failure *p)
{
	static const struct {
		const char *name;
		size_t offset;
	} texts[] = {
		{"server", offsetof(struct context, server)},
		{"token", offsetof(struct context, token)},
		{"ca-file", offsetof(struct context, ca_file)},
		{"context", offsetof(struct context, name)},
	};
	const char *value;

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		const char **to = (const char **)(void *)((char *)&c->given +
							  texts[i].offset);

		value = args_value(args, texts[i].name);
		if (value && !*value)
			return failure_usage(p, "--%s is empty", texts[i].name);
		if (value)
			*to = value;
	}
	value = args_value(args, "as");
	if (value)
		c->act_as = value;
	value = args_value(args, "output");
	if (value)
		c->output = output_of(value);
	value = args_value(args, "timeout");
	if (value && (text_duration(value, &c->timeout_ms) < 0 ||
		      !c->timeout_ms || c->timeout_ms > (uint64_t)86400000))
		return failure_usage(p,
				     "--timeout: '%s' is not a duration like "
				     "30s, 5m or 1h",
				     value);
	c->quiet = c->quiet || args_has(args, "quiet");
	if (args_has(args, "no-color"))
		c->style.color = c->err_style.color = false;
	return 0;
}

int cli_parse(struct cli *c, const struct command_option *options, int argc,
	      char **argv, struct args *ret)
{
	static const struct command_option none[] = {{0}};
	const struct command_option *const tables[] = {options ? options : none,
						       cli_options, NULL};
	struct failure p = {.usage = true};

	if (args_parse(tables, argc, argv, &c->arena, ret, &p.err) < 0 ||
	    cli_take(c, ret, &p) < 0) {
		usage_error(c, &p);
		return -1;
	}
	return 0;
}

int cli_words(struct cli *c, const struct args *args, size_t least, size_t most)
{
	if (args->n_words < least) {
		cli_usage(c, "'muster %s' needs %s", c->path,
			  least == 1 ? "a word more" : "more words");
		return -1;
	}
	if (args->n_words > most) {
		cli_usage(c, "'%s' is one word too many for 'muster %s'",
			  args->words[most], c->path);
		return -1;
	}
	return 0;
}

int cli_target(struct cli *c, struct failure *p)
{
	if (c->has_target)
		return 0;
	if (settings_target(&c->given, &c->arena, &c->target, &p->err) < 0) {
		p->usage = true;
		return -1;
	}
	c->has_target = true;
	return 0;
}

static const char *placeholder(const char *name, size_t len,
			       const struct kind *k, struct arena *a)
{
	assert(k->name);
	if (len == 1 && name[0] == 'a')
		return strchr("aeiou", k->name[0]) ? "an" : "a";
	if (len == 4 && strncmp(name, "noun", len) == 0)
		return k->name;
	if (len == 5 && strncmp(name, "nouns", len) == 0)
		return k->plural;
	if (len == 8 && strncmp(name, "required", len) == 0)
		return flags_required(k, a);
	return NULL;
}

const char *cli_expand(struct arena *a, const char *template,
		       const struct kind *k)
{
	struct buf b = BUF_INIT(65536);
	const char *text;

	if (!k || !strchr(template, '{'))
		return template;
	for (const char *p = template; *p; p++) {
		size_t len = *p == '{' ? strcspn(p + 1, "}") : 0;
		const char *value = len ? placeholder(p + 1, len, k, a) : NULL;

		if (value) {
			buf_adds(&b, value);
			p += len + 1;
		} else {
			buf_addc(&b, *p);
		}
	}
	text = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return text;
}

int cli_main(const struct command *const *tables, int argc, char **argv)
{
	struct cli c;
	int rc;

	cli_init(&c, tables);
	c.style = style_of(stdout);
	c.err_style = style_of(stderr);
	c.ask = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
	rc = cli_run(&c, argc, argv);
	/* A result that could not be written was not given. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "muster: cannot write the output\n");
		rc = rc ? rc : EXIT_REFUSED;
	}
	cli_release(&c);
	return rc;
}
