/* sqlite_secrets - which keys the secrets in the log are sealed with. */
#include <string.h>

#include "base/field_seal.h"
#include "base/json.h"
#include "model/kind.h"
#include "store/line.h"
#include "store/sqlite.h"
#include "store/sqlite_priv.h"

#define TREE_MOST ((size_t)1 << 30)

static void count(struct secret_use *use, const char *id)
{
	size_t i = 0;

	while (i < use->n && strcmp(use->keys[i].id, id) != 0)
		i++;
	if (i == SEAL_KEYS_MOST)
		return;
	if (i == use->n) {
		memcpy(use->keys[i].id, id, SEAL_ID_LEN + 1);
		use->keys[i].count = 0;
		use->n++;
	}
	use->keys[i].count++;
}

static int look_at(void *ctx, const char *path, const struct node *value,
		   struct buf *out, struct err *err)
{
	struct secret_use *use = ctx;

	(void)path;
	(void)out;
	(void)err;
	if (node_type(value) == NODE_STRING) {
		char id[SEAL_ID_LEN + 1];
		size_t len;
		const char *text = node_string(value, &len);

		if (seal_is(text, len, id)) {
			count(use, id);
			return 0;
		}
	}
	use->plain++;
	return 0;
}

static int look_at_line(const struct line *l, struct secret_use *use,
			struct err *err)
{
	const struct kind *k = kind_find(l->kind);
	struct field_open how = {look_at, use};
	struct arena a;
	struct node *doc;
	int r = 0;

	if (l->type != '+' || !k)
		return 0;
	arena_init(&a, TREE_MOST);
	doc = json_parse(l->json, l->len, &a, err);
	if (!doc || field_open_sealed(k->fields, doc, &a, &how, err) < 0)
		r = -1;
	arena_release(&a);
	return r;
}

static int look_at_rows(sqlite3 *db, struct secret_use *use, struct err *err)
{
	sqlite3_stmt *st;
	int rc, r = 0;

	if (sqlite3_prepare_v2(db, "SELECT data FROM log ORDER BY revision", -1,
			       &st, NULL) != SQLITE_OK)
		return sqlite_err(db, err, "secrets");
	while (r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *p = sqlite3_column_blob(st, 0), *end;
		struct line l;

		if (!p) /* an empty row */
			continue;
		end = p + sqlite3_column_bytes(st, 0);
		while ((r = line_read(&p, end, &l, err)) > 0)
			if (look_at_line(&l, use, err) < 0) {
				r = -1;
				break;
			}
	}
	if (r == 0 && rc != SQLITE_DONE)
		r = sqlite_err(db, err, "secrets");
	sqlite3_finalize(st);
	return r;
}

int sqlite_secret_use(const char *dir, struct secret_use *ret, struct err *err)
{
	char path[4096];
	sqlite3 *db = NULL;
	int version, r;

	*ret = (struct secret_use){0};
	if (sqlite_path(dir, SQLITE_FILE, path, err) < 0)
		return -1;
	r = sqlite_open_quietly(path, SQLITE_OPEN_READWRITE, &db, err);
	if (r == 0)
		r = sqlite_check_ours(db, path, &version, err);
	if (r == 0 && version)
		r = look_at_rows(db, ret, err);
	sqlite3_close(db);
	return r;
}
