#include "daemon/first.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "identity/bootstrap.h"
#include "identity/token.h"
#include "loop/loop.h"
#include "store/read.h"

struct making {
	struct txn txn;
	struct loop *loop;
	char token[TOKEN_LEN + 1];
	bool done, waiting;
	struct err err;
};

static int make(struct tx *tx, void *ctx, struct err *err)
{
	struct making *m = ctx;

	return bootstrap(tx, m->token[0] ? m->token : NULL, err);
}

static void made(struct txn *t, const struct err *err)
{
	struct making *m = CONTAINER_OF(t, struct making, txn);

	m->done = true;
	if (err)
		m->err = *err;
	/* Stopping a loop that does not run would end its next run. */
	if (m->waiting)
		loop_stop(m->loop);
}

static int write_token(const char *path, const char *token, struct err *err)
{
	auto_close int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t len = strlen(token);

	/* The file may be left over from a start that did not come far. */
	if (fd < 0 || fchmod(fd, 0600) < 0 ||
	    write(fd, token, len) != (ssize_t)len || write(fd, "\n", 1) != 1 ||
	    fsync(fd) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot write %s: %s",
			       path, strerror(errno));
	return 0;
}

/* The token's hash must not outlive its only copy. */
static int sync_folder(const char *path, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot sync the folder %s: %s", path,
			       strerror(errno));
	return 0;
}

static bool has_token(const struct store *s)
{
	struct scan scan = store_scan(s, 0, &token_kind, NULL);
	struct record r;
	size_t effort = 0;

	while (scan_next(&scan, &r, &effort))
		if (((const struct token *)r.object)->service_account_id)
			return true;
	return false;
}

/* The file comes first: a crash in between leaves a token that is not known,
 * and the next start makes another. */
int first_start(struct store *s, struct loop *l, const char *data,
		struct err *err)
{
	struct making m = {.loop = l};
	bool first = !has_token(s);
	char path[4096];

	snprintf(path, sizeof(path), "%s/admin.token", data);
	if (first) {
		token_make(&random_system, m.token);
		if (write_token(path, m.token, err) < 0 ||
		    sync_folder(data, err) < 0)
			return -1;
	}
	m.txn = (struct txn){.fn = make, .done = made, .ctx = &m};
	store_transact(s, &m.txn);
	m.waiting = !m.done;
	if (m.waiting)
		loop_run(l);
	explicit_bzero(m.token, sizeof(m.token));
	if (m.err.code) {
		*err = m.err;
		return err_wrap(err, "the administrator's token");
	}
	if (first)
		log_info("token", "made the platform administrator's token: %s",
			 path);
	return 0;
}

void first_steps(const char *data, const char *scheme, const char *address)
{
	const char *muster = program_invocation_name;

	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr,
		"\nMuster is running.  In another terminal:\n\n"
		"  %s login --server %s://%s --token-file %s/admin.token\n"
		"  %s organization create acme\n"
		"  %s project create web --organization acme\n"
		"  %s project list\n\n"
		"The API is described at %s://%s/v1/openapi.json.  "
		"Stop with Ctrl-C.\n\n",
		muster, scheme, address, data, muster, muster, muster, scheme,
		address);
}
