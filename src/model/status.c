#include "model/status.h"

const char *const provisioning_names[] = {
	NULL,    "pending", "provisioning", "provisioned", "deprovisioning",
	"error", NULL};
const char *const health_names[] = {NULL,       "unknown", "healthy",
				    "degraded", "error",   NULL};
const char *const waits_names[] = {NULL, "operator", "specChange", "time",
				   NULL};
const char *const observed_names[] = {NULL, "launch", "describe", "list", NULL};
const char *const backed_names[] = {NULL,     "pending",  "creating", "ready",
				    "failed", "deleting", NULL};

/* An enum's names begin at 1, an err's words at 0. */
static const char *const scope_names[] = {NULL,      "request",  "object",
					  "flavor",  "zone",     "region",
					  "account", "provider", NULL};
static const char *const retry_names[] = {NULL,          "never",     "later",
					  "afterChange", "elsewhere", NULL};

#define AT(member) offsetof(struct reason, member)

const struct field reason_fields[] = {
	{"code", FIELD_STRING, FIELD_COLUMN, AT(code),
	 "What went wrong, in a word that does not change."},
	{"message", FIELD_STRING, 0, AT(message), "The same for people."},
	{"scope", FIELD_ENUM, 0, AT(scope), "Whose trouble it is.",
	 .names = scope_names},
	{"retry", FIELD_ENUM, 0, AT(retry), "What may help.",
	 .names = retry_names},
	{"waitsFor", FIELD_ENUM, 0, AT(waits_for),
	 "What has to happen before it is tried again.", .names = waits_names},
	{"retryAt", FIELD_TIME, 0, AT(retry_at), "When it is tried again."},
	{"failures", FIELD_INT, FIELD_SPARSE, AT(failures),
	 "How often, in a row."},
	{0},
};

const struct field reason_full_fields[] = {
	{.type = FIELD_INCLUDE, .fields = reason_fields},
	{"providerCode", FIELD_STRING, 0, AT(provider_code),
	 "The provider's own word for it."},
	{"providerMessage", FIELD_STRING, 0, AT(provider_message),
	 "What the provider said."},
	{0},
};

struct reason reason_from(const struct err *err, struct arena *a)
{
	struct reason r = {
		.code = err_name(err->code),
		.message = arena_strdup(a, err->msg),
		.scope = (int)err->scope + 1,
		.retry = (int)err->retry + 1,
	};

	if (err->provider_code[0])
		r.provider_code = arena_strdup(a, err->provider_code);
	if (err->provider_msg[0])
		r.provider_message = arena_strdup(a, err->provider_msg);
	return r;
}

#undef AT
#define AT(member) offsetof(struct backed, member)

const struct field backed_fields[] = {
	{"state", FIELD_ENUM, FIELD_STATE | FIELD_INDEX | FIELD_COLUMN,
	 AT(state), "Where it stands.", .names = backed_names},
	{"nativeState", FIELD_STRING, 0, AT(native),
	 "The provider's own word for its state."},
	{"providerId", FIELD_STRING, FIELD_WIDE, AT(provider),
	 "Its id at the provider."},
	{"reason", FIELD_OBJECT, 0, AT(reason),
	 "Why it is not as it is wanted.", .fields = reason_fields},
	{"observedGeneration", FIELD_INT, 0, AT(observed_generation),
	 "The generation that the provider has been told of.", .fallback = "0"},
	{"observedAt", FIELD_TIME, 0, AT(observed_at),
	 "When the provider was last asked."},
	{"deadline", FIELD_TIME, 0, AT(deadline),
	 "When this state is given up at the latest."},
	{0},
};
