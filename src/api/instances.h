/* instances - the rules and the verbs of instances in the API. */
#pragma once

#include "api/call.h"

struct change_plan;
struct instance;
struct tx;

int instance_create(struct call *c, struct tx *tx, void *object,
		    struct err *err);
int instance_written(struct call *c, struct tx *tx, const void *object,
		     struct err *err);
int instance_update(struct call *c, struct tx *tx, const void *old,
		    void *object, struct err *err);
int instance_remove(struct call *c, struct tx *tx, const void *old,
		    struct err *err);
extern const char *const instance_words[];

/* POST /v1/instances/{id}/start, … */
void handle_start(struct call *c);
void handle_stop(struct call *c);
void handle_reboot(struct call *c);
void handle_rebuild(struct call *c);
void handle_snapshot(struct call *c);
void handle_ssh_certificate(struct call *c);
void handle_console(struct call *c);

/* GET /v1/instances/{id}/sshkey, … */
void handle_ssh_key(struct call *c);
void handle_console_output(struct call *c);

/* The same as GET …/{id}, with maxStalenessMs. */
void handle_fresh(struct call *c, const struct record *now);
extern const char *const instance_read_words[];

/* What they take, and answer. */
extern const struct field reboot_fields[], rebuild_fields[], snapshot_fields[];
extern const struct field certificate_fields[], certificate_answer[];
extern const struct field console_fields[], console_answer[];
extern const struct field output_answer[], ssh_key_answer[];

/* NEW, made of OLD: PLAN says what that comes to, and is written down in NEW
 * when it is allowed.  For update() and for verbs. */
int instance_change(struct call *c, struct tx *tx, const struct instance *old,
		    struct instance *new, const struct change_plan *plan,
		    struct err *err) MUST_CHECK;

/* The flavor that it has, or is to have; NULL: it is not there any more. */
const struct flavor *instance_flavor(struct tx *tx, const struct instance *i);
