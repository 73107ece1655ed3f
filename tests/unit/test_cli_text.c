#include "cli/text.h"

#include "test.h"

static struct buf b = BUF_INIT(65536);

static const char *safe(const char *s)
{
	buf_clear(&b);
	text_add_safe(&b, s, strlen(s));
	return buf_str(&b);
}

static void shows_control_characters_as_escapes(void)
{
	CHECK_STR(safe("plain Größe 漢字"), "plain Größe 漢字");
	CHECK_STR(safe("a\nb\tc\rd"), "a\\nb\\tc\\rd");
	CHECK_STR(safe("\033[31mred"), "\\x1b[31mred");
	CHECK_STR(safe("\177"), "\\x7f");
	CHECK_STR(safe("\xc2\x9b"
		       "31m"),
		  "\\x9b31m");
	CHECK_STR(safe("\xe2\x80\xae"
		       "abc"),
		  "\\u202eabc");
}

static void shows_bad_utf8_as_escapes(void)
{
	CHECK_STR(safe("\xff"), "\\xff");
	CHECK_STR(safe("\xc3"), "\\xc3");
	CHECK_STR(safe("\xc0\x80"), "\\xc0\\x80");
	CHECK_STR(safe("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	CHECK_STR(safe("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

static void escapes_documents_without_changing_them(void)
{
	const char *json = "{\n  \"a\": \"\xc2\x9b\177\xe2\x80\xae\"\n}\n";

	buf_clear(&b);
	text_add_document(&b, json, strlen(json));
	CHECK_STR(buf_str(&b), "{\n  \"a\": \"\\u009b\\u007f\\u202e\"\n}\n");
}

static void measures_columns(void)
{
	CHECK(text_width("") == 0);
	CHECK(text_width("abc") == 3);
	CHECK(text_width("Größe") == 5);
	CHECK(text_width("漢字") == 4);
	CHECK(text_width("e\xcc\x81") == 1);
}

static const char *cut(const char *s, size_t width)
{
	buf_clear(&b);
	text_add_cut(&b, s, width);
	return buf_str(&b);
}

static void cuts_to_a_width(void)
{
	CHECK_STR(cut("abc", 3), "abc");
	CHECK_STR(cut("abcd", 3), "ab…");
	/* A wide letter that does not fit leaves a space. */
	CHECK_STR(cut("漢字漢", 4), "漢… ");
	CHECK(text_width(cut("漢字漢", 4)) == 4);
}

static const char *age(int64_t seconds)
{
	buf_clear(&b);
	text_add_age(&b, seconds * 1000);
	return buf_str(&b);
}

static void tells_ages(void)
{
	CHECK_STR(age(0), "0s");
	CHECK_STR(age(-3), "0s");
	CHECK_STR(age(119), "119s");
	CHECK_STR(age(185), "3m");
	CHECK_STR(age((int64_t)3 * 3600), "3h");
	CHECK_STR(age((int64_t)5 * 86400), "5d");
	CHECK_STR(age((int64_t)800 * 86400), "2y");
	CHECK_STR(age(-600), "in 10m");
}

static void reads_durations(void)
{
	uint64_t ms;

	CHECK(text_duration("90", &ms) == 0 && ms == 90000);
	CHECK(text_duration("500ms", &ms) == 0 && ms == 500);
	CHECK(text_duration("2m", &ms) == 0 && ms == 120000);
	CHECK(text_duration("1h", &ms) == 0 && ms == 3600000);
	CHECK(text_duration("", &ms) < 0);
	CHECK(text_duration("-1s", &ms) < 0);
	CHECK(text_duration("1 s", &ms) < 0);
	CHECK(text_duration("1w", &ms) < 0);
	CHECK(text_duration("99999999999s", &ms) < 0);
}

static void reads_integers(void)
{
	int64_t i;

	CHECK(text_int("-12", &i) == 0 && i == -12);
	CHECK(text_int("0", &i) == 0 && i == 0);
	CHECK(text_int("", &i) < 0);
	CHECK(text_int("-", &i) < 0);
	CHECK(text_int("+1", &i) < 0);
	CHECK(text_int(" 1", &i) < 0);
	CHECK(text_int("1x", &i) < 0);
	CHECK(text_int("9223372036854775808", &i) < 0);
}

static void names_flags(void)
{
	struct arena a;

	arena_init(&a, 65536);
	CHECK_STR(text_kebab(&a, "organizationId"), "organization-id");
	CHECK_STR(text_kebab(&a, "memoryMiB"), "memory-mib");
	CHECK_STR(text_kebab(&a, "sizeGiB"), "size-gib");
	CHECK_STR(text_kebab(&a, "name"), "name");
	CHECK_STR(text_caps(&a, "createdAt"), "CREATED AT");
	CHECK_STR(text_words(&a, "createdAt"), "Created at");
	arena_release(&a);
}

static void finds_what_was_meant(void)
{
	static const char *const words[] = {"project", "organization", "login",
					    "get", NULL};

	CHECK_STR(text_nearest("projct", words), "project");
	CHECK_STR(text_nearest("lgoin", words), "login");
	CHECK_STR(text_nearest("org", words), "organization");
	CHECK_STR(text_nearest("gt", words), "get");
	CHECK(!text_nearest("banana", words));
	CHECK(!text_nearest("", words));
}

static void wraps_lines(void)
{
	buf_clear(&b);
	text_add_wrapped(&b, "one two  three\n\nfour five", 2, 10);
	CHECK_STR(buf_str(&b), "one two\n  three\n\n  four\n  five");
}

int main(void)
{
	RUN(shows_control_characters_as_escapes);
	RUN(shows_bad_utf8_as_escapes);
	RUN(escapes_documents_without_changing_them);
	RUN(measures_columns);
	RUN(cuts_to_a_width);
	RUN(tells_ages);
	RUN(reads_durations);
	RUN(reads_integers);
	RUN(names_flags);
	RUN(finds_what_was_meant);
	RUN(wraps_lines);
	buf_release(&b);
	return test_done();
}
