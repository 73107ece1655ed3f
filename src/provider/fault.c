#include "provider/fault.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"

static const char *const action_names[] = {NULL,    "fail",      "lose",
					   "delay", "duplicate", NULL};

#define AT(member) offsetof(struct fault, member)

const struct field fault_fields[] = {
	{"call", FIELD_STRING, 0, AT(call),
	 "Which call: \"launch\"; absent: every one.", &format_word, .max = 32},
	{"action", FIELD_ENUM, FIELD_REQUIRED, AT(action),
	 "What goes wrong: it fails before anything is done, its answer is "
	 "lost, it comes late, or it is made twice.",
	 .names = action_names},
	{"after", FIELD_INT, 0, AT(after), "How many calls pass first.",
	 .max = 1000000000, .fallback = "0"},
	{"times", FIELD_INT, 0, AT(times),
	 "How many calls are taken; absent: all that follow.", .min = 1,
	 .max = 1000000000},
	{"rate", FIELD_INT, 0, AT(rate),
	 "How many of a thousand of these are taken, by chance.", .max = 1000,
	 .fallback = "1000"},
	{"ms", FIELD_INT, 0, AT(ms), "How late, in milliseconds.",
	 .max = 600000, .fallback = "1000"},
	{"code", FIELD_STRING, 0, AT(code),
	 "What a failure is called: \"unavailable\", \"capacity\", …",
	 &format_text, .max = 32, .fallback = "\"unavailable\""},
	{0},
};

struct progress {
	int64_t seen, taken;
};

struct faults {
	pthread_mutex_t lock; /* around what changes: the rest is fixed */
	const struct fault *rules;
	size_t n;
	struct progress *progress;
	struct random_seeded chance;
};

struct faults *faults_new(const struct items *rules, int64_t seed)
{
	struct faults *f = xcalloc(1, sizeof(*f));

	pthread_mutex_init(&f->lock, NULL);
	f->rules = rules->at;
	f->n = rules->n;
	f->progress = xcalloc(f->n + 1, sizeof(*f->progress));
	random_seed(&f->chance, (uint64_t)seed);
	return f;
}

void faults_free(struct faults *f)
{
	if (!f)
		return;
	pthread_mutex_destroy(&f->lock);
	free(f->progress);
	free(f);
}

static bool takes(struct faults *f, const struct fault *r, struct progress *p)
{
	if (p->seen++ < r->after ||
	    (r->times != FIELD_NONE && p->taken >= r->times))
		return false;
	if (random_below(&f->chance.base, 1000) >= (uint64_t)r->rate)
		return false;
	p->taken++;
	return true;
}

const struct fault *faults_take(struct faults *f, const char *call)
{
	const struct fault *rules = f->rules, *found = NULL;
	size_t n = f->n;

	assert(rules || !n);
	pthread_mutex_lock(&f->lock);
	for (size_t i = 0; i < n && !found; i++)
		if ((!rules[i].call || strcmp(rules[i].call, call) == 0) &&
		    takes(f, &rules[i], &f->progress[i]))
			found = &rules[i];
	pthread_mutex_unlock(&f->lock);
	return found;
}

int fault_err(const struct fault *f, struct err *err)
{
	enum err_code code = ERR_UNAVAILABLE;

	for (int i = ERR_NONE + 1; i < ERR_CODE_COUNT; i++)
		if (f->code && strcmp(err_name((enum err_code)i), f->code) == 0)
			code = (enum err_code)i;
	return err_set(err, code, "the call was made to fail by a fault");
}
