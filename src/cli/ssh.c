/*
 * "muster ssh": a login by OpenSSH with what the server knows, so that there is
 * nothing to trust at first sight and nothing to set up.
 *
 * Key, certificate and host key lie in a folder of this run's, which goes away
 * with it; with --print-config in one that stays.
 */
#include <string.h>

#include "cli/knock.h"
#include "cli/login.h"
#include "cli/progress.h"
#include "cli/request.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/image.h"

enum {
	SSH_PORT = 22,
	LOGIN_SECONDS = 300,
	KNOCK_MS = 600000,
	QUIET_MS = 2000, /* what is waited without a word */
};

const struct command_option ssh_options[] = {
	{"user", 'l', .argument = "NAME",
	 .doc = "Who to log in as; otherwise who the image says."},
	{"identity", 'i', .argument = "FILE",
	 .doc = "Log in with this key, rather than with a certificate or the "
		"key that was made for the instance."},
	{"tty", 't', .doc = "A terminal for the command, too."},
	{"ssh-option", .flags = OPTION_MANY, .argument = "OPTION",
	 .doc = "Passed on as ssh -o: LocalForward=8080:localhost:80.  May be "
		"repeated."},
	{"accept-host-key",
	 .doc = "Where the server does not know the guest's host key, take the "
		"one it shows the first time, and remember it."},
	{"print-config",
	 .doc = "Print a block for ~/.ssh/config instead; key and certificate "
		"are kept beside the settings."},
	{0},
};

/* The document of the instance that was named. */
static int read_instance(struct verb *v, struct node **ret, struct failure *p)
{
	struct resolved found;

	if (noun_resolve(v, v->args.words[0], &found, p) < 0)
		return -1;
	*ret = NULL;
	if (request_get(v->cli,
			arena_printf(&v->cli->arena, "/v1/%s/%s",
				     v->kind->plural, found.id),
			ret, p) < 0)
		return -1;
	return *ret ? 0
		    : err_set(&p->err, ERR_INTERNAL,
			      "the server answered with nothing");
}

static bool is(const struct node *doc, const char *path, const char *word)
{
	const char *text = node_text(doc, path);

	return text && strcmp(text, word) == 0;
}

/* One that is on its way is waited for: its port is open long before anything
 * answers there.  Of one that does not answer any more that is said. */
static int await_guest(struct verb *v, struct node **doc, struct failure *p)
{
	const struct progress_goal goal = {v->kind, *doc, PROGRESS_UP, NULL};
	const char *why;

	if (is(*doc, "status.state", "pending") ||
	    is(*doc, "status.readiness.state", "waiting")) {
		cli_say(v->cli, "It boots; waiting until it is up...");
		if (noun_wait(v, &goal, doc, p) < 0)
			return -1;
	}
	if (!is(*doc, "status.readiness.state", "unready"))
		return 0;
	why = node_text(*doc, "status.readiness.message");
	cli_say(v->cli, "Its guest is not up%s%s; trying all the same.",
		why ? ": " : "", why ? text_safe(&v->cli->arena, why) : "");
	return 0;
}

static int64_t number(const struct node *doc, const char *name)
{
	const struct node *n = node_get(doc, name);

	return n && node_type(n) == NODE_INT ? node_int(n) : 0;
}

/* The published way to its port 22; false when there is none. */
static bool published(const struct node *doc, struct login *l)
{
	const struct node *ports = resolve_at(doc, "status.ports");

	for (size_t i = 0; ports && i < node_count(ports); i++) {
		const struct node *port = node_at(ports, i);
		const char *protocol = node_text(port, "protocol");
		const char *address = node_text(port, "address");

		if (number(port, "guest") != SSH_PORT || !address ||
		    number(port, "port") <= 0 ||
		    (protocol && strcmp(protocol, "tcp") != 0))
			continue;
		l->address = address;
		l->port = number(port, "port");
		l->published = true;
		return true;
	}
	return false;
}

/* "muster.example" of "https://muster.example:7070". */
static const char *host_of(struct arena *a, const char *server)
{
	const char *host = strstr(server, "://");
	size_t len;

	host = host ? host + 3 : server;
	if (*host == '[')
		return arena_memdup(a, host + 1, strcspn(host + 1, "]"));
	len = strcspn(host, ":/");
	return arena_memdup(a, host, len);
}

/* A port that is published on every address is the server's, wherever that is;
 * on a loopback address it is for those who are on the server's machine. */
static int place_port(struct verb *v, struct login *l, struct failure *p)
{
	const char *server = v->cli->target.server;

	if (strcmp(l->address, "0.0.0.0") == 0 || strcmp(l->address, "::") == 0)
		l->address = host_of(&v->cli->arena, server);
	if (settings_is_local(server) || (strncmp(l->address, "127.", 4) != 0 &&
					  strcmp(l->address, "::1") != 0))
		return 0;
	p->hint = "the region's option publishAddress says where ports are "
		  "published";
	return err_set(&p->err, ERR_UNSUPPORTED,
		       "its port is published on %s of its host, and can be "
		       "reached from there alone",
		       l->address);
}

static int find_address(struct verb *v, const struct node *doc, struct login *l,
			struct failure *p)
{
	const char *state = node_text(doc, "status.state");

	if (!state || strcmp(state, "running") != 0) {
		p->hint = "start it, or wait for it: muster instance get NAME";
		return err_set(&p->err, ERR_CONFLICT, "it is %s",
			       state ? state : "not known to run");
	}
	if (published(doc, l))
		return place_port(v, l, p);
	l->port = SSH_PORT;
	l->address = node_text(doc, "status.publicIp");
	if (!l->address)
		l->address = node_text(doc, "status.privateIp");
	if (!l->address)
		l->address = node_text(doc, "status.privateIp6");
	return l->address ? 0
			  : err_set(&p->err, ERR_CONFLICT,
				    "it has no address yet");
}

/* Who logs in: as it was said, or as the image says. */
static int find_user(struct verb *v, const struct node *doc, struct login *l,
		     struct failure *p)
{
	const char *image = node_text(doc, "spec.imageId");
	struct node *found = NULL;

	l->user = args_value(&v->args, "user");
	if (!l->user && image &&
	    request_get(v->cli,
			arena_printf(&v->cli->arena, "/v1/%s/%s",
				     image_kind.plural, image),
			&found, p) == 0 &&
	    found)
		l->user = node_text(found, "spec.user");
	if (l->user && !login_is_plain(l->user))
		return failure_usage(p, "'%s' is no user's name", l->user);
	if (l->user)
		return 0;
	*p = (struct failure){0};
	p->usage = true;
	return err_set(&p->err, ERR_INVALID,
		       "its image does not say who logs in: say it with "
		       "--user");
}

static int find_host_key(struct verb *v, const struct node *doc,
			 struct login *l, struct failure *p)
{
	const char *line = node_text(doc, "status.sshHostKey");

	l->host_key = line;
	if (line && login_is_key_line(line))
		return 0;
	l->host_key = NULL;
	if (args_has(&v->args, "accept-host-key"))
		return 0;
	p->hint = "--accept-host-key takes the one that it shows first";
	return err_set(&p->err, ERR_UNSUPPORTED,
		       "its host key is not known, so whoever answers there "
		       "cannot be told apart from others");
}

/* A certificate for a fresh key. */
static int get_certificate(struct verb *v, struct login *l, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	struct node *body = node_new_object(a), *reply;
	struct request r = {.method = "POST", .body = body};
	const char *key, *certificate;
	size_t len;

	if (login_make_key(l, a, &p->err) < 0 ||
	    settings_read_file(arena_join(a, l->key, ".pub", NULL), a, &key,
			       &len, &p->err) < 0)
		return -1;
	while (len && strchr("\r\n", key[len - 1]))
		len--;
	node_set(a, body, "publicKey", node_new_string(a, key, len));
	/* As long as a login needs, or as long as one may: a session goes on
	 * after its end. */
	if (!l->stays)
		node_set(a, body, "seconds", node_new_int(a, LOGIN_SECONDS));
	if (machine_ask(v, &r, l->id, "sshcertificate", &reply, p) < 0)
		return -1;
	certificate = node_text(reply, "certificate");
	l->until = node_text(reply, "validBefore");
	if (!certificate)
		return err_set(&p->err, ERR_INTERNAL,
			       "the answer has no \"certificate\"");
	l->certificate = arena_join(a, l->key, "-cert.pub", NULL);
	return login_write(l->certificate, certificate, &p->err);
}

static int get_key(struct verb *v, struct login *l, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	struct request r = {.method = "GET"};
	struct node *reply;
	const char *key;

	if (machine_ask(v, &r, l->id, "sshkey", &reply, p) < 0)
		return -1;
	key = node_text(reply, "privateKey");
	if (!key)
		return err_set(&p->err, ERR_INTERNAL,
			       "the answer has no \"privateKey\"");
	l->key = arena_join(a, l->folder, "/key", NULL);
	return login_write(l->key, key, &p->err);
}

/* What lets us in: a certificate, the instance's own key, or one's own. */
static int find_key(struct verb *v, const struct node *doc, struct login *l,
		    struct failure *p)
{
	const char *made = node_text(doc, "spec.sshKey");
	const struct node *keys = resolve_at(doc, "spec.sshPublicKeys");
	bool generated = made && strcmp(made, "generated") == 0;

	l->key = args_value(&v->args, "identity");
	if (l->key && (!*l->key || strpbrk(l->key, "\"\r\n")))
		return failure_usage(p, "--identity: not the name of a file");
	if (l->key)
		return 0;
	if (node_text(doc, "spec.sshCertificateAuthorityId")) {
		if (get_certificate(v, l, p) == 0)
			return 0;
		if (!generated)
			return -1;
		/* Its authority's key may be elsewhere. */
		*p = (struct failure){0};
		l->key = l->certificate = NULL;
	}
	if (generated)
		return get_key(v, l, p);
	if (keys && node_count(keys))
		return 0;
	p->hint = "an instance gets a way in when it is created: --ssh-ca, "
		  "--ssh-key generated or --ssh-public-key";
	return err_set(&p->err, ERR_CONFLICT,
		       "it trusts no certificates and has no key of yours; "
		       "--identity FILE tries one all the same");
}

static int prepare(struct verb *v, struct login *l, struct failure *p)
{
	struct arena *a = &v->cli->arena;
	struct node *doc = NULL;

	l->stays = args_has(&v->args, "print-config");
	if (read_instance(v, &doc, p) < 0 ||
	    (!l->stays && await_guest(v, &doc, p) < 0))
		return -1;
	l->id = node_text(doc, "id");
	l->name = node_text(doc, "name");
	if (!l->id || !l->name || !login_is_plain(l->id) ||
	    !login_is_plain(l->name))
		return err_set(&p->err, ERR_INTERNAL,
			       "the server answered oddly");
	if (find_address(v, doc, l, p) < 0 || find_user(v, doc, l, p) < 0 ||
	    find_host_key(v, doc, l, p) < 0)
		return -1;
	if (!login_is_plain(l->address))
		return err_set(&p->err, ERR_INTERNAL, "its address is none: %s",
			       text_safe(a, l->address));
	if (login_make_folder(l, a, &p->err) < 0 || find_key(v, doc, l, p) < 0)
		return -1;
	return login_write_known(l, a, &p->err);
}

/* An agent may say that the guest is up before its SSH server does. */
static void await_server(struct cli *c, const struct login *l)
{
	if (!l->published || knock(c->clock, l->address, l->port, QUIET_MS))
		return;
	cli_say(c, "Waiting until its SSH server answers...");
	if (!knock(c->clock, l->address, l->port,
		   c->timeout_ms ? c->timeout_ms : KNOCK_MS))
		cli_say(c, "It does not; trying all the same.");
}

int ssh_run(struct cli *c, int argc, char **argv)
{
	struct login l = {0};
	struct failure p = {0};
	struct verb v;
	int status;

	if (noun_begin(&v, c, argc, argv) < 0)
		return EXIT_USAGE;
	if (!v.args.n_words)
		return cli_usage(c, "which instance?");
	if (prepare(&v, &l, &p) < 0) {
		login_release(&l);
		return noun_fail(&v, &p);
	}
	if (l.stays) {
		struct buf b = BUF_INIT(65536);

		login_add_config(&l, &b);
		cli_print(c, &b);
		login_release(&l);
		return EXIT_OK;
	}
	await_server(c, &l);
	if (login_run(&l, &v.args, &c->arena, &status, &p.err) < 0)
		status = noun_fail(&v, &p);
	login_release(&l);
	return status;
}
