#include "cli/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/oauth.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"
#include "http/client.h"
#include "model/kind.h"

const struct command_option login_options[] = {
	{"token-file", .argument = "FILE",
	 .doc = "Read the token from a file, '-' for standard input."},
	{"issuer", .argument = "NAME",
	 .doc = "Sign in at this OpenID issuer of the server's."},
	{"browser",
	 .doc = "With --issuer: by a browser on this machine, rather than by "
		"entering a code on any."},
	{0},
};

const struct command_option version_options[] = {
	{"client", .doc = "Only this program's."},
	{0},
};

/* The first line without the blanks around it; NULL when it is empty. */
static const char *first_line(struct arena *a, const char *text)
{
	size_t skip = strspn(text, " \t\r\n"), len;

	len = strcspn(text + skip, " \t\r\n");
	return len ? arena_memdup(a, text + skip, len) : NULL;
}

/* Wait for a line; false when the user gave up instead.  The signal waits: the
 * terminal must be put right before it ends us. */
static bool wait_for_line(int fd, const sigset_t *signals)
{
	auto_close int signal_fd = signalfd(-1, signals, SFD_CLOEXEC);
	struct pollfd fds[] = {{fd, POLLIN, 0}, {signal_fd, POLLIN, 0}};

	while (poll(fds, COUNT_OF(fds), -1) < 0)
		if (errno != EINTR)
			return true;
	return !fds[1].revents;
}

/* A line from the terminal, not shown while it is typed. */
static const char *ask_token(struct cli *c)
{
	char line[16384] = "";
	struct termios old, quiet;
	sigset_t signals, before;
	int fd = fileno(c->in);

	if (tcgetattr(fd, &old) < 0)
		return NULL;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, &before);
	quiet = old;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	fprintf(c->err, "Token: ");
	fflush(c->err);
	tcsetattr(fd, TCSAFLUSH, &quiet);
	if (!wait_for_line(fd, &signals) || !fgets(line, sizeof(line), c->in))
		line[0] = '\0';
	tcsetattr(fd, TCSAFLUSH, &old);
	fputc('\n', c->err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return first_line(&c->arena, line);
}

/* The token to sign in with, which is never the one kept from before. */
static int find_token(struct cli *c, const struct args *args, const char **ret,
		      struct failure *p)
{
	const char *file = args_value(args, "token-file"), *text;
	size_t len;

	if (file && c->given.token)
		return failure_usage(p, "--token and --token-file: give one");
	if (file) {
		p->usage = true;
		if (settings_read_file(file, &c->arena, &text, &len, &p->err) <
		    0)
			return -1;
		p->usage = false;
		*ret = first_line(&c->arena, text);
		if (!*ret)
			return failure_usage(p, "%s holds no token", file);
		return 0;
	}
	*ret = c->given.token;
	text = getenv("MUSTER_TOKEN");
	if (!*ret && text)
		*ret = first_line(&c->arena, text);
	if (!*ret && c->ask)
		*ret = ask_token(c);
	if (!*ret)
		return failure_usage(p, "which token?  Give --token-file FILE; "
					"a server writes its first one to "
					"admin.token in its data directory");
	return 0;
}

static const char *full_address(struct cli *c, const char *server)
{
	size_t len;

	if (!strstr(server, "://"))
		server = arena_printf(
			&c->arena, "http%s://%s",
			strncmp(server, "127.", 4) == 0 ||
					strncmp(server, "localhost", 9) == 0
				? ""
				: "s",
			server);
	len = strlen(server);
	while (len && server[len - 1] == '/')
		len--;
	return arena_memdup(&c->arena, server, len);
}

/* Who the server says we are; NULL in *RET when it cannot say. */
static int who_am_i(struct cli *c, const char **ret, struct failure *p)
{
	struct node *reply = NULL;
	struct failure why = {0};

	*ret = NULL;
	if (request_get(c, "/v1/version", &reply, p) < 0)
		return -1;
	if (request_get(c, "/v1/whoami", &reply, &why) == 0) {
		const char *name = reply ? node_text(reply, "name") : NULL;

		*ret = name ? text_safe(&c->arena, name) : NULL;
		return 0;
	}
	if (why.err.code != ERR_NOT_FOUND) {
		*p = why;
		return -1;
	}
	/* An older server: any list tells whether the token is good. */
	return request_get(
		c, arena_printf(&c->arena, "/v1/%s?limit=1", kinds[0]->plural),
		&reply, p);
}

static int keep(struct cli *c, const char *name, struct failure *p)
{
	struct context context = c->target;
	struct settings s;

	context.name = name;
	if (settings_load(&c->arena, &s, &p->err) < 0)
		return -1;
	settings_put(&s, &context, &c->arena);
	s.current = name;
	return settings_save(&s, &c->arena, &p->err);
}

/* The context to keep it in: the one named, even if it is new, else the one
 * in use when it is of that server, else "default". */
static int settle_login(struct cli *c, const struct args *args,
			const char **ret_name, struct failure *p)
{
	const char *name = c->given.name;
	struct settings s;

	if (settings_load(&c->arena, &s, &p->err) < 0)
		return -1;
	if (args->n_words)
		c->given.server = args->words[0];
	if (name && !settings_find(&s, name))
		c->given.name = NULL;
	if (!args_has(args, "issuer") &&
	    find_token(c, args, &c->given.token, p) < 0)
		return -1;
	if (cli_target(c, p) < 0)
		return -1;
	/* Nothing is left of who one was. */
	c->target = (struct context){.server = c->target.server,
				     .ca_file = c->target.ca_file,
				     .token = c->given.token};
	c->target.server = full_address(c, c->target.server);
	if (!name && s.current && settings_find(&s, s.current) &&
	    strcmp(settings_find(&s, s.current)->server, c->target.server) == 0)
		name = s.current;
	*ret_name = name ? name : "default";
	return 0;
}

static int login_at(struct cli *c, const char *name, bool browser,
		    struct failure *p)
{
	struct oauth_issuer issuer;
	struct oauth_places at;
	int rc;

	c->target.token = NULL;
	if (oauth_find(c, name, &issuer, p) < 0 ||
	    oauth_discover(c, issuer.issuer, &at, p) < 0)
		return -1;
	rc = browser ? oauth_browser(c, &issuer, &at, p)
		     : oauth_device(c, &issuer, &at, p);
	/* What comes next is said as who one is now. */
	client_free(c->client);
	c->client = NULL;
	return rc;
}

static int check_login(const struct args *args, const struct cli *c,
		       struct failure *p)
{
	bool issuer = args_has(args, "issuer");

	if (args_has(args, "browser") && !issuer)
		return failure_usage(p, "--browser needs --issuer NAME");
	if (issuer && (c->given.token || args_has(args, "token-file")))
		return failure_usage(p, "a token or an --issuer: give one");
	return 0;
}

int session_login(struct cli *c, int argc, char **argv)
{
	struct failure p = {0};
	const char *name, *who;
	struct args args;

	if (cli_parse(c, login_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 1) < 0)
		return EXIT_USAGE;
	if (check_login(&args, c, &p) < 0 ||
	    settle_login(c, &args, &name, &p) < 0 ||
	    (args_has(&args, "issuer") &&
	     login_at(c, args_value(&args, "issuer"),
		      args_has(&args, "browser"), &p) < 0) ||
	    who_am_i(c, &who, &p) < 0 || keep(c, name, &p) < 0)
		return cli_fail(c, &p, "sign in", NULL);
	if (!settings_is_local(c->target.server) &&
	    strncmp(c->target.server, "http:", 5) == 0)
		cli_say(c, "muster: the token goes to %s unencrypted",
			text_safe(&c->arena, c->target.server));
	cli_say(c, "Signed in to %s%s%s; kept as context '%s'.",
		text_safe(&c->arena, c->target.server), who ? " as " : "",
		who ? who : "", text_safe(&c->arena, name));
	return EXIT_OK;
}

static struct node *client_version(struct cli *c)
{
	struct node *client = node_new_object(&c->arena);

	node_set(&c->arena, client, "version",
		 node_new_string(&c->arena, MUSTER_VERSION,
				 strlen(MUSTER_VERSION)));
	return client;
}

static void print_versions(struct cli *c, struct node *server)
{
	struct node *both = node_new_object(&c->arena);
	const char *version = server ? node_text(server, "version") : NULL;

	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML) {
		node_set(&c->arena, both, "client", client_version(c));
		if (server)
			node_set(&c->arena, both, "server", server);
		output_document(c, both, c->output == OUTPUT_YAML);
		return;
	}
	fprintf(c->out, "client  %s\n", MUSTER_VERSION);
	if (server)
		fprintf(c->out, "server  %s  %s\n",
			version ? text_safe(&c->arena, version) : "?",
			text_safe(&c->arena, c->target.server));
}

int session_version(struct cli *c, int argc, char **argv)
{
	struct node *server = NULL;
	struct failure p = {0};
	struct args args;
	int rc = 0;

	if (cli_parse(c, version_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (!args_has(&args, "client"))
		rc = request_get(c, "/v1/version", &server, &p);
	print_versions(c, server);
	if (rc == 0)
		return EXIT_OK;
	/* What is printed comes first, wherever the streams go. */
	fflush(c->out);
	return cli_fail(c, &p, "ask the server for its version", NULL);
}
