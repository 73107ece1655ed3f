#include "base/format.h"

#include <locale.h>
#include <regex.h>
#include <stdlib.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/random.h"
#include "base/utf8.h"
#include "test.h"

static const struct format *const formats[] = {
	&format_name,   &format_uuid, &format_tag,   &format_text,
	&format_base64, &format_word, &format_email, &format_permission,
	&format_scoped, &format_user,
};

/* What each takes, in the same order. */
static const char *const right[COUNT_OF(formats)] = {
	"abcdefgh",  "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	"abcdefgh",  "abcdefgh",
	"abcdefgh",  "abcdefgh",
	"a.b@c.de",  "nouns:verb",
	"a-b/c d/e", "debian_1",
};

static unsigned hex_at(const char *s)
{
	return (unsigned)strtoul((char[]){s[0], s[1], 0}, NULL, 16);
}

/* ECMA's range \xHH-\xHH is written out character by character, for POSIX has
 * no such escape.  NUL is left out: a C string has none. */
static void to_posix(const char *ecma, struct buf *out)
{
	while (*ecma) {
		if (ecma[0] != '\\') {
			buf_addc(out, *ecma++);
			continue;
		}
		CHECK(ecma[1] == 'x' && strncmp(ecma + 4, "-\\x", 3) == 0);
		for (unsigned c = hex_at(ecma + 2); c <= hex_at(ecma + 7); c++)
			if (c >= 0x80)
				buf_addf(out, "%c%c", (char)(0xc0 | c >> 6),
					 (char)(0x80 | (c & 0x3f)));
			else if (c)
				buf_addc(out, (char)c);
		ecma += 9;
	}
}

static void compile(const struct format *f, regex_t *re)
{
	struct buf pattern = BUF_INIT(1000);

	to_posix(f->pattern, &pattern);
	CHECK(regcomp(re, buf_str(&pattern), REG_EXTENDED | REG_NOSUB) == 0);
	buf_release(&pattern);
}

static bool matches(const regex_t *re, const char *s)
{
	return regexec(re, s, 0, NULL, 0) == 0;
}

/* The schema shows the pattern and the server runs the function: a client that
 * checks by the schema must not be told otherwise by the server. */
static void agree(const struct format *f, const regex_t *re, const char *s)
{
	if (f->check(s, strlen(s)) == matches(re, s))
		return;
	printf("# %s: \"%s\"\n", f->pattern, s);
	CHECK(!"pattern and function differ");
}

static const char *const edges[] = {
	"",
	"a",
	"-",
	"a-",
	"-a",
	"a-b",
	"A",
	"0",
	"a b",
	"a\n",
	"\n",
	"a\nb",
	"a.b",
	".a",
	"_",
	"a_b",
	"a/b",
	"/",
	"a:b",
	"a+b",
	"=",
	"==",
	"===",
	"====",
	"AAAA",
	"AAA=",
	"AA==",
	"A===",
	"AA=A",
	"=AAA",
	"AAAAA",
	"AAAAAA==",
	"AAA",
	"A=",
	"AA=",
	"\x1f",
	" ",
	"~",
	"\x7f",
	"\t",
	"a\r",
	"\xc3\xbc",
	"\xe2\x82\xac",
	"\xc2\x80",
	"\xc2\x9f",
	"\xc2\xa0",
	"a\xc2\x85",
	"\xe2\x80\xa8",
	"6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	"6ba7b810-9dad-11d1-80b4-00c04fd430c",
	"6ba7b810-9dad-11d1-80b4-00c04fd430c8a",
	"6BA7B810-9dad-11d1-80b4-00c04fd430c8",
	"6ba7b81009dad-11d1-80b4-00c04fd430c8",
};

static void agree_on_edges(const struct format *f, const regex_t *re)
{
	char longer[300];

	for (size_t i = 0; i < COUNT_OF(edges); i++)
		agree(f, re, edges[i]);
	for (size_t len = 60; len < 140; len++) {
		memset(longer, 'a', len);
		longer[len] = '\0';
		agree(f, re, longer);
		longer[len - 1] = '-';
		agree(f, re, longer);
		longer[len - 1] = '=';
		agree(f, re, longer);
	}
}

/* Short strings over few characters, so that many are right. */
static void agree_on_random(const struct format *f, const regex_t *re)
{
	static const char *const alphabets[] = {
		"ab0-", "aZ9-._/:", "Az09+/=", "A=", "af09-", "a\n \t\x7f~"};
	struct random_seeded r;
	char s[40];

	random_seed(&r, 13);
	for (int i = 0; i < 30000; i++) {
		const char *from =
			alphabets[random_below(&r.base, COUNT_OF(alphabets))];
		size_t len = random_below(&r.base, 14);

		for (size_t j = 0; j < len; j++)
			s[j] = from[random_below(&r.base, strlen(from))];
		s[len] = '\0';
		agree(f, re, s);
	}
}

/* A right string with one character changed. */
static void agree_near(const struct format *f, const regex_t *re,
		       const char *good)
{
	struct random_seeded r;
	char s[64];
	size_t len = strlen(good);

	CHECK(f->check(good, len));
	random_seed(&r, 14);
	for (int i = 0; i < 3000; i++) {
		memcpy(s, good, len + 1);
		s[random_below(&r.base, len)] =
			(char)(1 + random_below(&r.base, 127));
		agree(f, re, s);
	}
}

static void functions_agree_with_patterns(void)
{
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		regex_t re;

		compile(formats[i], &re);
		agree_on_edges(formats[i], &re);
		agree_on_random(formats[i], &re);
		agree_near(formats[i], &re, right[i]);
		regfree(&re);
	}
}

/* U+0080 to U+009F are control characters as well: U+009B begins a terminal's
 * escape sequences as ESC [ does. */
static void text_has_no_control_characters_of_any_kind(void)
{
	CHECK(!format_text.check("a\xc2\x9b"
				 "2J",
				 5));
	CHECK(!format_text.check("\x1b[2J", 4));
	CHECK(!format_text.check("a\0b", 3));
	CHECK(format_text.check("\xc2\xa0\xc3\xa9 \xe2\x82\xac", 8));
	CHECK(format_text.check("", 0));
}

static void every_format_has_words(void)
{
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		CHECK(formats[i]->pattern != NULL);
		CHECK(strncmp(formats[i]->words, "must ", 5) == 0);
	}
}

static void utf8_is_taken_strictly(void)
{
	static const struct {
		const char *s;
		size_t len, want;
		uint32_t c;
	} t[] = {
		{"a", 1, 1, 'a'},
		{"", 0, 0, 0},
		{"\0", 1, 1, 0},
		{"\x7f", 1, 1, 0x7f},
		{"\xc2\x80", 2, 2, 0x80},
		{"\xdf\xbf", 2, 2, 0x7ff},
		{"\xe0\xa0\x80", 3, 3, 0x800},
		{"\xed\x9f\xbf", 3, 3, 0xd7ff},
		{"\xee\x80\x80", 3, 3, 0xe000},
		{"\xef\xbf\xbf", 3, 3, 0xffff},
		{"\xf0\x90\x80\x80", 4, 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
		{"\x80", 1, 0, 0},
		{"\xc0\x80", 2, 0, 0},
		{"\xc1\xbf", 2, 0, 0},
		{"\xc2", 1, 0, 0},
		{"\xc2"
		 "a",
		 2, 0, 0},
		{"\xe0\x9f\xbf", 3, 0, 0},
		{"\xed\xa0\x80", 3, 0, 0},
		{"\xed\xbf\xbf", 3, 0, 0},
		{"\xe2\x82", 2, 0, 0},
		{"\xf0\x8f\xbf\xbf", 4, 0, 0},
		{"\xf4\x90\x80\x80", 4, 0, 0},
		{"\xf5\x80\x80\x80", 4, 0, 0},
		{"\xf0\x9f\x98", 3, 0, 0},
		{"\xff", 1, 0, 0},
	};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		uint32_t c = 0;

		CHECK(utf8_take(t[i].s, t[i].len, &c) == t[i].want);
		CHECK(c == t[i].c);
	}
}

/* It was taken, and then nobody was ever found to be in such a group. */
static void a_scoped_name_is_as_long_as_can_be_found_again(void)
{
	char name[300] = "corp/";

	memset(name + 5, 'x', 252);
	CHECK(format_scoped.check(name, 256));
	CHECK(!format_scoped.check(name, 257));
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	RUN(functions_agree_with_patterns);
	RUN(text_has_no_control_characters_of_any_kind);
	RUN(every_format_has_words);
	RUN(utf8_is_taken_strictly);
	RUN(a_scoped_name_is_as_long_as_can_be_found_again);
	return test_done();
}
