#include "daemon/first.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/config.h"
#include "daemon/local.h"
#include "identity/bootstrap.h"
#include "identity/token.h"
#include "loop/loop.h"
#include "model/region.h"
#include "store/read.h"
#include "store/tx.h"

/* Regions, as a request would say them, so that the defaults hold. */
#define LOCAL                                                                  \
	"{\"name\":\"local\","                                                 \
	"\"description\":\"Machines that run on this host.\","                 \
	"\"spec\":{\"provider\":\"libvirt\",\"options\":{}}}"

/* The rehearsal's cloud takes about as long as a quick one does: there is
 * something to see. */
#define REHEARSAL                                                              \
	"{\"name\":\"sim\","                                                   \
	"\"description\":\"A simulated cloud, to rehearse with.\","            \
	"\"spec\":{\"provider\":\"sim\",\"options\":{\"launchMs\":1500,"       \
	"\"startMs\":800,\"stopMs\":800,\"terminateMs\":800}}}"

struct making {
	struct txn txn;
	struct loop *loop;
	char token[TOKEN_LEN + 1];
	bool sim, local; /* regions */
	bool done, waiting;
	struct err err;
};

static int put_region(struct tx *tx, const char *text, struct err *err)
{
	struct arena *a = tx_arena(tx);
	struct node *n = json_parse(text, strlen(text), a, err);
	struct region region = {0};
	struct violations v;
	char id[37];

	if (!n)
		return -1;
	violations_init(&v, a);
	field_decode(region_kind.fields, n, FIELD_CREATE, &region, &v);
	if (v.n)
		return violations_err(&v, err);
	tx_new_id(tx, id);
	region.meta.id = id;
	region.meta.generation = 1;
	region.meta.created_by = region.meta.updated_by = "muster";
	region.meta.created_at = region.meta.updated_at = tx_time(tx);
	region.status.state = BACKED_PENDING;
	return tx_put(tx, &region_kind, &region, err);
}

static int make(struct tx *tx, void *ctx, struct err *err)
{
	struct making *m = ctx;

	if (bootstrap(tx, m->token[0] ? m->token : NULL, err) < 0)
		return -1;
	if (m->local && put_region(tx, LOCAL, err) < 0)
		return -1;
	return m->sim ? put_region(tx, REHEARSAL, err) : 0;
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

static bool has_region(const struct store *s)
{
	struct scan scan = store_scan(s, 0, &region_kind, NULL);
	struct record r;
	size_t effort = 0;

	return scan_next(&scan, &r, &effort);
}

static void choose_regions(const struct store *s, const struct config *conf,
			   struct making *m)
{
	char why[256];

	if (has_region(s))
		return;
	m->sim = conf->rehearse;
	m->local = conf->local && local_usable(why, sizeof(why));
	if (conf->local && !m->local)
		log_warn("local", "this host cannot run machines: %s", why);
}

/* The file comes first: a crash in between leaves a token that is not known,
 * and the next start makes another. */
int first_start(struct store *s, struct loop *l, const struct config *conf,
		struct err *err)
{
	struct making m = {.loop = l};
	bool first = !has_token(s);
	char path[4096];

	choose_regions(s, conf, &m);
	snprintf(path, sizeof(path), "%s/admin.token", conf->data);
	if (first) {
		token_make(&random_system, m.token);
		if (write_token(path, m.token, err) < 0 ||
		    sync_folder(conf->data, err) < 0)
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
	if (m.local)
		log_info("local",
			 "made the region local: machines on this host");
	if (m.sim)
		log_info("rehearse", "made the region sim: a simulated cloud");
	if (first)
		log_info("token", "made the platform administrator's token: %s",
			 path);
	return 0;
}

/* Whether there is that region, by that provider: one could have been made and
 * deleted by hand since. */
static bool has_region_of(const struct store *s, const char *name,
			  const char *provider)
{
	struct scan scan = store_scan(s, 0, &region_kind, NULL);
	struct record r;
	size_t effort = 0;

	while (scan_next(&scan, &r, &effort)) {
		const struct region *region = r.object;

		if (strcmp(region->meta.name, name) == 0 &&
		    strcmp(region->spec.provider, provider) == 0)
			return true;
	}
	return false;
}

/* The README's own lines: tests/e2e/vm_first.py follows them. */
static void local_steps(const struct config *conf, const char *muster)
{
	bool here = strcmp(conf->data, "./var") == 0;

	fprintf(stderr,
		"  %s organization create demo\n"
		"  %s project create try --organization demo\n"
		"  %s image build tiny --region local --project try"
		" --name tiny%s%s\n"
		"  %s network create home --project try --region local"
		" --prefix 10.0.0.0/24\n"
		"  %s instance create one --network home --flavor tiny"
		" --image tiny --ssh-key generated --wait\n",
		muster, muster, muster, here ? "" : " --data ",
		here ? "" : conf->data, muster, muster);
	fprintf(stderr,
		"  %s ssh one uname -a\n"
		"  %s console one\n"
		"  %s instance delete one --wait\n",
		muster, muster, muster);
}

static void sim_steps(const char *muster)
{
	fprintf(stderr,
		"  %s organization create acme\n"
		"  %s project create web --organization acme\n"
		"  %s network create lan --project web --region sim"
		" --prefix 10.0.0.0/24\n"
		"  %s instance create web-1 --network lan --flavor small"
		" --image debian-12 --wait\n",
		muster, muster, muster, muster);
}

void first_steps(const struct store *s, const struct config *conf,
		 const char *scheme, const char *address)
{
	const char *muster = program_invocation_name;

	if (!isatty(STDERR_FILENO))
		return;
	fprintf(stderr,
		"\nMuster is running.  In another terminal:\n\n"
		"  %s login --server %s://%s --token-file %s/admin.token\n",
		muster, scheme, address, conf->data);
	if (has_region_of(s, "local", "libvirt"))
		local_steps(conf, muster);
	else if (has_region_of(s, "sim", "sim"))
		sim_steps(muster);
	else
		fprintf(stderr,
			"  %s organization create acme\n"
			"  %s project create web --organization acme\n"
			"  %s project list\n",
			muster, muster, muster);
	fprintf(stderr,
		"\nThe API is described at %s://%s/v1/openapi.json.  "
		"Stop with Ctrl-C.\n\n",
		scheme, address);
}
