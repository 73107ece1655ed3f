#include "cli/plan.h"

#include <string.h>

#include "cli/text.h"

static void add_safe(struct buf *out, const char *s)
{
	text_add_safe(out, s, strlen(s));
}

static const struct node *of_type(const struct node *n, const char *key,
				  enum node_type type)
{
	const struct node *m =
		n && node_type(n) == NODE_OBJECT ? node_get(n, key) : NULL;

	return m && node_type(m) == type ? m : NULL;
}

/* "/spec/imageId" as "spec.imageId". */
static void add_path(struct buf *out, const char *pointer)
{
	struct buf b = BUF_INIT(1024);

	for (const char *p = pointer + (*pointer == '/'); *p; p++)
		buf_addc(&b, (char)(*p == '/' ? '.' : *p));
	add_safe(out, buf_str(&b));
	buf_release(&b);
}

static void add_words(const struct node *list, struct buf *out)
{
	for (size_t i = 0; i < node_count(list); i++) {
		const struct node *n = node_at(list, i);

		if (node_type(n) != NODE_STRING)
			continue;
		if (i)
			buf_adds(out, ", ");
		add_path(out, node_string(n, NULL));
	}
}

/* A price is an object, or its amount alone. */
static void add_amount(const struct node *n, struct buf *out)
{
	const struct node *amount =
		n && node_type(n) == NODE_OBJECT ? node_get(n, "amount") : n;

	if (!amount || node_type(amount) == NODE_NULL)
		buf_adds(out, "unknown");
	else if (node_type(amount) == NODE_STRING)
		add_safe(out, node_string(amount, NULL));
	else
		json_write(amount, false, out);
}

static void add_price(const struct node *price, struct buf *out)
{
	const struct node *before = node_get(price, "before");
	const struct node *after = node_get(price, "after");
	const char *currency = node_text(price, "currency");
	struct buf old = BUF_INIT(1024), new = BUF_INIT(1024);

	if (!currency)
		currency = node_text(price, "after.currency");
	if (!currency)
		currency = node_text(price, "before.currency");
	add_amount(before, &old);
	add_amount(after, &new);
	buf_adds(out, buf_str(&old));
	if (strcmp(buf_str(&old), buf_str(&new)) != 0)
		buf_addf(out, " -> %s", buf_str(&new));
	if (currency) {
		buf_addc(out, ' ');
		add_safe(out, currency);
	}
	buf_adds(out, " an hour");
	buf_release(&old);
	buf_release(&new);
}

static void add_number(const struct node *n, struct buf *out)
{
	if (n)
		json_write(n, false, out);
	else
		buf_addc(out, '?');
}

static bool is_same(const struct node *a, const struct node *b)
{
	return a && b && node_type(a) == NODE_INT && node_type(b) == NODE_INT &&
	       node_int(a) == node_int(b);
}

/* "vcpus 2 -> 4 of 16", when it changes. */
static void add_quota(const struct node *q, struct buf *out)
{
	const struct node *before = node_get(q, "before");
	const struct node *after = node_get(q, "after");
	const struct node *limit = node_get(q, "limit");
	const char *kind = node_text(q, "kind");
	const char *scope = node_text(q, "scope");

	if (is_same(before, after) || !kind)
		return;
	if (out->len)
		buf_adds(out, ", ");
	add_safe(out, kind);
	buf_addc(out, ' ');
	add_number(before, out);
	buf_adds(out, " -> ");
	add_number(after, out);
	if (!limit || node_type(limit) != NODE_INT)
		return;
	buf_adds(out, " of ");
	json_write(limit, false, out);
	if (!scope)
		return;
	buf_adds(out, " in the ");
	add_safe(out, scope);
}

static void add_quotas(const struct node *list, struct buf *out)
{
	for (size_t i = 0; i < node_count(list); i++)
		if (node_type(node_at(list, i)) == NODE_OBJECT)
			add_quota(node_at(list, i), out);
}

/* How each part of a plan is told; what is not listed is shown as it is. */
static const struct {
	const char *key, *label;
	void (*add)(const struct node *n, struct buf *out);
	enum node_type type;
	enum tone tone;
} parts[] = {
	{"changes", "changes", add_words, NODE_ARRAY, TONE_PLAIN},
	{"loses", "loses", add_words, NODE_ARRAY, TONE_BAD},
	{"price", "price", add_price, NODE_OBJECT, TONE_PLAIN},
	{"quota", "quota", add_quotas, NODE_ARRAY, TONE_PLAIN},
};

static void add_line(const char *label, const char *text, enum tone tone,
		     const struct style *style, struct buf *out)
{
	struct buf b = BUF_INIT(1024);

	buf_addf(&b, "%-8s", label);
	table_add_toned(out, style, TONE_FAINT, buf_str(&b));
	buf_release(&b);
	buf_addc(out, ' ');
	table_add_toned(out, style, tone, text);
	buf_addc(out, '\n');
}

void plan_write(const struct node *plan, const struct style *style,
		size_t indent, struct buf *out)
{
	size_t width = style->width ? style->width : 80;

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		const struct node *n =
			of_type(plan, parts[i].key, parts[i].type);
		struct buf text = BUF_INIT(65536), lines = BUF_INIT(65536);

		if (n)
			parts[i].add(n, &text);
		if (text.len) {
			text_add_wrapped(&lines, buf_str(&text), indent + 9,
					 width);
			text_add_spaces(out, indent);
			add_line(parts[i].label, buf_str(&lines), parts[i].tone,
				 style, out);
		}
		buf_release(&text);
		buf_release(&lines);
	}
}

void plan_brief(const struct node *plan, struct buf *out)
{
	const char *action = node_text(plan, "action");
	const struct node *loses = of_type(plan, "loses", NODE_ARRAY);

	add_safe(out, action ? action : "update");
	if (!loses || !node_count(loses))
		return;
	buf_adds(out, ", loses ");
	add_words(loses, out);
}

const char *plan_needs(const struct node *plan)
{
	static const char *const words[] = {"restart", "rebuild"};
	const char *allow = node_text(plan, "allow");

	for (size_t i = 0; allow && i < COUNT_OF(words); i++)
		if (strcmp(words[i], allow) == 0)
			return words[i];
	return NULL;
}

bool plan_is_allowed(const char *need, const char *allowed)
{
	return !need || (allowed && (strcmp(allowed, "rebuild") == 0 ||
				     strcmp(allowed, need) == 0));
}
