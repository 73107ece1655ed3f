#include "loop/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"

struct pool {
	struct loop *loop;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	struct list jobs; /* waiting; under mutex */
	bool closing;     /* under mutex */
	size_t n_threads;
	pthread_t threads[];
};

static void *work(void *ctx)
{
	struct pool *p = ctx;

	pthread_mutex_lock(&p->mutex);
	for (;;) {
		struct list *link = list_pop(&p->jobs);
		struct job *j;

		if (!link && p->closing)
			break;
		if (!link) {
			pthread_cond_wait(&p->wake, &p->mutex);
			continue;
		}
		pthread_mutex_unlock(&p->mutex);
		j = CONTAINER_OF(link, struct job, link);
		j->run(j);
		loop_post(p->loop, &j->post);
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

static void start(pthread_t *thread, void *ctx)
{
	sigset_t all, before;

	/* Signals are the loop thread's: none may cut a worker's call short. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(thread, NULL, work, ctx))
		abort(); /* at start, with a fixed few: the machine is gone */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct pool *pool_new(struct loop *l, size_t threads)
{
	struct pool *p =
		xcalloc(1, sizeof(*p) + threads * sizeof(p->threads[0]));

	p->loop = l;
	p->n_threads = threads;
	list_init(&p->jobs);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_cond_init(&p->wake, NULL);
	for (size_t i = 0; i < threads; i++)
		start(&p->threads[i], p);
	return p;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->closing = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	for (size_t i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

static void come_back(struct post *post)
{
	struct job *j = CONTAINER_OF(post, struct job, post);

	j->done(j);
}

void pool_run(struct pool *p, struct job *j)
{
	j->pool = p;
	j->post.fn = come_back;
	pthread_mutex_lock(&p->mutex);
	list_add(&p->jobs, &j->link);
	pthread_mutex_unlock(&p->mutex);
	/* Not before: who woke would wait for the lock. */
	pthread_cond_signal(&p->wake);
}
