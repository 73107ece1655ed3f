#include "daemon/commands.h"

#include <stdio.h>

#include "base/log.h"
#include "cli/cli.h"
#include "daemon/config.h"
#include "daemon/fsck.h"
#include "daemon/providers.h"
#include "daemon/serve.h"
#include "daemon/simcloud.h"
#include "store/sqlite.h"

static const struct command_option serve_options[] = {
	{"data", 0, 0, "DIR",
	 "The folder everything is kept in; ./var when nothing says "
	 "otherwise."},
	{"listen", 0, 0, "ADDR:PORT",
	 "Where to listen; 127.0.0.1:7070 when nothing says otherwise."},
	{"config", 0, 0, "FILE", "A YAML file; flags come before it."},
	{"rehearse", 0, 0, NULL,
	 "When there is no region yet, make one called sim, with a simulated "
	 "cloud in it."},
	{"local", 0, 0, NULL,
	 "When there is no region yet, make one called local, whose machines "
	 "run on this host."},
	{"check", 'n', 0, NULL,
	 "Read the configuration, say what is wrong with it, and exit."},
	{0},
};

static const struct command_option data_options[] = {
	{"data", 0, 0, "DIR", "The server's data folder; ./var by default."},
	{0},
};

/* A failure of a command that talks to no server. */
static int fail(struct cli *c, const char *what, const struct err *err)
{
	fprintf(c->err, "muster: cannot %s: %s\n", what, err->msg);
	return err->code == ERR_CONFLICT ? EXIT_CONFLICT : EXIT_REFUSED;
}

static int run_serve(struct cli *c, int argc, char **argv)
{
	struct err err = {0};
	struct config conf;
	struct args args;

	if (cli_parse(c, serve_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	if (config_read(args_value(&args, "config"), &c->arena, &conf, &err) <
	    0)
		return fail(c, "read the configuration", &err);
	if (args_value(&args, "data"))
		conf.data = args_value(&args, "data");
	if (args_value(&args, "listen"))
		conf.listen = args_value(&args, "listen");
	if (args_has(&args, "rehearse"))
		conf.rehearse = true;
	if (args_has(&args, "local"))
		conf.local = true;
	if (args_has(&args, "check")) {
		if (serve_check(&conf, &err) < 0)
			return fail(c, "serve", &err);
		fprintf(c->out, "The configuration is good.\n");
		return EXIT_OK;
	}
	log_setup((enum log_level)(conf.log.level - 1),
		  conf.log.format == CONFIG_LOG_JSON);
	if (serve(&conf, &err) < 0)
		return fail(c, "serve", &err);
	return EXIT_OK;
}

static int run_backup(struct cli *c, int argc, char **argv)
{
	struct err err = {0};
	struct args args;
	const char *data;

	if (cli_parse(c, data_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 1, 1) < 0)
		return EXIT_USAGE;
	data = args_value(&args, "data");
	if (sqlite_backup(data ? data : "./var", args.words[0], &err) < 0)
		return fail(c, "back up", &err);
	cli_say(c, "Wrote %s.", args.words[0]);
	return EXIT_OK;
}

static int run_restore(struct cli *c, int argc, char **argv)
{
	struct err err = {0};
	struct args args;
	const char *data;

	if (cli_parse(c, data_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 1, 1) < 0)
		return EXIT_USAGE;
	data = args_value(&args, "data");
	if (sqlite_restore(args.words[0], data ? data : "./var", &err) < 0)
		return fail(c, "restore", &err);
	cli_say(c, "Restored %s into %s.", args.words[0],
		data ? data : "./var");
	return EXIT_OK;
}

static const struct command_option fsck_options[] = {
	{"data", 0, 0, "DIR", "The server's data folder; ./var by default."},
	{"key-file", 0, 0, "FILE",
	 "The keys that secrets are sealed with; in the data folder by "
	 "default."},
	{0},
};

static int run_fsck(struct cli *c, int argc, char **argv)
{
	struct fsck_report report;
	struct err err = {0};
	struct args args;
	const char *data;
	int r;

	if (cli_parse(c, fsck_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 0) < 0)
		return EXIT_USAGE;
	data = args_value(&args, "data");
	r = fsck(data ? data : "./var", args_value(&args, "key-file"), &report,
		 &err);
	if (report.text.len)
		fputs(buf_str(&report.text), c->out);
	if (r == 0)
		fprintf(c->out, "fsck: %zu objects, %zu differences\n",
			report.objects, report.differences);
	buf_release(&report.text);
	if (r < 0)
		return fail(c, "check", &err);
	return report.differences ? EXIT_REFUSED : EXIT_OK;
}

static const struct command_example serve_examples[] = {
	{"On this machine, with everything in ./var:", "muster serve"},
	{"To try it out, with a simulated cloud:", "muster serve --rehearse"},
	{"With TLS and other limits, from a file:",
	 "muster serve --config /etc/muster/muster.yaml"},
	{0},
};

static const struct command_example backup_examples[] = {
	{"While the server runs:",
	 "muster backup --data /var/lib/muster /backup/monday.db"},
	{0},
};

static const struct command_example restore_examples[] = {
	{"Into an empty folder:",
	 "muster restore --data /var/lib/muster /backup/monday.db"},
	{0},
};

static const struct command_example fsck_examples[] = {
	{"While the server runs:", "muster fsck --data /var/lib/muster"},
	{0},
};

const struct command daemon_commands[] = {
	{.name = "serve",
	 .summary = "Run the server",
	 .usage = "[--data DIR] [--listen ADDR:PORT] [--config FILE]"
		  " [--rehearse] [--local]",
	 .help = "Runs the server until SIGTERM or SIGINT; what was accepted "
		 "is finished first.  SIGHUP reads the TLS certificate again.\n"
		 "\n"
		 "The first start makes the platform administrator's token in "
		 "DIR/admin.token.",
	 .examples = serve_examples,
	 .options = serve_options,
	 .run = run_serve},
	{.name = "backup",
	 .summary = "Copy a server's data to one file, while it serves",
	 .usage = "[--data DIR] FILE",
	 .help = "Copies the database of this machine's server as it is at one "
		 "moment.  The file carries a digest, which restore checks.",
	 .examples = backup_examples,
	 .options = data_options,
	 .run = run_backup},
	{.name = "restore",
	 .summary = "Make a data folder from a backup",
	 .usage = "[--data DIR] FILE",
	 .help = "Checks the backup's digest and makes the folder from it.  "
		 "The folder must not hold a database yet.",
	 .examples = restore_examples,
	 .options = data_options,
	 .run = run_restore},
	{.name = "fsck",
	 .summary = "Check that a server's data holds together",
	 .usage = "[--data DIR]",
	 .help = "Copies the database of this machine's server as it is at one "
		 "moment, and checks the copy: that each reference leads to "
		 "something of the same organization, that names are unique, "
		 "that quota adds up and no limit is passed, that the indexes "
		 "and the audit trail are right.  It prints each difference; "
		 "there should be none.",
	 .examples = fsck_examples,
	 .options = fsck_options,
	 .run = run_fsck},
	{.name = "provider",
	 .summary = "See the providers there are, and check them",
	 .help = "A provider is a kind of cloud that a region can be on.",
	 .children = provider_commands},
	{.name = "simcloud",
	 .summary = "Run a simulated cloud",
	 .usage = "[--listen ADDR:PORT] [--options FILE|JSON] [--data FILE]",
	 .help = "Runs a cloud whose machines do not exist, until SIGTERM or "
		 "SIGINT.  A region whose provider is sim uses it when its "
		 "option endpoint says where it listens.  GET /truth shows "
		 "what is in it; POST /options changes how it behaves; POST "
		 "/machines/ID/kill makes a machine go away unasked.",
	 .examples = simcloud_examples,
	 .options = simcloud_options,
	 .run = run_simcloud},
	{.name = "audit",
	 .summary = "See who did what, and prove it",
	 .help = "Every change, done or refused, leaves an entry that nobody "
		 "can alter unnoticed: each carries the hash of all before "
		 "it.",
	 .children = audit_commands},
	{.name = "secrets",
	 .summary = "Manage the keys that secrets are sealed with",
	 .help = "Secrets are sealed in the database with AES-256-GCM, under "
		 "keys that lie in a file of their own.",
	 .children = secrets_commands},
	{0},
};
