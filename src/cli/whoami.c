/* whoami and logout. */
#include <string.h>

#include "cli/oauth.h"
#include "cli/output.h"
#include "cli/request.h"
#include "cli/session.h"
#include "cli/text.h"

static const char *text_at(struct cli *c, const struct node *n,
			   const char *name)
{
	const char *text = node_text(n, name);

	return text ? text_safe(&c->arena, text) : NULL;
}

/* The permissions with a comma between, as long as that may be. */
static const char *join(struct cli *c, const struct node *words)
{
	struct buf b = BUF_INIT((size_t)1 << 20);
	const char *text;

	for (size_t i = 0; words && i < node_count(words); i++) {
		const struct node *w = node_at(words, i);

		if (node_type(w) == NODE_STRING)
			buf_addf(&b, "%s%s", b.len ? ", " : "",
				 node_string(w, NULL));
	}
	text = arena_strdup(&c->arena, buf_str(&b));
	buf_release(&b);
	return text;
}

static void print_grants(struct cli *c, const struct node *grants)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	struct table t;

	if (!grants || node_type(grants) != NODE_ARRAY || !node_count(grants)) {
		cli_say(c, "You may do nothing here.");
		return;
	}
	table_init(&t, &c->arena);
	table_column(&t, "ORGANIZATION", 0);
	table_column(&t, "PROJECT", 0);
	table_column(&t, "PERMISSIONS", TABLE_CUT);
	for (size_t i = 0; i < node_count(grants); i++) {
		const struct node *g = node_at(grants, i);
		const char *organization = node_text(g, "organizationId");
		const char *project = node_text(g, "projectId");

		table_cell(&t, organization ? organization : "all",
			   organization ? TONE_PLAIN : TONE_BUSY);
		table_cell(&t, project ? project : "all",
			   project ? TONE_PLAIN : TONE_FAINT);
		table_cell(&t, join(c, node_get(g, "permissions")), TONE_PLAIN);
	}
	table_write(&t, &c->style, true, &b);
	cli_print(c, &b);
}

static void print_who(struct cli *c, const struct node *who)
{
	const struct node *other = node_get(who, "actingFor");
	const char *name = text_at(c, who, "name");
	const char *id = text_at(c, who, "id");

	fprintf(c->out, "%s  %s\n", name ? name : "?", id ? id : "?");
	if (other) {
		name = text_at(c, other, "name");
		id = text_at(c, other, "id");
		fprintf(c->out, "acting for %s  %s, as far as both may\n",
			name ? name : "?", id ? id : "?");
	}
	fputc('\n', c->out);
	print_grants(c, node_get(who, "grants"));
	if (other) {
		fprintf(c->out, "\nand for %s:\n", name ? name : "?");
		print_grants(c, node_get(other, "grants"));
	}
}

int session_whoami(struct cli *c, int argc, char **argv)
{
	struct node *reply = NULL;
	struct failure p = {0};
	struct args args;

	if (cli_parse(c, NULL, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (request_get(c, "/v1/whoami", &reply, &p) < 0)
		return cli_fail(c, &p, "ask who you are", NULL);
	if (!reply)
		reply = node_new_object(&c->arena);
	if (c->output == OUTPUT_JSON || c->output == OUTPUT_YAML)
		output_document(c, reply, c->output == OUTPUT_YAML);
	else if (c->output == OUTPUT_NAME)
		fprintf(c->out, "%s\n",
			text_at(c, reply, "name") ? text_at(c, reply, "name")
						  : "?");
	else
		print_who(c, reply);
	return EXIT_OK;
}

/* The context in use, or the one that was named. */
static struct context *find_context(struct cli *c, struct settings *s,
				    struct failure *p)
{
	const char *name = c->given.name ? c->given.name : s->current;
	struct context *k = name ? settings_find(s, name) : NULL;

	if (!k)
		err_set(&p->err, ERR_NOT_FOUND,
			name ? "there is no context '%.100s'"
			     : "there is no context in use%s",
			name ? name : "");
	return k;
}

int session_logout(struct cli *c, int argc, char **argv)
{
	struct failure p = {0};
	struct context *k;
	struct settings s;
	struct args args;

	if (cli_parse(c, NULL, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (settings_load(&c->arena, &s, &p.err) < 0)
		return cli_fail(c, &p, "sign out", NULL);
	k = find_context(c, &s, &p);
	if (!k)
		return cli_fail(c, &p, "sign out", NULL);
	oauth_revoke(c, k);
	*k = (struct context){
		.name = k->name, .server = k->server, .ca_file = k->ca_file};
	if (settings_save(&s, &c->arena, &p.err) < 0)
		return cli_fail(c, &p, "sign out", NULL);
	cli_say(c, "Signed out of %s; context '%s' has no token any more.",
		text_safe(&c->arena, k->server), text_safe(&c->arena, k->name));
	return EXIT_OK;
}
