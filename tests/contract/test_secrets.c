/* Secret fields, on every backend: sealed wherever they are kept, readable with
 * their keys alone, and moved to new keys while nobody notices. */
#include <dirent.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/seal.h"
#include "rig/rig.h"
#include "store/memory.h"
#include "store/store_priv.h"
#include "test.h"

static const char old_key[] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
static const char new_key[] = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

#define SECRET "hunter2-is-a-secret"

static struct keyring *ring(const char *first, const char *second)
{
	struct keyring *k = keyring_new();
	struct err err = {0};

	CHECK(keyring_read(k, first, strlen(first), &err) == 0);
	if (second)
		CHECK(keyring_read(k, second, strlen(second), &err) == 0);
	return k;
}

/* Everything that ever came to the memory's disk. */
static void tap(void *ctx, const struct row *row)
{
	buf_add(ctx, row->data, row->len);
}

static bool file_has(const char *path, const char *text)
{
	struct buf b = BUF_INIT((size_t)64 << 20);
	FILE *f = fopen(path, "re");
	char piece[4096];
	bool has;
	size_t n;

	while (f && (n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(&b, piece, n);
	if (f)
		fclose(f);
	has = b.len && memmem(b.data, b.len, text, strlen(text));
	buf_release(&b);
	return has;
}

static bool disk_has(struct rig *r, const struct buf *tapped, const char *text)
{
	DIR *d = r->dir[0] ? opendir(r->dir) : NULL;
	const struct dirent *e;
	bool has = strstr(buf_str(tapped), text);
	char path[512];

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", r->dir, e->d_name);
		has |= e->d_name[0] != '.' && file_has(path, text);
	}
	if (d)
		closedir(d);
	return has;
}

static void put(struct rig *r, unsigned i, const char *note)
{
	struct deed d = {0};
	char id[37], shelf[37];
	struct book book;

	deed_shelf(&d, shelves_id(shelf, 1, 1), "shelf");
	shelves_id(id, 2, i);
	book = book_of(id, id, shelf);
	book.note = note;
	deed_book(&d, &book);
	CHECK(deed_do(&d, r) == ERR_NONE);
}

static const char *note_of(const struct rig *r, unsigned i)
{
	struct record record;
	char id[37];

	if (!store_get(r->store, 0, &book_kind, shelves_id(id, 2, i), &record))
		return "nothing";
	CHECK(!memmem(record.json, record.len, "note", 4));
	return ((const struct book *)record.object)->note;
}

static void tick(struct rig *r, int n)
{
	while (n-- > 0) {
		store_expire(r->store);
		r->ops->settle(r);
	}
}

static void open_with(struct rig *r, const struct rig_ops *ops,
		      struct keyring *keys, struct buf *tapped)
{
	struct err err;

	rig_init(r, ops);
	r->conf.keys = keys;
	*tapped = BUF_INIT((size_t)16 << 20);
	if (rig_open(r, &err) < 0)
		CHECK(!err.msg[0]);
	if (r->disk)
		disk_tap(r->disk, tap, tapped);
}

static void no_secret_reaches_the_disk(const struct rig_ops *ops)
{
	struct keyring *keys = ring(old_key, NULL);
	struct buf tapped;
	struct rig r;

	open_with(&r, ops, keys, &tapped);
	put(&r, 1, SECRET);
	put(&r, 1, SECRET "-again");
	put(&r, 2, "sealed:00000000:looks-like-one-and-is-none-at-all-really");
	CHECK_STR(note_of(&r, 1), SECRET "-again");
	CHECK(!disk_has(&r, &tapped, SECRET));
	CHECK(disk_has(&r, &tapped, "sealed:"));
	rig_reopen(&r);
	CHECK_STR(note_of(&r, 1), SECRET "-again");
	CHECK_STR(note_of(&r, 2),
		  "sealed:00000000:looks-like-one-and-is-none-at-all-really");
	CHECK(!disk_has(&r, &tapped, SECRET));
	rig_release(&r);
	buf_release(&tapped);
	keyring_free(keys);
}

static void
without_the_key_nothing_opens_and_nothing_is_lost(const struct rig_ops *ops)
{
	struct keyring *keys = ring(old_key, NULL),
		       *wrong = ring(new_key, NULL);
	struct keyring *const bad[] = {NULL, wrong};
	struct buf tapped;
	struct rig r;

	open_with(&r, ops, keys, &tapped);
	put(&r, 1, SECRET);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct err err = {0};

		rig_close(&r);
		r.conf.keys = bad[i];
		CHECK(rig_open(&r, &err) < 0);
		r.store = NULL;
		CHECK(strstr(err.msg, keyring_id(keys, 0)) != NULL);
		CHECK(!strstr(err.msg, SECRET));
		r.conf.keys = keys;
		CHECK(rig_open(&r, &err) == 0);
		CHECK_STR(note_of(&r, 1), SECRET);
	}
	rig_release(&r);
	buf_release(&tapped);
	keyring_free(keys);
	keyring_free(wrong);
}

/* Reopen with the new key alone: everything must be under it. */
static void check_moved(struct rig *r, unsigned n)
{
	struct keyring *keys = ring(new_key, NULL);
	struct err err = {0};

	rig_close(r);
	r->conf.keys = keys;
	if (rig_open(r, &err) < 0) {
		CHECK(!err.msg[0]);
		r->store = NULL;
	} else {
		for (unsigned i = 0; i < n; i++)
			CHECK_STR(note_of(r, i), SECRET);
	}
	rig_release(r);
	keyring_free(keys);
}

static void a_running_store_moves_to_a_new_key(const struct rig_ops *ops)
{
	struct keyring *keys = ring(old_key, NULL);
	struct keyring *both = ring(new_key, old_key);
	struct deed gone = {0};
	struct buf tapped;
	struct rig r;
	char id[37];

	open_with(&r, ops, keys, &tapped);
	for (unsigned i = 0; i < 700; i++)
		put(&r, i, SECRET);
	put(&r, 900, SECRET);
	deed_delete(&gone, &book_kind, shelves_id(id, 2, 900));
	CHECK(deed_do(&gone, &r) == ERR_NONE);
	store_set_keys(r.store, both);
	keyring_free(keys);
	put(&r, 3, SECRET);
	tick(&r, 12);
	CHECK_STR(note_of(&r, 5), SECRET);
	check_moved(&r, 700);
	CHECK(!strstr(buf_str(&tapped), SECRET));
	buf_release(&tapped);
	keyring_free(both);
}

static void the_next_start_moves_to_a_new_key(const struct rig_ops *ops)
{
	struct keyring *keys = ring(old_key, NULL);
	struct keyring *both = ring(new_key, old_key);
	struct buf tapped;
	struct rig r;

	open_with(&r, ops, keys, &tapped);
	for (unsigned i = 0; i < 300; i++)
		put(&r, i, SECRET);
	r.conf.keys = both;
	rig_reopen(&r);
	tick(&r, 4);
	check_moved(&r, 300);
	buf_release(&tapped);
	keyring_free(keys);
	keyring_free(both);
}

static void what_was_not_sealed_becomes_so(const struct rig_ops *ops)
{
	struct keyring *keys = ring(new_key, NULL);
	struct buf tapped;
	struct rig r;

	open_with(&r, ops, NULL, &tapped);
	put(&r, 0, SECRET);
	CHECK(disk_has(&r, &tapped, SECRET));
	r.conf.keys = keys;
	rig_reopen(&r);
	tick(&r, 2);
	r.conf.keys = NULL;
	rig_close(&r);
	CHECK(rig_open(&r, &(struct err){0}) < 0);
	r.store = NULL;
	r.conf.keys = keys;
	CHECK(rig_open(&r, &(struct err){0}) == 0);
	check_moved(&r, 1);
	buf_release(&tapped);
	keyring_free(keys);
}

/* A full disk while secrets are moved: they stay readable, and move later. */
static void moving_survives_failures(const struct rig_ops *ops)
{
	struct keyring *keys = ring(old_key, NULL);
	struct keyring *both = ring(new_key, old_key);
	struct buf tapped;
	struct rig r;

	open_with(&r, ops, keys, &tapped);
	for (unsigned i = 0; i < 20; i++)
		put(&r, i, SECRET);
	store_set_keys(r.store, both);
	ops->fill(&r, true);
	tick(&r, 2);
	ops->fill(&r, false);
	put(&r, 1, SECRET);
	tick(&r, 2);
	check_moved(&r, 20);
	buf_release(&tapped);
	keyring_free(keys);
	keyring_free(both);
}

int main(void)
{
	RUN_ON_ALL(no_secret_reaches_the_disk);
	RUN_ON_ALL(without_the_key_nothing_opens_and_nothing_is_lost);
	RUN_ON_ALL(a_running_store_moves_to_a_new_key);
	RUN_ON_ALL(the_next_start_moves_to_a_new_key);
	RUN_ON_ALL(what_was_not_sealed_becomes_so);
	RUN_ON_ALL(moving_survives_failures);
	return test_done();
}
