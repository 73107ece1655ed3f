/* docs/cli.md says what the tables of commands say.  Takes the project's
 * folder. */
#include <stdio.h>

#include "cli/noun.h"
#include "test.h"

static struct buf doc = BUF_INIT((size_t)1 << 20);

static int read_doc(const char *folder)
{
	char path[4096], piece[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/docs/cli.md", folder);
	f = fopen(path, "re");
	if (!f)
		return -1;
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(&doc, piece, n);
	fclose(f);
	return 0;
}

static void expect(const char *text)
{
	if (strstr(buf_str(&doc), text))
		return;
	printf("# the documentation does not say: %s\n", text);
	CHECK(!"documented");
}

static void expect_names(const struct command *k)
{
	char text[128];

	for (; k && k->name; k++) {
		snprintf(text, sizeof(text), "`%s`", k->name);
		expect(text);
	}
}

static void every_command_is_documented(void)
{
	expect_names(cli_commands);
}

static void every_verb_is_documented(void)
{
	expect_names(noun_verbs);
	for (const struct kind *const *k = kinds; *k; k++)
		expect_names(noun_own_verbs(*k));
}

static void every_exit_status_is_documented(void)
{
	char text[128];

	for (size_t i = 0; command_exits[i]; i++) {
		snprintf(text, sizeof(text), "| %zu | %.8s", i,
			 command_exits[i]);
		expect(text);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2 || read_doc(argv[1]) < 0) {
		printf("Bail out! usage: test_cli_docs FOLDER\n");
		return 1;
	}
	RUN(every_command_is_documented);
	RUN(every_verb_is_documented);
	RUN(every_exit_status_is_documented);
	buf_release(&doc);
	return test_done();
}
