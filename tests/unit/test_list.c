#include "base/list.h"

#include "test.h"

struct thing {
	int n;
	struct list at;
};

static void comes_out_in_the_order_it_went_in(void)
{
	struct thing t[5];
	struct list head, *l;

	list_init(&head);
	CHECK(list_empty(&head));
	CHECK(list_pop(&head) == NULL);
	for (int i = 0; i < 5; i++) {
		t[i].n = i;
		list_add(&head, &t[i].at);
	}
	CHECK(!list_empty(&head));
	for (int i = 0; i < 5; i++) {
		l = list_pop(&head);
		CHECK(l && CONTAINER_OF(l, struct thing, at)->n == i);
	}
	CHECK(list_empty(&head));
}

static void may_be_removed_twice(void)
{
	struct thing a, b;
	struct list head;

	list_init(&head);
	list_add(&head, &a.at);
	list_add(&head, &b.at);
	list_remove(&a.at);
	list_remove(&a.at);
	CHECK(list_pop(&head) == &b.at);
	CHECK(list_empty(&head));
	list_add(&head, &a.at);
	CHECK(list_pop(&head) == &a.at);
}

int main(void)
{
	RUN(comes_out_in_the_order_it_went_in);
	RUN(may_be_removed_twice);
	return test_done();
}
