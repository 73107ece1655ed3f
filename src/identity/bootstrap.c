#include "identity/bootstrap.h"

#include <string.h>

#include "base/field_ops.h"
#include "identity/token.h"
#include "model/group.h"
#include "model/quota.h"
#include "model/role.h"
#include "model/serviceaccount.h"
#include "store/tx.h"

/* The roles that every installation has; those of an older version of the
 * program are brought up to date. */
static void fill_list(struct items *to, const char *const *words)
{
	union {
		const char *const *read;
		void *write;
	} list = {words};

	to->at = list.write;
	while (words && words[to->n])
		to->n++;
}

static int put_roles(struct tx *tx, struct err *err)
{
	for (size_t i = 0; i < n_built_in_roles; i++) {
		const struct built_in_role *b = &built_in_roles[i];
		struct role role = {
			.meta = {.id = b->id,
				 .name = b->name,
				 .description = b->description,
				 .generation = 1,
				 .created_by = "muster",
				 .updated_by = "muster",
				 .created_at = tx_time(tx),
				 .updated_at = tx_time(tx)},
			.built_in = true,
		};
		const struct role *old = tx_get(tx, &role_kind, b->id);

		fill_list(&role.platform, b->platform);
		fill_list(&role.organization, b->organization);
		fill_list(&role.project, b->project);
		if (old && !field_changed(role_kind.fields, old, &role))
			continue;
		if (tx_put(tx, &role_kind, &role, err) < 0)
			return -1;
	}
	return 0;
}

static int put_quotakinds(struct tx *tx, struct err *err)
{
	for (size_t i = 0; i < n_built_in_quotakinds; i++) {
		const struct built_in_quotakind *b = &built_in_quotakinds[i];
		struct quotakind k = {.meta = {.id = b->id,
					       .name = b->name,
					       .description = b->description,
					       .generation = 1,
					       .created_by = "muster",
					       .updated_by = "muster",
					       .created_at = tx_time(tx),
					       .updated_at = tx_time(tx)},
				      .unit = b->unit,
				      .fallback = b->fallback};

		/* An operator may have changed its default since. */
		if (!tx_get(tx, &quotakind_kind, b->id) &&
		    tx_put(tx, &quotakind_kind, &k, err) < 0)
			return -1;
	}
	return 0;
}

static void begin(struct tx *tx, struct meta *meta, const char *name,
		  const char *description)
{
	char id[37];

	tx_new_id(tx, id);
	*meta = (struct meta){.id = arena_strdup(tx_arena(tx), id),
			      .name = name,
			      .description = description,
			      .generation = 1,
			      .created_by = "muster",
			      .updated_by = "muster",
			      .created_at = tx_time(tx),
			      .updated_at = tx_time(tx)};
}

/* A service account with a token, in a group with all the rights. */
static int put_admin(struct tx *tx, const char *secret, struct err *err)
{
	struct serviceaccount account = {0};
	struct group group = {0};
	struct token token = {0};
	char digest[65];

	begin(tx, &account.meta, "admin", "Made at the first start.");
	begin(tx, &group.meta, "platform-administrators", "May do everything.");
	begin(tx, &token.meta, "admin", "Made at the first start.");
	group.service_account_ids = (struct items){&account.meta.id, 1};
	group.role_ids =
		(struct items){arena_memdup(tx_arena(tx), &built_in_roles[0].id,
					    sizeof(char *)),
			       1};
	token_digest(secret, strlen(secret), digest);
	token.digest = digest;
	token.service_account_id = account.meta.id;
	if (tx_put(tx, &serviceaccount_kind, &account, err) < 0 ||
	    tx_put(tx, &group_kind, &group, err) < 0)
		return -1;
	return tx_put(tx, &token_kind, &token, err);
}

int bootstrap(struct tx *tx, const char *secret, struct err *err)
{
	if (put_roles(tx, err) < 0 || put_quotakinds(tx, err) < 0)
		return -1;
	return secret ? put_admin(tx, secret, err) : 0;
}
