/*
 * scratch - the folder of a test of real machines, of which nothing is left: not
 * when it ends, and not when it is told to because it is out of time.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

static char scratch[] = "/tmp/muster-libvirt-XXXXXX";

/* Whatever is left running of an embedded libvirt, of a region called "r":
 * machines outlive who began them. */
static inline void scratch_end_guests(void)
{
	char path[512], text[32];
	struct dirent *entry;
	DIR *d;

	snprintf(path, sizeof(path), "%s/libvirt-r/run/qemu", scratch);
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		int fd = strncmp(entry->d_name, "muster-", 7) == 0 &&
					 strstr(entry->d_name, ".pid")
				 ? openat(dirfd(d), entry->d_name,
					  O_RDONLY | O_CLOEXEC)
				 : -1;
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

		text[n > 0 ? n : 0] = '\0';
		if (strtol(text, NULL, 10) > 1)
			kill((pid_t)strtol(text, NULL, 10), SIGKILL);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

static inline int scratch_remove_one(const char *path, const struct stat *st,
				     int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void scratch_remove(void)
{
	scratch_end_guests();
	nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void *scratch_await(void *ctx)
{
	const sigset_t *set = ctx;
	int got;

	sigwait(set, &got);
	scratch_remove();
	_exit(1);
}

/* Make it, with an image of guest.h's in it: images/least.raw.  Before there are
 * other threads, as none may take the signal. */
static inline bool scratch_make(void)
{
	static sigset_t set;
	char path[64];
	pthread_t thread;

	if (!mkdtemp(scratch) || chmod(scratch, 0711) < 0)
		return false;
	atexit(scratch_remove);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, scratch_await, &set))
		return false;
	pthread_detach(thread);
	snprintf(path, sizeof(path), "%s/images", scratch);
	if (mkdir(path, 0755) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/images/least.raw", scratch);
	return guest_write(path);
}
