/*
 * JSON has two readers here, a quick one for the plain case and jansson's for
 * all else.  Deep inside of arrays only the second is used: both must say the
 * same of the same text, and what is written must be read again.
 */

#include "base/json.h"
#include "fuzz/fuzz.h"

/* More than the quick reader goes down to. */
enum { WRAPS = 20 };

static struct buf text_of(const struct node *n)
{
	struct buf b = BUF_INIT((size_t)8 << 20);

	json_write(n, false, &b);
	MUST(buf_ok(&b));
	return b;
}

/* TEXT by jansson; NULL when it is not one value. */
static const struct node *slowly(const char *text, size_t len, struct arena *a)
{
	struct buf wrapped = BUF_INIT((size_t)8 << 20);
	const struct node *n;
	struct err err;

	for (int i = 0; i < WRAPS; i++)
		buf_addc(&wrapped, '[');
	buf_add(&wrapped, text, len);
	for (int i = 0; i < WRAPS; i++)
		buf_addc(&wrapped, ']');
	n = json_parse(wrapped.data, wrapped.len, a, &err);
	buf_release(&wrapped);
	/* "1],[2" is an array's inside, but no value. */
	for (int i = 0; n && i < WRAPS; i++)
		n = node_type(n) == NODE_ARRAY && node_count(n) == 1
			    ? node_at(n, 0)
			    : NULL;
	return n;
}

/* Nearly as deep as is read at all, so that no arrays fit around it. */
static bool is_deep(const char *text, size_t len)
{
	size_t opened = 0;

	for (size_t i = 0; i < len; i++)
		opened += text[i] == '[' || text[i] == '{';
	return opened > 1500;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	const struct node *n, *slow, *again;
	struct err err = {0};
	struct arena a;

	if (is_deep(text, size))
		return 0;
	arena_init(&a, (size_t)256 << 20);
	n = json_parse(text, size, &a, &err);
	slow = slowly(text, size, &a);
	MUST((n == NULL) == (slow == NULL));
	MUST(n || (err.code == ERR_INVALID && err.msg[0]));
	if (n) {
		struct buf one = text_of(n), other = text_of(slow), third;

		MUST_SAME(buf_str(&one), buf_str(&other));
		again = json_parse(one.data, one.len, &a, &err);
		MUST(again);
		third = text_of(again);
		MUST_SAME(buf_str(&one), buf_str(&third));
		buf_release(&one);
		buf_release(&other);
		buf_release(&third);
	}
	arena_release(&a);
	return 0;
}
