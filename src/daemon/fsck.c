#include "daemon/fsck.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/seal.h"
#include "daemon/secrets.h"
#include "identity/quota.h"
#include "loop/loop.h"
#include "store/backend.h"
#include "store/sqlite.h"
#include "store/store.h"
#include "store/verify.h"

#define TEXT_MOST ((size_t)64 << 20)

/* Everything of it is read, whatever its age and number. */
#define ALL_REVISIONS ((size_t)1 << 40)
#define ALL_AGES      ((int64_t)1 << 50)

struct checking {
	struct fsck_report *report;
	struct loop *loop;
	struct store *store;
	struct quota_sums *sums;
	struct keyring *keys;
};

static void tell(void *ctx, const char *what)
{
	struct fsck_report *r = ctx;

	buf_addf(&r->text, "%s\n", what);
	r->differences++;
}

static int load(struct checking *c, const char *copy, const char *data,
		const char *key_file, struct err *err)
{
	struct store_conf conf = {.clock = &clock_system,
				  .random = &random_system,
				  .observe = quota_observe,
				  .log_revisions = ALL_REVISIONS,
				  .log_age_ms = ALL_AGES,
				  .log_bytes = SIZE_MAX / 2};
	struct backend *backend;

	c->loop = loop_new();
	c->sums = quota_sums_new();
	if (secrets_open(data, key_file, &c->keys, err) < 0 ||
	    sqlite_open(copy, c->loop, &backend, err) < 0)
		return -1;
	conf.observe_ctx = c->sums;
	conf.keys = c->keys;
	return store_open(&conf, backend, &c->store, err);
}

static void unload(struct checking *c)
{
	store_close(c->store);
	quota_sums_free(c->sums);
	keyring_free(c->keys);
	if (c->loop)
		loop_free(c->loop);
}

static int check(const char *copy, const char *data, const char *key_file,
		 struct fsck_report *ret, struct err *err)
{
	struct checking c = {.report = ret};
	struct audit_report trail;
	struct err wrong = {0};
	int r;

	if (sqlite_audit_verify(copy, NULL, &trail, &wrong) < 0) {
		buf_addf(&ret->text, "audit trail: %s\n", wrong.msg);
		ret->differences++;
	}
	r = load(&c, copy, data, key_file, err);
	if (r == 0) {
		ret->objects = store_verify(c.store, tell, ret);
		ret->differences +=
			quota_differences(c.sums, c.store, &ret->text);
		ret->differences += quota_breaches(c.sums, c.store, &ret->text);
	}
	unload(&c);
	return r;
}

/* DIR and whatever copying to it, or opening it, may have left there. */
static void remove_folder(const char *dir)
{
	static const char *const names[] = {"backup",
					    "backup.tmp",
					    "lock",
					    SQLITE_FILE,
					    SQLITE_FILE "-shm",
					    SQLITE_FILE "-wal",
					    SQLITE_FILE "-journal",
					    SQLITE_FILE ".restore"};
	char path[4096];

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static int copy_to(const char *data, const char *dir, struct err *err)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/backup", dir);
	if (sqlite_backup(data, file, err) < 0)
		return -1;
	if (sqlite_restore(file, dir, err) < 0)
		return -1;
	unlink(file);
	return 0;
}

/* The copy lies beside the original: as well guarded, and where there is
 * room. */
int fsck(const char *data, const char *key_file, struct fsck_report *ret,
	 struct err *err)
{
	char dir[4000];
	int n = snprintf(dir, sizeof(dir), "%s/fsck.XXXXXX", data);
	int r;

	*ret = (struct fsck_report){.text = BUF_INIT(TEXT_MOST)};
	if (n < 0 || (size_t)n >= sizeof(dir))
		return err_set(err, ERR_INVALID, "the path is too long: %s",
			       data);
	if (!mkdtemp(dir))
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot make a folder in %s: %s", data,
			       strerror(errno));
	r = copy_to(data, dir, err);
	if (r == 0)
		r = check(dir, data, key_file, ret, err);
	remove_folder(dir);
	return r;
}
