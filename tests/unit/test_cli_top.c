#include "cli/top.h"

#include <stdlib.h>

#include "test.h"

static char text[8][32] = {"web-1", "web-2",   "running", "pending",
			   "",      "rebuild", "no room", "stopped"};

static void what_needs_somebody_comes_first(void)
{
	struct top_row stopped = {.name = text[0], .state = text[7]};
	struct top_row runs = {.name = text[1], .state = text[2]};
	struct top_row also = {.name = text[0], .state = text[2]};
	struct top_row changes = {.name = text[1], .state = text[2]};
	struct top_row boots = {.name = text[0], .state = text[3]};
	struct top_row waits = {.name = text[1], .state = text[3]};
	struct top_row *rows[] = {&stopped, &runs,  &also,
				  &changes, &boots, &waits};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		rows[i]->change = rows[i]->reason = text[4];
	changes.change = text[5];
	waits.reason = text[6];
	qsort(rows, COUNT_OF(rows), sizeof(rows[0]), top_compare);
	CHECK(rows[0] == &waits);
	CHECK(rows[1] == &boots);
	CHECK(rows[2] == &changes);
	CHECK(rows[3] == &also);
	CHECK(rows[4] == &runs);
	CHECK(rows[5] == &stopped);
}

int main(void)
{
	RUN(what_needs_somebody_comes_first);
	return test_done();
}
