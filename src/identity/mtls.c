#include "identity/mtls.h"

#include <string.h>
#include <strings.h>

#include "base/uuid.h"
#include "model/organization.h"
#include "model/serviceaccount.h"
#include "store/read.h"

#define AT(member) offsetof(struct mtls_rule, member)

const struct field mtls_fields[] = {
	{"commonName", FIELD_STRING, 0, AT(common_name),
	 "The common name of the certificate, exactly.", &format_text,
	 .max = 255},
	{"subject", FIELD_STRING, 0, AT(subject),
	 "Or its whole subject as RFC 2253 writes it: CN=backup,O=Acme.",
	 &format_text, .max = 1024},
	{"serviceAccount", FIELD_STRING, FIELD_REQUIRED, AT(service_account),
	 "Whom it stands for: an id, ORGANIZATION/NAME, or the NAME of one of "
	 "the platform's own.",
	 &format_text, .max = 128},
	{0},
};

int mtls_validate(const struct mtls_rule *rules, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++)
		if (!rules[i].common_name == !rules[i].subject)
			return err_set(err, ERR_INVALID,
				       "mtls: %s: name a commonName or a "
				       "subject",
				       rules[i].service_account);
	return 0;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of an escaped value, at *P, which is moved past it. */
static char take_char(const char **p)
{
	const char *s = *p;
	int high, low;

	if (s[0] != '\\' || !s[1]) {
		*p = s + 1;
		return s[0];
	}
	high = hex_value(s[1]);
	low = high < 0 ? -1 : hex_value(s[2]);
	if (high >= 0 && low >= 0) {
		*p = s + 3;
		return (char)(high * 16 + low);
	}
	*p = s + 2;
	return s[1];
}

static bool is_end(char c)
{
	return !c || c == ',' || c == '+';
}

/* The value at *P is TEXT; *P is moved to its end. */
static bool value_is(const char **p, const char *text)
{
	bool good = true;

	while (!is_end(**p)) {
		char c = take_char(p);

		good = good && c && c == *text;
		text += good;
	}
	return good && !*text;
}

bool mtls_is_named(const char *subject, const char *common_name)
{
	size_t names = 0;
	bool good = false;

	while (*subject) {
		bool is_name = strncasecmp(subject, "CN=", 3) == 0;

		subject += strcspn(subject, "=");
		if (*subject)
			subject++;
		/* Two of them: which one is meant is not ours to guess. */
		if (is_name)
			names++;
		if (value_is(&subject, common_name) && is_name)
			good = true;
		if (*subject)
			subject++;
	}
	return good && names == 1;
}

const struct mtls_rule *mtls_find(const struct mtls_rule *rules, size_t n,
				  const char *subject)
{
	for (size_t i = 0; i < n; i++) {
		const struct mtls_rule *r = &rules[i];

		if (r->subject ? strcmp(r->subject, subject) == 0
			       : mtls_is_named(subject, r->common_name))
			return r;
	}
	return NULL;
}

/* By name, among those of OWNER (NULL: the platform's own). */
static const char *find_named(const struct store *s, const struct kind *k,
			      const char *name, size_t len, const char *owner)
{
	struct scan scan = store_scan(s, 0, k, NULL);
	size_t effort = 0;
	struct record r;

	while (scan_next(&scan, &r, &effort)) {
		const struct meta *meta = r.object;
		const char *of = k == &serviceaccount_kind
					 ? kind_owner(k, r.object).organization
					 : NULL;

		if (strlen(meta->name) == len &&
		    memcmp(meta->name, name, len) == 0 &&
		    (of && owner ? strcmp(of, owner) == 0 : of == owner))
			return meta->id;
	}
	return NULL;
}

const char *mtls_account(const struct store *s, const char *word)
{
	const char *slash = strchr(word, '/');
	const char *owner = NULL;
	struct record r;

	if (uuid_valid(word, strlen(word)))
		return store_get(s, 0, &serviceaccount_kind, word, &r) ? word
								       : NULL;
	if (slash) {
		owner = find_named(s, &organization_kind, word,
				   (size_t)(slash - word), NULL);
		if (!owner)
			return NULL;
		word = slash + 1;
	}
	return find_named(s, &serviceaccount_kind, word, strlen(word), owner);
}
