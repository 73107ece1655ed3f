/* What a libvirt of our process that was killed has left. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider/libvirt/embed.h"
#include "test.h"

static struct arena arena;

static void make(const char *path)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		abort();
}

/* A process that has FOLDER/REST among its arguments, and would stay. */
static pid_t start(const char *folder, const char *rest)
{
	const char *word = arena_join(&arena, folder, rest, NULL);
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "read x", word, (char *)NULL);
		_exit(1);
	}
	return pid;
}

/* Its arguments are there once it is another program. */
static void await_args(pid_t pid, const char *word)
{
	char line[4096] = "";

	for (int i = 0; i < 1000; i++) {
		FILE *f = fopen(
			arena_printf(&arena, "/proc/%d/cmdline", (int)pid),
			"r");
		size_t n = f ? fread(line, 1, sizeof(line), f) : 0;

		if (f)
			fclose(f);
		if (n && memmem(line, n, word, strlen(word)))
			return;
		usleep(1000);
	}
	CHECK(!"it did not start");
}

static void probes_of_a_killed_process_are_ended(void)
{
	char folder[] = "/tmp/muster-embed-XXXXXX";
	const char *lib, *qemu, *talk;
	struct host h = {0};
	pid_t probe, machine;
	int status, hold[2];

	CHECK(mkdtemp(folder) && pipe(hold) == 0 && dup2(hold[0], 0) == 0);
	lib = arena_join(&arena, folder, "/lib", NULL);
	qemu = arena_join(&arena, lib, "/qemu", NULL);
	talk = arena_join(&arena, qemu, "/qmp-ABC123", NULL);
	make(lib);
	make(qemu);
	make(talk);
	fclose(fopen(arena_join(&arena, talk, "/qmp.pid", NULL), "w"));
	probe = start(folder, "/lib/qemu/qmp-ABC123/qmp.pid");
	machine = start(folder, "/lib/qemu/domain-1-muster/monitor.sock");
	await_args(probe, "qmp-ABC123");
	await_args(machine, "domain-1");

	h.folder = folder;
	embed_sweep(&h);
	CHECK(waitpid(probe, &status, 0) == probe && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGKILL);
	CHECK(waitpid(machine, &status, WNOHANG) == 0);
	CHECK(access(talk, F_OK) < 0 && errno == ENOENT);
	kill(machine, SIGKILL);
	waitpid(machine, &status, 0);
	CHECK(rmdir(qemu) == 0 && rmdir(lib) == 0 && rmdir(folder) == 0);
}

int main(void)
{
	arena_init(&arena, (size_t)1 << 20);
	RUN(probes_of_a_killed_process_are_ended);
	arena_release(&arena);
	return test_done();
}
