#include "cli/login.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/settings.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

static const char *const files[] = {"/key", "/key.pub", "/key-cert.pub",
				    "/known_hosts"};

bool login_is_plain(const char *s)
{
	return *s && *s != '-' &&
	       strspn(s, LETTERS DIGITS "._-:+") == strlen(s);
}

/* ssh gives a meaning to some characters in the names of files. */
static bool is_plain_path(const char *s)
{
	return s && s[0] == '/' &&
	       strspn(s, LETTERS DIGITS "/._-+:@=,") == strlen(s);
}

bool login_is_key_line(const char *s)
{
	size_t type = strspn(s, LETTERS DIGITS "-@.");
	size_t key =
		s[type] == ' ' ? strspn(s + type + 1, LETTERS DIGITS "+/=") : 0;

	return type && key && !strpbrk(s, "\r\n") &&
	       (s[type + 1 + key] == '\0' || s[type + 1 + key] == ' ');
}

static int make_own(struct login *l, const char *parent, struct arena *a,
		    struct err *err)
{
	char *path = arena_printf(a, "%s/muster-ssh-XXXXXX", parent);

	if (!mkdtemp(path))
		return err_set(err, ERR_INVALID, "%s: %s", path,
			       strerror(errno));
	l->folder = path;
	return 0;
}

/* Beside the settings: each part of the way, then the instance's. */
static int make_lasting(struct login *l, struct arena *a, struct err *err)
{
	const char *settings = settings_path(a);
	char *path;

	if (!settings)
		return err_set(err, ERR_INVALID,
			       "there is no home to keep a key in");
	path = arena_printf(a, "%.*s/ssh/%s",
			    (int)(strrchr(settings, '/') - settings), settings,
			    l->id);
	if (!is_plain_path(path))
		return err_set(err, ERR_INVALID,
			       "ssh would not read the name %s as it is", path);
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, ERR_INVALID, "%s: %s", path,
			       strerror(errno));
	l->folder = path;
	return 0;
}

int login_make_folder(struct login *l, struct arena *a, struct err *err)
{
	const char *of_session = getenv("XDG_RUNTIME_DIR");

	if (l->stays)
		return make_lasting(l, a, err);
	if (is_plain_path(of_session) && make_own(l, of_session, a, err) == 0)
		return 0;
	return make_own(l, "/tmp", a, err);
}

static void remove_files(const struct login *l)
{
	char path[4096];

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		snprintf(path, sizeof(path), "%s%s", l->folder, files[i]);
		(void)unlink(path);
	}
}

void login_release(struct login *l)
{
	if (!l->folder || l->stays)
		return;
	remove_files(l);
	(void)rmdir(l->folder);
	l->folder = NULL;
}

int login_write(const char *path, const char *text, struct err *err)
{
	size_t len = strlen(text);
	auto_close int fd = -1;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len ||
	    (len && text[len - 1] != '\n' && write(fd, "\n", 1) != 1))
		return err_set(err, ERR_INVALID, "%s: %s", path,
			       strerror(errno));
	return 0;
}

int login_write_known(struct login *l, struct arena *a, struct err *err)
{
	size_t type, key;

	if (!l->host_key)
		return 0;
	type = strcspn(l->host_key, " ");
	key = strcspn(l->host_key + type + 1, " ");
	l->known = arena_join(a, l->folder, "/known_hosts", NULL);
	return login_write(l->known,
			   arena_printf(a, "muster-%s %.*s", l->id,
					(int)(type + 1 + key), l->host_key),
			   err);
}

/* What the parent does not heed, the child does. */
static int spawn(const char *const *argv, bool quiet, const sigset_t *mask,
		 pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t heeded;
	size_t n = 0;
	char **copy;
	int r;

	/* They are not written to, though the call's type does not say so. */
	while (argv[n])
		n++;
	copy = xcalloc(n + 1, sizeof(*copy));
	memcpy(copy, argv, n * sizeof(*copy));

	sigemptyset(&heeded);
	sigaddset(&heeded, SIGINT);
	sigaddset(&heeded, SIGQUIT);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &heeded);
	posix_spawnattr_setsigmask(&attr, mask);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	if (quiet)
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null",
						 O_RDONLY, 0);
	r = posix_spawnp(ret, argv[0], &actions, &attr, copy, environ);
	free(copy);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return r;
}

/* Signals that end us end the child, and then we clean up; when it stops, so do
 * we, so that the shell comes back. */
static int await(pid_t pid, const sigset_t *set)
{
	int status = 0;

	for (;;) {
		siginfo_t info;
		pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);

		if (got == pid && WIFSTOPPED(status)) {
			kill(getpid(), SIGSTOP);
			kill(pid, SIGCONT);
			continue;
		}
		if (got == pid || (got < 0 && errno != EINTR))
			break;
		if (sigwaitinfo(set, &info) > 0 && info.si_signo != SIGCHLD)
			kill(pid, info.si_signo);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

/* Run ARGV to its end; -1 when it cannot be run. */
static int run(const char *const *argv, bool quiet, int *ret, struct err *err)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, on_int, on_quit;
	sigset_t set, before;
	pid_t pid;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	sigaction(SIGINT, &ignore, &on_int);
	sigaction(SIGQUIT, &ignore, &on_quit);
	r = spawn(argv, quiet, &before, &pid);
	if (r == 0)
		*ret = await(pid, &set);
	sigaction(SIGINT, &on_int, NULL);
	sigaction(SIGQUIT, &on_quit, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r == 0)
		return 0;
	return err_set(err, ERR_INVALID, "cannot run %s: %s", argv[0],
		       r == ENOENT ? "OpenSSH's client is needed, and is not "
				     "installed here"
				   : strerror(r));
}

int login_make_key(struct login *l, struct arena *a, struct err *err)
{
	const char *const argv[] = {
		"ssh-keygen", "-q",
		"-t",         "ed25519",
		"-N",         "",
		"-C",         "muster",
		"-f",         arena_join(a, l->folder, "/key", NULL),
		NULL,
	};
	int status = -1;

	remove_files(l);
	l->key = argv[9];
	if (run(argv, true, &status, err) < 0)
		return -1;
	return status == 0 ? 0
			   : err_set(err, ERR_INVALID,
				     "ssh-keygen made no key: it exited with "
				     "%d",
				     status);
}

/* One line of a configuration, or one option. */
struct setting {
	const char *name, *value;
};

enum { SETTINGS_MOST = 16 };

/* All that it takes, the same for both ways. */
static size_t settings_of(const struct login *l, struct setting to[])
{
	size_t n = 0;

	to[n++] = (struct setting){"StrictHostKeyChecking",
				   l->known ? "yes" : "accept-new"};
	if (l->known) {
		to[n++] = (struct setting){"UserKnownHostsFile", l->known};
		to[n++] = (struct setting){"GlobalKnownHostsFile", "/dev/null"};
		to[n++] = (struct setting){"UpdateHostKeys", "no"};
		to[n++] = (struct setting){"VerifyHostKeyDNS", "no"};
	}
	to[n++] = (struct setting){"CheckHostIP", "no"};
	/* A published port is another's tomorrow. */
	to[n++] = (struct setting){"ControlPath", "none"};
	if (l->certificate)
		to[n++] = (struct setting){"CertificateFile", l->certificate};
	if (l->key) {
		to[n++] = (struct setting){"IdentitiesOnly", "yes"};
		/* With that key or not at all; other ways ask people, or
		 * whoever tells names, and take their time. */
		to[n++] = (struct setting){"PreferredAuthentications",
					   "publickey"};
		to[n++] = (struct setting){"GSSAPIAuthentication", "no"};
	}
	return n;
}

int login_run(const struct login *l, const struct args *args, struct arena *a,
	      int *ret, struct err *err)
{
	struct setting settings[SETTINGS_MOST];
	size_t n_settings = settings_of(l, settings), n = 0;
	const char **argv =
		arena_alloc(a, (2 * n_settings + 2 * args->n + args->n_words +
				16) * sizeof(*argv));

	argv[n++] = "ssh";
	argv[n++] = "-o";
	argv[n++] = arena_join(a, "HostKeyAlias=muster-", l->id, NULL);
	for (size_t i = 0; i < n_settings; i++) {
		argv[n++] = "-o";
		argv[n++] = arena_join(a, settings[i].name, "=",
				       settings[i].value, NULL);
	}
	if (l->key) {
		argv[n++] = "-i";
		argv[n++] = l->key;
	}
	if (args_has(args, "tty"))
		argv[n++] = "-t";
	for (size_t i = 0; i < args->n; i++) {
		if (strcmp(args->given[i].option->name, "ssh-option") != 0)
			continue;
		argv[n++] = "-o";
		argv[n++] = args->given[i].value;
	}
	argv[n++] = "-p";
	argv[n++] = arena_printf(a, "%lld", (long long)l->port);
	argv[n++] = "-l";
	argv[n++] = l->user;
	argv[n++] = "--";
	argv[n++] = l->address;
	for (size_t i = 1; i < args->n_words; i++)
		argv[n++] = args->words[i];
	argv[n] = NULL;
	return run(argv, false, ret, err);
}

void login_add_config(const struct login *l, struct buf *out)
{
	struct setting settings[SETTINGS_MOST];
	size_t n = settings_of(l, settings);

	buf_addf(out, "# instance %s (%s)\n", l->name, l->id);
	if (l->until && login_is_plain(l->until))
		buf_addf(out,
			 "# The certificate is good until %s; then print this "
			 "again.\n",
			 l->until);
	buf_addf(out,
		 "Host %s\n"
		 "    HostName %s\n"
		 "    Port %lld\n"
		 "    User %s\n"
		 "    HostKeyAlias muster-%s\n",
		 l->name, l->address, (long long)l->port, l->user, l->id);
	if (l->key)
		buf_addf(out, "    IdentityFile \"%s\"\n", l->key);
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "    %s %s\n", settings[i].name,
			 settings[i].value);
}
