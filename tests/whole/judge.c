#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "judge_rules.h"
#include "judge_view.h"

const char *const judge_class_names[JUDGE_CLASSES] = {
	[JUDGE_HELD] = "held",
	[JUDGE_LOST] = "lost",
	[JUDGE_DOUBLED] = "doubled",
	[JUDGE_WRONGLY_DELETED] = "wrongly deleted",
	[JUDGE_QUOTA] = "quota",
	[JUDGE_STUCK] = "stuck",
	[JUDGE_OTHER] = "other",
};

struct judge *judge_new(void)
{
	struct judge *j = xcalloc(1, sizeof(*j));

	arena_init(&j->arena, (size_t)256 << 20);
	return j;
}

void judge_free(struct judge *j)
{
	if (!j)
		return;
	view_release(j);
	free(j->sights);
	free(j->holdings);
	free(j->sums);
	free(j->asks);
	free(j->deeds);
	free(j);
}

const char *judge_verdict(const struct judge *j)
{
	return j->why[0] ? j->why : NULL;
}

enum judge_class judge_class(const struct judge *j)
{
	return j->class;
}

uint64_t judge_revision(const struct judge *j)
{
	return j->newest;
}

void judge_broken(struct judge *j, enum judge_class class, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (j->why[0])
		return;
	j->class = class;
	n = snprintf(j->why, sizeof(j->why),
		     "revision %llu: ", (unsigned long long)j->newest);
	va_start(ap, fmt);
	vsnprintf(j->why + n, sizeof(j->why) - (size_t)n, fmt, ap);
	va_end(ap);
}

void judge_secret(struct judge *j, const char *text)
{
	if (j->n_secrets < SECRETS_MOST)
		j->secrets[j->n_secrets++] = arena_strdup(&j->arena, text);
}

void judge_clock(struct judge *j, int64_t wall)
{
	if (wall > j->wall_most)
		j->wall_most = wall;
}

void judge_forgets(struct judge *j)
{
	j->forgets = true;
}

void rules_secrets(struct judge *j, const char *text, size_t len,
		   const char *where)
{
	for (size_t i = 0; i < j->n_secrets; i++)
		if (memmem(text, len, j->secrets[i], strlen(j->secrets[i])))
			judge_broken(j, JUDGE_OTHER, "a secret is in %s",
				     where);
}

/* Keys are kept, and streams can be taken up, for so long. */
#define KEPT_MS (10 * 60 * 1000)

void judge_row(struct judge *j, const struct row *row, int64_t wall)
{
	if (j->row_at && row->at > j->row_at + KEPT_MS)
		j->forgets = true;
	j->row_at = row->at;
	/* The clock leapt and was put back between two calls. */
	if (row->at > wall && j->time_most && row->at > j->time_most) {
		j->ahead_most += row->at - j->time_most;
		j->time_most = row->at;
	}
	j->wall = wall;
	judge_clock(j, wall);
	view_row(j, row);
	rules_secrets(j, row->data, row->len, "a row");
	rules_quota(j);
	rules_servers(j);
	rules_instances(j);
	rules_others(j);
	rules_deeds(j);
}
