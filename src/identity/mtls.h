/*
 * mtls - which service account a client's certificate stands for.
 *
 * The certificate has been verified; its subject is text as RFC 2253 has it.
 */
#pragma once

#include "base/err.h"
#include "base/field.h"

struct store;

struct mtls_rule {
	const char *common_name, *subject; /* one of them, to match exactly */
	const char *service_account; /* an id, ORGANIZATION/NAME, or the NAME
				      * of one of the platform's */
};

/* The fields of a struct mtls_rule. */
extern const struct field mtls_fields[];

int mtls_validate(const struct mtls_rule *rules, size_t n,
		  struct err *err) MUST_CHECK;

/* The one that SUBJECT fits first; NULL: none. */
const struct mtls_rule *mtls_find(const struct mtls_rule *rules, size_t n,
				  const char *subject);

/* The common name is SUBJECT's only one. */
bool mtls_is_named(const char *subject, const char *common_name);

/* The id of the service account that WORD names; NULL: there is none. */
const char *mtls_account(const struct store *s, const char *word);
