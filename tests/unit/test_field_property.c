/* Random structs of every type: what is encoded comes back the same, a copy is
 * as good as the original and does not need it. */

#include <stdlib.h>

#include "base/mem.h"
#include "base/random.h"
#include "sample.h"
#include "test.h"

static const char *random_text(struct arena *a, struct random *r)
{
	static const char *const pieces[] = {"a",
					     "\"",
					     "\\",
					     "\n",
					     "\x01",
					     "/",
					     "\x7f",
					     " ",
					     "~",
					     "{",
					     "\xc3\xbc",
					     "\xe2\x82\xac",
					     "\t",
					     "\xf0\x9f\x98\x80",
					     "\xef\xbf\xbf",
					     "0",
					     "u0041"};
	struct buf b = BUF_INIT(1000);
	const char *text;

	if (random_below(r, 4) == 0)
		return NULL;
	for (uint64_t n = random_below(r, 12); n; n--)
		buf_adds(&b, pieces[random_below(r, COUNT_OF(pieces))]);
	text = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return text;
}

static int64_t random_int(struct random *r)
{
	int64_t i;

	random_fill(r, &i, sizeof(i));
	return random_below(r, 4) ? i >> random_below(r, 64) : FIELD_NONE;
}

static int64_t random_time(struct random *r)
{
	return random_below(r, 3) ? (int64_t)random_below(r, 253402300800000)
				  : 0;
}

static void random_fields(const struct field *fields, void *object,
			  struct arena *a, struct random *r);
static void random_member(const struct field *f, void *at, struct arena *a,
			  struct random *r);

static void random_list(const struct field *f, struct items *items,
			struct arena *a, struct random *r)
{
	struct field item = *f;

	item.type = f->item;
	items->n = random_below(r, 4);
	items->at = arena_alloc(a, items->n * f->size);
	for (size_t i = 0; i < items->n; i++) {
		void *at = (char *)items->at + i * f->size;

		random_member(&item, at, a, r);
		if (f->item == FIELD_STRING && !*(const char **)at)
			*(const char **)at = "";
	}
}

static void random_tags(struct items *tags, struct arena *a, struct random *r)
{
	struct field_tag *t;

	tags->n = random_below(r, 4);
	t = tags->at = arena_alloc(a, tags->n * sizeof(*t));
	for (size_t i = 0; i < tags->n; i++) {
		const char *value = random_text(a, r);

		t[i].key = arena_printf(a, "%zu%s", i, value ? value : "");
		t[i].value = value ? value : "";
	}
}

static void random_member(const struct field *f, void *at, struct arena *a,
			  struct random *r)
{
	switch (f->type) {
	case FIELD_STRING:
		*(const char **)at = random_text(a, r);
		break;
	case FIELD_RAW:
		*(const char **)at = random_below(r, 2) ? "{\"a\":[1]}" : NULL;
		break;
	case FIELD_INT:
		*(int64_t *)at = random_int(r);
		break;
	case FIELD_TIME:
		*(int64_t *)at = random_time(r);
		break;
	case FIELD_BOOL:
		*(bool *)at = random_below(r, 2);
		break;
	case FIELD_ENUM:
		*(int *)at = (int)random_below(r, 4);
		break;
	case FIELD_TAGS:
		random_tags(at, a, r);
		break;
	case FIELD_LIST:
		random_list(f, at, a, r);
		break;
	case FIELD_OBJECT:
		random_fields(f->fields, at, a, r);
		break;
	case FIELD_INCLUDE:
	case FIELD_END:
		break;
	}
}

static void random_fields(const struct field *fields, void *object,
			  struct arena *a, struct random *r)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	size_t offset;

	while ((f = field_walk_next(&w, &offset)))
		random_member(f, (char *)object + offset, a, r);
}

/* An item of a list has no absent integers: there is no place to leave them
 * out of. */
static void fill_numbers(struct items *numbers)
{
	int64_t *n = numbers->at;

	for (size_t i = 0; i < numbers->n; i++)
		if (n[i] == FIELD_NONE)
			n[i] = 0;
}

static struct sample *random_sample(struct arena *a, struct random *r)
{
	struct sample *s = arena_alloc(a, sizeof(*s));

	random_fields(sample_fields, s, a, r);
	fill_numbers(&s->numbers);
	return s;
}

static struct buf encode(const struct sample *s, enum field_view view)
{
	struct buf b = BUF_INIT((size_t)1 << 20);

	field_encode(sample_fields, s, view, &b);
	CHECK(buf_ok(&b));
	return b;
}

/* B decoded as stored. */
static struct sample *decode(const struct buf *b, struct arena *a)
{
	struct sample *s = arena_alloc(a, sizeof(*s));
	struct violations bad;
	struct err err = {0};
	struct node *n = json_parse(b->data, b->len, a, &err);

	violations_init(&bad, a);
	CHECK(n != NULL);
	if (n)
		field_decode(sample_fields, n, FIELD_STORED, s, &bad);
	CHECK(bad.n == 0);
	if (!n || bad.n)
		printf("# %s: %s\n", n ? bad.list[0].pointer : err.msg,
		       buf_str(b));
	return s;
}

static void what_is_encoded_comes_back(void)
{
	struct random_seeded r;

	random_seed(&r, 21);
	for (int i = 0; i < 3000 && test_ok; i++) {
		struct buf first, again;
		struct arena a;
		struct sample *s, *t;

		arena_init(&a, (size_t)4 << 20);
		s = random_sample(&a, &r.base);
		first = encode(s, FIELD_FULL);
		t = decode(&first, &a);
		again = encode(t, FIELD_FULL);
		CHECK_STR(buf_str(&again), buf_str(&first));
		CHECK(!field_changed(sample_fields, s, t));
		buf_release(&first);
		buf_release(&again);
		arena_release(&a);
	}
}

/* The original's memory is gone before the copy is looked at. */
static void a_copy_stands_alone(void)
{
	struct random_seeded r;

	random_seed(&r, 22);
	for (int i = 0; i < 2000 && test_ok; i++) {
		struct buf first, again;
		struct arena a;
		struct sample *s, *copy;

		arena_init(&a, (size_t)4 << 20);
		s = random_sample(&a, &r.base);
		first = encode(s, FIELD_FULL);
		copy = field_copy(sample_fields, sizeof(*s), s);
		again = encode(s, FIELD_FULL);
		CHECK_STR(buf_str(&again), buf_str(&first));
		buf_release(&again);
		for (struct items *list = &s->words; list->n; list->n--)
			((const char **)list->at)[list->n - 1] = "changed";
		memset(s, 0x55, sizeof(*s));
		arena_release(&a);
		again = encode(copy, FIELD_FULL);
		CHECK_STR(buf_str(&again), buf_str(&first));
		buf_release(&first);
		buf_release(&again);
		free(copy);
	}
}

static void no_secret_is_in_the_public_view(void)
{
	struct random_seeded r;

	random_seed(&r, 23);
	for (int i = 0; i < 500 && test_ok; i++) {
		struct buf text;
		struct arena a;
		struct sample *s;

		arena_init(&a, (size_t)4 << 20);
		s = random_sample(&a, &r.base);
		s->token = s->inner.password = s->seen.password = "HUSH";
		text = encode(s, FIELD_PUBLIC);
		CHECK(!strstr(buf_str(&text), "HUSH"));
		CHECK(!strstr(buf_str(&text), "\"password\""));
		buf_release(&text);
		text = encode(s, FIELD_FULL);
		CHECK(strstr(buf_str(&text), "HUSH"));
		buf_release(&text);
		arena_release(&a);
	}
}

int main(void)
{
	RUN(what_is_encoded_comes_back);
	RUN(a_copy_stands_alone);
	RUN(no_secret_is_in_the_public_view);
	return test_done();
}
