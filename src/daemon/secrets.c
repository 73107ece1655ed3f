#include "daemon/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/seal.h"
#include "daemon/commands.h"
#include "store/sqlite.h"

#define FILE_MOST ((size_t)64 << 10)

static const char remark[] =
	"# The keys that muster seals secrets with, newest first.  Without "
	"them "
	"the\n# secrets in the database and in its backups cannot be read: "
	"keep "
	"a copy\n# elsewhere.  'muster secrets rotate' adds one.\n";

void secrets_harden(void)
{
	struct rlimit none = {0, 0};

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)setrlimit(RLIMIT_CORE, &none);
}

void secrets_forget_environment(void)
{
	char *value = getenv(SECRETS_VARIABLE);

	if (!value)
		return;
	explicit_bzero(value, strlen(value));
	unsetenv(SECRETS_VARIABLE);
}

static int fail(struct err *err, const char *what, const char *path)
{
	return err_set(err, ERR_UNAVAILABLE, "cannot %s %s: %s", what, path,
		       strerror(errno));
}

static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->room);
	buf_release(b);
}

static int read_all(int fd, struct buf *out)
{
	for (;;) {
		char *to = buf_reserve(out, 4096);
		ssize_t n = to ? read(fd, to, 4096) : -1;

		if (n < 0)
			return -1;
		if (n == 0)
			return 0;
		buf_grew(out, (size_t)n);
	}
}

/* 1, or 0 when there is no such file. */
static int read_file(const char *path, struct keyring *keys, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buf text = BUF_INIT(FILE_MOST);
	struct stat st;
	int r = -1;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(err, "open", path);
	if (st.st_mode & 077)
		return err_set(err, ERR_INVALID,
			       "%s can be read by others: chmod 600 %s", path,
			       path);
	if (read_all(fd, &text) < 0)
		fail(err, "read", path);
	else if (keyring_read(keys, buf_str(&text), text.len, err) < 0)
		err_wrap(err, "%s", path);
	else
		r = 1;
	wipe(&text);
	return r;
}

static int write_text(int fd, const struct buf *text)
{
	size_t at = 0;

	while (at < text->len) {
		ssize_t n = write(fd, text->data + at, text->len - at);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0)
			at += (size_t)n;
	}
	return fsync(fd);
}

/* In place of what is there, whole or not at all, and durable. */
static int write_file(const char *path, const struct keyring *keys,
		      struct err *err)
{
	struct buf text = BUF_INIT(FILE_MOST);
	char temporary[4096];
	auto_close int fd = -1;
	int r = 0;

	if ((size_t)snprintf(temporary, sizeof(temporary), "%s.new", path) >=
	    sizeof(temporary))
		return err_set(err, ERR_INVALID, "the path is too long: %s",
			       path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0)
		return fail(err, "make", temporary);
	buf_adds(&text, remark);
	keyring_write(keys, &text);
	if (write_text(fd, &text) < 0 || rename(temporary, path) < 0)
		r = fail(err, "write", path);
	wipe(&text);
	return r < 0 ? -1 : sqlite_sync_folder(path, err);
}

/* A first key, if nothing was ever sealed here. */
static int make_first(const char *data, const char *path, struct keyring *keys,
		      struct err *err)
{
	struct secret_use use;

	if (sqlite_secret_use(data, &use, err) < 0)
		return -1;
	if (use.n)
		return err_set(err, ERR_NOT_FOUND,
			       "the secrets in %s are sealed with the key %s, "
			       "and there is no %s: put the file back, or "
			       "set " SECRETS_VARIABLE "; nothing was changed",
			       data, use.keys[0].id, path);
	keyring_renew(keys, &random_system);
	return write_file(path, keys, err);
}

static int default_path(const char *data, const char *file, char out[4096],
			struct err *err)
{
	int n = file ? snprintf(out, 4096, "%s", file)
		     : snprintf(out, 4096, "%s/%s", data, SECRETS_FILE);

	if (n < 0 || n >= 4096)
		return err_set(err, ERR_INVALID, "the path is too long: %s",
			       file ? file : data);
	return 0;
}

static int fill(const char *data, const char *file, struct keyring *keys,
		struct err *err)
{
	const char *value = getenv(SECRETS_VARIABLE);
	char path[4096];
	int r;

	if (value) {
		if (keyring_read(keys, value, strlen(value), err) < 0)
			return err_wrap(err, SECRETS_VARIABLE);
		return 0;
	}
	if (default_path(data, file, path, err) < 0)
		return -1;
	r = read_file(path, keys, err);
	if (r != 0)
		return r < 0 ? -1 : 0;
	return make_first(data, path, keys, err);
}

int secrets_open(const char *data, const char *file, struct keyring **ret,
		 struct err *err)
{
	struct keyring *keys = keyring_new();

	if (fill(data, file, keys, err) < 0) {
		keyring_free(keys);
		return -1;
	}
	*ret = keys;
	return 0;
}

static const struct command_option options[] = {
	{"data", 0, 0, "DIR", "The server's data folder; ./var by default."},
	{"key-file", 0, 0, "FILE",
	 "The file with the keys; DIR/" SECRETS_FILE " by default."},
	{0},
};

/* What the commands begin with: where the keys are, and the keys. */
struct site {
	const char *data;
	char path[4096];
	struct keyring *keys;
	struct args args;
};

static int tell(struct cli *c, const char *what, const struct err *err)
{
	fprintf(c->err, "muster: cannot %s: %s\n", what, err->msg);
	return err->code == ERR_CONFLICT ? EXIT_CONFLICT : EXIT_REFUSED;
}

static int find_site(struct cli *c, int argc, char **argv, struct site *s)
{
	struct err err = {0};
	int r;

	*s = (struct site){0};
	if (cli_parse(c, options, argc, argv, &s->args) < 0 ||
	    cli_words(c, &s->args, 0, 0) < 0)
		return EXIT_USAGE;
	s->data = args_value(&s->args, "data");
	if (!s->data)
		s->data = "./var";
	if (getenv(SECRETS_VARIABLE)) {
		err_set(&err, ERR_CONFLICT,
			SECRETS_VARIABLE " is set: keys in the environment are "
					 "changed there");
		return tell(c, "read the keys", &err);
	}
	if (default_path(s->data, args_value(&s->args, "key-file"), s->path,
			 &err) < 0)
		return tell(c, "read the keys", &err);
	s->keys = keyring_new();
	r = read_file(s->path, s->keys, &err);
	if (r == 0)
		err_set(&err, ERR_NOT_FOUND,
			"there is no %s: the server makes it at its first "
			"start",
			s->path);
	return r > 0 ? EXIT_OK : tell(c, "read the keys", &err);
}

static int run_rotate(struct cli *c, int argc, char **argv)
{
	struct err err = {0};
	struct site s;
	int rc = find_site(c, argc, argv, &s);

	if (rc == EXIT_OK && keyring_count(s.keys) == SEAL_KEYS_MOST) {
		err_set(&err, ERR_CONFLICT,
			"there are %d keys: drop those that nothing uses with "
			"'muster secrets prune'",
			SEAL_KEYS_MOST);
		rc = tell(c, "add a key", &err);
	} else if (rc == EXIT_OK) {
		keyring_renew(s.keys, &random_system);
		if (write_file(s.path, s.keys, &err) < 0)
			rc = tell(c, "add a key", &err);
		else
			cli_say(c,
				"The newest key is %s.  Send the server "
				"SIGHUP, or start it: it seals everything "
				"anew.",
				keyring_id(s.keys, 0));
	}
	keyring_free(s.keys);
	return rc;
}

static uint64_t use_of(const struct secret_use *use, const char *id)
{
	for (size_t i = 0; i < use->n; i++)
		if (strcmp(use->keys[i].id, id) == 0)
			return use->keys[i].count;
	return 0;
}

static bool is_known(const struct keyring *keys, const char *id)
{
	for (size_t i = 0; i < keyring_count(keys); i++)
		if (strcmp(keyring_id(keys, i), id) == 0)
			return true;
	return false;
}

static int run_status(struct cli *c, int argc, char **argv)
{
	struct secret_use use;
	struct err err = {0};
	struct site s;
	int rc = find_site(c, argc, argv, &s);

	if (rc == EXIT_OK && sqlite_secret_use(s.data, &use, &err) < 0)
		rc = tell(c, "look at the secrets", &err);
	for (size_t i = 0; rc == EXIT_OK && i < keyring_count(s.keys); i++)
		fprintf(c->out, "%s  %llu secrets%s\n", keyring_id(s.keys, i),
			(unsigned long long)use_of(&use, keyring_id(s.keys, i)),
			i ? "" : "  (newest)");
	for (size_t i = 0; rc == EXIT_OK && i < use.n; i++)
		if (!is_known(s.keys, use.keys[i].id))
			fprintf(c->out, "%s  %llu secrets  (missing)\n",
				use.keys[i].id,
				(unsigned long long)use.keys[i].count);
	if (rc == EXIT_OK && use.plain)
		fprintf(c->out, "%llu secrets are not sealed yet\n",
			(unsigned long long)use.plain);
	keyring_free(s.keys);
	return rc;
}

/* The server may still seal with any key it has read: it must be stopped. */
static int prune(struct site *s, size_t *ret_dropped, struct err *err)
{
	struct secret_use use;
	auto_close int lock = -1;

	*ret_dropped = 0;
	if (sqlite_lock(s->data, &lock, err) < 0 ||
	    sqlite_secret_use(s->data, &use, err) < 0)
		return -1;
	for (size_t i = keyring_count(s->keys); i-- > 1;)
		if (!use_of(&use, keyring_id(s->keys, i))) {
			keyring_remove(s->keys, i);
			++*ret_dropped;
		}
	return *ret_dropped ? write_file(s->path, s->keys, err) : 0;
}

static int run_prune(struct cli *c, int argc, char **argv)
{
	struct err err = {0};
	size_t dropped;
	struct site s;
	int rc = find_site(c, argc, argv, &s);

	if (rc == EXIT_OK && prune(&s, &dropped, &err) < 0)
		rc = tell(c, "drop keys", &err);
	else if (rc == EXIT_OK)
		cli_say(c, "Dropped %zu keys; %zu are left.", dropped,
			keyring_count(s.keys));
	keyring_free(s.keys);
	return rc;
}

static const struct command_example rotate_examples[] = {
	{"A new key, taken up by the running server:",
	 "muster secrets rotate --data /var/lib/muster && "
	 "systemctl reload muster"},
	{0},
};

static const struct command_example status_examples[] = {
	{"Which keys are in use:",
	 "muster secrets status --data /var/lib/muster"},
	{0},
};

static const struct command_example prune_examples[] = {
	{"With the server stopped:",
	 "muster secrets prune --data /var/lib/muster"},
	{0},
};

const struct command secrets_commands[] = {
	{"rotate", "Add a key, the newest from now on", "[--data DIR]",
	 "The server takes it up at its next start or at SIGHUP, and seals "
	 "what is there with it, a little at a time.  The old keys stay: "
	 "backups need them.",
	 rotate_examples, options, .run = run_rotate},
	{"status", "Show how many secrets each key seals", "[--data DIR]",
	 "Looks at the database, also while the server runs.", status_examples,
	 options, .run = run_status},
	{"prune", "Drop the keys that nothing uses", "[--data DIR]",
	 "The server must be stopped.  Backups made before may need the keys "
	 "that are dropped: keep a copy of the file with them.",
	 prune_examples, options, .run = run_prune},
	{0},
};
