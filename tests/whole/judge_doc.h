/* judge_doc - documents as the judge keeps them: what it looks at, and what was
 * before. */
#pragma once

#include "judge_glance.h"

enum noun_kind {
	NOUN_INSTANCE,
	NOUN_SERVER,
	NOUN_ALLOCATION,
	NOUN_REGION,
	NOUN_VOLUME,
	NOUN_NETWORK,
	NOUN_GROUP,
	NOUN_IMAGE,
	NOUN_FLAVOR,
	NOUN_QUOTA,
	NOUN_QUOTAKIND,
	NOUN_PROJECT,
	NOUN_ORGANIZATION,
	NOUN_OTHER,
	NOUNS,
};

/* What is looked at in documents: of each noun some of it. */
struct doc {
	struct text name, description, created_at, deleted_at, updated_by;
	struct text organization, project, region, network;
	int64_t revision, generation;
	struct text spec; /* as it is written */

	/* What is wanted, of an instance; what was asked for, of a server. */
	struct text flavor, image, zone, market, power, expires_at;
	struct text groups, sources, wants, alternatives; /* lists */
	bool protected, paused, public_ip;

	/* What was seen. */
	struct text health, readiness;
	struct text state, provisioning, provider_id, deadline, volumes;
	struct text reason, waits_for, retry_at;
	struct text uid, server, got_flavor, launched_at, action, step;
	struct text instance; /* a server's, a volume's */
	struct text phase, token, called_at, source;
	int64_t number, attempt, offering, refused;
	bool spent, several;

	struct text object_kind, object, amounts; /* allocations */
	struct text limits, fallback;             /* quotas and their kinds */
	int64_t vcpus, memory;                    /* flavors */
	struct text policy, capabilities, orphans, missing_since; /* regions */
	int64_t observe;
};

struct object;

/* What holds of an object from a revision on. */
struct fact {
	uint64_t revision;
	struct object *of;
	struct text json;      /* at NULL: it is gone */
	const struct doc *doc; /* NULL: gone, or a noun that is not looked at */
	struct fact *prior, *next;
};

struct object {
	enum noun_kind noun;
	struct text id;
	const char *kind, *key; /* "instance", "instance/ID" */
	struct fact *newest;
	struct object *twin; /* allocations and instances: of each other */
};
