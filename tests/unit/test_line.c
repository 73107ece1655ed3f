#include "store/line.h"

#include <stdlib.h>

#include "base/attr.h"
#include "base/mem.h"
#include "base/random.h"
#include "test.h"

static const char id[] = "0190c2f6-1111-7222-8333-444455556666";

/* Read the first line of TEXT, which ends where its memory does. */
static int read_exactly(const char *text, size_t len, struct line *l,
			struct err *err)
{
	char *copy = xmalloc(len);
	const char *p = copy;
	int r;

	memcpy(copy, text, len);
	r = line_read(&p, copy + len, l, err);
	if (r > 0)
		CHECK(p > copy && p <= copy + len && p[-1] == '\n');
	free(copy);
	return r;
}

static void what_is_written_is_read(void)
{
	struct buf b = BUF_INIT(4096);
	struct line l;
	struct err err;
	const char *p;

	line_begin(&b, '+', "project", 12, id);
	buf_adds(&b, " {\"a\":\"b c\"}\n");
	line_begin(&b, '-', "network", 1, id);
	buf_addc(&b, '\n');
	line_memo(&b, "key-1", "d1g3st", "project", id);
	p = b.data;
	CHECK(line_read(&p, b.data + b.len, &l, &err) == 1);
	CHECK(l.type == '+' && l.version == 12 && l.len == 11);
	CHECK_STR(l.kind, "project");
	CHECK_STR(l.id, id);
	CHECK(memcmp(l.json, "{\"a\":\"b c\"}", 11) == 0);
	CHECK(line_read(&p, b.data + b.len, &l, &err) == 1);
	CHECK(l.type == '-' && l.version == 1);
	CHECK_STR(l.kind, "network");
	CHECK_STR(l.id, id);
	CHECK(line_read(&p, b.data + b.len, &l, &err) == 1);
	CHECK(l.type == '=');
	CHECK_STR(l.key, "key-1");
	CHECK_STR(l.digest, "d1g3st");
	CHECK_STR(l.kind, "project");
	CHECK_STR(l.id, id);
	CHECK(line_read(&p, b.data + b.len, &l, &err) == 0);
	buf_release(&b);
}

static void what_is_no_line_is_refused(void)
{
	static const char *const bad[] = {
		"+project@1 id {}", /* no end */
		"\n",
		"x\n",
		"+\n",
		"+project id {}\n",
		"+project@ id {}\n",
		"+project@0 id {}\n",
		"+project@-1 id {}\n",
		"+project@1000 id {}\n",
		"+project@1x id {}\n",
		"+project@11111111 id {}\n",
		"+@1 id {}\n",
		"+project@1 {}\n",
		"+project@1  {}\n",
		"+project@1 id \n",
		"+project@1 id\n",
		"-project@1\n",
		"-project@1 \n",
		"+a-kind-with-a-name-that-is-much-too-long@1 id {}\n",
		"-project@1 an-id-that-is-much-longer-than-it-ought-to-be\n",
		"=key\n",
		"=key digest\n",
		"=key digest project\n",
		"=key digest project \n",
		"= digest project id\n",
	};
	struct line l;
	struct err err;

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		err.code = ERR_NONE;
		if (read_exactly(bad[i], strlen(bad[i]), &l, &err) >= 0)
			printf("# %zu: %s\n", i, bad[i]);
		CHECK(err.code == ERR_INTERNAL && err.msg[0]);
	}
}

/* Any change to a row is refused or read within its memory. */
static void noise_is_survived(void)
{
	static const char good[] =
		"+project@1 0190c2f6-1111-7222-8333-444455556666 {\"a\":1}\n"
		"-project@2 0190c2f6-1111-7222-8333-444455556666\n"
		"=key digest project 0190c2f6-1111-7222-8333-444455556666\n";
	struct random_seeded r;

	random_seed(&r, 3);
	for (int i = 0; i < 20000; i++) {
		size_t len = 1 + random_below(&r.base, sizeof(good) - 1);
		size_t from = random_below(&r.base, len);
		char *copy = xmalloc(len - from);
		const char *p = copy;
		struct line l;
		struct err err;
		int n = 0;

		memcpy(copy, good + from, len - from);
		for (int k = (int)random_below(&r.base, 4); k > 0; k--)
			copy[random_below(&r.base, len - from)] =
				"+-=@ \n1a\0{"[random_below(&r.base, 10)];
		while (line_read(&p, copy + len - from, &l, &err) > 0)
			n++;
		CHECK(n <= (int)(len - from));
		free(copy);
	}
}

int main(void)
{
	RUN(what_is_written_is_read);
	RUN(what_is_no_line_is_refused);
	RUN(noise_is_survived);
	return test_done();
}
