/*
 * log - one line an event, to standard error.
 *
 * Text for people ("2026-11-15T04:40:28.123Z info listening address=…"), or
 * JSON when asked.  EVENT is one word that does not change, for searching; the
 * message holds key=value pairs or a sentence.  Rooms below api, reconcile and
 * daemon do not log above debug: they return an err.  Any thread may log.
 */
#pragma once

#include <stdbool.h>

#include "base/attr.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

/* The one mutable global of the program: set once by main(). */
void log_setup(enum log_level least, bool json);
bool log_wants(enum log_level level);

/* REQUEST is the id of the request it belongs to, or NULL. */
void log_line(enum log_level level, const char *event, const char *request,
	      const char *fmt, ...) PRINTF(4, 5);

#define log_debug(event, ...) log_line(LOG_DEBUG, event, NULL, __VA_ARGS__)
#define log_info(event, ...)  log_line(LOG_INFO, event, NULL, __VA_ARGS__)
#define log_warn(event, ...)  log_line(LOG_WARN, event, NULL, __VA_ARGS__)
#define log_error(event, ...) log_line(LOG_ERROR, event, NULL, __VA_ARGS__)

/* "debug", "info", "warn", "error"; -1 for another word. */
int log_level_parse(const char *word, enum log_level *ret);
