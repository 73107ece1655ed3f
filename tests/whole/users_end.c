/* What users do when a history comes to its end, and what they watch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "identity/quota.h"
#include "judge.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/project.h"
#include "model/volume.h"
#include "rig.h"
#include "store/read.h"
#include "users.h"

static const char *const watched[STREAMS] = {"instance", "server", "network"};

void stream_turn(struct rig *r, unsigned i, bool anew)
{
	struct ask *a = r->streams[i];

	if (a) {
		ask_leave(a);
		ask_free(a);
		r->streams[i] = NULL;
		return;
	}
	a = user_asks(r, "GET", "/v1/%ss", watched[i]);
	a->stream = i;
	ask_header(a, "Accept", "text/event-stream");
	if (anew)
		r->seen[i] = 0;
	if (r->seen[i]) {
		snprintf(a->last_id, sizeof(a->last_id), "%llu",
			 (unsigned long long)r->seen[i]);
		ask_header(a, "Last-Event-ID", a->last_id);
	}
	ask_send(a);
	if (a->status) { /* 410: it is too long ago */
		r->seen[i] = 0;
		users_reap(r);
		return;
	}
	judge_stream(r->judge, i, watched[i], r->seen[i]);
	r->streams[i] = a;
	r->begun[i] = true;
}

/* The next line of *AT, without its end; NULL when there is none. */
static char *line_of(char **at)
{
	char *line = *at, *end = line ? strchr(line, '\n') : NULL;

	if (!end)
		return NULL;
	*end = 0;
	*at = end + 1;
	return line;
}

static void take_events(struct rig *r, unsigned i, char *text)
{
	const char *event = NULL, *id = NULL, *data = NULL;
	char *line;

	while ((line = line_of(&text))) {
		if (strncmp(line, "event: ", 7) == 0)
			event = line + 7;
		else if (strncmp(line, "id: ", 4) == 0)
			id = line + 4;
		else if (strncmp(line, "data: ", 6) == 0)
			data = line + 6;
		if (line[0] || !event)
			continue;
		tell(r, "stream %u: %s %s %.60s", i, event, id ? id : "-",
		     data ? data : "");
		judge_event(r->judge, i, event, id, data,
			    data ? strlen(data) : 0);
		if (id)
			r->seen[i] = strtoull(id, NULL, 10);
		event = id = data = NULL;
	}
}

void stream_pull(struct rig *r, unsigned i)
{
	struct ask *a = r->streams[i];
	bool more = ask_pull(a);

	if (a->reply)
		take_events(r, i, a->reply);
	if (more)
		return;
	ask_leave(a);
	ask_free(a);
	r->streams[i] = NULL;
}

void streams_end(struct rig *r)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		/* What is too long ago is begun anew. */
		for (int n = 0; n < 2 && r->begun[i] && !r->streams[i]; n++)
			stream_turn(r, i, false);
		while (r->streams[i] && r->streams[i]->woken)
			stream_pull(r, i);
	}
}

/* The ids of all of a kind, since what is asked changes them. */
static size_t ids_of(struct rig *r, const struct kind *k, char ids[][40],
		     size_t most)
{
	struct scan scan = store_scan(r->store, 0, k, NULL);
	struct record record;
	size_t n = 0, effort = 0;

	while (n < most && scan_next(&scan, &record, &effort))
		snprintf(ids[n++], 40, "%s", record.id);
	return n;
}

static const void *get(struct rig *r, const struct kind *k, const char *id)
{
	struct record record;

	return store_get(r->store, 0, k, id, &record) ? record.object : NULL;
}

/* Anything else that happens to be under way goes first. */
static void let_write(struct rig *r)
{
	while (memory_pending(r->backend))
		memory_answer(r->backend, MEMORY_WRITTEN);
	if (r->answered)
		users_reap(r);
}

static void change(struct rig *r, const char *noun, const char *id,
		   const char *body)
{
	struct ask *a =
		user_asks(r, body ? "PATCH" : "DELETE", "/v1/%s/%s", noun, id);

	if (body)
		user_says(a, "%s", body);
	user_sends(a);
	let_write(r);
}

/* What was given up, and is still wanted, has to be asked for again. */
static void ask_again(struct rig *r, const struct instance *i)
{
	struct ask *a;

	if (i->status.flavor_id &&
	    strcmp(i->spec.flavor_id, i->status.flavor_id) != 0) {
		a = user_asks(r, "PATCH", "/v1/instances/%s?allow=rebuild",
			      i->meta.id);
		user_says(a,
			  "{\"spec\":{\"flavorId\":\"%s\","
			  "\"alternatives\":[]}}",
			  i->status.flavor_id);
	} else {
		a = user_asks(r, "POST",
			      "/v1/instances/%s/rebuild?allow=rebuild",
			      i->meta.id);
	}
	user_sends(a);
	let_write(r);
}

/* It is there, and a change of it was given up. */
static bool is_behind(const struct instance *i)
{
	bool parked = i->status.reason.waits_for == WAITS_CHANGE &&
		      (i->status.state == INSTANCE_RUNNING ||
		       i->status.state == INSTANCE_STOPPED);

	return i->status.launched_at && !i->status.change.action &&
	       (parked || !i->status.reason.code);
}

/* Nobody is kept from anything by what others use. */
static void lift_quota(struct rig *r)
{
	char id[37];

	quota_id(r->start->organization, id);
	change(r, "quotas", id,
	       "{\"limits\":[{\"kind\":\"instances\",\"limit\":1000},"
	       "{\"kind\":\"vcpus\",\"limit\":1000}]}");
}

/* True when there was something to do about it. */
static bool mend(struct rig *r, const char *id)
{
	const struct instance *i = get(r, &instance_kind, id);

	if (!i || i->meta.deleted_at)
		return false;
	if (i->spec.paused || i->spec.delete_protection || i->spec.expires_at)
		change(r, "instances", id,
		       "{\"spec\":{\"paused\":false,\"deleteProtection\":"
		       "false,\"expiresAt\":null}}");
	else if (i->status.state == INSTANCE_FAILED ||
		 i->status.state == INSTANCE_TERMINATED)
		change(r, "instances", id, NULL);
	else if (i->status.provisioning == PROVISIONING_PROVISIONED)
		return false;
	else if (is_behind(i))
		ask_again(r, i);
	else
		change(r, "instances", id, "{\"tags\":{\"go\":\"on\"}}");
	return true;
}

bool users_mend(struct rig *r)
{
	static char ids[256][40];
	bool mended = false;
	size_t n;

	let_write(r);
	change(r, "regions", r->start->region, "{\"spec\":{\"paused\":false}}");
	lift_quota(r);
	n = ids_of(r, &instance_kind, ids, COUNT_OF(ids));
	for (size_t k = 0; k < n; k++)
		mended |= mend(r, ids[k]);
	return mended;
}

void users_leave(struct rig *r)
{
	static char ids[256][40];
	bool one_by_one = roll(r, 2);
	size_t n;

	change(r, "regions", r->start->region,
	       "{\"spec\":{\"orphanPolicy\":\"remove\"}}");
	if (one_by_one) {
		n = ids_of(r, &instance_kind, ids, COUNT_OF(ids));
		for (size_t k = 0; k < n; k++)
			change(r, "instances", ids[k], NULL);
		n = ids_of(r, &network_kind, ids, COUNT_OF(ids));
		for (size_t k = 0; k < n; k++)
			change(r, "networks", ids[k], NULL);
	}
	n = ids_of(r, &project_kind, ids, COUNT_OF(ids));
	for (size_t k = 0; k < n; k++)
		change(r, "projects", ids[k], NULL);
}
