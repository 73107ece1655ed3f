#include "provider/libvirt/job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"

enum { FAILURES_MOST = 1000 }; /* kept for those who never ask */

struct entry {
	struct list link;
	struct jobs *set;
	char *about;
	struct job_plan plan;
	struct job job;
	bool ended; /* and failed: kept until asked */
	struct err err;
};

struct jobs {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list entries; /* the oldest first */
	unsigned most, running;
	size_t failures;
};

struct jobs *jobs_new(unsigned most)
{
	struct jobs *s = xcalloc(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	list_init(&s->entries);
	s->most = most;
	return s;
}

/* With the lock held, as in all that follows. */
static struct entry *find(struct jobs *s, const char *about)
{
	for (struct list *l = s->entries.next; l != &s->entries; l = l->next) {
		struct entry *e = CONTAINER_OF(l, struct entry, link);

		if (strcmp(e->about, about) == 0)
			return e;
	}
	return NULL;
}

static void forget(struct entry *e)
{
	e->set->failures -= e->ended;
	list_remove(&e->link);
	free(e->about);
	free(e);
}

static void forget_oldest_failure(struct jobs *s)
{
	for (struct list *l = s->entries.next; l != &s->entries; l = l->next) {
		struct entry *e = CONTAINER_OF(l, struct entry, link);

		if (e->ended) {
			forget(e);
			return;
		}
	}
}

static void end(struct entry *e, int rc, const struct err *err)
{
	struct jobs *s = e->set;

	s->running--;
	if (rc == 0) {
		forget(e);
	} else {
		e->ended = true;
		e->err = *err;
		if (++s->failures > FAILURES_MOST)
			forget_oldest_failure(s);
	}
	pthread_cond_broadcast(&s->changed);
}

static void *work(void *ctx)
{
	struct entry *e = ctx;
	struct jobs *s = e->set;
	struct job_plan plan = e->plan;
	struct err err = {0};
	int rc;

	pthread_mutex_lock(&s->lock);
	while (s->running >= s->most && !atomic_load(&e->job.stop))
		pthread_cond_wait(&s->changed, &s->lock);
	s->running++;
	pthread_mutex_unlock(&s->lock);
	if (atomic_load(&e->job.stop))
		rc = err_set(&err, ERR_UNAVAILABLE, "it was stopped");
	else
		rc = plan.run(&e->job, &err);
	if (plan.drop)
		plan.drop(plan.ctx);
	pthread_mutex_lock(&s->lock);
	end(e, rc, &err);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void begin(struct jobs *s, const char *about,
		  const struct job_plan *plan)
{
	struct entry *e = xcalloc(1, sizeof(*e));
	pthread_t thread;

	e->set = s;
	e->about = xstrdup(about);
	e->plan = *plan;
	e->job.about = e->about;
	e->job.ctx = plan->ctx;
	atomic_store(&e->job.stage, "waiting");
	list_add(&s->entries, &e->link);
	if (pthread_create(&thread, NULL, work, e) == 0) {
		pthread_detach(thread);
		return;
	}
	e->ended = true;
	s->failures++;
	err_set(&e->err, ERR_UNAVAILABLE, "there are too many threads");
	if (plan->drop)
		plan->drop(plan->ctx);
}

void jobs_begin(struct jobs *s, const char *about, const struct job_plan *plan)
{
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find(s, about);
	if (e && e->ended) {
		forget(e);
		e = NULL;
	}
	if (!e)
		begin(s, about, plan);
	else if (plan->drop)
		plan->drop(plan->ctx);
	pthread_mutex_unlock(&s->lock);
}

static void say(struct job *j, char *word, size_t room)
{
	uint64_t total = atomic_load(&j->total), done = atomic_load(&j->done);

	if (total)
		snprintf(word, room, "%s %u %%", atomic_load(&j->stage),
			 (unsigned)(done >= total ? 100 : done * 100 / total));
	else
		snprintf(word, room, "%s", atomic_load(&j->stage));
}

enum job_state jobs_ask(struct jobs *s, const char *about, char *word,
			size_t room, struct err *err)
{
	enum job_state state = JOB_NONE;
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find(s, about);
	if (e && e->ended) {
		state = JOB_FAILED;
		*err = e->err;
		forget(e);
	} else if (e) {
		state = JOB_RUNS;
		say(&e->job, word, room);
	}
	pthread_mutex_unlock(&s->lock);
	return state;
}

const char *jobs_stage(struct jobs *s, const char *about)
{
	const char *stage = NULL;
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	e = find(s, about);
	if (e && !e->ended)
		stage = atomic_load(&e->job.stage);
	pthread_mutex_unlock(&s->lock);
	return stage;
}

void jobs_stop(struct jobs *s, const char *about)
{
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	while ((e = find(s, about)) && !e->ended) {
		atomic_store(&e->job.stop, true);
		pthread_cond_broadcast(&s->changed);
		pthread_cond_wait(&s->changed, &s->lock);
	}
	if (e)
		forget(e);
	pthread_mutex_unlock(&s->lock);
}

/* Told to end; whether there are any. */
static bool stop_all(struct jobs *s)
{
	bool any = false;

	for (struct list *l = s->entries.next; l != &s->entries; l = l->next) {
		struct entry *e = CONTAINER_OF(l, struct entry, link);

		atomic_store(&e->job.stop, true);
		any |= !e->ended;
	}
	pthread_cond_broadcast(&s->changed);
	return any;
}

void jobs_free(struct jobs *s)
{
	struct list *next;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	while (stop_all(s))
		pthread_cond_wait(&s->changed, &s->lock);
	for (struct list *l = s->entries.next; l != &s->entries; l = next) {
		next = l->next;
		forget(CONTAINER_OF(l, struct entry, link));
	}
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}
