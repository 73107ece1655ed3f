#include "base/json.h"

#include <assert.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

#include "base/utf8.h"
#include "base/word.h"

/*
 * jansson allocates from the arena of the call under way, and frees nothing:
 * a tree goes with its arena.  The arena is a thread's own, so the pointer is
 * too; every function that may allocate sets it on entry.
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

static json_t *in(const struct node *n)
{
	union {
		const struct node *node;
		json_t *json;
	} u = {n};

	return u.json;
}

static struct node *out_of(json_t *j)
{
	return (struct node *)j;
}

static bool needs_no_escape(uint64_t w)
{
	return word_is_plain(w) && !word_has(w, '"') && !word_has(w, '\\');
}

/* How many bytes from S need no escape. */
static size_t plain_run(const char *s, size_t len)
{
	static const bool plain[256] = {
		[' ' ... '!'] = true,
		['#' ... '['] = true,
		[']' ... '~'] = true,
	};
	size_t i = 0;

	for (;;) {
		uint32_t c;
		size_t n;

		while (len - i >= 8 && needs_no_escape(word_load(s + i)))
			i += 8;
		while (i < len && plain[(unsigned char)s[i]])
			i++;
		if (i == len || (unsigned char)s[i] < 0x80)
			return i;
		n = utf8_take(s + i, len - i, &c);
		if (!n)
			return i;
		i += n;
	}
}

/*
 * jansson's reader takes a hundred steps a byte, and most of a create's time.
 * So the plain case is read here, into jansson's own tree: what most programs
 * write, without escapes and fractions.  Whatever is not that, wrong or just
 * unusual, is left to jansson to read or refuse, so that this need not say why
 * it stops.
 */
struct quick {
	const char *p, *end;
	unsigned depth;
};

enum { QUICK_DEPTH_MOST = 16, QUICK_DIGITS_MOST = 18 };

/* Beyond this a second try would take too much of the arena. */
#define QUICK_MOST ((size_t)64 << 10)

static json_t *quick_value(struct quick *q);

/* The character after white space; 0 at the end. */
static char quick_peek(struct quick *q)
{
	while (q->p < q->end && (*q->p == ' ' || *q->p == '\n' ||
				 *q->p == '\t' || *q->p == '\r'))
		q->p++;
	if (q->p == q->end)
		return '\0';
	return *q->p;
}

static bool quick_take(struct quick *q, char c)
{
	if (quick_peek(q) != c)
		return false;
	q->p++;
	return true;
}

static const char *quick_text(struct quick *q, size_t *ret_len)
{
	const char *text;

	if (!quick_take(q, '"'))
		return NULL;
	text = q->p;
	*ret_len = plain_run(text, (size_t)(q->end - text));
	q->p += *ret_len;
	return q->p < q->end && *q->p++ == '"' ? text : NULL;
}

static json_t *quick_string(struct quick *q)
{
	size_t len;
	const char *text = quick_text(q, &len);

	return text ? json_stringn_nocheck(text, len) : NULL;
}

static bool quick_member(struct quick *q, json_t *object)
{
	size_t len, before = json_object_size(object);
	const char *key = quick_text(q, &len);
	json_t *value;

	if (!key || !quick_take(q, ':'))
		return false;
	value = quick_value(q);
	/* One that was there already does not make it larger. */
	return value &&
	       json_object_setn_new_nocheck(object, key, len, value) == 0 &&
	       json_object_size(object) > before;
}

static json_t *quick_object(struct quick *q)
{
	json_t *object = json_object();

	q->p++;
	if (!object || quick_take(q, '}'))
		return object;
	do {
		if (!quick_member(q, object))
			return NULL;
	} while (quick_take(q, ','));
	return quick_take(q, '}') ? object : NULL;
}

static json_t *quick_array(struct quick *q)
{
	json_t *array = json_array();

	q->p++;
	if (!array || quick_take(q, ']'))
		return array;
	do {
		if (json_array_append_new(array, quick_value(q)) < 0)
			return NULL;
	} while (quick_take(q, ','));
	return quick_take(q, ']') ? array : NULL;
}

static json_t *quick_int(struct quick *q)
{
	bool minus = *q->p == '-';
	const char *digits = q->p + minus;
	int64_t i = 0;

	for (q->p = digits; q->p < q->end && *q->p >= '0' && *q->p <= '9';
	     q->p++) {
		if (q->p - digits == QUICK_DIGITS_MOST)
			return NULL;
		i = i * 10 + (*q->p - '0');
	}
	if (q->p == digits || (*digits == '0' && q->p > digits + 1))
		return NULL;
	return json_integer(minus ? -i : i);
}

static bool quick_word(struct quick *q, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(q->end - q->p) < len || memcmp(q->p, word, len) != 0)
		return false;
	q->p += len;
	return true;
}

/* What follows a value is looked at by whoever asked for it: a fraction, or
 * more of a word, is neither a comma nor an end. */
static json_t *quick_value(struct quick *q)
{
	json_t *j = NULL;
	char c = quick_peek(q);

	if (++q->depth > QUICK_DEPTH_MOST)
		return NULL;
	if (c == '"')
		j = quick_string(q);
	else if (c == '{')
		j = quick_object(q);
	else if (c == '[')
		j = quick_array(q);
	else if (c == '-' || (c >= '0' && c <= '9'))
		j = quick_int(q);
	else if (quick_word(q, "true"))
		j = json_true();
	else if (quick_word(q, "false"))
		j = json_false();
	else if (quick_word(q, "null"))
		j = json_null();
	q->depth--;
	return j;
}

static json_t *quick_load(const char *text, size_t len)
{
	struct quick q = {text, text + len, 0};
	json_t *j;

	if (len > QUICK_MOST || memchr(text, '\\', len))
		return NULL;
	j = quick_value(&q);
	return quick_peek(&q) || q.p < q.end ? NULL : j;
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

struct node *json_parse(const char *text, size_t len, struct arena *a,
			struct err *err)
{
	size_t max = a->max;
	json_error_t why;
	json_t *j;

	/* jansson's reader loses a NUL that follows a number. */
	if (len && memchr(text, '\0', len)) {
		err_set(err, ERR_INVALID, "not valid JSON: a NUL byte");
		return NULL;
	}
	enter(a);
	/* What is done with the tree takes memory, too, and cannot say no. */
	a->max = a->used + (max - a->used) / 2;
	j = len ? quick_load(text, len) : NULL;
	if (!j)
		j = load(text, len, &why);
	a->max = max;
	if (j)
		return out_of(j);
	if (!why.text[0])
		err_set(err, ERR_TOO_LARGE,
			"the JSON has more parts, or longer ones, than can "
			"be read");
	else
		err_set(err, ERR_INVALID,
			"not valid JSON: line %d, column %d: %s", why.line,
			why.column, why.text);
	return NULL;
}

enum node_type node_type(const struct node *n)
{
	switch (json_typeof(in(n))) {
	case JSON_OBJECT:
		return NODE_OBJECT;
	case JSON_ARRAY:
		return NODE_ARRAY;
	case JSON_STRING:
		return NODE_STRING;
	case JSON_INTEGER:
		return NODE_INT;
	case JSON_REAL:
		return NODE_REAL;
	case JSON_TRUE:
	case JSON_FALSE:
		return NODE_BOOL;
	case JSON_NULL:
		break;
	}
	return NODE_NULL;
}

const char *node_type_name(const struct node *n)
{
	static const char *const names[] = {
		[NODE_NULL] = "null",        [NODE_BOOL] = "a boolean",
		[NODE_INT] = "an integer",   [NODE_REAL] = "a fraction",
		[NODE_STRING] = "a string",  [NODE_ARRAY] = "an array",
		[NODE_OBJECT] = "an object",
	};

	return names[node_type(n)];
}

bool node_bool(const struct node *n)
{
	return json_is_true(in(n));
}

int64_t node_int(const struct node *n)
{
	return json_integer_value(in(n));
}

double node_real(const struct node *n)
{
	return json_number_value(in(n));
}

const char *node_string(const struct node *n, size_t *ret_len)
{
	if (ret_len)
		*ret_len = json_string_length(in(n));
	return json_string_value(in(n));
}

size_t node_count(const struct node *n)
{
	return json_is_array(in(n)) ? json_array_size(in(n))
				    : json_object_size(in(n));
}

struct node *node_at(const struct node *n, size_t i)
{
	return out_of(json_array_get(in(n), i));
}

struct node *node_get(const struct node *n, const char *key)
{
	return out_of(json_object_get(in(n), key));
}

struct node_walk node_walk(const struct node *object)
{
	return (struct node_walk){object, json_object_iter(in(object))};
}

struct node *node_walk_next(struct node_walk *w, const char **ret_key)
{
	struct node *value;

	if (!w->iter)
		return NULL;
	*ret_key = json_object_iter_key(w->iter);
	value = out_of(json_object_iter_value(w->iter));
	w->iter = json_object_iter_next(in(w->object), w->iter);
	return value;
}

const char *node_text(const struct node *n, const char *path)
{
	char key[64];

	while (n && *path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		n = node_get(n, key);
		path += len + (path[len] == '.');
	}
	return n ? node_string(n, NULL) : NULL;
}

struct node *node_new_object(struct arena *a)
{
	enter(a);
	return out_of(json_object());
}

struct node *node_new_array(struct arena *a)
{
	enter(a);
	return out_of(json_array());
}

struct node *node_new_string(struct arena *a, const char *s, size_t len)
{
	enter(a);
	return out_of(json_stringn(s, len));
}

struct node *node_new_int(struct arena *a, int64_t i)
{
	enter(a);
	return out_of(json_integer(i));
}

struct node *node_new_real(struct arena *a, double d)
{
	enter(a);
	return out_of(json_real(d));
}

struct node *node_new_bool(struct arena *a, bool b)
{
	enter(a);
	return out_of(json_boolean(b));
}

struct node *node_new_null(struct arena *a)
{
	enter(a);
	return out_of(json_null());
}

bool node_set(struct arena *a, struct node *object, const char *key,
	      struct node *value)
{
	enter(a);
	return value && json_object_set_new(in(object), key, in(value)) == 0;
}

bool node_append(struct arena *a, struct node *array, struct node *value)
{
	enter(a);
	return value && json_array_append_new(in(array), in(value)) == 0;
}

void node_unset(struct arena *a, struct node *object, const char *key)
{
	enter(a);
	json_object_del(in(object), key);
}

/* The recursion is as deep as the patch, which the parser has bounded. */
static json_t *merge(json_t *target, json_t *patch)
{
	const char *key;
	json_t *value;

	if (!json_is_object(patch))
		return json_incref(patch);
	if (!json_is_object(target))
		target = json_object();
	if (!target)
		return NULL;
	json_object_foreach(patch, key, value)
	{
		json_t *merged;

		if (json_is_null(value)) {
			json_object_del(target, key);
			continue;
		}
		merged = merge(json_object_get(target, key), value);
		if (!merged || json_object_set(target, key, merged) < 0)
			return NULL;
	}
	return target;
}

struct node *node_merge(struct arena *a, struct node *target,
			const struct node *patch)
{
	enter(a);
	return out_of(merge(in(target), in(patch)));
}

static int add_piece(const char *piece, size_t len, void *out)
{
	buf_add(out, piece, len);
	return buf_ok(out) ? 0 : -1;
}

void json_write(const struct node *n, bool indent, struct buf *out)
{
	struct arena scratch;

	/* Writing takes a little memory to notice loops. */
	arena_init(&scratch, (size_t)64 << 20);
	enter(&scratch);
	if (json_dump_callback(in(n), add_piece, out,
			       JSON_ENCODE_ANY | (indent ? JSON_INDENT(2)
							 : JSON_COMPACT)) < 0)
		out->full = true;
	arena_release(&scratch);
	current = NULL;
}

static void add_escape(struct buf *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
	const char *hit;

	if (c >= 0x80) {
		buf_adds(out, "\xef\xbf\xbd");
		return;
	}
	hit = memchr("\"\\\b\f\n\r\t", c, 7);
	if (!hit || !c) {
		buf_add(out, text, sizeof(text));
		return;
	}
	text[1] = "\"\\bfnrt"[strcspn("\"\\\b\f\n\r\t", (char[]){(char)c, 0})];
	buf_add(out, text, 2);
}

void json_add_string(struct buf *out, const char *s, size_t len)
{
	buf_addc(out, '"');
	while (len) {
		size_t n = plain_run(s, len);

		buf_add(out, s, n);
		s += n;
		len -= n;
		if (!len)
			break;
		add_escape(out, (unsigned char)*s++);
		len--;
	}
	buf_addc(out, '"');
}
