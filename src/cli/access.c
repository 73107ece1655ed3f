/* Ways into a machine: its console, a certificate, its key. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/request.h"
#include "cli/text.h"
#include "cli/verbs.h"

#define TEXT_MOST ((size_t)16 << 20)

int machine_ask(struct verb *v, struct request *r, const char *id,
		const char *suffix, struct node **ret, struct failure *p)
{
	r->target = arena_printf(&v->cli->arena, "/v1/%s/%s/%s",
				 v->kind->plural, id, suffix);
	*ret = NULL;
	if (request_send(v->cli, r, ret, p) < 0)
		return -1;
	if (!*ret)
		return err_set(&p->err, ERR_INTERNAL,
			       "the server answered with nothing");
	return 0;
}

/* The same of the one that was named. */
static int ask(struct verb *v, struct request *r, const char *suffix,
	       struct node **ret, struct failure *p)
{
	struct resolved found;

	if (noun_resolve(v, v->args.words[0], &found, p) < 0)
		return -1;
	return machine_ask(v, r, found.id, suffix, ret, p);
}

static bool as_document(const struct cli *c)
{
	return c->output == OUTPUT_JSON || c->output == OUTPUT_YAML;
}

static int text_of(const struct node *reply, const char *key, const char **ret,
		   struct failure *p)
{
	*ret = node_text(reply, key);
	return *ret ? 0
		    : err_set(&p->err, ERR_INTERNAL, "the answer has no \"%s\"",
			      key);
}

int machine_console(struct cli *c, int argc, char **argv)
{
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	return machine_console_address(&v);
}

int machine_console_address(struct verb *v)
{
	struct cli *c = v->cli;
	struct node *reply, *body = node_new_object(&c->arena);
	struct request r = {.method = "POST", .body = body};
	struct failure p = {0};
	const char *url;

	if (args_has(&v->args, "vnc"))
		node_set(&c->arena, body, "kind",
			 node_new_string(&c->arena, "vnc", 3));
	if (ask(v, &r, "console", &reply, &p) < 0)
		return noun_fail(v, &p);
	if (as_document(c)) {
		output_document(c, reply, c->output == OUTPUT_YAML);
		return EXIT_OK;
	}
	if (text_of(reply, "url", &url, &p) < 0)
		return noun_fail(v, &p);
	fprintf(c->out, "%s\n", text_safe(&c->arena, url));
	if (node_text(reply, "expiresAt"))
		cli_say(c, "Good once, until %s, for whoever has it.",
			text_safe(&c->arena, node_text(reply, "expiresAt")));
	return EXIT_OK;
}

/* What a machine wrote may hold anything: on a terminal only its lines are
 * kept as they are. */
static void print_output(struct cli *c, const char *text)
{
	struct buf b = BUF_INIT(TEXT_MOST);

	if (!c->style.width) {
		buf_adds(&b, text);
	} else {
		while (*text) {
			size_t len = strcspn(text, "\n");
			size_t end =
				len && text[len - 1] == '\r' ? len - 1 : len;

			text_add_safe(&b, text, end);
			text += len + (text[len] == '\n');
			buf_addc(&b, '\n');
		}
	}
	if (b.len && b.data[b.len - 1] != '\n')
		buf_addc(&b, '\n');
	cli_print(c, &b);
}

int machine_output(struct cli *c, int argc, char **argv)
{
	struct request r = {.method = "GET"};
	struct node *reply;
	struct failure p = {0};
	const char *length, *text, *suffix = "consoleoutput";
	int64_t n = 0;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	length = args_value(&v.args, "length");
	if (length && (text_int(length, &n) < 0 || n < 1))
		return cli_usage(c, "--length: '%s' is not a number above 0",
				 length);
	if (length)
		suffix = arena_printf(&c->arena, "consoleoutput?length=%lld",
				      (long long)n);
	if (ask(&v, &r, suffix, &reply, &p) < 0)
		return noun_fail(&v, &p);
	if (as_document(c)) {
		output_document(c, reply, c->output == OUTPUT_YAML);
		return EXIT_OK;
	}
	if (text_of(reply, "output", &text, &p) < 0)
		return noun_fail(&v, &p);
	print_output(c, text);
	return EXIT_OK;
}

/* TEXT into a new file, or over an old one when MODE is everyone's to read. */
static int write_file(const char *path, const char *text, mode_t mode,
		      struct failure *p)
{
	int once = mode == 0600 ? O_EXCL : O_TRUNC;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | once, mode);
	size_t len = strlen(text);
	bool ok = fd >= 0 && write(fd, text, len) == (ssize_t)len;
	int why = errno;

	if (fd >= 0 && close(fd) != 0 && ok) {
		ok = false;
		why = errno;
	}
	return ok ? 0
		  : err_set(&p->err, ERR_INVALID, "%s: %s", path,
			    strerror(why));
}

static const char *with_line_end(struct cli *c, const char *text)
{
	size_t len = strlen(text);

	return len && text[len - 1] == '\n'
		       ? text
		       : arena_printf(&c->arena, "%s\n", text);
}

static int certificate_body(struct verb *v, struct node *body,
			    struct failure *p)
{
	struct arena *a = &v->cli->arena;
	const char *path = args_value(&v->args, "public-key"), *key;
	const char *seconds = args_value(&v->args, "seconds");
	struct node *names = node_new_array(a);
	int64_t n;
	size_t len;

	if (!path)
		return failure_usage(p, "whose certificate?  Name the file of "
					"a public key with --public-key");
	p->usage = true;
	if (settings_read_file(path, a, &key, &len, &p->err) < 0)
		return -1;
	p->usage = false;
	while (len && strchr("\r\n ", key[len - 1]))
		len--;
	node_set(a, body, "publicKey", node_new_string(a, key, len));
	if (seconds && (text_int(seconds, &n) < 0 || n < 1))
		return failure_usage(
			p, "--seconds: '%s' is not a number above 0", seconds);
	if (seconds)
		node_set(a, body, "seconds", node_new_int(a, n));
	for (size_t i = 0; i < v->args.n; i++) {
		const struct arg *arg = &v->args.given[i];

		if (strcmp(arg->option->name, "principal") == 0)
			node_append(a, names,
				    node_new_string(a, arg->value,
						    strlen(arg->value)));
	}
	if (node_count(names))
		node_set(a, body, "principals", names);
	return 0;
}

/* Where ssh looks for the certificate of a key: "id" and "id.pub" have it in
 * "id-cert.pub". */
static const char *certificate_path(struct cli *c, const char *key)
{
	size_t len = strlen(key);

	if (len > 4 && strcmp(key + len - 4, ".pub") == 0)
		len -= 4;
	return arena_printf(&c->arena, "%.*s-cert.pub", (int)len, key);
}

int machine_certificate(struct cli *c, int argc, char **argv)
{
	struct node *body = node_new_object(&c->arena), *reply;
	struct request r = {.method = "POST", .body = body};
	struct failure p = {0};
	const char *text, *path;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	if (certificate_body(&v, body, &p) < 0 ||
	    ask(&v, &r, "sshcertificate", &reply, &p) < 0)
		return noun_fail(&v, &p);
	if (as_document(c)) {
		output_document(c, reply, c->output == OUTPUT_YAML);
		return EXIT_OK;
	}
	if (text_of(reply, "certificate", &text, &p) < 0)
		return noun_fail(&v, &p);
	text = with_line_end(c, text);
	if (!args_has(&v.args, "write")) {
		fputs(text, c->out);
		return EXIT_OK;
	}
	path = certificate_path(c, args_value(&v.args, "public-key"));
	if (write_file(path, text, 0644, &p) < 0)
		return noun_fail(&v, &p);
	cli_say(c, "Wrote %s; ssh finds it beside the key.", path);
	return EXIT_OK;
}

int machine_key(struct cli *c, int argc, char **argv)
{
	struct request r = {.method = "GET"};
	struct node *reply;
	struct failure p = {0};
	const char *text, *path;
	struct verb v;

	if (noun_begin(&v, c, argc, argv) < 0 ||
	    cli_words(c, &v.args, 1, 1) < 0)
		return EXIT_USAGE;
	path = args_value(&v.args, "to");
	if (!path && c->style.width && !args_has(&v.args, "force"))
		return cli_usage(c, "a private key is not for a screen: write "
				    "it with --to FILE, or say --force");
	if (ask(&v, &r, "sshkey", &reply, &p) < 0 ||
	    text_of(reply, "privateKey", &text, &p) < 0)
		return noun_fail(&v, &p);
	if (as_document(c) && !path) {
		output_document(c, reply, c->output == OUTPUT_YAML);
		return EXIT_OK;
	}
	text = with_line_end(c, text);
	if (!path) {
		fputs(text, c->out);
		return EXIT_OK;
	}
	if (write_file(path, text, 0600, &p) < 0)
		return noun_fail(&v, &p);
	cli_say(c, "Wrote %s, for you alone to read.", path);
	return EXIT_OK;
}
