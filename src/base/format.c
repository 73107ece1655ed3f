#include "base/format.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/uuid.h"
#include "base/word.h"

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool check_name(const char *s, size_t len)
{
	if (len < 1 || len > 63 || !is_lower(s[0]) || !is_lower(s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_lower(s[i]) && s[i] != '-')
			return false;
	return true;
}

static bool check_tag(const char *s, size_t len)
{
	if (len < 1 || len > 128 || !is_alnum(s[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(s[i]) && !memchr("._/:-", s[i], 5))
			return false;
	return true;
}

/* No C0, no DEL, and no C1 (U+0080 to U+009F), which terminals obey as well. */
static bool check_text(const char *s, size_t len)
{
	size_t i = 0;

	while (len - i >= 8 && word_is_plain(word_load(s + i)))
		i += 8;
	for (; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c >= ' ' && c < 0x7f)
			continue;
		if (c < ' ' || c == 0x7f)
			return false;
		if (c == 0xc2 && i + 1 < len && (unsigned char)s[i + 1] < 0xa0)
			return false;
	}
	return true;
}

static bool check_base64(const char *s, size_t len)
{
	size_t pad = 0;

	if (len % 4)
		return false;
	while (pad < 2 && len && s[len - 1] == '=') {
		len--;
		pad++;
	}
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(s[i]) && s[i] != '+' && s[i] != '/')
			return false;
	return true;
}

static bool check_word(const char *s, size_t len)
{
	if (len < 1 || len > 128 || !is_alnum(s[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_alnum(s[i]) && !memchr("._:-", s[i], 4))
			return false;
	return true;
}

static bool check_user(const char *s, size_t len)
{
	if (len < 1 || len > 32 || s[0] == '-' || (s[0] >= '0' && s[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') &&
		    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' && s[i] != '-')
			return false;
	return true;
}

/* One @, something on each side, nothing that could be read as another
 * address; whether it exists only its owner knows. */
static bool check_email(const char *s, size_t len)
{
	const char *at = memchr(s, '@', len);

	if (!at || at == s || at + 1 == s + len || len > 254)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (&s[i] == at)
			continue;
		if (!is_alnum(s[i]) && !memchr("._%+-", s[i], 5))
			return false;
	}
	return true;
}

static bool is_part(const char *s, size_t len)
{
	if (len == 1 && s[0] == '*')
		return true;
	for (size_t i = 0; i < len; i++)
		if (s[i] < 'a' || s[i] > 'z')
			return false;
	return len > 0 && len <= 32;
}

static bool check_permission(const char *s, size_t len)
{
	const char *colon = memchr(s, ':', len);
	size_t noun = colon ? (size_t)(colon - s) : 0;

	return colon && is_part(s, noun) && is_part(colon + 1, len - noun - 1);
}

/* A longer one would not be found again: it is more than an index holds. */
#define SCOPED_MOST 256

static bool check_scoped(const char *s, size_t len)
{
	const char *slash = memchr(s, '/', len);
	size_t scope = slash ? (size_t)(slash - s) : 0;

	return slash && scope + 1 < len && len <= SCOPED_MOST &&
	       check_name(s, scope) && check_text(slash + 1, len - scope - 1);
}

const struct format format_name = {
	NULL, "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$",
	"must be 1 to 63 of a-z, 0-9 and '-', with no '-' at either end",
	check_name};

const struct format format_user = {
	NULL, "^[a-z_][a-z0-9_-]{0,31}$",
	"must be 1 to 32 of a-z, 0-9, '_' and '-', and begin with a letter or "
	"'_'",
	check_user};

const struct format format_uuid = {
	"uuid",
	"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
	"must be a UUID in lower case", uuid_valid};

const struct format format_tag = {
	NULL, "^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$",
	"must be 1 to 128 of letters, digits and ._/:- and begin with a letter "
	"or digit",
	check_tag};

const struct format format_text = {NULL, "^[^\\x00-\\x1f\\x7f-\\x9f]*$",
				   "must not have control characters",
				   check_text};

const struct format format_base64 = {
	NULL, "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?$",
	"must be base64 with padding", check_base64};

const struct format format_word = {
	NULL, "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$",
	"must be 1 to 128 of letters, digits and ._:-", check_word};

const struct format format_email = {"email",
				    "^[A-Za-z0-9._%+-]+@[A-Za-z0-9._%+-]+$",
				    "must be an e-mail address", check_email};

const struct format format_permission = {
	NULL, "^([*]|[a-z]{1,32}):([*]|[a-z]{1,32})$",
	"must be noun:verb, like projects:read; either may be *",
	check_permission};

const struct format format_scoped = {
	NULL, "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/[^\\x00-\\x1f\\x7f-\\x9f]+$",
	"must be ISSUER/GROUP, the issuer by the name it has here, in at most "
	"256 bytes",
	check_scoped};

static bool is_address(const char *s, size_t len, int *ret_bits)
{
	unsigned char bytes[16];
	char text[64];
	bool six = memchr(s, ':', len);

	if (len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	*ret_bits = six ? 128 : 32;
	return inet_pton(six ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static bool check_address(const char *s, size_t len)
{
	int bits;

	return is_address(s, len, &bits);
}

static bool check_prefix(const char *s, size_t len)
{
	const char *slash = memchr(s, '/', len);
	size_t n = slash ? (size_t)(slash - s) : len;
	size_t digits = slash ? len - n - 1 : 0;
	int bits, length = 0;

	if (!is_address(s, n, &bits))
		return false;
	if (!slash)
		return true;
	if (digits < 1 || digits > 3 || (slash[1] == '0' && digits > 1))
		return false;
	for (size_t i = 1; i <= digits; i++) {
		if (slash[i] < '0' || slash[i] > '9')
			return false;
		length = length * 10 + (slash[i] - '0');
	}
	return length <= bits;
}

const struct format format_address = {
	.words = "must be an IPv4 or IPv6 address",
	.check = check_address,
};

const struct format format_prefix = {
	.words = "must be an IPv4 or IPv6 address with a length: "
		 "\"10.0.0.0/24\"",
	.check = check_prefix,
};
