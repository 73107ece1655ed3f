/* audit list, export and verify. */
#include <stdio.h>

#include "cli/audit.h"
#include "daemon/commands.h"
#include "store/sqlite.h"

static const struct command_option verify_options[] = {
	{"data", 0, 0, "DIR", "The server's data folder; ./var by default."},
	{0},
};

static int run_verify(struct cli *c, int argc, char **argv)
{
	struct audit_report report = {0};
	struct err err = {0};
	struct args args;
	const char *data;

	if (cli_parse(c, verify_options, argc, argv, &args) < 0 ||
	    cli_words(c, &args, 0, 1) < 0)
		return EXIT_USAGE;
	data = args_value(&args, "data");
	if (data && args.n_words)
		return cli_usage(c, "name a data folder or a backup, not both");
	if (!data && !args.n_words)
		data = "./var";
	if (sqlite_audit_verify(data, args.n_words ? args.words[0] : NULL,
				&report, &err) < 0) {
		fprintf(c->err, "muster: the audit trail does not hold: %s\n",
			err.msg);
		return EXIT_REFUSED;
	}
	fprintf(c->out, "verified %llu entries",
		(unsigned long long)report.count);
	if (report.trimmed)
		fprintf(c->out, " (%llu older ones were let go of)",
			(unsigned long long)report.trimmed);
	fprintf(c->out, "\nlast %s\n", report.last);
	return EXIT_OK;
}

static const struct command_example list_examples[] = {
	{"What happened last:", "muster audit list"},
	{"What was refused since the morning:",
	 "muster audit list --result forbidden --since 2026-01-31T06:00:00Z"},
	{0},
};

static const struct command_example export_examples[] = {
	{"All of it, a line of JSON an entry:", "muster audit export >trail"},
	{0},
};

static const struct command_example verify_examples[] = {
	{"While the server runs:",
	 "muster audit verify --data /var/lib/muster"},
	{"A backup:", "muster audit verify /backup/monday.db"},
	{0},
};

const struct command audit_commands[] = {
	{"list", "List what was done and refused, newest first", "",
	 "Shows what you may: an organization's entries, or all of them.",
	 list_examples, audit_list_options, .run = audit_list},
	{"export", "Write the trail as lines of JSON, newest first", "",
	 "Everything that the filters let through.", export_examples,
	 audit_export_options, .run = audit_export},
	{"verify", "Check that the trail is as it was written",
	 "[--data DIR | BACKUP]",
	 "Reads the trail of a data folder, also while its server runs, or of "
	 "a backup, and checks every entry's hash.  It says where an entry was "
	 "changed, left out or moved.  Keep the last line elsewhere: what it "
	 "names must be in the trail for ever after.",
	 verify_examples, verify_options, .run = run_verify},
	{0},
};
