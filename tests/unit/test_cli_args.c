#include "cli/args.h"

#include "test.h"

static const char *const shapes[] = {"round", "square", NULL};

static const struct command_option own[] = {
	{"name", 'n', .argument = "NAME"},
	{"yes", 'y'},
	{"wait", .flags = OPTION_MAYBE, .argument = "STATE"},
	{"shape", .argument = "SHAPE", .choices = shapes},
	{0},
};
static const struct command_option common[] = {
	{"quiet", 'q'},
	{"name", .argument = "HIDDEN"},
	{0},
};
static const struct command_option *const tables[] = {own, common, NULL};

static struct arena arena;
static struct args args;
static struct err err;

#define PARSE(...)                                                             \
	parse((char *[]){__VA_ARGS__, NULL},                                   \
	      (int)COUNT_OF(((char *[]){__VA_ARGS__})))

static char cmd[] = "cmd";

static int parse(char **argv, int argc)
{
	return args_parse(tables, argc, argv, &arena, &args, &err);
}

static void reads_every_way_of_writing(void)
{
	char a[] = "--name", v[] = "x", b[] = "--name=y", c[] = "-nz",
	     d[] = "-n", e[] = "w";

	CHECK(PARSE(cmd, a, v) == 0 && args.n == 1);
	CHECK_STR(args_value(&args, "name"), "x");
	CHECK(args.given[0].option == &own[0]);
	CHECK(PARSE(cmd, b) == 0);
	CHECK_STR(args_value(&args, "name"), "y");
	CHECK(PARSE(cmd, c) == 0);
	CHECK_STR(args_value(&args, "name"), "z");
	CHECK(PARSE(cmd, d, e) == 0);
	CHECK_STR(args_value(&args, "name"), "w");
	CHECK(PARSE(cmd, a, v, b) == 0 && args.n == 2);
	CHECK_STR(args_value(&args, "name"), "y");
}

static void mixes_words_and_options(void)
{
	char one[] = "one", q[] = "-yq", two[] = "two", end[] = "--",
	     dash[] = "-", y[] = "-y";

	CHECK(PARSE(cmd, one, q, two, dash, end, y) == 0);
	CHECK(args_has(&args, "yes") && args_has(&args, "quiet"));
	CHECK(args.n == 2 && args.n_words == 4);
	CHECK_STR(args.words[0], "one");
	CHECK_STR(args.words[1], "two");
	CHECK_STR(args.words[2], "-");
	CHECK_STR(args.words[3], "-y");
}

static void an_optional_value_needs_its_sign(void)
{
	char w[] = "--wait", v[] = "x", s[] = "--wait=running";

	CHECK(PARSE(cmd, w, v) == 0 && args.n_words == 1);
	CHECK_STR(args_value(&args, "wait"), "");
	CHECK(PARSE(cmd, s) == 0);
	CHECK_STR(args_value(&args, "wait"), "running");
}

static void says_what_is_wrong(void)
{
	char n[] = "--name", nam[] = "--nmae", y[] = "--yes=1", x[] = "-x",
	     p[] = "--nam", s[] = "--shape=squar", t[] = "--shape=blue";

	CHECK(PARSE(cmd, n) < 0);
	CHECK_STR(err.msg, "--name needs a value: --name NAME");
	CHECK(PARSE(cmd, nam) < 0);
	CHECK_STR(err.msg, "unknown option '--nmae'; did you mean '--name'?");
	CHECK(PARSE(cmd, p) < 0);
	CHECK(PARSE(cmd, y) < 0);
	CHECK_STR(err.msg, "--yes takes no value");
	CHECK(PARSE(cmd, x) < 0);
	CHECK_STR(err.msg, "unknown option '-x'");
	CHECK(PARSE(cmd, s) < 0);
	CHECK_STR(err.msg, "--shape cannot be 'squar'; did you mean 'square'?");
	CHECK(PARSE(cmd, t) < 0);
	CHECK_STR(err.msg,
		  "--shape cannot be 'blue': it is one of round, square");
}

static void stops_at_the_first_word(void)
{
	char q[] = "-q", n[] = "-n", v[] = "x", w[] = "word", u[] = "--what";
	char *argv[] = {cmd, q, n, v, w, u, NULL};

	CHECK(args_parse_head(tables, 6, argv, &arena, &args, &err) == 4);
	CHECK_STR(args_value(&args, "name"), "x");
	CHECK(args_parse_head(tables, 2, argv, &arena, &args, &err) == 2);
}

static void sees_when_help_is_wanted(void)
{
	char h[] = "--help", end[] = "--", s[] = "-h";
	char *yes[] = {cmd, h, NULL}, *no[] = {cmd, end, s, NULL};

	CHECK(args_want_help(2, yes));
	CHECK(!args_want_help(3, no));
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 20);
	RUN(reads_every_way_of_writing);
	RUN(mixes_words_and_options);
	RUN(an_optional_value_needs_its_sign);
	RUN(says_what_is_wrong);
	RUN(stops_at_the_first_word);
	RUN(sees_when_help_is_wanted);
	arena_release(&arena);
	return test_done();
}
