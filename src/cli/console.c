/* A machine's serial line in this terminal. */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "http/dial.h"

/* One read of what is typed; of a script it is sent at once. */
enum { PIECE = 4096 };

enum { NO_KEY = -1, CODE_DONE = 1000, CODE_STOPPING = 1001 };

/* How long the server is waited for when we leave. */
enum { LEAVE_MS = 2000 };

const struct command_option console_options[] = {
	{"vnc", .doc = "Print the one-time address of its screen, for noVNC "
		       "and the like, and open nothing."},
	{"escape", .argument = "KEY",
	 .doc = "The key that ends it: ^X is Ctrl-X; none: no key does.  ^] "
		"when it is not said."},
	{0},
};

enum end { END_NOT_YET, END_DETACHED, END_SIGNAL, END_OUTPUT };

struct session {
	struct cli *cli;
	struct terminal terminal;
	struct dial *dial;
	int input;  /* -1: there is no more */
	bool typed; /* by somebody at a terminal */
	int escape; /* a byte, or NO_KEY */
	enum end end;
};

/* "^]", "none". */
static int read_key(const char *text, int *ret)
{
	*ret = NO_KEY;
	if (!text)
		text = "^]";
	if (strcmp(text, "none") == 0)
		return 0;
	if (text[0] != '^' || !text[1] || text[2] || text[1] < '@' ||
	    toupper((unsigned char)text[1]) > '_')
		return -1;
	*ret = toupper((unsigned char)text[1]) & 0x1f;
	return 0;
}

static void on_data(void *ctx, const char *bytes, size_t len)
{
	struct session *s = ctx;
	FILE *out = s->cli->out;

	if (fwrite(bytes, 1, len, out) != len || fflush(out) != 0)
		s->end = END_OUTPUT;
}

/* What was typed, up to the key that ends it. */
static void take_input(struct session *s)
{
	char piece[PIECE], *at = NULL;
	ssize_t n = read(s->input, piece, sizeof(piece));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		s->input = -1;
		/* Nobody is there any more. */
		if (s->typed)
			s->end = END_DETACHED;
		return;
	}
	if (s->typed && s->escape != NO_KEY)
		at = memchr(piece, s->escape, (size_t)n);
	if (at) {
		s->end = END_DETACHED;
		n = at - piece;
	}
	if (n)
		dial_send(s->dial, piece, (size_t)n);
}

static void take_signal(struct session *s, const struct pollfd *p)
{
	struct pollfd fds[2] = {*p, {.fd = -1}};
	char key;

	if (terminal_read(&s->terminal, fds, &key) == TERMINAL_STOP)
		s->end = END_SIGNAL;
}

/* Until either side has had enough. */
static void talk(struct session *s)
{
	while (!s->end && dial_turn(s->dial)) {
		bool typing = s->input >= 0 && dial_has_room(s->dial);
		struct pollfd fds[] = {
			{.fd = s->terminal.signals, .events = POLLIN},
			dial_polled(s->dial),
			{.fd = typing ? s->input : -1, .events = POLLIN},
		};

		if (poll(fds, COUNT_OF(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			take_signal(s, &fds[0]);
		if (typing && fds[2].revents)
			take_input(s);
	}
}

/* What was typed last is sent, and the end is agreed on. */
static void hang_up(struct session *s)
{
	dial_close(s->dial);
	while (dial_turn(s->dial)) {
		struct pollfd p = dial_polled(s->dial);

		if (poll(&p, 1, LEAVE_MS) <= 0)
			break;
	}
}

static void greet(const struct session *s, const char *name)
{
	size_t columns, rows;

	terminal_size(s->cli->out, &columns, &rows);
	if (s->escape == NO_KEY)
		cli_say(s->cli, "Connected to %s.", name);
	else
		cli_say(s->cli, "Connected to %s; Ctrl-%c ends it.", name,
			s->escape | '@');
	if (rows)
		cli_say(s->cli,
			"Its line does not know your window: there, 'stty "
			"rows %zu cols %zu'.",
			rows, columns);
}

/* How it ended, once the terminal is as it was. */
static int farewell(struct session *s)
{
	struct cli *c = s->cli;
	const char *why = dial_why(s->dial);

	if (s->end == END_DETACHED) {
		cli_say(c, "\nDetached; the machine goes on.");
		return EXIT_OK;
	}
	if (s->end == END_OUTPUT)
		return EXIT_REFUSED;
	if (dial_code(s->dial) == CODE_DONE) {
		cli_say(c, "\nThe machine closed its console.");
		return EXIT_OK;
	}
	fprintf(c->err, "muster: the console was cut off: %s\n",
		*why ? text_safe(&c->arena, why) : "the connection was lost");
	return dial_code(s->dial) == CODE_STOPPING ? EXIT_UNAVAILABLE
						   : EXIT_REFUSED;
}

static int connect_to(struct session *s, const char *target, struct failure *p)
{
	struct cli *c = s->cli;
	struct dial_conf conf = {
		.client = {.server = c->target.server,
			   .ca_file = c->target.ca_file,
			   .agent = "muster/" MUSTER_VERSION},
		.target = target,
		.protocol = "binary",
		.data = on_data,
		.ctx = s,
	};
	struct client_result answer;
	struct node *none = NULL;
	int r;

	if (dial_open(&conf, &s->dial, &answer, &p->err) < 0)
		return -1;
	if (s->dial)
		return 0;
	r = request_reply(c, &answer, &none, p);
	client_result_release(&answer);
	return r < 0 ? -1
		     : err_set(&p->err, ERR_INTERNAL,
			       "%s did not open the console",
			       conf.client.server);
}

/* The path and query of an address that is our server's; NULL: it is not. */
static const char *own_target(const struct node *reply)
{
	const char *url = node_text(reply, "url"), *path;

	if (!url || !node_text(reply, "expiresAt"))
		return NULL;
	path = strstr(url, "://");
	path = path ? strchr(path + 3, '/') : NULL;
	return path && strncmp(path, "/v1/", 4) == 0 ? path : NULL;
}

static int open_session(struct session *s, struct verb *v, struct failure *p)
{
	struct request r = {.method = "POST",
			    .body = node_new_object(&s->cli->arena)};
	struct resolved found;
	struct node *reply;
	const char *target;

	if (noun_resolve(v, v->args.words[0], &found, p) < 0 ||
	    machine_ask(v, &r, found.id, "console", &reply, p) < 0)
		return -1;
	target = own_target(reply);
	if (!target && node_text(reply, "url"))
		return err_set(
			&p->err, ERR_UNSUPPORTED,
			"its provider has consoles of its own: this one "
			"is at %s",
			text_safe(&s->cli->arena, node_text(reply, "url")));
	if (!target)
		return err_set(&p->err, ERR_INTERNAL,
			       "the answer has no \"url\"");
	return connect_to(s, target, p);
}

int console_run(struct cli *c, int argc, char **argv)
{
	struct session s = {.cli = c, .input = fileno(c->in)};
	struct failure p = {0};
	struct verb v;
	int status;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (args_has(&v.args, "vnc"))
		return machine_console_address(&v);
	if (read_key(args_value(&v.args, "escape"), &s.escape) < 0)
		return cli_usage(c, "--escape: '%s' is no key: ^] or none",
				 args_value(&v.args, "escape"));
	if (open_session(&s, &v, &p) < 0)
		return noun_fail(&v, &p);
	s.typed = isatty(s.input);
	if (s.typed)
		greet(&s, v.args.words[0]);
	terminal_open(&s.terminal);
	if (s.typed)
		(void)terminal_take_raw(&s.terminal, c->in);
	talk(&s);
	hang_up(&s);
	terminal_close(&s.terminal);
	if (s.end == END_SIGNAL)
		terminal_interrupt();
	status = farewell(&s);
	dial_free(s.dial);
	return status;
}
