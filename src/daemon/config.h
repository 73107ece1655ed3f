/*
 * config - what `muster serve` is told: a YAML file, then flags.
 *
 * One table of fields says what there is; docs/operating.md lists it.  An
 * unknown word is an error.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/field.h"

struct config {
	const char *listen; /* "127.0.0.1:7070" */
	const char *data;   /* the folder everything is kept in */
	bool rehearse;      /* begin with a simulated region */
	bool local;         /* begin with one of this host's own machines */

	struct {
		const char *cert, *key, *client_ca;
	} tls;

	struct items oidc; /* of struct oidc_issuer */
	struct items mtls; /* of struct mtls_rule */

	int64_t workers; /* threads that call providers */

	struct {
		int64_t connections, connections_per_address;
		int64_t body_bytes, head_bytes;
		int64_t idle_seconds, request_seconds;
		int64_t requests_per_second;
		int64_t pending_changes, watches;
		int64_t consoles, consoles_per_caller, ticket_seconds;
		int64_t console_idle_seconds, console_seconds;
		int64_t stop_seconds;
	} limits;

	struct {
		int64_t max_revisions, max_age_seconds, max_mib;
	} history;

	struct {
		int64_t max_age_days;
	} audit;

	struct {
		int64_t max_age_hours;
	} events;

	struct {
		const char *key_file; /* NULL: in the data folder */
		bool core_dumps;
	} secrets;

	struct {
		int level;
		int format;
	} log;
};

extern const struct field config_fields[];

enum { CONFIG_LOG_TEXT = 1, CONFIG_LOG_JSON };

/* Defaults, then FILE when it is not NULL.  Strings live in A. */
int config_read(const char *file, struct arena *a, struct config *ret,
		struct err *err) MUST_CHECK;
