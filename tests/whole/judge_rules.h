/* judge_rules - the rules, by what they are held against. */
#pragma once

#include "judge_priv.h"

/* The row that was just taken into the view. */
void rules_instances(struct judge *j);
void rules_servers(struct judge *j);
void rules_others(struct judge *j);
void rules_quota(struct judge *j);

/* What a request that says its number has done: once, if not refused. */
void rules_deeds(struct judge *j);
void rules_refused(struct judge *j, long request);
void rules_asked_again(struct judge *j, long request);

/* A change that nobody asked for: somebody whose request with one of METHODS
 * ("PATCH PUT") is not answered yet asked for something at ID.  WORD, if it is
 * not NULL, is in the target, too. */
bool is_asked(const struct judge *j, const char *methods, struct text id,
	      const char *word);

/* Somebody asked for a new object of that plural. */
bool is_asked_anew(const struct judge *j, const char *plural);

/* The object, whose document is D, is in something that is being deleted. */
bool is_in_dying(const struct judge *j, const struct doc *d);

/* A machine of the server's that is not gone, and that the test did not put
 * there; or NULL. */
const struct sight *live_machine(const struct judge *j, struct text server);

/* JSON shows what the fact says. */
bool shows(const struct fact *f, struct text json);

/* TEXT has no secret in it. */
void rules_secrets(struct judge *j, const char *text, size_t len,
		   const char *where);

/* Streams have seen everything. */
void rules_streams_complete(struct judge *j);
void rules_sums(struct judge *j);
