#include "cli/plan.h"

#include "test.h"

static struct arena arena;
static struct buf out = BUF_INIT(65536);

static const struct node *parse(const char *json)
{
	struct err err;

	return json_parse(json, strlen(json), &arena, &err);
}

static const char *text_of(const char *json)
{
	struct style plain = {0};

	buf_clear(&out);
	plan_write(parse(json), &plain, 2, &out);
	return buf_str(&out);
}

static void says_what_there_is_to_say(void)
{
	CHECK_STR(text_of("{\"action\":\"none\"}"), "");
	CHECK_STR(text_of("{\"changes\":[\"/spec/imageId\",\"/tags\"]}"),
		  "  changes  spec.imageId, tags\n");
	CHECK_STR(text_of("{\"price\":{\"before\":\"1\",\"after\":\"2\"}}"),
		  "  price    1 -> 2 an hour\n");
	CHECK_STR(text_of("{\"price\":{\"before\":{\"amount\":\"1\","
			  "\"currency\":\"EUR\"},\"after\":{\"amount\":"
			  "\"1\",\"currency\":\"EUR\"}}}"),
		  "  price    1 EUR an hour\n");
	CHECK_STR(text_of("{\"quota\":[{\"kind\":\"a\",\"before\":1,"
			  "\"after\":1},{\"kind\":\"b\",\"before\":1,"
			  "\"after\":3,\"limit\":9,\"scope\":\"project\"}]}"),
		  "  quota    b 1 -> 3 of 9 in the project\n");
}

static void makes_do_with_what_is_odd(void)
{
	CHECK_STR(text_of("{\"loses\":\"x\",\"quota\":[1,{}],"
			  "\"price\":[],\"changes\":[7]}"),
		  "");
	CHECK_STR(text_of("{\"loses\":[\"\\u001b[1m\"]}"),
		  "  loses    \\x1b[1m\n");
}

static void knows_what_has_to_be_allowed(void)
{
	CHECK(!plan_needs(parse("{\"action\":\"none\"}")));
	CHECK(!plan_needs(parse("{\"action\":\"replace\"}")));
	CHECK_STR(plan_needs(parse("{\"allow\":\"restart\"}")), "restart");
	CHECK_STR(plan_needs(parse("{\"allow\":\"rebuild\"}")), "rebuild");
	CHECK(!plan_needs(parse("{\"allow\":\"everything\"}")));
}

static void allowing_more_allows_less(void)
{
	CHECK(plan_is_allowed(NULL, NULL));
	CHECK(!plan_is_allowed("restart", NULL));
	CHECK(plan_is_allowed("restart", "restart"));
	CHECK(plan_is_allowed("restart", "rebuild"));
	CHECK(!plan_is_allowed("rebuild", "restart"));
	CHECK(plan_is_allowed("rebuild", "rebuild"));
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(says_what_there_is_to_say);
	RUN(makes_do_with_what_is_odd);
	RUN(knows_what_has_to_be_allowed);
	RUN(allowing_more_allows_less);
	buf_release(&out);
	arena_release(&arena);
	return test_done();
}
