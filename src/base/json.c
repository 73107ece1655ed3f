#include <assert.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "base/json_tree.h"
#include "base/utf8.h"
#include "base/word.h"

/*
 * jansson allocates from the arena of the call under way, and frees nothing:
 * its tree goes with that arena.  The arena is a thread's own, so the pointer
 * is too.
 */
static _Thread_local struct arena *current;

/*
 * Where a parser that is refused memory is left for.  jansson's does not look
 * whether the text it collects could grow, and goes on past its end; so it must
 * not see a refusal.  It holds nothing that would have to be given back.
 */
static _Thread_local jmp_buf *refused;

static void *take(size_t size)
{
	void *p;

	assert(current);
	p = arena_try(current, size);
	if (!p && refused)
		longjmp(*refused, 1);
	return p;
}

static void ignore(void *p)
{
	(void)p;
}

static void set_functions(void)
{
	json_set_alloc_funcs(take, ignore);
	/* Seeding takes random bytes and a lock: once, before any thread. */
	json_object_seed(0);
}

static void enter(struct arena *a)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_functions);
	current = a;
}

/*
 * jansson's reader takes a hundred steps a byte, and most of a create's time.
 * So the plain case is read here: what most programs write, without escapes and
 * fractions.  Whatever is not that, wrong or just unusual, is left to jansson
 * to read or refuse, so that this need not say why it stops.
 *
 * It reads a copy of the text, which stays in the arena: strings are not copied
 * again but ended where they are, with a NUL over the quote behind them.  NULs
 * follow the copy, a word of them, so that nobody has to look for its end.
 */
struct quick {
	char *p;
	const char *end;
	struct arena *arena;
	struct node *nodes; /* LEFT of them, to be used */
	unsigned left, depth;
};

enum { QUICK_DEPTH_MOST = 16, QUICK_DIGITS_MOST = 18, QUICK_NODES = 8 };

static struct node *quick_value(struct quick *q);

/* The character after white space; 0 at the end. */
static inline char quick_peek(struct quick *q)
{
	char c = *q->p;

	while (c == ' ' || c == '\n' || c == '\t' || c == '\r')
		c = *++q->p;
	return c;
}

static inline struct node *quick_new(struct quick *q, enum node_type type)
{
	if (!q->left) {
		q->nodes = arena_try(q->arena, QUICK_NODES * sizeof(*q->nodes));
		if (!q->nodes)
			return NULL;
		q->left = QUICK_NODES;
	}
	q->left--;
	*q->nodes = (struct node){.type = (uint8_t)type};
	return q->nodes++;
}

static bool quick_take(struct quick *q, char c)
{
	if (quick_peek(q) != c)
		return false;
	q->p++;
	return true;
}

static inline char *skip_plain(char *p)
{
	uint64_t marks;

	while (!(marks = word_string_marks(word_load(p))))
		p += sizeof(marks);
	return p + word_first(marks);
}

/* Where the string that goes on at P, with a byte that is not ASCII, ends or
 * has what may not be in one.  Apart, for it would slow down what is ASCII. */
static __attribute__((noinline)) char *skip_utf8(char *p, const char *end)
{
	while ((unsigned char)*p >= 0x80) {
		uint32_t c;
		size_t n = utf8_take(p, (size_t)(end - p), &c);

		if (!n)
			break;
		p = skip_plain(p + n);
	}
	return p;
}

static const char *quick_text(struct quick *q, size_t *ret_len)
{
	const char *text;
	char *end;

	if (!quick_take(q, '"'))
		return NULL;
	text = q->p;
	end = skip_plain(q->p);
	if ((unsigned char)*end >= 0x80)
		end = skip_utf8(end, q->end);
	if (*end != '"')
		return NULL;
	*end = '\0';
	*ret_len = (size_t)(end - text);
	q->p = end + 1;
	return text;
}

static struct node *quick_string(struct quick *q)
{
	struct node *n = quick_new(q, NODE_STRING);
	size_t len = 0;

	if (!n)
		return NULL;
	n->text = quick_text(q, &len);
	n->count = (uint32_t)len;
	return n->text ? n : NULL;
}

static bool quick_member(struct quick *q, struct node *object)
{
	size_t len;
	const char *key = quick_text(q, &len);
	struct node *value;

	if (!key || !quick_take(q, ':'))
		return false;
	value = quick_value(q);
	return value && node_add(q->arena, object, key, len, value);
}

static struct node *quick_object(struct quick *q)
{
	struct node *object = quick_new(q, NODE_OBJECT);

	q->p++;
	if (!object || quick_take(q, '}'))
		return object;
	do {
		if (!quick_member(q, object))
			return NULL;
	} while (quick_take(q, ','));
	return quick_take(q, '}') ? object : NULL;
}

static struct node *quick_array(struct quick *q)
{
	struct node *array = quick_new(q, NODE_ARRAY);

	q->p++;
	if (!array || quick_take(q, ']'))
		return array;
	do {
		if (!node_append(q->arena, array, quick_value(q)))
			return NULL;
	} while (quick_take(q, ','));
	return quick_take(q, ']') ? array : NULL;
}

static struct node *quick_int(struct quick *q)
{
	bool minus = *q->p == '-';
	const char *digits = q->p + minus;
	struct node *n;
	int64_t i = 0;

	for (q->p += minus; *q->p >= '0' && *q->p <= '9'; q->p++) {
		if (q->p - digits == QUICK_DIGITS_MOST)
			return NULL;
		i = i * 10 + (*q->p - '0');
	}
	if (q->p == digits || (*digits == '0' && q->p > digits + 1))
		return NULL;
	n = quick_new(q, NODE_INT);
	if (n)
		n->integer = minus ? -i : i;
	return n;
}

static bool quick_word(struct quick *q, const char *word)
{
	size_t len = strlen(word);

	if (memcmp(q->p, word, len) != 0)
		return false;
	q->p += len;
	return true;
}

/* What follows a value is looked at by whoever asked for it: a fraction, or
 * more of a word, is neither a comma nor an end. */
static struct node *quick_value(struct quick *q)
{
	struct node *n = NULL;
	char c = quick_peek(q);

	if (c == '"')
		return quick_string(q);
	if (++q->depth > QUICK_DEPTH_MOST)
		return NULL;
	if (c == '{')
		n = quick_object(q);
	else if (c == '[')
		n = quick_array(q);
	else if (c == '-' || (c >= '0' && c <= '9'))
		n = quick_int(q);
	else if (quick_word(q, "true"))
		n = node_new_bool(q->arena, true);
	else if (quick_word(q, "false"))
		n = node_new_bool(q->arena, false);
	else if (quick_word(q, "null"))
		n = node_new_null(q->arena);
	q->depth--;
	return n;
}

/* NULL when it is not plain, or there is not memory enough; then the arena is
 * as it was. */
static struct node *quick_load(const char *text, size_t len, struct arena *a)
{
	struct arena_mark mark = arena_mark(a);
	struct quick q = {.arena = a};
	struct node *n;

	if (!len || len >= NODE_LEN_MOST)
		return NULL;
	q.p = arena_try(a, len + sizeof(uint64_t));
	if (!q.p)
		return NULL;
	memcpy(q.p, text, len);
	memset(q.p + len, 0, sizeof(uint64_t));
	q.end = q.p + len;
	n = quick_value(&q);
	if (n && !quick_peek(&q) && q.p == q.end)
		return n;
	arena_rewind(a, &mark);
	return NULL;
}

/* NULL with an empty WHY when there was not memory enough. */
static json_t *load(const char *text, size_t len, json_error_t *why)
{
	jmp_buf here;
	json_t *j;

	if (setjmp(here)) {
		refused = NULL;
		*why = (json_error_t){0};
		return NULL;
	}
	refused = &here;
	j = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
		       why);
	refused = NULL;
	return j;
}

static struct node *convert(json_t *j, struct arena *a);

static struct node *convert_object(json_t *j, struct arena *a)
{
	struct node *object = node_new_object(a);

	if (!object || !node_expect(a, object, json_object_size(j)))
		return NULL;
	for (void *i = json_object_iter(j); i;
	     i = json_object_iter_next(j, i)) {
		struct node *value = convert(json_object_iter_value(i), a);

		if (!value || !node_put(a, object, json_object_iter_key(i),
					json_object_iter_key_len(i), value))
			return NULL;
	}
	return object;
}

static struct node *convert_array(json_t *j, struct arena *a)
{
	struct node *array = node_new_array(a);

	if (!array || !node_expect(a, array, json_array_size(j)))
		return NULL;
	for (size_t i = 0; i < json_array_size(j); i++)
		if (!node_append(a, array, convert(json_array_get(j, i), a)))
			return NULL;
	return array;
}

/* The recursion is as deep as jansson's own was. */
static struct node *convert(json_t *j, struct arena *a)
{
	switch (json_typeof(j)) {
	case JSON_OBJECT:
		return convert_object(j, a);
	case JSON_ARRAY:
		return convert_array(j, a);
	case JSON_STRING:
		return node_new_string(a, json_string_value(j),
				       json_string_length(j));
	case JSON_INTEGER:
		return node_new_int(a, json_integer_value(j));
	case JSON_REAL:
		return node_new_real(a, json_real_value(j));
	case JSON_TRUE:
	case JSON_FALSE:
		return node_new_bool(a, json_is_true(j));
	case JSON_NULL:
		break;
	}
	return node_new_null(a);
}

/* jansson's own tree is in SCRATCH, which goes when ours is made. */
static struct node *strict_load(const char *text, size_t len, struct arena *a,
				struct arena *scratch, struct err *err)
{
	struct node *n = NULL;
	json_error_t why;
	json_t *j;

	/* jansson's reader loses a NUL that follows a number. */
	if (len && memchr(text, '\0', len)) {
		err_set(err, ERR_INVALID, "not valid JSON: a NUL byte");
		return NULL;
	}
	enter(scratch);
	j = load(text, len, &why);
	if (j)
		n = convert(j, a);
	else if (why.text[0])
		err_set(err, ERR_INVALID,
			"not valid JSON: line %d, column %d: %s", why.line,
			why.column, why.text);
	if (!n && (j || !why.text[0]))
		err_set(err, ERR_TOO_LARGE,
			"the JSON has more parts, or longer ones, than can "
			"be read");
	return n;
}

struct node *json_parse(const char *text, size_t len, struct arena *a,
			struct err *err)
{
	size_t max = a->max, share = (max - a->used) / 2;
	struct arena scratch;
	struct node *n;

	/* What is done with the tree takes memory, too, and cannot say no. */
	a->max = a->used + share;
	n = quick_load(text, len, a);
	if (!n) {
		arena_init(&scratch, share);
		n = strict_load(text, len, a, &scratch, err);
		arena_release(&scratch);
		current = NULL;
	}
	a->max = max;
	return n;
}
