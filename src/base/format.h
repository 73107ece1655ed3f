/*
 * format - what a string must look like, said once.
 *
 * Each has a function that checks, a pattern that the API's schema shows (a
 * test holds the two against each other) and words for people.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct format {
	const char *name;    /* JSON Schema's word for it, or NULL */
	const char *pattern; /* ECMA regular expression, or NULL */
	const char *words;   /* "must be …" */
	bool (*check)(const char *s, size_t len);
};

extern const struct format format_name; /* a DNS label: "web-1" */
extern const struct format format_uuid;
extern const struct format format_tag;  /* a tag's key */
extern const struct format format_text; /* a line of text for people */
extern const struct format format_base64;
extern const struct format format_word; /* letters: "instances:read" */
extern const struct format format_email;
extern const struct format format_user;       /* who logs in to a machine */
extern const struct format format_permission; /* "projects:read", "*:read" */
extern const struct format format_scoped;     /* "corp/admins" */
extern const struct format format_address;    /* IPv4 or IPv6 */
extern const struct format format_prefix;     /* the same, with "/24" or not */
