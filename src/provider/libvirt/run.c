#include "provider/libvirt/run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

enum { GLANCE_MS = 200, WORDS_MOST = 4096, ARGS_MOST = 31 };

/* What it complains of is kept up to a length, and read to its end. */
struct running {
	pid_t pid;
	int from; /* its standard error, not blocking */
	struct buf words;
};

static int start(const struct run *r, int to, pid_t *ret, struct err *err)
{
	char *env[] = {(char[]){"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
				"/usr/bin:/sbin:/bin"},
		       (char[]){"LC_ALL=C"}, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char *argv[ARGS_MOST + 1];
	sigset_t none, most;
	size_t n = 0;
	int e;

	while (r->argv[n])
		n++;
	assert(n <= ARGS_MOST);
	/* They are only read, whatever the call's type says. */
	memcpy(argv, r->argv, (n + 1) * sizeof(*argv));

	sigemptyset(&none);
	sigfillset(&most);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, to, 2);
	posix_spawn_file_actions_addclosefrom_np(&files, 3);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &most);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	e = posix_spawnp(ret, argv[0], &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	if (e)
		return err_set(err, ERR_UNAVAILABLE, "cannot run %s: %s",
			       r->argv[0], strerror(e));
	return 0;
}

/* False once there will be no more. */
static bool hear(struct running *g)
{
	char part[1024];
	ssize_t n;

	while ((n = read(g->from, part, sizeof(part))) > 0)
		buf_add(&g->words, part, (size_t)n);
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The last line that it said, without its name before it. */
static const char *last_words(struct running *g, const char *program)
{
	char *s = g->words.data, *line;
	size_t len = g->words.len, name = strlen(program);

	while (len && strchr("\r\n", s[len - 1]))
		s[--len] = '\0';
	if (!len)
		return "it did not say why";
	line = strrchr(s, '\n');
	line = line ? line + 1 : s;
	if (strncmp(line, program, name) == 0 &&
	    strncmp(line + name, ": ", 2) == 0)
		line += name + 2;
	return line;
}

/* It is there until it is waited for, so the number is still its own. */
static void end(struct running *g)
{
	kill(-g->pid, SIGKILL);
	kill(g->pid, SIGKILL);
}

static int follow(const struct run *r, struct running *g, struct err *err)
{
	uint64_t until = clock_mono(&clock_system) + r->timeout_ms;
	struct pollfd poll_for = {.fd = g->from, .events = POLLIN};

	do {
		if (r->stop && atomic_load(r->stop)) {
			end(g);
			return err_set(err, ERR_UNAVAILABLE, "%s was stopped",
				       r->argv[0]);
		}
		if (clock_mono(&clock_system) >= until) {
			end(g);
			return err_set(err, ERR_TIMEOUT,
				       "%s did not end in %u s", r->argv[0],
				       r->timeout_ms / 1000);
		}
		poll(&poll_for, 1, GLANCE_MS);
	} while (hear(g));
	return 0;
}

static int wait_for(struct running *g)
{
	int status = -1;

	while (waitpid(g->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int run(const struct run *r, struct err *err)
{
	struct running g = {.words = BUF_INIT(WORDS_MOST)};
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot run %s: %s",
			       r->argv[0], strerror(errno));
	g.from = ends[0];
	fcntl(g.from, F_SETFL, O_NONBLOCK);
	rc = start(r, ends[1], &g.pid, err);
	close(ends[1]);
	if (rc == 0) {
		int status;

		rc = follow(r, &g, err);
		status = wait_for(&g);
		if (rc == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
			rc = err_set(err, ERR_PROVIDER, "%s failed: %.200s",
				     r->argv[0], last_words(&g, r->argv[0]));
	}
	close(g.from);
	buf_release(&g.words);
	return rc;
}
