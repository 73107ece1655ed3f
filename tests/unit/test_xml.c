/* XML that says what it is told, whatever that is, and is read back. */
#include "provider/libvirt/xml.h"

#include "test.h"

static struct arena arena;

/* Each of them means something to somebody who reads XML. */
static const char *const hard[] = {
	"<",
	">",
	"&",
	"'",
	"\"",
	"]]>",
	"<!--",
	"-->",
	"&amp;",
	"&#60;",
	"<?xml?>",
	"</a>",
	"a='b' c=\"d\"",
	"${x} $(x) `x` ; rm -rf /",
	"\t",
	"\n",
	"\r",
	"  blanks  ",
	"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb4",
	"\xc2\x85\xe2\x80\xa8",
	"%s%n",
	"",
};

static const struct xml_node *written(struct xml *x, struct xml_doc **ret)
{
	struct buf out = BUF_INIT(65536);
	struct err err = {0};

	CHECK(xml_finish(x, &out, &err) == 0);
	*ret = xml_parse(buf_str(&out), out.len, &err);
	CHECK(*ret != NULL);
	buf_release(&out);
	return *ret ? xml_root(*ret) : NULL;
}

static void whatever_is_said_is_read(void)
{
	for (size_t i = 0; i < COUNT_OF(hard); i++) {
		struct xml *x = xml_new();
		const struct xml_node *n;
		struct xml_doc *d;

		xml_begin(x, "a");
		xml_attr(x, "b", hard[i]);
		xml_leaf(x, "c", hard[i]);
		xml_end(x);
		n = written(x, &d);
		CHECK(n && xml_is(n, "b", hard[i]));
		CHECK_STR(xml_get(n, "b", &arena), hard[i]);
		CHECK_STR(xml_value(xml_child(n, "c"), &arena), hard[i]);
		CHECK(!xml_next(xml_child(n, "c")));
		xml_free(d);
	}
}

static void what_xml_cannot_carry_is_refused(void)
{
	static const char *const bad[] = {
		"\x01",         "a\x1f",        "\xff",         "\xc3",
		"\xef\xbf\xbe", "\xef\xbf\xbf", "\xed\xa0\x80", "\xc0\x80"};

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		for (int where = 0; where < 3; where++) {
			struct buf out = BUF_INIT(65536);
			struct xml *x = xml_new();
			struct err err = {0};

			xml_begin(x, "a");
			if (where == 0)
				xml_attr(x, "b", bad[i]);
			else if (where == 1)
				xml_leaf(x, "c", bad[i]);
			else
				xml_text(x, bad[i]);
			xml_leaf(x, "d", "more");
			xml_end(x);
			CHECK(xml_finish(x, &out, &err) < 0);
			CHECK(err.code == ERR_INVALID && out.len == 0);
			buf_release(&out);
		}
}

static void a_path_leads_to_a_child(void)
{
	static const char text[] =
		"<a><b><c>1</c></b><b x='2'><c>3</c></b><bb/></a>";
	struct err err = {0};
	struct xml_doc *d = xml_parse(text, strlen(text), &err);
	const struct xml_node *n = xml_root(d), *b;

	CHECK_STR(xml_value(xml_child(n, "b/c"), &arena), "1");
	b = xml_next(xml_child(n, "b"));
	CHECK(b && xml_is(b, "x", "2") && !xml_is(b, "y", ""));
	CHECK(b && !xml_next(b));
	CHECK(!xml_child(n, "b/d") && !xml_child(n, "d/c"));
	CHECK(!xml_child(NULL, "b") && !xml_value(NULL, &arena));
	CHECK(!xml_get(NULL, "b", &arena) && !xml_is(NULL, "b", ""));
	xml_free(d);
}

static void entities_are_refused(void)
{
	static const char *const texts[] = {
		"<!DOCTYPE a [<!ENTITY x SYSTEM '/etc/passwd'>]><a>&x;</a>",
		"<!DOCTYPE a [<!ENTITY x 'xxxxxxxxxx'>]><a>&x;&x;&x;</a>",
		"<a>&x;</a>",
		"<a",
		"",
		"<a></b>"};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct err err = {0};

		CHECK(!xml_parse(texts[i], strlen(texts[i]), &err));
		CHECK(err.code == ERR_PROVIDER);
	}
}

static void too_much_is_told(void)
{
	struct buf out = BUF_INIT(16);
	struct xml *x = xml_new();
	struct err err = {0};

	xml_leaf(x, "a", "more than sixteen bytes");
	CHECK(xml_finish(x, &out, &err) < 0 && err.code == ERR_TOO_LARGE);
	buf_release(&out);
}

static void numbers_are_numbers(void)
{
	struct xml *x = xml_new();
	const struct xml_node *n;
	struct xml_doc *d;

	xml_begin(x, "a");
	xml_attr_int(x, "b", INT64_MIN);
	xml_leaf_int(x, "c", INT64_MAX);
	xml_end(x);
	n = written(x, &d);
	CHECK(xml_is(n, "b", "-9223372036854775808"));
	CHECK_STR(xml_value(xml_child(n, "c"), &arena), "9223372036854775807");
	xml_free(d);
}

int main(void)
{
	arena_init(&arena, 1 << 20);
	RUN(whatever_is_said_is_read);
	RUN(what_xml_cannot_carry_is_refused);
	RUN(a_path_leads_to_a_child);
	RUN(entities_are_refused);
	RUN(too_much_is_told);
	RUN(numbers_are_numbers);
	arena_release(&arena);
	return test_done();
}
