/*
 * scene - what is on the stage at the beginning: an organization, a project and
 * a region with a simulated cloud; and what a test puts there.
 */
#pragma once

#include "model/network.h"
#include "model/region.h"
#include "stage.h"

struct provider;

#define ORG     "00000000-0000-7000-8000-00000000000a"
#define PROJECT "00000000-0000-7000-8000-00000000000b"
#define REGION  "00000000-0000-7000-8000-00000000000c"
#define NET     "00000000-0000-7000-8000-00000000000d"
#define GROUP   "00000000-0000-7000-8000-00000000000e"
#define PEER    "00000000-0000-7000-8000-00000000000f"
#define VOLUME  "00000000-0000-7000-8000-000000000010"
#define IMAGE   "00000000-0000-7000-8000-000000000011"

/* A stage with a region whose provider is told OPTIONS. */
void scene_begin(struct stage *s, const char *options);

const struct region *the_region(struct stage *s);
const struct network *the_network(struct stage *s);
int group_state(struct stage *s, const char *id); /* 0: it is not there */

/* One that is there keeps its status. */
void put_region(struct stage *s, const char *options);
void put_network(struct stage *s);
void put_network_as(struct stage *s, const char *id, const char *name);
/* A group with a rule about its PEER, if any. */
void put_group(struct stage *s, const char *id, const char *peer);
void put_volume(struct stage *s, int64_t gib);

/* The region's provider, to be meddled with; NULL: it is closed. */
struct provider *scene_provider(struct stage *s);

/* How often WORD is in the cloud's own account of itself; -1: it is closed. */
int scene_in_cloud(struct stage *s, const char *word);

/* How many calls have been made. */
uint64_t scene_calls(struct stage *s);
