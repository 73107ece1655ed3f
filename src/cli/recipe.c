#include "cli/recipe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/mem.h"
#include "cli/terminal.h"

const char *const recipe_names[] = {"tiny", "debian", NULL};

enum { LINE_MOST = 4096, LOG_SHOWN = 4096, NICE_MODE = 0711 };

/* One under way. */
struct making {
	const struct recipe *recipe;
	struct arena *arena;
	const char *folder; /* its own, with the scripts in "recipe", the log,
			     * and "work", where it runs */
	const char *part;   /* the image, until it is whole */
	pid_t pid;
	int from; /* what it tells */
	bool interrupted;
	struct buf line;
	char *failed; /* what it said it failed of, or NULL */
	struct node *spec;
};

static int no_file(const char *path, struct err *err)
{
	return err_set(err, ERR_PROVIDER, "cannot write %s: %s", path,
		       strerror(errno));
}

static int write_file(const char *path, const char *bytes, size_t len,
		      struct err *err)
{
	auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	while (fd >= 0 && len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			break;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return fd < 0 || len ? no_file(path, err) : 0;
}

/* Other users may look for what they were told of, which mmdebstrap needs when
 * it works with ids that are not ours. */
static int make_folder(const char *path, struct err *err)
{
	if ((mkdir(path, NICE_MODE) < 0 && errno != EEXIST) ||
	    chmod(path, NICE_MODE) < 0)
		return no_file(path, err);
	return 0;
}

static int write_scripts(struct making *m, struct err *err)
{
	for (const struct recipe_file *f = recipe_files; f->path; f++) {
		char *path = arena_printf(m->arena, "%s/recipe/%s", m->folder,
					  f->path);
		char *slash = strrchr(path, '/');

		*slash = '\0';
		if (make_folder(path, err) < 0)
			return -1;
		*slash = '/';
		if (write_file(path, f->bytes, f->len, err) < 0)
			return -1;
	}
	return 0;
}

/* The script runs elsewhere, so the way to its image begins at the root. */
static int make_part(struct making *m, struct err *err)
{
	const char *to = m->recipe->to;
	char *here = *to == '/' ? NULL : getcwd(NULL, 0);
	int fd;

	m->part = here ? arena_join(m->arena, here, "/", to, ".part", NULL)
		       : arena_join(m->arena, to, ".part", NULL);
	free(here);
	fd = open(m->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		m->part = NULL;
		return no_file(to, err);
	}
	close(fd);
	return 0;
}

static int prepare(struct making *m, struct err *err)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = arena_printf(m->arena, "%s/muster-image-XXXXXX",
				    tmp && *tmp ? tmp : "/var/tmp");

	if (make_part(m, err) < 0)
		return -1;
	if (!mkdtemp(folder))
		return no_file(folder, err);
	m->folder = folder;
	if (make_folder(folder, err) < 0 ||
	    make_folder(arena_join(m->arena, folder, "/work", NULL), err) < 0)
		return -1;
	return write_scripts(m, err);
}

/* What there is, and what the script is given. */
static char **environment(struct making *m)
{
	char **env;
	size_t n = 0;

	while (environ[n])
		n++;
	env = arena_alloc(m->arena, (n + 4) * sizeof(*env));
	env[0] = arena_printf(m->arena, "recipe=%s/recipe", m->folder);
	env[1] = arena_printf(m->arena, "image=%s", m->part);
	env[2] = arena_strdup(m->arena, "LC_ALL=C.UTF-8");
	memcpy(env + 3, environ, (n + 1) * sizeof(*env));
	return env;
}

static int start(struct making *m, int to, struct err *err)
{
	char *argv[] = {(char[]){"sh"},
			arena_printf(m->arena, "%s/recipe/%s.sh", m->folder,
				     m->recipe->name),
			NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, most;
	int e;

	sigemptyset(&none);
	sigfillset(&most);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addchdir_np(
		&files, arena_join(m->arena, m->folder, "/work", NULL));
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, to, 1);
	posix_spawn_file_actions_addopen(
		&files, 2, arena_join(m->arena, m->folder, "/log", NULL),
		O_WRONLY | O_CREAT | O_APPEND, 0644);
	posix_spawn_file_actions_addclosefrom_np(&files, 3);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &most);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	e = posix_spawn(&m->pid, "/bin/sh", &files, &attr, argv,
			environment(m));
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	if (e)
		return err_set(err, ERR_PROVIDER, "cannot run /bin/sh: %s",
			       strerror(e));
	return 0;
}

static void set(struct making *m, struct node *n, const char *key,
		const char *text)
{
	node_set(m->arena, n, key,
		 node_new_string(m->arena, text, strlen(text)));
}

/* "user root": of the image's own fields, or of what is in it. */
static void take_fact(struct making *m, char *name)
{
	char *value = strchr(name, ' ');
	struct node *os = node_get(m->spec, "os");

	if (!value)
		return;
	*value++ = '\0';
	if (strcmp(name, "minDiskGiB") == 0)
		node_set(m->arena, m->spec, name,
			 node_new_int(m->arena, strtol(value, NULL, 10)));
	else if (strcmp(name, "user") == 0 || strcmp(name, "architecture") == 0)
		set(m, m->spec, name, value);
	else
		set(m, os, name, value);
}

static void take_line(struct making *m, char *line)
{
	if (strncmp(line, "step ", 5) == 0)
		m->recipe->step(m->recipe->ctx, line + 5);
	else if (strncmp(line, "fact ", 5) == 0)
		take_fact(m, line + 5);
	else if (strncmp(line, "fail ", 5) == 0 && !m->failed)
		m->failed = arena_strdup(m->arena, line + 5);
}

/* False once there will be no more. */
static bool hear(struct making *m)
{
	char part[512];
	ssize_t n = read(m->from, part, sizeof(part));

	for (ssize_t i = 0; i < n; i++) {
		if (part[i] != '\n') {
			buf_addc(&m->line, part[i]);
			continue;
		}
		if (m->line.len)
			take_line(m, m->line.data);
		buf_clear(&m->line);
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

/* Until it has said everything.  Whoever interrupts it has it clean up; whoever
 * does so twice does not. */
static void follow(struct making *m, struct terminal *t)
{
	struct pollfd fds[3] = {{.fd = m->from, .events = POLLIN}};
	char key;

	for (;;) {
		size_t n = 1 + terminal_polled(t, fds + 1);

		if (poll(fds, n, -1) < 0)
			continue;
		if (terminal_read(t, fds + 1, &key) == TERMINAL_STOP) {
			kill(-m->pid, m->interrupted ? SIGKILL : SIGTERM);
			m->interrupted = true;
		}
		if (fds[0].revents && !hear(m))
			return;
	}
}

/* The last of what its programs said. */
static void read_log(const struct making *m)
{
	const char *path = arena_join(m->arena, m->folder, "/log", NULL);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	char part[1024];
	ssize_t n;

	if (fd < 0 || !m->recipe->log)
		return;
	if (lseek(fd, -LOG_SHOWN, SEEK_END) < 0)
		lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, part, sizeof(part))) > 0)
		buf_add(m->recipe->log, part, (size_t)n);
}

static int run(struct making *m, struct err *err)
{
	int ends[2], rc, status = -1;
	struct terminal t;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_PROVIDER, "cannot make a pipe: %s",
			       strerror(errno));
	m->from = ends[0];
	terminal_open(&t);
	rc = start(m, ends[1], err);
	close(ends[1]);
	if (rc == 0) {
		follow(m, &t);
		while (waitpid(m->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	terminal_close(&t);
	close(m->from);
	if (rc < 0)
		return -1;
	if (m->failed)
		return err_set(err, ERR_PROVIDER, "%s", m->failed);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	read_log(m);
	return err_set(err, ERR_PROVIDER, "a program failed");
}

static int sum_up(const char *path, struct recipe_made *ret, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free char *part = xmalloc((size_t)1 << 20);
	unsigned char sum[DIGEST_SHA256_LEN];
	struct digest *d;
	ssize_t n;

	if (fd < 0)
		return err_set(err, ERR_PROVIDER, "cannot read %s: %s", path,
			       strerror(errno));
	d = digest_new();
	ret->bytes = 0;
	while ((n = read(fd, part, (size_t)1 << 20)) > 0) {
		digest_add(d, part, (size_t)n);
		ret->bytes += n;
	}
	digest_end(d, sum);
	digest_hex(sum, sizeof(sum), ret->sha256);
	return n < 0 ? err_set(err, ERR_PROVIDER, "cannot read %s: %s", path,
			       strerror(errno))
		     : 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path); /* what stays is told by nobody, and does no harm */
	return 0;
}

static int finish(const struct making *m, struct recipe_made *ret,
		  struct err *err)
{
	if (sum_up(m->part, ret, err) < 0)
		return -1;
	if (rename(m->part, m->recipe->to) < 0)
		return no_file(m->recipe->to, err);
	ret->spec = m->spec;
	return 0;
}

int recipe_make(const struct recipe *r, struct arena *a,
		struct recipe_made *ret, struct err *err)
{
	struct making m = {
		.recipe = r,
		.arena = a,
		.line = BUF_INIT(LINE_MOST),
		.spec = node_new_object(a),
	};
	int rc;

	set(&m, m.spec, "architecture", "x86_64");
	node_set(a, m.spec, "os", node_new_object(a));
	rc = prepare(&m, err);
	if (rc == 0)
		rc = run(&m, err);
	if (rc == 0)
		rc = finish(&m, ret, err);
	if (rc < 0 && m.part)
		unlink(m.part);
	if (m.folder)
		nftw(m.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	buf_release(&m.line);
	if (m.interrupted)
		terminal_interrupt();
	return rc;
}
