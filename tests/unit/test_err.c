#include "base/err.h"

#include <stdlib.h>

#include "test.h"

static void sets_the_code_and_what_follows_from_it(void)
{
	struct err err = {0};

	CHECK(err_set(&err, ERR_QUOTA, "%d more than %d", 5, 4) == -1);
	CHECK(err.code == ERR_QUOTA);
	CHECK(err.scope == ERR_SCOPE_ACCOUNT);
	CHECK(err.retry == ERR_RETRY_AFTER_CHANGE);
	CHECK_STR(err.msg, "5 more than 4");
	CHECK_STR(err.field, "");
}

static void forgets_the_failure_before(void)
{
	struct violations *some = (struct violations *)&test_count;
	struct err err = {.retry_after_ms = 7, .violations = some};

	memset(err.provider_code, 'x', sizeof(err.provider_code));
	memset(err.provider_msg, 'x', sizeof(err.provider_msg));
	err_at(&err, ERR_INVALID, "/spec", "no");
	err_set(&err, ERR_INTERNAL, "other");
	CHECK(err.retry_after_ms == 0);
	CHECK_STR(err.field, "");
	CHECK_STR(err.provider_code, "");
	CHECK_STR(err.provider_msg, "");
	CHECK(err.violations == NULL);
}

static void names_the_field(void)
{
	struct err err = {0};

	CHECK(err_at(&err, ERR_IMMUTABLE, "/name", "cannot change") == -1);
	CHECK_STR(err.field, "/name");
	CHECK_STR(err.msg, "cannot change");
}

static void wraps_in_front_and_keeps_the_rest(void)
{
	struct err err = {0};

	err_at(&err, ERR_RATE, "/x", "slow down");
	err.retry_after_ms = 250;
	CHECK(err_wrap(&err, "region %s", "north") == -1);
	CHECK_STR(err.msg, "region north: slow down");
	CHECK(err.code == ERR_RATE && err.retry_after_ms == 250);
	CHECK_STR(err.field, "/x");
}

static void cuts_what_is_too_long(void)
{
	struct err err = {0};
	char longer[2 * sizeof(err.msg)];

	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_at(&err, ERR_INVALID, longer, "%s", longer);
	CHECK(strlen(err.msg) == sizeof(err.msg) - 1);
	CHECK(strlen(err.field) == sizeof(err.field) - 1);
	err_wrap(&err, "%s", longer);
	CHECK(strlen(err.msg) == sizeof(err.msg) - 1);
	err_set(&err, ERR_INVALID, "tail");
	err_wrap(&err, "%.*s", (int)sizeof(err.msg) - 4, longer);
	CHECK(strlen(err.msg) == sizeof(err.msg) - 1);
}

static void only_later_passes_by_itself(void)
{
	struct err err = {0};

	for (int code = ERR_INVALID; code < ERR_CODE_COUNT; code++) {
		bool want = code == ERR_RATE || code == ERR_UNAVAILABLE ||
			    code == ERR_TIMEOUT || code == ERR_PROVIDER ||
			    code == ERR_INTERNAL;

		err_set(&err, (enum err_code)code, "x");
		CHECK(err_passes(&err) == want);
	}
	err_set(&err, ERR_PROVIDER, "x");
	err.retry = ERR_RETRY_NEVER;
	CHECK(!err_passes(&err));
}

/* The API shows the names: each is there, in one style, and no two agree. */
static void every_code_has_a_name_of_its_own(void)
{
	for (int i = 0; i < ERR_CODE_COUNT; i++) {
		const char *name = err_name((enum err_code)i);

		CHECK(*name);
		CHECK(strspn(name, "abcdefghijklmnopqrstuvwxyz_") ==
		      strlen(name));
		CHECK(err_title((enum err_code)i)[0] != '\0');
		for (int j = 0; j < i; j++)
			CHECK(strcmp(name, err_name((enum err_code)j)) != 0);
	}
}

static void scopes_and_retries_have_names(void)
{
	CHECK_STR(err_scope_name(ERR_SCOPE_REQUEST), "request");
	CHECK_STR(err_scope_name(ERR_SCOPE_ACCOUNT), "account");
	CHECK_STR(err_scope_name(ERR_SCOPE_PROVIDER), "provider");
	CHECK_STR(err_retry_name(ERR_RETRY_NEVER), "never");
	CHECK_STR(err_retry_name(ERR_RETRY_LATER), "later");
	CHECK_STR(err_retry_name(ERR_RETRY_AFTER_CHANGE), "afterChange");
	CHECK_STR(err_retry_name(ERR_RETRY_ELSEWHERE), "elsewhere");
}

int main(void)
{
	RUN(sets_the_code_and_what_follows_from_it);
	RUN(forgets_the_failure_before);
	RUN(names_the_field);
	RUN(wraps_in_front_and_keeps_the_rest);
	RUN(cuts_what_is_too_long);
	RUN(only_later_passes_by_itself);
	RUN(every_code_has_a_name_of_its_own);
	RUN(scopes_and_retries_have_names);
	return test_done();
}
