#include "provider/libvirt/embed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/shorter.h"

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

int embed_prepare(struct host *h, struct err *err)
{
	struct arena *a = &h->lv->arena;
	const char *etc = arena_join(a, h->folder, "/etc", NULL);
	const char *link = h->folder;

	if (make_folder(h->folder, 0711, err) < 0 ||
	    make_folder(etc, 0711, err) < 0)
		return -1;
	if (geteuid() == 0 && h->lv->conf->folder)
		let_pass(h->lv->conf->folder);
	let_pass(h->folder);
	if (write_settings(arena_join(a, etc, "/qemu.conf", NULL), err) < 0 ||
	    shorter(h->folder, a, &link, err) < 0)
		return -1;
	if (link != h->folder)
		h->uri = arena_join(a, "qemu:///embed?root=", link, NULL);
	return 0;
}

static ssize_t read_args(pid_t pid, char *out, size_t room)
{
	auto_close int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -1 : read(fd, out, room);
}

/* End PID when NEEDLE is in its arguments; not whoever gets its number after
 * that. */
static void end_if(pid_t pid, const char *needle)
{
	auto_close int fd = pidfd_open(pid, 0);
	char words[8192];
	ssize_t n = fd < 0 ? -1 : read_args(pid, words, sizeof(words));

	if (n > 0 && memmem(words, (size_t)n, needle, strlen(needle)))
		pidfd_send_signal(fd, SIGKILL, NULL, 0);
}

static void end_all(const char *needle)
{
	struct dirent **all;
	int n = scandir("/proc", &all, NULL, alphasort);

	if (n < 0)
		return;
	for (int i = 0; i < n; i++) {
		long pid = strtol(all[i]->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			end_if((pid_t)pid, needle);
		free(all[i]);
	}
	free(all);
}

static int is_talk(const struct dirent *e)
{
	return strncmp(e->d_name, "qmp-", 4) == 0;
}

/* libvirt's folders for talking to them: a socket and a number each. */
static void remove_talks(const char *place, struct arena *a)
{
	struct dirent **all;
	int n = scandir(place, &all, is_talk, alphasort);

	if (n < 0)
		return;
	for (int i = 0; i < n; i++) {
		const char *one =
			arena_join(a, place, "/", all[i]->d_name, NULL);

		unlink(arena_join(a, one, "/qmp.monitor", NULL));
		unlink(arena_join(a, one, "/qmp.pid", NULL));
		rmdir(one);
		free(all[i]);
	}
	free(all);
}

void embed_sweep(const struct host *h)
{
	const char *name;
	struct err err = {0};
	struct arena a;

	arena_init(&a, (size_t)1 << 20);
	if (shorter(h->folder, &a, &name, &err) == 0)
		end_all(arena_join(&a, name, "/lib/qemu/qmp-", NULL));
	remove_talks(arena_join(&a, h->folder, "/lib/qemu", NULL), &a);
	arena_release(&a);
}
