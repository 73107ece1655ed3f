/*
 * YAML.  What is read can be written and read again to the same tree; and a
 * text that is JSON as well means the same to both readers.
 */

#include "base/yaml.h"
#include "fuzz/fuzz.h"

static struct buf json_of(const struct node *n)
{
	struct buf b = BUF_INIT((size_t)32 << 20);

	json_write(n, false, &b);
	MUST(buf_ok(&b));
	return b;
}

static void check_again(const struct node *n, const struct buf *json,
			struct arena *a)
{
	struct buf yaml = BUF_INIT((size_t)32 << 20), again;
	struct err err = {0};
	struct node *same;

	yaml_write(n, &yaml);
	MUST(buf_ok(&yaml));
	same = yaml_parse(yaml.data, yaml.len, a, &err);
	if (!same)
		fprintf(stderr, "%s in:\n%s\n", err.msg, buf_str(&yaml));
	MUST(same);
	again = json_of(same);
	MUST_SAME(buf_str(json), buf_str(&again));
	buf_release(&again);
	buf_release(&yaml);
}

/* Outside ASCII there are characters that are text to JSON and the end of a
 * line to YAML. */
static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x7f)
			return false;
	return true;
}

static void check_as_json(const char *text, size_t len, const struct buf *json,
			  struct arena *a)
{
	struct err err;
	struct node *n = json_parse(text, len, a, &err);
	struct buf same;

	if (!n || !is_ascii(text, len))
		return;
	same = json_of(n);
	MUST_SAME(buf_str(json), buf_str(&same));
	buf_release(&same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct err err = {0};
	struct arena a;
	struct node *n;

	arena_init(&a, (size_t)64 << 20);
	n = yaml_parse(text, size, &a, &err);
	MUST(n || err.code == ERR_INVALID || err.code == ERR_TOO_LARGE);
	if (n) {
		struct buf json = json_of(n);

		check_again(n, &json, &a);
		check_as_json(text, size, &json, &a);
		buf_release(&json);
	}
	arena_release(&a);
	return 0;
}
