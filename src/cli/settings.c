#include "cli/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "base/yaml.h"

#define FILE_MOST ((size_t)16 << 20)

static const struct field context_fields[] = {
	{"name", FIELD_STRING, FIELD_REQUIRED, offsetof(struct context, name),
	 "What it is called.", .min = 1, .max = 255},
	{"server", FIELD_STRING, FIELD_REQUIRED,
	 offsetof(struct context, server), "The server's address.",
	 .max = 2048},
	{"token", FIELD_STRING, FIELD_SECRET, offsetof(struct context, token),
	 "The token that is sent to it.", .max = 16384},
	{"caFile", FIELD_STRING, 0, offsetof(struct context, ca_file),
	 "Who its certificate may be signed by, a PEM file.", .max = 4096},
	{"issuer", FIELD_STRING, 0, offsetof(struct context, issuer),
	 "Who gave the token, when it was an OpenID issuer.", .max = 512},
	{"clientId", FIELD_STRING, 0, offsetof(struct context, client_id),
	 "Whom it was given to.", .max = 512},
	{"audience", FIELD_STRING, 0, offsetof(struct context, audience),
	 "Whom it is meant for.", .max = 512},
	{"refreshToken", FIELD_STRING, FIELD_SECRET,
	 offsetof(struct context, refresh_token),
	 "What a new one is asked for with.", .max = 16384},
	{"expiresAt", FIELD_TIME, 0, offsetof(struct context, expires_at),
	 "When a new one is due."},
	{0},
};

static const struct field settings_fields[] = {
	{"current", FIELD_STRING, 0, offsetof(struct settings, current),
	 "The context in use.", .max = 255},
	{"contexts", FIELD_LIST, 0, offsetof(struct settings, contexts),
	 "The servers one works with.", .fields = context_fields,
	 .item = FIELD_OBJECT, .size = sizeof(struct context), .max = 1000},
	{0},
};

const char *settings_path(struct arena *a)
{
	const char *home = getenv("XDG_CONFIG_HOME");

	if (home && home[0] == '/')
		return arena_printf(a, "%s/muster/config.yaml", home);
	home = getenv("HOME");
	if (!home || home[0] != '/')
		return NULL;
	return arena_printf(a, "%s/.config/muster/config.yaml", home);
}

static int read_all(int fd, const char *path, struct buf *b, struct err *err)
{
	for (;;) {
		char *to = buf_reserve(b, 65536);
		ssize_t n;

		if (!to)
			return err_set(err, ERR_TOO_LARGE,
				       "%s is larger than 16 MiB", path);
		n = read(fd, to, 65536);
		if (n == 0)
			return 0;
		if (n > 0)
			buf_grew(b, (size_t)n);
		else if (errno != EINTR)
			return err_set(err, ERR_INVALID, "cannot read %s: %s",
				       path, strerror(errno));
	}
}

int settings_read_file(const char *path, struct arena *a, const char **ret,
		       size_t *ret_len, struct err *err)
{
	struct buf b = BUF_INIT(FILE_MOST + 65536);
	bool is_stdin = strcmp(path, "-") == 0;
	auto_close int fd = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (!is_stdin && fd < 0)
		return err_set(err,
			       errno == ENOENT ? ERR_NOT_FOUND : ERR_INVALID,
			       "cannot read %s: %s", path, strerror(errno));
	rc = read_all(is_stdin ? STDIN_FILENO : fd, path, &b, err);
	if (rc == 0) {
		*ret = arena_memdup(a, buf_str(&b), b.len);
		*ret_len = b.len;
	}
	buf_release(&b);
	return rc;
}

static int decode(const char *path, const struct node *n, struct arena *a,
		  struct settings *ret, struct err *err)
{
	struct violations v;

	violations_init(&v, a);
	if (node_type(n) != NODE_OBJECT)
		return err_set(err, ERR_INVALID, "%s does not hold settings",
			       path);
	field_decode(settings_fields, n, FIELD_CREATE, ret, &v);
	if (v.n)
		return err_set(err, ERR_INVALID, "%s: %s %s", path,
			       v.list[0].pointer, v.list[0].message);
	return 0;
}

int settings_load(struct arena *a, struct settings *ret, struct err *err)
{
	const char *path = settings_path(a), *text;
	struct settings loaded = {0};
	struct err why = {0};
	struct node *n;
	size_t len = 0;

	*ret = loaded;
	if (!path)
		return 0;
	if (settings_read_file(path, a, &text, &len, &why) < 0) {
		if (why.code == ERR_NOT_FOUND)
			return 0;
		*err = why;
		return -1;
	}
	if (!len)
		return 0;
	n = yaml_parse(text, len, a, err);
	if (!n)
		return err_wrap(err, "%s", path);
	if (decode(path, n, a, &loaded, err) < 0)
		return -1;
	*ret = loaded;
	return 0;
}

/* Every folder above PATH. */
static int make_folders(const char *path, struct arena *a, struct err *err)
{
	char *copy = arena_strdup(a, path);

	for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return err_set(err, ERR_INVALID, "cannot make %s: %s",
				       copy, strerror(errno));
		*p = '/';
	}
	return 0;
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
	return fsync(fd);
}

/* Written beside and renamed, so that no reader sees a half. */
static int replace_file(const char *path, const struct buf *text,
			struct arena *a, struct err *err)
{
	char *beside = arena_printf(a, "%s.XXXXXX", path);
	auto_close int fd = mkostemp(beside, O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_INVALID, "cannot write %s: %s", beside,
			       strerror(errno));
	if (fchmod(fd, 0600) < 0 || write_all(fd, text->data, text->len) < 0 ||
	    rename(beside, path) < 0) {
		int why = errno;

		unlink(beside);
		return err_set(err, ERR_INVALID, "cannot write %s: %s", path,
			       strerror(why));
	}
	return 0;
}

int settings_save(const struct settings *s, struct arena *a, struct err *err)
{
	const char *path = settings_path(a);
	struct buf json = BUF_INIT(FILE_MOST), text = BUF_INIT(FILE_MOST);
	struct node *n;
	int rc = -1;

	if (!path)
		return err_set(err, ERR_INVALID,
			       "neither XDG_CONFIG_HOME nor HOME is set: "
			       "there is no place to keep settings");
	field_encode(settings_fields, s, FIELD_FULL, &json);
	n = json_parse(buf_str(&json), json.len, a, err);
	if (n && make_folders(path, a, err) == 0) {
		buf_adds(&text, "# Written by muster login; it holds tokens: "
				"keep it to yourself.\n");
		yaml_write(n, &text);
		rc = replace_file(path, &text, a, err);
	}
	buf_release(&json);
	buf_release(&text);
	return rc;
}

int settings_lock(struct arena *a)
{
	const char *path = settings_path(a);
	struct err err;
	int fd;

	if (!path || make_folders(path, a, &err) < 0)
		return -1;
	fd = open(arena_printf(a, "%s.lock", path),
		  O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void settings_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}

struct context *settings_find(const struct settings *s, const char *name)
{
	struct context *c = s->contexts.at;

	for (size_t i = 0; i < s->contexts.n; i++)
		if (strcmp(c[i].name, name) == 0)
			return &c[i];
	return NULL;
}

void settings_put(struct settings *s, const struct context *c, struct arena *a)
{
	struct context *old = settings_find(s, c->name), *all;
	size_t n = s->contexts.n;

	if (old) {
		*old = *c;
		return;
	}
	all = arena_alloc(a, (n + 1) * sizeof(*all));
	if (n)
		memcpy(all, s->contexts.at, n * sizeof(*all));
	all[n] = *c;
	s->contexts = (struct items){all, n + 1};
}

bool settings_drop(struct settings *s, const char *name)
{
	struct context *c = settings_find(s, name), *all = s->contexts.at;

	if (!c)
		return false;
	if (s->current && strcmp(s->current, name) == 0)
		s->current = NULL;
	memmove(c, c + 1, (size_t)(all + s->contexts.n - c - 1) * sizeof(*c));
	s->contexts.n--;
	return true;
}

/* An empty variable is as good as none. */
static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

bool settings_is_local(const char *server)
{
	static const char *const hosts[] = {"127.", "localhost", "[::1]"};
	const char *host = server ? strstr(server, "://") : NULL;

	for (size_t i = 0; host && i < COUNT_OF(hosts); i++)
		if (strncmp(host + 3, hosts[i], strlen(hosts[i])) == 0)
			return true;
	return false;
}

int settings_target(const struct context *given, struct arena *a,
		    struct context *ret, struct err *err)
{
	const struct context *kept = NULL, none = {0};
	struct settings s;
	const char *name;

	if (settings_load(a, &s, err) < 0)
		return -1;
	name = first_of(given->name, from_environment("MUSTER_CONTEXT"),
			s.current);
	if (name)
		kept = settings_find(&s, name);
	if (name && !kept && name != s.current)
		return err_set(err, ERR_INVALID,
			       "there is no context '%s'; see 'muster context "
			       "list'",
			       name);
	if (!kept)
		kept = &none;
	*ret = (struct context){
		.name = kept->name,
		.server = first_of(given->server,
				   from_environment("MUSTER_SERVER"),
				   kept->server),
		.token = first_of(given->token,
				  from_environment("MUSTER_TOKEN"), NULL),
		.ca_file = first_of(given->ca_file,
				    from_environment("MUSTER_CA_FILE"),
				    kept->ca_file),
	};
	if (!ret->server)
		ret->server = SETTINGS_SERVER;
	if (!ret->token && kept->server &&
	    strcmp(kept->server, ret->server) == 0) {
		ret->token = kept->token;
		ret->issuer = kept->issuer;
		ret->client_id = kept->client_id;
		ret->audience = kept->audience;
		ret->refresh_token = kept->refresh_token;
		ret->expires_at = kept->expires_at;
	}
	return 0;
}
