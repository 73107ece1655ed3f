#include "provider/libvirt/embed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "provider/libvirt/driver.h"

/* The longest path of a socket that libvirt makes in its folder. */
#define LONGEST                                                                \
	"/lib/qemu/channel/target/domain-99999-muster-01234567-0123/"          \
	"org.qemu.guest_agent.0"
enum { SOCKET_PATH_MOST = 107 };

static int wrong(const char *what, const char *path, struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE, "%s %s: %s", what, path,
		       strerror(errno));
}

static int make_folder(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return wrong("make the folder", path, err);
	return 0;
}

/* There is no virtlogd to write what machines say; and whose files were before
 * they were QEMU's need not be remembered: they were ours. */
static const char settings[] =
	"# Made by muster when it was not there; yours to change.\n"
	"stdio_handler = \"file\"\n"
	"remember_owner = 0\n";

static int write_settings(const char *path, struct err *err)
{
	auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ssize_t n = (ssize_t)sizeof(settings) - 1;

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0 || write(fd, settings, (size_t)n) != n)
		return wrong("write", path, err);
	return 0;
}

/* QEMU runs as a user of its own, who must be able to come here.  What else is
 * in the data folder it cannot read. */
static void let_pass(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && st.st_uid == geteuid() &&
	    !(st.st_mode & S_IXOTH))
		chmod(path, (st.st_mode & 07777) | S_IXOTH);
}

/* Where the link is: nobody else may write there. */
static int runtime(struct arena *a, const char **ret, struct err *err)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (geteuid() == 0)
		dir = "/run/muster";
	else if (!dir || dir[0] != '/')
		dir = arena_printf(a, "/tmp/muster-%u", (unsigned)geteuid());
	if (make_folder(dir, geteuid() == 0 ? 0755 : 0700, err) < 0)
		return -1;
	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_mode & S_IWOTH)
		return err_set(err, ERR_UNAVAILABLE,
			       "%s is not a folder of ours alone", dir);
	*ret = dir;
	return 0;
}

static bool links_to(const char *path, const char *folder)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	if (n < 0)
		return false;
	to[n] = '\0';
	return strcmp(to, folder) == 0;
}

static int make_link(const char *folder, struct arena *a, const char **ret,
		     struct err *err)
{
	unsigned char sum[DIGEST_SHA256_LEN];
	const char *dir = NULL, *path;
	char name[9];

	if (runtime(a, &dir, err) < 0)
		return -1;
	digest_sha256(folder, strlen(folder), sum);
	digest_hex(sum, 4, name);
	path = arena_join(a, dir, "/m", name, NULL);
	if (!links_to(path, folder)) {
		unlink(path);
		if (symlink(folder, path) < 0 && !links_to(path, folder))
			return wrong("make the link", path, err);
	}
	if (strlen(path) + strlen(LONGEST) > SOCKET_PATH_MOST)
		return err_set(err, ERR_INVALID,
			       "%s is too long for the sockets in it", path);
	*ret = path;
	return 0;
}

int embed_prepare(struct host *h, struct err *err)
{
	struct arena *a = &h->lv->arena;
	const char *etc = arena_join(a, h->folder, "/etc", NULL);
	const char *link = NULL;

	if (make_folder(h->folder, 0711, err) < 0 ||
	    make_folder(etc, 0711, err) < 0)
		return -1;
	if (geteuid() == 0 && h->lv->conf->folder)
		let_pass(h->lv->conf->folder);
	let_pass(h->folder);
	if (write_settings(arena_join(a, etc, "/qemu.conf", NULL), err) < 0 ||
	    make_link(h->folder, a, &link, err) < 0)
		return -1;
	h->uri = arena_join(a, "qemu:///embed?root=", link, NULL);
	return 0;
}
