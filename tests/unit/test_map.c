#include "base/map.h"

#include "base/attr.h"
#include "base/random.h"
#include "test.h"

static void an_empty_map_knows_nothing(void)
{
	struct map m = {0};
	size_t i = 0;

	CHECK(map_get(&m, "x") == NULL);
	CHECK(map_remove(&m, "x") == NULL);
	CHECK(map_next(&m, &i) == NULL);
	map_release(&m);
	map_release(&m);
}

static void finds_by_length_too(void)
{
	struct map m = {0};
	int one, two;

	map_add(&m, "ab", &one);
	map_add(&m, "abc", &two);
	CHECK(map_getn(&m, "abcd", 2) == &one);
	CHECK(map_getn(&m, "abcd", 3) == &two);
	CHECK(map_getn(&m, "abcd", 4) == NULL);
	CHECK(map_getn(&m, "", 0) == NULL);
	map_release(&m);
}

static void the_empty_string_is_a_key(void)
{
	struct map m = {0};
	int one;

	map_add(&m, "", &one);
	CHECK(map_get(&m, "") == &one);
	CHECK(map_remove(&m, "") == &one);
	CHECK(map_get(&m, "") == NULL);
	map_release(&m);
}

enum { KEYS = 700 };

struct model {
	char keys[KEYS][8];
	bool there[KEYS];
	size_t count;
};

/* Every value exactly once. */
static void check_walk(const struct map *m, const struct model *model)
{
	bool seen[KEYS] = {false};
	size_t at = 0, n = 0;
	const char *value;

	while ((value = map_next(m, &at))) {
		size_t i = (size_t)(value - model->keys[0]) / 8;

		CHECK(model->there[i] && !seen[i]);
		seen[i] = true;
		n++;
	}
	CHECK(n == model->count);
}

/* Random adds and removes over more and fewer keys, so that the map grows and
 * holes are closed across its end; each key's own memory is its value. */
static void agrees_with_a_plain_array(void)
{
	static struct model model;
	struct map m = {0};
	struct random_seeded r;

	random_seed(&r, 4);
	for (int i = 0; i < KEYS; i++)
		snprintf(model.keys[i], 8, "k%d", i);
	for (int turn = 0; turn < 60000; turn++) {
		size_t some = turn / 10000 % 2 ? 12 : KEYS;
		size_t i = random_below(&r.base, some);
		char *key = model.keys[i];

		CHECK(map_get(&m, key) == (model.there[i] ? key : NULL));
		if (random_below(&r.base, 2)) {
			CHECK(map_remove(&m, key) ==
			      (model.there[i] ? key : NULL));
			model.count -= model.there[i];
			model.there[i] = false;
		} else if (!model.there[i]) {
			map_add(&m, key, key);
			model.there[i] = true;
			model.count++;
		}
		CHECK(m.count == model.count);
		if (turn % 1000 == 0)
			check_walk(&m, &model);
	}
	map_release(&m);
}

int main(void)
{
	RUN(an_empty_map_knows_nothing);
	RUN(finds_by_length_too);
	RUN(the_empty_string_is_a_key);
	RUN(agrees_with_a_plain_array);
	return test_done();
}
