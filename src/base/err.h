/*
 * err - what went wrong, kept on the caller's stack.
 *
 * A function that can fail takes a struct err last, and returns 0, or -1 with
 * the err filled in.  On success it leaves the err alone.  The caller that can
 * do something about it reads the code; everyone in between adds a few words
 * with err_wrap() and returns.  Only the top of a loop turn logs.
 *
 * An err is data: besides the message it says whose trouble it is (scope) and
 * what may help (retry).  err_set() fills both from the code; a caller that
 * knows better sets the member afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct violations;

enum err_code {
	ERR_NONE,
	ERR_INVALID,         /* the request is wrong: tell its sender */
	ERR_UNAUTHENTICATED, /* nobody we know */
	ERR_FORBIDDEN,       /* not yours to do */
	ERR_NOT_FOUND,       /* or not yours to see */
	ERR_CONFLICT,        /* it clashes with what is there */
	ERR_STALE,           /* it changed since you read it */
	ERR_GONE,            /* that revision is no longer kept */
	ERR_IMMUTABLE,       /* that field is set once */
	ERR_CONFIRMATION,    /* say that you mean it */
	ERR_QUOTA,
	ERR_CAPACITY,
	ERR_RATE,
	ERR_UNAVAILABLE, /* may pass: try again, with back-off */
	ERR_TIMEOUT,
	ERR_UNSUPPORTED, /* this server or provider cannot */
	ERR_METHOD,      /* not on this path */
	ERR_TOO_LARGE,
	ERR_MEDIA,      /* a content type we do not read */
	ERR_ACCEPT,     /* a content type we do not write */
	ERR_PROVIDER,   /* the cloud failed in a way of its own */
	ERR_INTERNAL,   /* our bug */
	ERR_CODE_COUNT, /* how many there are; looped over */
};

enum err_scope {
	ERR_SCOPE_REQUEST,
	ERR_SCOPE_OBJECT,
	ERR_SCOPE_FLAVOR,
	ERR_SCOPE_ZONE,
	ERR_SCOPE_REGION,
	ERR_SCOPE_ACCOUNT,
	ERR_SCOPE_PROVIDER,
};

enum err_retry {
	ERR_RETRY_NEVER,
	ERR_RETRY_LATER,
	ERR_RETRY_AFTER_CHANGE,
	ERR_RETRY_ELSEWHERE,
};

struct err {
	enum err_code code;
	enum err_scope scope;
	enum err_retry retry;
	uint32_t retry_after_ms; /* 0: not known */
	char field[96];          /* JSON pointer to the culprit, or empty */
	char msg[320];
	char provider_code[48]; /* the cloud's own words, for operators */
	char provider_msg[160];

	/* Everything wrong with the request, or NULL; lives in the request's
	 * arena. */
	const struct violations *violations;

	/* What would be done if it were allowed, as JSON, or NULL; likewise. */
	const char *plan;
};

/* Fill ERR; returns -1, so that a failure is one line: return err_set(...). */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
	PRINTF(3, 4);

/* The same, naming the field at fault by its JSON pointer. */
int err_at(struct err *err, enum err_code code, const char *field,
	   const char *fmt, ...) PRINTF(4, 5);

/* Put "fmt: " before the message ERR already has; returns -1. */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF(2, 3);

/* True when the same call may succeed later with nobody changing anything. */
bool err_passes(const struct err *err);

/* "not_found" for ERR_NOT_FOUND: for the API's JSON and for logs. */
const char *err_name(enum err_code code);
const char *err_scope_name(enum err_scope scope);
const char *err_retry_name(enum err_retry retry);

/* What the code means in a few words: "Not found". */
const char *err_title(enum err_code code);
