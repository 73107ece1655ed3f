#include "trail.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_priv.h"

/* What the trail says of one request. */
struct said {
	unsigned ok, refused;
};

/* The number of the request that an entry is about; -1: none. */
static long request_of(const struct audit *e)
{
	const char *p = strstr(e->text, "\"requestId\":\"sim-");

	return p ? strtol(p + strlen("\"requestId\":\"sim-"), NULL, 10) : -1;
}

static void count(const struct audit *e, struct said *said)
{
	if (strstr(e->text, "\"result\":\"ok\""))
		said->ok++;
	else
		said->refused++;
}

static struct said find(const struct world *w, long request)
{
	const struct disk_audit *list;
	size_t n = disk_audits(w->disk, &list);
	struct said said = {0};

	for (size_t i = 0; i < n; i++)
		if (request_of(&list[i].note->entry) == request)
			count(&list[i].note->entry, &said);
	return said;
}

static bool is_change(const struct ask *a)
{
	return a->kind == ASK_CREATE || a->kind == ASK_UPDATE ||
	       a->kind == ASK_DELETE;
}

void trail_answer(struct ask *a)
{
	struct world *w = a->world;
	struct said said = find(w, a->request);
	/* What was done before, or is under way, is not done again. */
	bool maybe = a->retry || a->status == 202;

	if (!is_change(a)) {
		if (said.ok || said.refused)
			model_broken(&w->model, "%s: an entry for no change",
				     a->target);
		w->answers[a->request % ASKS_MOST] = ANSWER_READ;
		return;
	}
	if (a->status >= 400) {
		if (said.ok)
			model_broken(&w->model, "%s: refused, and an ok-entry",
				     a->target);
		w->answers[a->request % ASKS_MOST] = ANSWER_REFUSED;
		return;
	}
	if (said.refused || said.ok > 1 || (!said.ok && !maybe))
		model_broken(&w->model,
			     "%s %s: acknowledged, with %u ok-entries and %u "
			     "others",
			     a->x.method, a->target, said.ok, said.refused);
	w->answers[a->request % ASKS_MOST] =
		maybe ? ANSWER_NONE : ANSWER_ACCEPTED;
}

static void check_request(struct world *w, long i, const struct said *said,
			  bool still)
{
	char answer = w->answers[i % ASKS_MOST];

	if (said->ok + said->refused > 1)
		model_broken(&w->model, "request %ld has %u entries", i,
			     said->ok + said->refused);
	if (answer == ANSWER_READ && said->ok + said->refused)
		model_broken(&w->model, "request %ld changes nothing", i);
	if (answer == ANSWER_ACCEPTED && said->ok != 1)
		model_broken(&w->model, "request %ld: its entry is lost", i);
	if (answer == ANSWER_REFUSED && said->ok)
		model_broken(&w->model, "request %ld: refused, and ok", i);
	/* A crash may take what waited for a tick; nothing else may. */
	if (still && answer == ANSWER_REFUSED && i >= w->booted_at &&
	    said->refused != 1)
		model_broken(&w->model, "request %ld: refused unnoted", i);
}

void trail_check(struct world *w, bool still)
{
	const struct disk_audit *list;
	size_t n = disk_audits(w->disk, &list);
	struct said *said = xcalloc((size_t)w->requests + 1, sizeof(*said));
	uint64_t last = 0;

	if (!disk_audits_hold(w->disk))
		model_broken(&w->model, "the audit trail's chain is broken");
	for (size_t i = 0; i < n; i++) {
		const struct audit *e = &list[i].note->entry;
		long request = request_of(e);

		if (request >= 0 && request < w->requests)
			count(e, &said[request]);
		if (e->revision && e->revision <= last)
			model_broken(&w->model,
				     "the trail goes back to revision %llu",
				     (unsigned long long)e->revision);
		if (e->revision)
			last = e->revision;
	}
	for (long i = 0; i < w->requests && !w->trims_audit; i++)
		check_request(w, i, &said[i], still);
	free(said);
}
