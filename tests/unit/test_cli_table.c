#include "cli/table.h"

#include "test.h"

static struct arena arena;
static struct buf out = BUF_INIT(65536);

static void start(struct table *t)
{
	buf_clear(&out);
	table_init(t, &arena);
	table_column(t, "NAME", 0);
	table_column(t, "N", TABLE_RIGHT);
	table_column(t, "TEXT", TABLE_CUT);
}

static void row(struct table *t, const char *name, const char *n,
		const char *text)
{
	table_cell(t, name, TONE_PLAIN);
	table_cell(t, n, TONE_PLAIN);
	table_cell(t, text, TONE_PLAIN);
}

static void aligns_columns(void)
{
	struct style plain = {0};
	struct table t;

	start(&t);
	row(&t, "a", "1", "x");
	row(&t, "Größe", "10", "");
	row(&t, "漢字", "100", "a\tb\033[0m");
	table_write(&t, &plain, true, &out);
	CHECK_STR(buf_str(&out), "NAME     N  TEXT\n"
				 "a        1  x\n"
				 "Größe   10\n"
				 "漢字   100  a\\tb\\x1b[0m\n");
}

static void cuts_only_what_may_be(void)
{
	struct style narrow = {.width = 30};
	struct table t;

	start(&t);
	row(&t, "a-name-longer-than", "1", "some text that is long");
	table_write(&t, &narrow, false, &out);
	CHECK_STR(buf_str(&out), "a-name-longer-than  1  some text t…\n");
}

static void goes_on_with_its_widths(void)
{
	struct style plain = {0};
	struct table t;

	start(&t);
	row(&t, "longer", "1", "x");
	table_write(&t, &plain, true, &out);
	row(&t, "a", "2", "y");
	table_write(&t, &plain, false, &out);
	CHECK_STR(buf_str(&out), "NAME    N  TEXT\n"
				 "longer  1  x\n"
				 "a       2  y\n");
}

static void colours_on_a_terminal(void)
{
	struct style color = {.color = true, .width = 80};
	struct table t;

	buf_clear(&out);
	table_init(&t, &arena);
	table_column(&t, "S", 0);
	table_column(&t, "B", 0);
	table_cell(&t, "running", table_state_tone("running"));
	table_cell(&t, "b", TONE_PLAIN);
	table_write(&t, &color, true, &out);
	CHECK_STR(buf_str(&out), "\033[1mS\033[0m        \033[1mB\033[0m\n"
				 "\033[32mrunning\033[0m  b\n");
	CHECK(table_state_tone("failed") == TONE_BAD);
	CHECK(table_state_tone("whatever") == TONE_PLAIN);
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 20);
	RUN(aligns_columns);
	RUN(cuts_only_what_may_be);
	RUN(goes_on_with_its_widths);
	RUN(colours_on_a_terminal);
	buf_release(&out);
	arena_release(&arena);
	return test_done();
}
