#include "cli/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

#define BAD 0xffffffffu

struct range {
	uint32_t first, last;
};

/* The letters that take two columns, and those that take none: the blocks,
 * not every letter.  A table that is a column off is not worth a library. */
static const struct range wide[] = {
	{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},
	{0x23e9, 0x23ec},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
	{0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x2705, 0x2705},
	{0x2728, 0x2728},   {0x274c, 0x274c},   {0x2795, 0x2797},
	{0x2b1b, 0x2b1c},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
	{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
	{0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
	{0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
	{0x20000, 0x3fffd},
};

static const struct range none[] = {
	{0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd},
	{0x0610, 0x061a},   {0x064b, 0x065f}, {0x0900, 0x0902},
	{0x0e31, 0x0e31},   {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},
	{0x1ab0, 0x1aff},   {0x1dc0, 0x1dff}, {0x200b, 0x200d},
	{0x20d0, 0x20ff},   {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
	{0xe0100, 0xe01ef},
};

/* Control characters, and marks with which one text can pose as another. */
static const struct range unsafe[] = {
	{0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f},
	{0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}, {BAD, BAD},
};

static bool in_ranges(const struct range *r, size_t n, uint32_t c)
{
	for (size_t i = 0; i < n; i++)
		if (c >= r[i].first && c <= r[i].last)
			return true;
	return false;
}

static bool is_unsafe(uint32_t c)
{
	return in_ranges(unsafe, COUNT_OF(unsafe), c);
}

/* The letter at S and its length in bytes; BAD and 1 when it is not UTF-8. */
static uint32_t letter(const char *s, size_t len, size_t *ret_len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)s;
	size_t n = p[0] < 0x80   ? 1
		   : p[0] < 0xc2 ? 0
		   : p[0] < 0xe0 ? 2
		   : p[0] < 0xf0 ? 3
		   : p[0] < 0xf5 ? 4
				 : 0;
	uint32_t c = n > 1 ? p[0] & (0xffu >> (n + 1)) : p[0];

	*ret_len = 1;
	if (!n || n > len)
		return BAD;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return BAD;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return BAD;
	*ret_len = n;
	return c;
}

static void add_escape(struct buf *out, uint32_t c, unsigned char byte)
{
	const char *hit = c && c != BAD ? strchr("\nn\tt\rr", (int)c) : NULL;

	if (hit && c < 32)
		buf_addf(out, "\\%c", hit[1]);
	else if (c == BAD)
		buf_addf(out, "\\x%02x", byte);
	else
		buf_addf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
}

void text_add_safe(struct buf *out, const char *s, size_t len)
{
	for (size_t n; len; s += n, len -= n) {
		uint32_t c = letter(s, len, &n);

		if (is_unsafe(c))
			add_escape(out, c, (unsigned char)*s);
		else
			buf_add(out, s, n);
	}
}

const char *text_safe(struct arena *a, const char *s)
{
	struct buf b = BUF_INIT((size_t)16 << 20);
	const char *safe;

	text_add_safe(&b, s, strlen(s));
	safe = arena_memdup(a, buf_str(&b), b.len);
	buf_release(&b);
	return safe;
}

void text_add_document(struct buf *out, const char *s, size_t len)
{
	for (size_t n; len; s += n, len -= n) {
		uint32_t c = letter(s, len, &n);

		if (c == '\n' || !is_unsafe(c))
			buf_add(out, s, n);
		else if (c == BAD)
			buf_adds(out, "\\ufffd");
		else
			buf_addf(out, "\\u%04x", c);
	}
}

static size_t letter_width(uint32_t c)
{
	if (c < 0x300 || c == BAD)
		return 1;
	if (in_ranges(none, COUNT_OF(none), c))
		return 0;
	return in_ranges(wide, COUNT_OF(wide), c) ? 2 : 1;
}

size_t text_width(const char *s)
{
	size_t width = 0, len = strlen(s);

	for (size_t n; len; s += n, len -= n)
		width += letter_width(letter(s, len, &n));
	return width;
}

void text_add_cut(struct buf *out, const char *s, size_t width)
{
	size_t used = 0, len = strlen(s), n;

	if (text_width(s) <= width) {
		buf_adds(out, s);
		return;
	}
	for (; len; s += n, len -= n) {
		size_t w = letter_width(letter(s, len, &n));

		if (used + w + 1 > width)
			break;
		buf_add(out, s, n);
		used += w;
	}
	buf_adds(out, "…");
	text_add_spaces(out, width - used - 1);
}

void text_add_spaces(struct buf *out, size_t n)
{
	while (n--)
		buf_addc(out, ' ');
}

void text_add_wrapped(struct buf *out, const char *text, size_t indent,
		      size_t width)
{
	size_t column = indent;

	while (*text) {
		size_t len = strcspn(text, " \n");
		char word[256];
		size_t w;

		if (len == 0) {
			if (text[0] == '\n' && text[1] == '\n') {
				buf_adds(out, "\n\n");
				text_add_spaces(out, indent);
				column = indent;
				text++;
			}
			text++;
			continue;
		}
		if (len >= sizeof(word))
			len = sizeof(word) - 1;
		memcpy(word, text, len);
		word[len] = '\0';
		w = text_width(word);
		if (column > indent && column + 1 + w > width) {
			buf_addc(out, '\n');
			text_add_spaces(out, indent);
			column = indent;
		} else if (column > indent) {
			buf_addc(out, ' ');
			column++;
		}
		buf_adds(out, word);
		column += w;
		text += len;
	}
}

void text_add_age(struct buf *out, int64_t age_ms)
{
	static const struct {
		int64_t upto, unit;
		char letter;
	} steps[] = {
		{120, 1, 's'},
		{120 * 60, 60, 'm'},
		{48 * 3600, 3600, 'h'},
		{(int64_t)2 * 365 * 86400, 86400, 'd'},
		{INT64_MAX, (int64_t)365 * 86400, 'y'},
	};
	int64_t s = age_ms / 1000;
	size_t i = 0;

	/* A server's clock may be a little ahead of ours. */
	if (s < -5)
		buf_adds(out, "in ");
	else if (s < 0)
		s = 0;
	if (s < 0)
		s = -s;
	while (s >= steps[i].upto)
		i++;
	buf_addi(out, s / steps[i].unit);
	buf_addc(out, steps[i].letter);
}

int text_int(const char *s, int64_t *ret)
{
	const char *digits = s + (*s == '-');
	long long i;
	char *end;

	if (!isdigit((unsigned char)*digits))
		return -1;
	errno = 0;
	i = strtoll(s, &end, 10);
	if (errno || *end)
		return -1;
	*ret = i;
	return 0;
}

int text_duration(const char *s, uint64_t *ret_ms)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = {
		{"", 1000},   {"ms", 1},      {"s", 1000},
		{"m", 60000}, {"h", 3600000}, {"d", 86400000},
	};
	size_t digits = strspn(s, "0123456789");
	char number[10];
	int64_t n;

	if (!digits || digits >= sizeof(number))
		return -1;
	memcpy(number, s, digits);
	number[digits] = '\0';
	if (text_int(number, &n) < 0)
		return -1;
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		if (strcmp(s + digits, units[i].name) != 0)
			continue;
		*ret_ms = (uint64_t)n * units[i].ms;
		return 0;
	}
	return -1;
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static char lower(char c)
{
	return (char)tolower((unsigned char)c);
}

/* A unit at the end, as in "sizeGiB", is one word. */
static bool is_unit(const char *s)
{
	return strlen(s) == 3 && strchr("KMGTP", s[0]) &&
	       strcmp(s + 1, "iB") == 0;
}

/* CAMEL's words with GAP between, each letter made lower case. */
static char *split(struct arena *a, const char *camel, char gap)
{
	struct buf b = BUF_INIT(1024);
	bool unit = false;
	char *text;

	for (const char *p = camel; *p; p++) {
		if (is_upper(*p) && p > camel && !unit && !is_upper(p[-1]))
			buf_addc(&b, gap);
		unit = unit || is_unit(p);
		buf_addc(&b, lower(*p));
	}
	text = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return text;
}

const char *text_kebab(struct arena *a, const char *camel)
{
	return split(a, camel, '-');
}

const char *text_words(struct arena *a, const char *camel)
{
	char *text = split(a, camel, ' ');

	text[0] = (char)toupper((unsigned char)text[0]);
	return text;
}

const char *text_caps(struct arena *a, const char *camel)
{
	char *text = split(a, camel, ' ');

	for (char *p = text; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return text;
}

enum { NEAR_MOST = 32 };

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Changes of a letter, missing ones, extra ones and neighbours swapped. */
static size_t distance(const char *a, const char *b)
{
	size_t d[NEAR_MOST + 1][NEAR_MOST + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > NEAR_MOST || m > NEAR_MOST)
		return NEAR_MOST;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			bool same = a[i - 1] == b[j - 1];

			d[i][j] =
				least_of(least_of(d[i - 1][j], d[i][j - 1]) + 1,
					 d[i - 1][j - 1] + !same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] =
					least_of(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][m];
}

const char *text_nearest(const char *word, const char *const *words)
{
	size_t len = strlen(word);
	size_t best = len < 4 ? 2 : len / 3 + 2;
	const char *nearest = NULL;

	for (; *words; words++) {
		size_t d = distance(word, *words);

		/* The beginning of a long word is as good as the word. */
		if (len >= 3 && strncmp(word, *words, len) == 0)
			d = 1;
		if (d < best) {
			best = d;
			nearest = *words;
		}
	}
	return nearest;
}

const char *text_base64(struct arena *a, const char *bytes, size_t len)
{
	char *text = arena_alloc(a, BASE64URL_TEXT(len) + 4);

	base64url_encode((const unsigned char *)bytes, len, text);
	for (char *p = text; *p; p++)
		*p = (char)(*p == '-' ? '+' : *p == '_' ? '/' : *p);
	for (size_t n = strlen(text); n % 4; n++)
		memcpy(text + n, "=", 2);
	return text;
}
