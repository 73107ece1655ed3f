#include "provider/libvirt/records.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "base/uuid.h"
#include "provider/libvirt/file.h"

#define RECORD_MOST ((size_t)64 << 10)
#define ARENA_MOST  ((size_t)1 << 20)

enum { RECORDS_MOST = 100000 };

int records_open(const struct records *r, struct err *err)
{
	if (mkdir(r->folder, 0711) < 0 && errno != EEXIST)
		return err_set(err, ERR_UNAVAILABLE, "mkdir %s: %s", r->folder,
			       strerror(errno));
	return 0;
}

const char *records_path(const struct records *r, const char *id,
			 const char *end, struct arena *a)
{
	return arena_join(a, r->folder, "/", id, ".", end, NULL);
}

static int read_into(const struct records *r, const struct buf *text,
		     struct arena *a, void *ret, struct err *err)
{
	void *record = arena_alloc(a, r->size);
	struct violations v;
	struct node *n = json_parse(buf_str(text), text->len, a, err);

	if (!n)
		return -1;
	violations_init(&v, a);
	field_decode(r->fields, n, FIELD_STORED, record, &v);
	if (v.n)
		return violations_err(&v, err);
	memcpy(ret, record, r->size);
	return 0;
}

int records_get(const struct records *r, const char *id, struct arena *a,
		void *ret, struct err *err)
{
	struct buf text = BUF_INIT(RECORD_MOST);
	int rc;

	if (!uuid_valid(id, strlen(id)))
		return err_set(err, ERR_NOT_FOUND, "there is no %.64s", id);
	rc = file_read(records_path(r, id, "json", a), &text, err);
	if (rc == 0 && read_into(r, &text, a, ret, err) < 0)
		rc = err_set(err, ERR_INTERNAL, "%s/%s.json is broken",
			     r->folder, id);
	buf_release(&text);
	if (rc < 0 && err->code == ERR_NOT_FOUND)
		err_set(err, ERR_NOT_FOUND, "there is no %s", id);
	return rc;
}

int records_put(const struct records *r, const char *id, const void *record,
		struct err *err)
{
	struct buf text = BUF_INIT(RECORD_MOST);
	const char *part;
	struct arena a;
	int rc;

	arena_init(&a, ARENA_MOST);
	part = records_path(r, id, "json.part", &a);
	field_encode(r->fields, record, FIELD_FULL, &text);
	unlink(part);
	rc = buf_ok(&text)
		     ? file_write(part, buf_str(&text), text.len, err)
		     : err_set(err, ERR_TOO_LARGE, "there is too much of it");
	if (rc == 0)
		rc = file_publish(part, records_path(r, id, "json", &a), err);
	arena_release(&a);
	buf_release(&text);
	return rc;
}

int records_remove(const struct records *r, const char *id, struct err *err)
{
	struct arena a;
	int rc = 0;

	if (!uuid_valid(id, strlen(id)))
		return 0;
	arena_init(&a, ARENA_MOST);
	unlink(records_path(r, id, "json.part", &a));
	if (unlink(records_path(r, id, "json", &a)) < 0 && errno != ENOENT)
		rc = err_set(err, ERR_UNAVAILABLE, "cannot remove %s: %s", id,
			     strerror(errno));
	arena_release(&a);
	return rc;
}

/* The UUID of "UUID.json"; NULL when it is something else. */
static const char *id_of(const char *name, struct arena *a)
{
	if (strlen(name) != UUID_LEN + 5 || !uuid_valid(name, UUID_LEN) ||
	    strcmp(name + UUID_LEN, ".json") != 0)
		return NULL;
	return arena_memdup(a, name, UUID_LEN);
}

int records_list(const struct records *r, struct arena *a, struct items *ret,
		 struct err *err)
{
	struct buf all = BUF_INIT(RECORDS_MOST * r->size);
	void *record = arena_alloc(a, r->size);
	struct items names;

	if (file_names(r->folder, a, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++) {
		const char *id = id_of(((const char **)names.at)[i], a);
		struct err gone = {0};

		if (id && records_get(r, id, a, record, &gone) == 0)
			buf_add(&all, record, r->size);
	}
	ret->n = all.len / r->size;
	ret->at = arena_alloc(a, all.len + 1);
	if (all.len)
		memcpy(ret->at, all.data, all.len);
	buf_release(&all);
	return 0;
}
