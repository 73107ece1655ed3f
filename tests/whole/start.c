#include "start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/seal.h"
#include "identity/bootstrap.h"
#include "identity/token.h"
#include "rig.h"
#include "users.h"

/* Those settings that lead to another disk. */
enum { STARTS = 256 };

static unsigned place_of(const struct setting *s)
{
	return s->guests * 64 + s->cloud * 8 + s->removes * 4 + s->tight * 2 +
	       (s->observe_seconds > 10);
}

static int make_token(struct tx *tx, void *ctx, struct err *err)
{
	return bootstrap(tx, ctx, err);
}

static void made(struct txn *t, const struct err *err)
{
	(void)t;
	if (err) {
		fprintf(stderr, "no token: %s\n", err->msg);
		abort();
	}
}

static void make(struct rig *r, const char *noun, const char *body,
		 char ret_id[40])
{
	struct ask *a = ask_new(r, "POST");
	const char *id;

	snprintf(a->target, sizeof(a->target), "/v1/%s", noun);
	snprintf(a->body, sizeof(a->body), "%s", body);
	ask_header(a, "Content-Type", "application/json");
	ask_send(a);
	while (!a->status && memory_pending(r->backend))
		memory_answer(r->backend, MEMORY_WRITTEN);
	id = a->status == 201 ? strstr(a->reply, "\"id\":\"") : NULL;
	if (!id) {
		fprintf(stderr, "%s: %d %s\n", noun, a->status, a->reply);
		abort();
	}
	snprintf(ret_id, 40, "%.36s", id + 6);
	ask_free(a);
	r->answered = false;
}

static void furnish(struct rig *r, struct start *s, const struct setting *set)
{
	char body[1024], quota[40], options[512];

	make(r, "organizations", "{\"name\":\"o\"}", s->organization);
	snprintf(body, sizeof(body),
		 "{\"organizationId\":\"%s\",\"limits\":[{\"kind\":"
		 "\"instances\",\"limit\":%d}]}",
		 s->organization, set->tight ? 3 : 1000);
	make(r, "quotas", body, quota);
	for (int i = 0; i < PROJECTS; i++) {
		snprintf(body, sizeof(body),
			 "{\"name\":\"p%d\",\"organizationId\":\"%s\"}", i,
			 s->organization);
		make(r, "projects", body, s->projects[i]);
	}
	setting_options(set, options);
	snprintf(body, sizeof(body),
		 "{\"name\":\"r\",\"spec\":{\"provider\":\"sim\","
		 "\"options\":%s,\"syncSeconds\":86400,\"observeSeconds\":%lld,"
		 "\"orphanPolicy\":\"%s\",\"orphanQuarantineSeconds\":60}}",
		 options, (long long)set->observe_seconds,
		 set->removes ? "remove" : "report");
	make(r, "regions", body, s->region);
}

static struct sim_options *read_options(const char *text)
{
	struct sim_options o, *copy;
	struct arena a;
	struct err err = {0};
	struct node *n;

	arena_init(&a, 1 << 20);
	n = json_parse(text, strlen(text), &a, &err);
	if (!n || sim_options_read(n, &a, &o, &err) < 0) {
		fprintf(stderr, "%s: %s\n", text, err.msg);
		abort();
	}
	copy = field_copy(sim_option_fields, sizeof(o), &o);
	arena_release(&a);
	return copy;
}

static void build(struct start *s, const struct setting *set)
{
	struct rig *r = xcalloc(1, sizeof(*r));
	struct txn t = {.fn = make_token, .done = made, .ctx = s->token};
	char options[512];

	random_seed(&r->random, 1);
	random_seed(&r->chance, 1);
	setting_options(set, options);
	s->options = read_options(options);
	s->keys = keyring_new();
	keyring_renew(s->keys, &r->random.base);
	token_make(&r->random.base, s->token);
	snprintf(r->bearer, sizeof(r->bearer), "Bearer %s", s->token);
	rig_begin(r, set, disk_new(), s->keys, s->options);
	store_transact(r->store, &t);
	memory_answer(r->backend, MEMORY_WRITTEN);
	furnish(r, s, set);
	for (int n = 0; n < 200; n++)
		if (!rig_step(r))
			rig_wait(r, 100);
	s->disk = disk_copy(r->disk);
	rig_close(r);
	free(r);
}

const struct start *start_of(const struct setting *set)
{
	static struct start starts[STARTS];
	struct start *s = &starts[place_of(set)];

	if (!s->disk)
		build(s, set);
	return s;
}
