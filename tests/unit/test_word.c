#include "base/word.h"

#include "test.h"

/* WANT of a word that is letters but for BYTE in place AT. */
static bool asked(bool (*ask)(uint64_t w), int byte, int at)
{
	char text[8];

	memset(text, 'a', sizeof(text));
	text[at] = (char)byte;
	return ask(word_load(text));
}

static bool is_below_space(uint64_t w)
{
	return word_has_below(w, ' ');
}

static bool has_quote(uint64_t w)
{
	return word_has(w, '"');
}

static void every_byte_is_seen_in_every_place(void)
{
	for (int byte = 0; byte < 256; byte++)
		for (int at = 0; at < 8; at++) {
			CHECK(asked(is_below_space, byte, at) == (byte < ' '));
			CHECK(asked(has_quote, byte, at) == (byte == '"'));
			CHECK(asked(word_is_plain, byte, at) ==
			      (byte >= ' ' && byte < 0x7f));
		}
}

static bool ends_a_string(int byte)
{
	return byte < ' ' || byte == '"' || byte == '\\' || byte >= 0x80;
}

/* The first of them, whatever is before and behind it. */
static void the_end_of_a_string_is_found(void)
{
	for (int byte = 0; byte < 256; byte++)
		for (int at = 0; at < 8; at++)
			for (int filler = 0; filler < 128; filler++) {
				char text[8];
				uint64_t marks;

				if (ends_a_string(filler))
					continue;
				memset(text, filler, sizeof(text));
				text[at] = (char)byte;
				marks = word_string_marks(word_load(text));
				CHECK(ends_a_string(byte)
					      ? marks && word_first(marks) ==
								 (unsigned)at
					      : !marks);
			}
}

static void neighbours_do_not_lend_each_other_bits(void)
{
	/* What is subtracted from one byte must not be taken from the next. */
	CHECK(!word_has(word_load("\"\"#\"\"\"#!"), '\\'));
	CHECK(word_has(word_load("##\"#####"), '"'));
	CHECK(!word_has(word_load("!#!#!#!#"), '"'));
	CHECK(!word_has_below(word_load("        "), ' '));
	CHECK(!word_has_below(word_load("\xff\xff    \xff "), ' '));
	CHECK(word_has_below(word_load("\xff\x1f\xff\xff\xff\xff\xff\xff"),
			     ' '));
}

static void the_first_mark_is_that_of_the_first_byte(void)
{
	for (int at = 0; at < 8; at++) {
		char text[8] = {0};

		memset(text + at, 0x80, sizeof(text) - (size_t)at);
		CHECK(word_first(word_load(text)) == (unsigned)at);
	}
}

int main(void)
{
	RUN(every_byte_is_seen_in_every_place);
	RUN(the_end_of_a_string_is_found);
	RUN(neighbours_do_not_lend_each_other_bits);
	RUN(the_first_mark_is_that_of_the_first_byte);
	return test_done();
}
