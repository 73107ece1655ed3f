#include "base/json_tree.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"

/* LINEAR_MOST members are found as fast by looking at each. */
enum { FIRST_ROOM = 8, LINEAR_MOST = 32, ROOM_MOST = 1 << 28 };

/* The length in a hole. */
#define NO_KEY UINT32_MAX

static struct node *writable(const struct node *n)
{
	union {
		const struct node *in;
		struct node *out;
	} u = {n};

	return u.out;
}

static bool is_type(const struct node *n, enum node_type type)
{
	return n && n->type == type;
}

enum node_type node_type(const struct node *n)
{
	return n->type;
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
	return is_type(n, NODE_BOOL) && n->truth;
}

int64_t node_int(const struct node *n)
{
	return is_type(n, NODE_INT) ? n->integer : 0;
}

double node_real(const struct node *n)
{
	return is_type(n, NODE_REAL) ? n->real : (double)node_int(n);
}

const char *node_string(const struct node *n, size_t *ret_len)
{
	bool is = is_type(n, NODE_STRING);

	if (ret_len)
		*ret_len = is ? n->count : 0;
	return is ? n->text : NULL;
}

size_t node_count(const struct node *n)
{
	return is_type(n, NODE_ARRAY) || is_type(n, NODE_OBJECT) ? n->count : 0;
}

struct node *node_at(const struct node *n, size_t i)
{
	return is_type(n, NODE_ARRAY) && i < n->count ? n->items->at[i] : NULL;
}

/* How many places the index behind ROOM members has: a power of two, at least
 * half of it empty. */
static size_t slots_for(size_t room)
{
	size_t slots = 4 * (size_t)LINEAR_MOST;

	if (room <= LINEAR_MOST)
		return 0;
	while (slots < 2 * room)
		slots *= 2;
	return slots;
}

/* Each place has a member's number, counted from one. */
static uint32_t *slots_of(struct members *m)
{
	return (uint32_t *)(m->at + m->room);
}

static bool same_key(const struct member *m, const char *key, size_t len)
{
	return m->len == len && memcmp(m->key, key, len) == 0;
}

static struct member *find_indexed(struct members *m, const char *key,
				   size_t len)
{
	const uint32_t *slots = slots_of(m);
	size_t mask = slots_for(m->room) - 1;
	uint32_t hash = hash_of(key, len);

	for (size_t i = hash & mask; slots[i]; i = (i + 1) & mask) {
		struct member *found = &m->at[slots[i] - 1];

		if (found->hash == hash && same_key(found, key, len))
			return found;
	}
	return NULL;
}

static inline struct member *find(const struct node *object, const char *key,
				  size_t len)
{
	struct members *m = object->members;

	if (!m)
		return NULL;
	if (m->room > LINEAR_MOST)
		return find_indexed(m, key, len);
	for (struct member *at = m->at; at < m->at + m->used; at++)
		if (same_key(at, key, len))
			return at;
	return NULL;
}

struct node *node_get(const struct node *n, const char *key)
{
	const struct member *m;

	if (!is_type(n, NODE_OBJECT))
		return NULL;
	m = find(n, key, strlen(key));
	return m ? m->value : NULL;
}

struct node_walk node_walk(const struct node *object)
{
	return (struct node_walk){object, 0};
}

struct node *node_walk_next(struct node_walk *w, const char **ret_key)
{
	const struct members *m;

	if (!is_type(w->object, NODE_OBJECT))
		return NULL;
	m = w->object->members;
	while (m && w->next < m->used) {
		const struct member *found = &m->at[w->next++];

		if (!found->value)
			continue;
		*ret_key = found->key;
		return found->value;
	}
	return NULL;
}

const char *node_text(const struct node *n, const char *path)
{
	while (is_type(n, NODE_OBJECT) && *path) {
		size_t len = strcspn(path, ".");
		const struct member *m = find(n, path, len);

		n = m ? m->value : NULL;
		path += len + (path[len] == '.');
	}
	return *path ? NULL : node_string(n, NULL);
}

static struct node *node_new(struct arena *a, enum node_type type)
{
	struct node *n = arena_try(a, sizeof(*n));

	if (n)
		*n = (struct node){.type = (uint8_t)type};
	return n;
}

struct node *node_new_object(struct arena *a)
{
	return node_new(a, NODE_OBJECT);
}

struct node *node_new_array(struct arena *a)
{
	return node_new(a, NODE_ARRAY);
}

static bool is_utf8(const char *s, size_t len)
{
	while (len) {
		uint32_t c;
		size_t n = utf8_take(s, len, &c);

		if (!n)
			return false;
		s += n;
		len -= n;
	}
	return true;
}

/* A copy with a NUL after it; NULL also when it is not UTF-8. */
static const char *copy_text(struct arena *a, const char *s, size_t len)
{
	char *copy;

	if (!s || len >= NODE_LEN_MOST || !is_utf8(s, len))
		return NULL;
	copy = arena_try(a, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

struct node *node_new_string(struct arena *a, const char *s, size_t len)
{
	const char *copy = copy_text(a, s, len);
	struct node *n = copy ? node_new(a, NODE_STRING) : NULL;

	if (n) {
		n->text = copy;
		n->count = (uint32_t)len;
	}
	return n;
}

struct node *node_new_int(struct arena *a, int64_t i)
{
	struct node *n = node_new(a, NODE_INT);

	if (n)
		n->integer = i;
	return n;
}

struct node *node_new_real(struct arena *a, double d)
{
	struct node *n = isfinite(d) ? node_new(a, NODE_REAL) : NULL;

	if (n)
		n->real = d;
	return n;
}

/* These are never written to, so one of each is enough. */
struct node *node_new_bool(struct arena *a, bool b)
{
	static const struct node values[] = {
		{.type = NODE_BOOL, .truth = false},
		{.type = NODE_BOOL, .truth = true},
	};

	(void)a;
	return writable(&values[b]);
}

struct node *node_new_null(struct arena *a)
{
	static const struct node value = {.type = NODE_NULL};

	(void)a;
	return writable(&value);
}

static void index_member(struct members *m, uint32_t number)
{
	uint32_t *slots = slots_of(m);
	size_t mask = slots_for(m->room) - 1;
	size_t i = m->at[number].hash & mask;

	while (slots[i])
		i = (i + 1) & mask;
	slots[i] = number + 1;
}

/* The members of OBJECT, without the holes, go to M, which has room for them,
 * and may be where they are. */
static void move_members(struct node *object, struct members *m)
{
	const struct members *old = object->members;
	size_t slots = slots_for(m->room);
	bool hashed = old && old->room > LINEAR_MOST;
	uint32_t n = 0;

	for (uint32_t i = 0; old && i < old->used; i++)
		if (old->at[i].value)
			m->at[n++] = old->at[i];
	m->used = n;
	object->members = m;
	if (!slots)
		return;
	memset(slots_of(m), 0, slots * sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++) {
		if (!hashed)
			m->at[i].hash = hash_of(m->at[i].key, m->at[i].len);
		index_member(m, i);
	}
}

static bool expect_members(struct arena *a, struct node *object, size_t room)
{
	struct members *m;

	if (room > ROOM_MOST)
		return false;
	m = arena_try(a, sizeof(*m) + room * sizeof(m->at[0]) +
				 slots_for(room) * sizeof(uint32_t));
	if (!m)
		return false;
	m->room = (uint32_t)room;
	move_members(object, m);
	return true;
}

static bool expect_items(struct arena *a, struct node *array, size_t room)
{
	const struct items *old = array->items;
	struct items *items;

	if (room > ROOM_MOST)
		return false;
	items = arena_try(a, sizeof(*items) + room * sizeof(items->at[0]));
	if (!items)
		return false;
	items->room = room;
	if (old)
		memcpy(items->at, old->at, array->count * sizeof(old->at[0]));
	array->items = items;
	return true;
}

bool node_expect(struct arena *a, struct node *n, size_t count)
{
	if (count <= n->count)
		return true;
	return n->type == NODE_ARRAY ? expect_items(a, n, count)
				     : expect_members(a, n, count);
}

static bool grow_members(struct arena *a, struct node *object)
{
	struct members *m = object->members;

	/* Mostly holes: there is room enough. */
	if (m && object->count <= m->room / 2) {
		move_members(object, m);
		return true;
	}
	return expect_members(a, object, m ? 2 * (size_t)m->room : FIRST_ROOM);
}

static inline bool add(struct arena *a, struct node *object, const char *key,
		       size_t len, struct node *value)
{
	struct members *m = object->members;
	struct member *new;

	if (!m || m->used == m->room) {
		if (!grow_members(a, object))
			return false;
		m = object->members;
	}
	new = &m->at[m->used];
	*new = (struct member){key, value, (uint32_t)len, 0};
	if (m->room > LINEAR_MOST) {
		new->hash = hash_of(key, len);
		index_member(m, m->used);
	}
	m->used++;
	object->count++;
	return true;
}

bool node_add(struct arena *a, struct node *object, const char *key, size_t len,
	      struct node *value)
{
	return !find(object, key, len) && add(a, object, key, len, value);
}

bool node_put(struct arena *a, struct node *object, const char *key, size_t len,
	      struct node *value)
{
	struct member *m = find(object, key, len);
	const char *copy;

	if (m) {
		m->value = value;
		return true;
	}
	copy = copy_text(a, key, len);
	return copy && add(a, object, copy, len, value);
}

bool node_set(struct arena *a, struct node *object, const char *key,
	      struct node *value)
{
	return value && value != object && is_type(object, NODE_OBJECT) &&
	       node_put(a, object, key, strlen(key), value);
}

bool node_append(struct arena *a, struct node *array, struct node *value)
{
	const struct items *items;

	if (!value || value == array || !is_type(array, NODE_ARRAY))
		return false;
	items = array->items;
	if ((!items || array->count == items->room) &&
	    !expect_items(a, array, items ? 2 * items->room : FIRST_ROOM))
		return false;
	array->items->at[array->count++] = value;
	return true;
}

static void drop(struct node *object, const char *key, size_t len)
{
	struct member *m = find(object, key, len);

	if (!m)
		return;
	m->value = NULL;
	m->len = NO_KEY;
	object->count--;
}

void node_unset(struct arena *a, struct node *object, const char *key)
{
	(void)a;
	if (is_type(object, NODE_OBJECT))
		drop(object, key, strlen(key));
}

static struct node *merge(struct arena *a, struct node *target,
			  struct node *patch);

static bool merge_member(struct arena *a, struct node *target,
			 const struct member *change)
{
	const struct member *was = find(target, change->key, change->len);
	struct node *merged = merge(a, was ? was->value : NULL, change->value);

	return merged && node_put(a, target, change->key, change->len, merged);
}

/* The recursion is as deep as the patch, which the parser has bounded. */
static struct node *merge(struct arena *a, struct node *target,
			  struct node *patch)
{
	const struct members *changes = patch->members;

	if (patch->type != NODE_OBJECT)
		return patch;
	if (!is_type(target, NODE_OBJECT))
		target = node_new_object(a);
	for (uint32_t i = 0; target && changes && i < changes->used; i++) {
		const struct member *m = &changes->at[i];

		if (is_type(m->value, NODE_NULL))
			drop(target, m->key, m->len);
		else if (m->value && !merge_member(a, target, m))
			return NULL;
	}
	return target;
}

struct node *node_merge(struct arena *a, struct node *target,
			const struct node *patch)
{
	return merge(a, target, writable(patch));
}
