/* The audit trail's marks, and which entries a page has. */
#include "store/audit.h"

#include <stdlib.h>

#include "store/backend.h"
#include "test.h"

#define HOUR ((int64_t)3600 * 1000)
#define NOW  ((int64_t)1700000000000)

static void a_mark_is_read_as_it_was_written(void)
{
	static const char *const wrong[] = {
		"",
		"7",
		"7 ",
		"7-"
		"00000000000000000000000000000000000000000000000000000000000000"
		"00",
		"7 "
		"00000000000000000000000000000000000000000000000000000000000000"
		"0",
		"7 "
		"00000000000000000000000000000000000000000000000000000000000000"
		"000",
		"7 "
		"g0000000000000000000000000000000000000000000000000000000000000"
		"00",
		"7 "
		"0g000000000000000000000000000000000000000000000000000000000000"
		"00",
		"7 "
		"A0000000000000000000000000000000000000000000000000000000000000"
		"00",
		"7 "
		"/0000000000000000000000000000000000000000000000000000000000000"
		"00",
		"07 "
		"00000000000000000000000000000000000000000000000000000000000000"
		"00",
	};
	struct audit e = {.at = 1, .text = "{}", .len = 2};
	struct chain c, again;
	char text[AUDIT_MARK_LEN];

	chain_begin(&c, "installation");
	for (int n = 0; n < 50; n++) {
		chain_add(&c, &e);
		chain_text(&c, text);
		CHECK(chain_read(&again, text));
		CHECK(again.seq == c.seq);
		CHECK(memcmp(again.hash, c.hash, sizeof(c.hash)) == 0);
	}
	for (size_t n = 0; n < COUNT_OF(wrong); n++)
		CHECK(!chain_read(&again, wrong[n]));
}

static struct audit entry(int64_t at, const char *text)
{
	return (struct audit){.at = at, .text = text, .len = strlen(text)};
}

static const char *organization; /* whose the entries are */

/* How many of them a page with this filter has. */
static size_t taken(struct audit_filter f, const char *text)
{
	static const unsigned char hash[32];
	struct audit_query *q;
	struct audit e = entry(NOW, text);
	size_t n;

	e.organization = organization;
	f.limit = 10;
	q = audit_query_new(&f, true);
	audit_query_take(q, 1, &e, hash);
	n = q->n;
	audit_query_free(q);
	return n;
}

static void an_entry_is_found_by_what_it_says(void)
{
	static const char text[] =
		"{\"who\":{\"id\":\"w1\",\"name\":\"ann\"},"
		"\"as\":{\"id\":\"a1\",\"name\":\"bob\"},\"kind\":\"instance\","
		"\"objectId\":\"o1\",\"projectId\":\"p1\","
		"\"action\":\"create\",\"result\":\"ok\"}";
	static const struct {
		struct audit_filter filter;
		bool is;
	} cases[] = {
		{{0}, true},
		{{.who = "w1"}, true},
		{{.who = "ann"}, true},
		{{.who = "a1"}, true},
		{{.who = "bob"}, true},
		{{.who = "eve"}, false},
		{{.kind = "instance"}, true},
		{{.kind = "volume"}, false},
		{{.object = "o1"}, true},
		{{.object = "o2"}, false},
		{{.project = "p1"}, true},
		{{.project = "p2"}, false},
		{{.action = "create"}, true},
		{{.action = "delete"}, false},
		{{.result = "ok"}, true},
		{{.result = "forbidden"}, false},
		{{.since = NOW}, true},
		{{.since = NOW + 1}, false},
		{{.until = NOW + 1}, true},
		{{.until = NOW}, false},
		{{.organization = "org"}, false},
		{{.who = "ann", .result = "forbidden"}, false},
	};

	for (size_t n = 0; n < COUNT_OF(cases); n++) {
		CHECK((taken(cases[n].filter, text) == 1) == cases[n].is);
		if (!test_ok)
			printf("# case %zu\n", n);
	}
	organization = "org";
	CHECK(taken((struct audit_filter){.organization = "org"}, text));
	CHECK(!taken((struct audit_filter){.organization = "other"}, text));
	organization = NULL;
	/* As they were written once; and what cannot be read says nothing. */
	CHECK(taken((struct audit_filter){.who = "ann"}, "{\"who\":\"ann\"}"));
	CHECK(taken((struct audit_filter){.object = "o"}, "{\"id\":\"o\"}"));
	CHECK(!taken((struct audit_filter){.who = "ann"}, "{\"who\":"));
	CHECK(taken((struct audit_filter){0}, "{\"who\":"));
}

static void an_entry_that_says_nothing_is_one_all_the_same(void)
{
	static const unsigned char hash[32];
	struct audit_filter all = {.limit = 10};
	struct audit_query *q = audit_query_new(&all, false);
	struct audit e = entry(NOW, "{}");

	CHECK(audit_query_take(q, 8, &e, hash));
	e.revision = 5;
	CHECK(audit_query_take(q, 7, &e, hash));
	CHECK(q->n == 2);
	CHECK(strstr(buf_str(&q->text), "\"},{\"seq\":7"));
	CHECK(strstr(buf_str(&q->text), "\"revision\":5"));
	CHECK_STR(buf_str(&q->text) + q->text.len - 3, "0\"}");
	audit_query_free(q);
}

/* Entries may have waited for an hour: so much further back is looked. */
static void a_look_ends_where_nothing_more_can_be(void)
{
	static const unsigned char hash[32];
	struct audit_filter late = {.limit = 10, .since = NOW};
	struct audit_query *q = audit_query_new(&late, true);
	struct audit e = entry(NOW - HOUR, "{}");

	CHECK(audit_query_take(q, 9, &e, hash));
	CHECK(q->n == 0 && !q->next);
	e.at--;
	CHECK(!audit_query_take(q, 8, &e, hash));
	CHECK(q->n == 0 && !q->next);
	audit_query_free(q);
}

/* A page that finds nothing comes back, too: with where to go on. */
static void a_page_takes_so_much_work_and_no_more(void)
{
	static const unsigned char hash[32];
	struct audit_filter nobody = {.limit = 10, .who = "nobody"};
	struct audit_filter one = {.limit = 1};
	struct audit_query *q = audit_query_new(&nobody, true);
	struct audit e = entry(NOW, "{}");
	uint64_t seq = 1000000;

	while (audit_query_take(q, seq, &e, hash))
		seq--;
	CHECK(q->n == 0 && q->next == seq + 1);
	CHECK(seq < 1000000 - 10000 && seq > 1000000 - 300000);
	audit_query_free(q);
	q = audit_query_new(&one, true);
	CHECK(audit_query_take(q, 5, &e, hash));
	CHECK(!audit_query_take(q, 4, &e, hash));
	CHECK(q->n == 1 && q->next == 5);
	audit_query_free(q);
}

int main(void)
{
	RUN(a_mark_is_read_as_it_was_written);
	RUN(an_entry_is_found_by_what_it_says);
	RUN(an_entry_that_says_nothing_is_one_all_the_same);
	RUN(a_look_ends_where_nothing_more_can_be);
	RUN(a_page_takes_so_much_work_and_no_more);
	return test_done();
}
