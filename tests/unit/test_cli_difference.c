#include "cli/difference.h"

#include "test.h"

static struct arena arena;
static struct buf out = BUF_INIT(65536);

static void on_difference(void *ctx, const char *path, const struct node *old,
			  const struct node *new)
{
	(void)ctx;
	buf_addf(&out, "%s: ", path);
	if (old)
		json_write(old, false, &out);
	buf_adds(&out, " > ");
	if (new)
		json_write(new, false, &out);
	buf_adds(&out, "; ");
}

static const char *differ(const char *old, const char *new)
{
	struct err err;

	buf_clear(&out);
	difference_walk(old ? json_parse(old, strlen(old), &arena, &err) : NULL,
			new ? json_parse(new, strlen(new), &arena, &err) : NULL,
			&arena, on_difference, NULL);
	return buf_str(&out);
}

static void the_same_do_not_differ(void)
{
	CHECK_STR(differ("{}", "{}"), "");
	CHECK_STR(differ("{\"a\":{\"b\":[1]}}", "{\"a\":{\"b\":[1]}}"), "");
	CHECK_STR(differ("{\"a\":{},\"b\":[]}", "{}"), "");
	CHECK_STR(differ("{\"a\":null}", "{}"), "");
}

static void what_is_the_servers_does_not_count(void)
{
	CHECK_STR(differ("{\"revision\":1,\"status\":{\"a\":1}}",
			 "{\"revision\":2,\"id\":\"x\"}"),
		  "");
	CHECK_STR(differ("{\"spec\":{\"id\":1}}", "{\"spec\":{\"id\":2}}"),
		  "spec.id: 1 > 2; ");
}

static void each_field_is_told(void)
{
	CHECK_STR(differ("{\"a\":1,\"b\":{\"c\":[1],\"d\":1}}",
			 "{\"a\":2,\"b\":{\"c\":[2],\"e\":1}}"),
		  "a: 1 > 2; b.c: [1] > [2]; b.d: 1 > ; b.e:  > 1; ");
	CHECK_STR(differ(NULL, "{\"a\":{\"b\":1}}"), "a.b:  > 1; ");
	CHECK_STR(differ("{\"a\":{\"b\":1}}", NULL), "a.b: 1 > ; ");
	CHECK_STR(differ("{\"a\":1}", "{\"a\":{\"b\":1}}"),
		  "a: 1 > {\"b\":1}; ");
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(the_same_do_not_differ);
	RUN(what_is_the_servers_does_not_count);
	RUN(each_field_is_told);
	buf_release(&out);
	arena_release(&arena);
	return test_done();
}
