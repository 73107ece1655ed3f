#include "cli/failure.h"

#include "cli/command.h"
#include "cli/flags.h"
#include "model/project.h"
#include "test.h"

static struct arena arena;
static struct buf out = BUF_INIT(65536);

static struct failure of_body(int status, const char *json)
{
	struct failure p;
	struct err err;
	struct node *body =
		json ? json_parse(json, strlen(json), &arena, &err) : NULL;

	failure_read(&p, status, "req-1", body, &arena);
	return p;
}

static const char *text_of(const struct failure *p,
			   const struct failure_view *v)
{
	buf_clear(&out);
	failure_write(p, v, &out);
	return buf_str(&out);
}

static void tells_each_violation_by_its_flag(void)
{
	static const struct command_option *const none[] = {NULL};
	struct failure p = of_body(
		422, "{\"code\":\"invalid\",\"detail\":\"2 are wrong\","
		     "\"violations\":[{\"pointer\":\"/organizationId\","
		     "\"message\":\"is no organization\"},"
		     "{\"pointer\":\"/else\",\"message\":\"is \\u001b[1m\"}]}");
	struct flags flags;
	struct failure_view v = {.what = "create project", .flags = &flags};

	flags_make(&flags, &project_kind, COMMAND_CREATE, none, &arena);
	CHECK_STR(text_of(&p, &v),
		  "muster: cannot create project: 2 are wrong\n"
		  "  --organization: is no organization\n"
		  "  /else: is \\x1b[1m\n"
		  "  request: req-1\n");
	CHECK(failure_exit(&p) == EXIT_REFUSED);
}

static void tells_a_newcomer_to_sign_in(void)
{
	struct failure p =
		of_body(401, "{\"code\":\"unauthenticated\",\"detail\":\"?\"}");
	struct failure_view v = {.server = "http://127.0.0.1:7070"};

	CHECK(strstr(text_of(&p, &v), "sign in first: muster login "
				      "--token-file ./var/admin.token\n"));
	v.has_token = true;
	CHECK(strstr(text_of(&p, &v), "sign in again"));
	v.server = "https://muster.example.org";
	CHECK(strstr(text_of(&p, &v), "--token-file FILE\n"));
	CHECK(failure_exit(&p) == EXIT_DENIED);
}

static void tells_how_long_to_wait(void)
{
	struct failure p = of_body(429, "{\"code\":\"rate_limited\","
					"\"detail\":\"slow down\","
					"\"retryAfterMs\":1500}");
	struct failure_view v = {0};

	CHECK_STR(text_of(&p, &v), "muster: slow down\n"
				   "  hint: try again in 2 s\n"
				   "  request: req-1\n");
	CHECK(failure_exit(&p) == EXIT_UNAVAILABLE);
}

static void shows_the_plan_to_confirm(void)
{
	struct failure p = of_body(409, "{\"code\":\"confirmation_required\","
					"\"detail\":\"it would restart\","
					"\"plan\":{\"action\":\"replace\","
					"\"loses\":[\"rootDisk\"],"
					"\"quota\":[{\"kind\":\"vcpus\","
					"\"before\":1,\"after\":2,"
					"\"limit\":8}]}}");
	struct failure_view v = {.again = "muster x --allow rebuild"};

	CHECK_STR(text_of(&p, &v),
		  "muster: it would restart\n"
		  "  plan: replace\n"
		  "    loses    rootDisk\n"
		  "    quota    vcpus 1 -> 2 of 8\n"
		  "  hint: to do it: muster x --allow rebuild\n"
		  "  request: req-1\n");
	CHECK(failure_exit(&p) == EXIT_CONFLICT);
}

static void makes_do_with_little(void)
{
	struct failure p = of_body(503, NULL);
	struct failure_view v = {0};

	CHECK(strstr(text_of(&p, &v), "status 503"));
	CHECK(failure_exit(&p) == EXIT_UNAVAILABLE);
	p = of_body(404, "[1]");
	CHECK(failure_exit(&p) == EXIT_NOT_FOUND);
	p = of_body(418, "{\"violations\":7,\"plan\":\"x\"}");
	CHECK(strstr(text_of(&p, &v), "no reason"));
	CHECK(failure_exit(&p) == EXIT_REFUSED);
}

static void exits_by_what_to_do_next(void)
{
	static const struct {
		enum err_code code;
		int local, served;
	} rows[] = {
		{ERR_NOT_FOUND, 3, 3},   {ERR_FORBIDDEN, 4, 4},
		{ERR_CONFLICT, 5, 5},    {ERR_STALE, 5, 5},
		{ERR_UNAVAILABLE, 6, 7}, {ERR_TIMEOUT, 6, 6},
		{ERR_RATE, 7, 7},        {ERR_INVALID, 1, 1},
		{ERR_IMMUTABLE, 1, 1},   {ERR_QUOTA, 1, 1},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct failure p = {.err = {.code = rows[i].code}};

		CHECK(failure_exit(&p) == rows[i].local);
		p.status = 500;
		CHECK(failure_exit(&p) == rows[i].served);
		p.usage = true;
		CHECK(failure_exit(&p) == EXIT_USAGE);
	}
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 20);
	RUN(tells_each_violation_by_its_flag);
	RUN(tells_a_newcomer_to_sign_in);
	RUN(tells_how_long_to_wait);
	RUN(shows_the_plan_to_confirm);
	RUN(makes_do_with_little);
	RUN(exits_by_what_to_do_next);
	buf_release(&out);
	arena_release(&arena);
	return test_done();
}
