/* The calls that checks are made of, with what each must keep to, and the
 * patience they need. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/server.h"
#include "provider/verify_priv.h"

#define ARENA_MOST ((size_t)64 << 20) /* for one page, one look */

enum { PAGES_MOST = 10000, PAGE_TOKEN_MOST = 4096 };

void verify_fail(struct verify *v, const char *fmt, ...)
{
	va_list ap;

	if (v->failed || v->skipped)
		return;
	v->failed = true;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
}

void verify_skip(struct verify *v, const char *why)
{
	if (v->failed || v->skipped)
		return;
	v->skipped = true;
	snprintf(v->why, sizeof(v->why), "%s", why);
}

bool verify_that(struct verify *v, bool cond, const char *what)
{
	if (!cond)
		verify_fail(v, "%s", what);
	return cond;
}

void verify_err(struct verify *v, const char *what)
{
	verify_fail(v, "%s: %s: %s%s%s", what, err_name(v->err.code),
		    v->err.msg, v->err.provider_code[0] ? " / " : "",
		    v->err.provider_code);
}

void verify_sleep(struct verify *v, uint64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				.tv_nsec = (long)(ms % 1000) * 1000000};

	v->waited += ms;
	if (v->conf->sleep) {
		v->conf->sleep(v->conf->ctx, ms);
		return;
	}
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static uint64_t patience(const struct verify *v)
{
	return v->conf->patience_ms ? v->conf->patience_ms
				    : v->p->facts.launch_ms;
}

uint64_t verify_poll_ms(const struct verify *v)
{
	return v->p->facts.poll_ms ? v->p->facts.poll_ms : 1000;
}

bool verify_again(struct verify *v)
{
	if (!err_passes(&v->err) || v->waited > patience(v))
		return false;
	verify_sleep(v, v->err.retry_after_ms ? v->err.retry_after_ms
					      : verify_poll_ms(v));
	return true;
}

bool verify_retry(struct verify *v, const char *what)
{
	if (verify_again(v))
		return true;
	verify_err(v, what);
	return false;
}

static const struct clock *clock_of(const struct verify *v)
{
	return v->conf->clock ? v->conf->clock : &clock_system;
}

uint64_t verify_now(const struct verify *v)
{
	return clock_mono(clock_of(v));
}

char *verify_uuid(struct verify *v, struct arena *a)
{
	struct random *r = v->conf->random ? v->conf->random : &random_system;
	char *out = arena_alloc(a, UUID_LEN + 1);

	uuid_v7(clock_wall(clock_of(v)), (unsigned)random_below(r, 4096), r,
		out);
	return out;
}

struct items verify_tags(struct verify *v, const char *server)
{
	struct field_tag *t = arena_alloc(&v->kept, 3 * sizeof(*t));

	t[0] = (struct field_tag){TAG_SERVER, server};
	t[1] = (struct field_tag){TAG_INSTALLATION, v->p->installation};
	t[2] = (struct field_tag){"purpose", "verify"};
	return (struct items){t, 3};
}

/* What every machine that is told of must have. */
static bool check_machine(struct verify *v, const struct machine *m)
{
	return verify_that(v, m->id && m->id[0], "a machine has no id") &&
	       verify_that(v,
			   m->state >= INSTANCE_PENDING &&
				   m->state <= INSTANCE_UNKNOWN,
			   "a machine's state is none that there is") &&
	       verify_that(v, m->native_state && m->native_state[0],
			   "the provider's own word for the state is missing");
}

void verify_keep(struct verify *v, const char *id, const char *server)
{
	struct verify_made new = {arena_strdup(&v->kept, id),
				  arena_strdup(&v->kept, server)};

	for (size_t i = 0; i < v->n_made; i++)
		if (verify_same(v->made[i].id, id))
			v->reused = new.id;
	if (v->n_made < VERIFY_MADE_MOST)
		v->made[v->n_made++] = new;
	if (v->n_extra < VERIFY_EXTRA_MOST)
		v->extra[v->n_extra++] = new.id;
}

static int launch(struct verify *v, const struct machine_spec *spec,
		  struct machine *ret)
{
	uint64_t begun = verify_now(v);
	int r = provider_launch(v->p, spec, &v->arena, ret, &v->err);

	v->launch_took = verify_now(v) - begun;
	return r;
}

bool verify_launch(struct verify *v, struct machine_spec *spec, bool fresh,
		   struct machine *ret)
{
	if (fresh) {
		spec->server = verify_uuid(v, &v->kept);
		spec->token = verify_uuid(v, &v->kept);
		spec->tags = verify_tags(v, spec->server);
	}
	v->waited = 0;
	while (launch(v, spec, ret) < 0) {
		/* Without tokens the driver must find what there may be. */
		if (!v->p->facts.launch_tokens)
			verify_sleep(v, v->p->facts.consistency_ms);
		if (!verify_retry(v, "launch"))
			return false;
	}
	v->launched_at = verify_now(v);
	if (!check_machine(v, ret))
		return false;
	if (fresh)
		verify_keep(v, ret->id, spec->server);
	return true;
}

bool verify_refused(struct verify *v, struct machine_spec *spec,
		    const char *what)
{
	struct machine m;

	spec->server = verify_uuid(v, &v->kept);
	spec->token = verify_uuid(v, &v->kept);
	spec->tags = verify_tags(v, spec->server);
	v->waited = 0;
	do {
		if (launch(v, spec, &m) == 0) {
			verify_fail(v, "%s was accepted", what);
			if (check_machine(v, &m))
				verify_keep(v, m.id, spec->server);
			return false;
		}
	} while (verify_again(v));
	if (err_passes(&v->err))
		verify_err(v, "it is not refused clearly");
	return !v->failed;
}

bool verify_describe(struct verify *v, const char *id, struct machine *ret)
{
	uint64_t seen = v->launched_at + v->p->facts.consistency_ms + 1;

	v->waited = 0;
	while (provider_describe(v->p, id, &v->arena, ret, &v->err) < 0) {
		if (v->err.code == ERR_NOT_FOUND && verify_now(v) < seen) {
			verify_sleep(v, verify_poll_ms(v));
			continue;
		}
		if (!verify_retry(v, "describe"))
			return false;
	}
	return check_machine(v, ret) &&
	       verify_that(v, verify_same(ret->id, id),
			   "describe tells of another machine");
}

bool verify_wait(struct verify *v, const char *id, int state,
		 struct machine *ret)
{
	for (uint64_t waited = 0; waited <= patience(v);
	     waited += verify_poll_ms(v)) {
		if (!verify_describe(v, id, ret))
			return false;
		if (ret->state == state)
			return true;
		if (ret->state == INSTANCE_FAILED)
			break;
		verify_sleep(v, verify_poll_ms(v));
	}
	verify_fail(v, "the machine is %s (%s) and not %s",
		    instance_state_names[ret->state], ret->native_state,
		    instance_state_names[state]);
	return false;
}

static bool terminate(struct verify *v, const char *id)
{
	v->waited = 0;
	while (provider_terminate(v->p, id, &v->err) < 0)
		if (!verify_retry(v, "terminate"))
			return false;
	return true;
}

/* Look at it once: true when it is known to be gone. */
static bool look_gone(struct verify *v, const char *id, struct arena *a)
{
	uint64_t seen = v->launched_at + v->p->facts.consistency_ms;
	struct machine m;

	if (provider_describe(v->p, id, a, &m, &v->err) == 0)
		return check_machine(v, &m) && m.state == INSTANCE_TERMINATED;
	if (v->err.code == ERR_NOT_FOUND)
		return verify_now(v) >= seen;
	verify_retry(v, "describe after terminate");
	return false;
}

bool verify_gone(struct verify *v, const char *id)
{
	bool failed = v->failed, gone = false;
	struct arena a;

	if (!terminate(v, id))
		return false;
	arena_init(&a, ARENA_MOST);
	v->waited = 0;
	for (uint64_t waited = 0; !gone && waited <= patience(v);
	     waited += verify_poll_ms(v)) {
		gone = look_gone(v, id, &a);
		if (v->failed != failed)
			break;
		if (!gone)
			verify_sleep(v, verify_poll_ms(v));
		arena_clear(&a);
	}
	arena_release(&a);
	if (!gone)
		verify_fail(v, "machine %s was terminated and is still there",
			    id);
	return gone;
}

/* Where in a list we are.  MARK is a page that was seen: one that comes again
 * is a list that does not end. */
struct walk {
	char next[PAGE_TOKEN_MOST], mark[PAGE_TOKEN_MOST];
	unsigned pages, mark_at;
};

/* On to NEXT; false: that was all, or the check failed. */
static bool walk_on(struct verify *v, struct walk *w, const char *next)
{
	if (!next)
		return false;
	if (!verify_that(v, strlen(next) < sizeof(w->next),
			 "the name of a page is too long") ||
	    !verify_that(v,
			 ++w->pages < PAGES_MOST && strcmp(next, w->mark) != 0,
			 "the list does not end"))
		return false;
	memcpy(w->next, next, strlen(next) + 1);
	if (w->pages > 2 * w->mark_at) {
		memcpy(w->mark, next, strlen(next) + 1);
		w->mark_at = w->pages;
	}
	return true;
}

bool verify_list(struct verify *v, const char *key, const char *value,
		 void (*see)(void *ctx, const struct machine *m), void *ctx)
{
	const struct machine_filter filter = {key, value};
	struct machine_page page;
	struct walk w = {0};
	struct arena a;

	arena_init(&a, ARENA_MOST);
	v->waited = 0;
	do {
		const struct machine *m;

		arena_clear(&a);
		while (provider_list(v->p, &filter, w.pages ? w.next : NULL, &a,
				     &page, &v->err) < 0)
			if (!verify_retry(v, "list"))
				break;
		if (v->failed)
			break;
		m = page.machines.at;
		for (size_t i = 0; i < page.machines.n; i++)
			if (check_machine(v, &m[i]))
				see(ctx, &m[i]);
	} while (walk_on(v, &w, page.next));
	arena_release(&a);
	return !v->failed;
}

struct counted {
	const char *id;
	size_t n;
	bool has;
};

static void see_one(void *ctx, const struct machine *m)
{
	struct counted *c = ctx;

	c->n++;
	c->has |= verify_same(m->id, c->id);
}

bool verify_count(struct verify *v, const char *key, const char *value,
		  const char *id, size_t *ret_n, bool *ret_has)
{
	struct counted c = {.id = id};
	bool good = verify_list(v, key, value, see_one, &c);

	*ret_n = c.n;
	*ret_has = c.has;
	return good;
}
