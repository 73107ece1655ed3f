#include "identity/mtls.h"

#include "test.h"

static void finds_the_common_name(void)
{
	CHECK(mtls_is_named("CN=backup", "backup"));
	CHECK(mtls_is_named("CN=backup,O=Acme,C=DE", "backup"));
	CHECK(mtls_is_named("C=DE,O=Acme,CN=backup", "backup"));
	CHECK(mtls_is_named("UID=7+CN=backup,O=Acme", "backup"));
	CHECK(mtls_is_named("CN=a\\,b", "a,b"));
	CHECK(mtls_is_named("CN=a\\\\b\\+c", "a\\b+c"));
	CHECK(mtls_is_named("CN=J\\C3\\BCrgen", "J\xc3\xbcrgen"));
	CHECK(mtls_is_named("CN=J\\c3\\bcrgen", "J\xc3\xbcrgen"));
	CHECK(mtls_is_named("CN=a\\;b\\ag\\~", "a;bag~"));
	CHECK(mtls_is_named("cn=backup", "backup"));
}

static void takes_nothing_else_for_it(void)
{
	CHECK(!mtls_is_named("CN=backup2", "backup"));
	CHECK(!mtls_is_named("CN=back", "backup"));
	CHECK(!mtls_is_named("CN=Backup", "backup"));
	CHECK(!mtls_is_named("CN=", "backup"));
	CHECK(!mtls_is_named("", "backup"));
	CHECK(!mtls_is_named("O=backup", "backup"));
	CHECK(!mtls_is_named("O=x\\,CN=backup", "backup"));
	CHECK(!mtls_is_named("O=x\\+CN=backup", "backup"));
	CHECK(!mtls_is_named("XCN=backup", "backup"));
	CHECK(!mtls_is_named("CN=backup\\00x", "backup"));
	CHECK(!mtls_is_named("CN=backup\\", "backup"));
	CHECK(!mtls_is_named("backup", "backup"));
	CHECK(!mtls_is_named("CN", "CN"));
}

/* Which of them was meant is not ours to guess. */
static void refuses_two_common_names(void)
{
	CHECK(!mtls_is_named("CN=backup,CN=other", "backup"));
	CHECK(!mtls_is_named("CN=other,CN=backup", "backup"));
	CHECK(!mtls_is_named("CN=backup+CN=backup", "backup"));
}

static void the_first_rule_that_fits_counts(void)
{
	static const struct mtls_rule rules[] = {
		{.subject = "CN=backup,O=Acme", .service_account = "a"},
		{.common_name = "backup", .service_account = "b"},
	};

	CHECK(mtls_find(rules, 2, "CN=backup,O=Acme") == &rules[0]);
	CHECK(mtls_find(rules, 2, "CN=backup,O=Acme,C=DE") == &rules[1]);
	CHECK(mtls_find(rules, 2, "CN=other") == NULL);
	CHECK(mtls_find(NULL, 0, "CN=other") == NULL);
}

static void a_rule_has_one_name(void)
{
	struct mtls_rule both = {"x", "CN=x", "a"},
			 none = {.service_account = "a"};
	struct mtls_rule one = {.common_name = "x", .service_account = "a"};
	struct err err = {0};

	CHECK(mtls_validate(&one, 1, &err) == 0);
	CHECK(mtls_validate(&both, 1, &err) < 0);
	CHECK(mtls_validate(&none, 1, &err) < 0);
}

int main(void)
{
	RUN(finds_the_common_name);
	RUN(takes_nothing_else_for_it);
	RUN(refuses_two_common_names);
	RUN(the_first_rule_that_fits_counts);
	RUN(a_rule_has_one_name);
	return test_done();
}
