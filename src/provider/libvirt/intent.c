#include "provider/libvirt/intent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/file.h"

#define FOLDER "/launches"

static bool keeps(const struct lv *lv)
{
	return lv->folder && !lv_embedded(lv);
}

static int wrong(const char *path, struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE, "%s: %s", path, strerror(errno));
}

static int sync_folder(const char *path, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? wrong(path, err) : 0;
}

/* Written under another name first: half of a name would be another host's. */
static int write_at(const char *path, const char *folder, const char *text,
		    bool sync, struct err *err)
{
	char new[PATH_MAX];
	size_t len = strlen(text);
	auto_close int fd = -1;

	if (snprintf(new, sizeof(new), "%s.new", path) >= (int)sizeof(new))
		return err_set(err, ERR_INTERNAL, "the path is too long");
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len ||
	    (sync && fsync(fd) < 0) || rename(new, path) < 0)
		return wrong(new, err);
	return sync ? sync_folder(folder, err) : 0;
}

static bool path_of(const struct lv *lv, const char *uuid, char *folder,
		    char *path)
{
	return snprintf(folder, PATH_MAX, "%s" FOLDER, lv->folder) < PATH_MAX &&
	       snprintf(path, PATH_MAX, "%s" FOLDER "/%s", lv->folder, uuid) <
		       PATH_MAX;
}

int intent_write(const struct lv *lv, const char *uuid, const struct host *h,
		 struct err *err)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (!keeps(lv))
		return 0;
	if (!path_of(lv, uuid, folder, path))
		return err_set(err, ERR_INTERNAL, "the path is too long");
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return wrong(folder, err);
	return write_at(path, folder, h->name, lv->n_hosts > 1, err);
}

enum intent intent_read(const struct lv *lv, const char *uuid,
			struct host **ret)
{
	char folder[PATH_MAX], path[PATH_MAX], name[64];
	auto_close int fd = -1;
	ssize_t n;

	*ret = NULL;
	if (!keeps(lv) || !path_of(lv, uuid, folder, path))
		return INTENT_UNKNOWN;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? INTENT_NONE : INTENT_UNKNOWN;
	n = read(fd, name, sizeof(name) - 1);
	if (n < 0)
		return INTENT_UNKNOWN;
	name[n] = '\0';
	for (size_t i = 0; i < lv->n_hosts; i++)
		if (strcmp(lv->hosts[i]->name, name) == 0)
			*ret = lv->hosts[i];
	return INTENT_HOST;
}

void intent_drop(const struct lv *lv, const char *uuid)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (keeps(lv) && path_of(lv, uuid, folder, path))
		unlink(path);
}

/* One of the same folder, called as the machine would be. */
static const char *left_path(const struct host *h, const char *uuid,
			     struct arena *a)
{
	return arena_join(a, h->lv->folder, FOLDER "/",
			  host_machine_id(h, uuid, a), NULL);
}

void intent_leave(const struct host *h, const char *uuid, struct arena *a)
{
	int fd = keeps(h->lv) ? open(left_path(h, uuid, a),
				     O_WRONLY | O_CREAT | O_CLOEXEC, 0600)
			      : -1;

	if (fd >= 0)
		close(fd);
}

void intent_left_none(const struct host *h, const char *uuid, struct arena *a)
{
	if (keeps(h->lv))
		unlink(left_path(h, uuid, a));
}

void intent_each(struct lv *lv, struct arena *a, intent_fn *fn)
{
	struct items names = {0};
	const char *const *name;
	struct err none;

	if (!keeps(lv) || file_names(arena_join(a, lv->folder, FOLDER, NULL), a,
				     &names, &none) < 0)
		return;
	name = names.at;
	for (size_t i = 0; i < names.n; i++) {
		char uuid[VIR_UUID_STRING_BUFLEN];
		struct host *h;
		bool other;

		if (uuid_valid(name[i], strlen(name[i]))) {
			memcpy(uuid, name[i], sizeof(uuid));
			intent_read(lv, uuid, &h);
		} else {
			h = host_of_machine(lv, name[i], uuid, &other);
		}
		if (h)
			fn(h, uuid);
	}
}
