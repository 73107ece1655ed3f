#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *title;
	enum err_scope scope;
	enum err_retry retry;
} codes[ERR_CODE_COUNT] = {
	[ERR_NONE] = {"none", "No error", ERR_SCOPE_REQUEST, ERR_RETRY_NEVER},
	[ERR_INVALID] = {"invalid", "The request is not valid",
			 ERR_SCOPE_REQUEST, ERR_RETRY_AFTER_CHANGE},
	[ERR_UNAUTHENTICATED] = {"unauthenticated", "Not signed in",
				 ERR_SCOPE_REQUEST, ERR_RETRY_AFTER_CHANGE},
	[ERR_FORBIDDEN] = {"forbidden", "Not permitted", ERR_SCOPE_REQUEST,
			   ERR_RETRY_NEVER},
	[ERR_NOT_FOUND] = {"not_found", "Not found", ERR_SCOPE_OBJECT,
			   ERR_RETRY_NEVER},
	[ERR_CONFLICT] = {"conflict", "In conflict with what is there",
			  ERR_SCOPE_OBJECT, ERR_RETRY_AFTER_CHANGE},
	[ERR_STALE] = {"precondition_failed", "It has changed meanwhile",
		       ERR_SCOPE_OBJECT, ERR_RETRY_AFTER_CHANGE},
	[ERR_GONE] = {"gone", "That revision is no longer kept",
		      ERR_SCOPE_REQUEST, ERR_RETRY_AFTER_CHANGE},
	[ERR_IMMUTABLE] = {"immutable", "That field cannot change",
			   ERR_SCOPE_OBJECT, ERR_RETRY_NEVER},
	[ERR_CONFIRMATION] = {"confirmation_required", "Confirmation required",
			      ERR_SCOPE_OBJECT, ERR_RETRY_AFTER_CHANGE},
	[ERR_QUOTA] = {"quota_exceeded", "Quota exceeded", ERR_SCOPE_ACCOUNT,
		       ERR_RETRY_AFTER_CHANGE},
	[ERR_CAPACITY] = {"capacity", "No capacity", ERR_SCOPE_FLAVOR,
			  ERR_RETRY_ELSEWHERE},
	[ERR_RATE] = {"rate_limited", "Too many requests", ERR_SCOPE_ACCOUNT,
		      ERR_RETRY_LATER},
	[ERR_UNAVAILABLE] = {"unavailable", "Not available now",
			     ERR_SCOPE_REQUEST, ERR_RETRY_LATER},
	[ERR_TIMEOUT] = {"timeout", "Took too long", ERR_SCOPE_REQUEST,
			 ERR_RETRY_LATER},
	[ERR_UNSUPPORTED] = {"unsupported", "Not supported", ERR_SCOPE_REQUEST,
			     ERR_RETRY_NEVER},
	[ERR_METHOD] = {"method_not_allowed", "Method not allowed",
			ERR_SCOPE_REQUEST, ERR_RETRY_NEVER},
	[ERR_TOO_LARGE] = {"too_large", "Too large", ERR_SCOPE_REQUEST,
			   ERR_RETRY_AFTER_CHANGE},
	[ERR_MEDIA] = {"unsupported_media_type", "Content type not read here",
		       ERR_SCOPE_REQUEST, ERR_RETRY_AFTER_CHANGE},
	[ERR_ACCEPT] = {"not_acceptable", "Content type not written here",
			ERR_SCOPE_REQUEST, ERR_RETRY_AFTER_CHANGE},
	[ERR_PROVIDER] = {"provider_failed", "The provider failed",
			  ERR_SCOPE_PROVIDER, ERR_RETRY_LATER},
	[ERR_INTERNAL] = {"internal", "Internal error", ERR_SCOPE_REQUEST,
			  ERR_RETRY_LATER},
};

static const char *const scopes[] = {
	[ERR_SCOPE_REQUEST] = "request",   [ERR_SCOPE_OBJECT] = "object",
	[ERR_SCOPE_FLAVOR] = "flavor",     [ERR_SCOPE_ZONE] = "zone",
	[ERR_SCOPE_REGION] = "region",     [ERR_SCOPE_ACCOUNT] = "account",
	[ERR_SCOPE_PROVIDER] = "provider",
};

static const char *const retries[] = {
	[ERR_RETRY_NEVER] = "never",
	[ERR_RETRY_LATER] = "later",
	[ERR_RETRY_AFTER_CHANGE] = "afterChange",
	[ERR_RETRY_ELSEWHERE] = "elsewhere",
};

static void fill(struct err *err, enum err_code code, const char *fmt,
		 va_list ap) PRINTF(3, 0);

static void fill(struct err *err, enum err_code code, const char *fmt,
		 va_list ap)
{
	err->code = code;
	err->scope = codes[code].scope;
	err->retry = codes[code].retry;
	err->retry_after_ms = 0;
	err->field[0] = '\0';
	err->provider_code[0] = '\0';
	err->provider_msg[0] = '\0';
	err->violations = NULL;
	err->plan = NULL;
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
}

int err_set(struct err *err, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, fmt, ap);
	va_end(ap);
	return -1;
}

int err_at(struct err *err, enum err_code code, const char *field,
	   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err, code, fmt, ap);
	va_end(ap);
	snprintf(err->field, sizeof(err->field), "%s", field);
	return -1;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	size_t len;
	va_list ap;

	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	len = strlen(err->msg);
	snprintf(err->msg + len, sizeof(err->msg) - len, ": %s", old);
	return -1;
}

bool err_passes(const struct err *err)
{
	return err->retry == ERR_RETRY_LATER;
}

const char *err_name(enum err_code code)
{
	return codes[code].name;
}

const char *err_title(enum err_code code)
{
	return codes[code].title;
}

const char *err_scope_name(enum err_scope scope)
{
	return scopes[scope];
}

const char *err_retry_name(enum err_retry retry)
{
	return retries[retry];
}
