/*
 * The contract of providers on real machines: QEMU on this host, by a libvirt in
 * this process, or on the hosts that tests/e2e/libvirtd.py has started about us;
 * and, of what needs no machines, on libvirt's own that only pretends.
 */
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "model/instance.h"
#include "model/server.h"
#include "provider/front.h"
#include "provider/libvirt/driver.h"
#include "provider/verify.h"
#include "scratch.h"
#include "test.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"

static struct arena arena;

/* Why there cannot be machines here; NULL when there can. */
static const char *obstacle(void)
{
	if (access("/usr/bin/qemu-system-x86_64", X_OK) != 0)
		return "there is no QEMU";
	if (access("/usr/bin/qemu-img", X_OK) != 0)
		return "there is no qemu-img";
	if (geteuid() == 0 && !getpwnam("libvirt-qemu"))
		return "there is no user libvirt-qemu";
	return NULL;
}

static struct provider *open_libvirt(const char *region, const char *more)
{
	struct provider_conf conf = {.region = region,
				     .installation = INSTALLATION,
				     .folder = scratch};
	const char *options =
		arena_printf(&arena,
			     "{\"images\":\"%s/images\",\"flavors\":["
			     "{\"name\":\"least\",\"vcpus\":1,"
			     "\"memoryMiB\":32,\"diskGiB\":1},"
			     "{\"name\":\"more\",\"vcpus\":2,"
			     "\"memoryMiB\":48,\"diskGiB\":1}]%s}",
			     scratch, more);
	struct provider *p = NULL;
	struct err err = {0};

	conf.options = json_parse(options, strlen(options), &arena, &err);
	if (provider_open("libvirt", &conf, &p, &err) < 0)
		printf("# %s: %s / %s\n", options, err.msg, err.provider_msg);
	CHECK(p != NULL);
	return p;
}

/* Also those that are nobody's. */
static size_t machines_on(struct host *h)
{
	auto_conn virConnectPtr conn = NULL;
	virDomainPtr *all;
	struct err err;
	int n = -1;

	if (host_take(h, &conn, &err) == 0)
		n = virConnectListAllDomains(conn, &all, 0);
	CHECK(n >= 0);
	for (int i = 0; i < n; i++)
		virDomainFree(all[i]);
	if (n >= 0)
		free(all);
	return n < 0 ? 0 : (size_t)n;
}

static size_t machines(void *ctx)
{
	const struct lv *lv = lv_of(ctx);
	size_t sum = 0;

	for (size_t i = 0; i < lv->n_hosts; i++)
		sum += machines_on(lv->hosts[i]);
	return sum;
}

/* The hosts that tests/e2e/libvirtd.py has started about us; "": none. */
static const char *hosts(void)
{
	const char *uris = getenv("MUSTER_LIBVIRT_URIS");
	struct buf out = BUF_INIT(65536);
	const char *text;

	for (int i = 1; uris && *uris; i++) {
		size_t len = strcspn(uris, "\n");

		buf_addf(&out,
			 "%s{\"name\":\"h%d\",\"uri\":\"%.*s\","
			 "\"cpus\":16}",
			 i > 1 ? "," : ",\"hosts\":[", i, (int)len, uris);
		uris += len + (uris[len] == '\n');
	}
	if (out.len)
		buf_addc(&out, ']');
	text = arena_strdup(&arena, buf_str(&out));
	buf_release(&out);
	return text;
}

static void tell(void *ctx, const char *check, enum verify_outcome outcome,
		 const char *why)
{
	(void)ctx;
	if (outcome != VERIFY_OK)
		printf("# %s: %s%s\n", check,
		       outcome == VERIFY_SKIPPED ? "skipped: " : "", why);
	else if (getenv("VERBOSE"))
		printf("# %s\n", check);
}

static void verify(struct provider *p, unsigned least)
{
	struct verify_conf conf = {.provider = p,
				   .ctx = p,
				   .tell = tell,
				   .machines = machines,
				   .patience_ms = 300000};
	size_t before = machines(p);
	struct verify_result r;
	char import[96];

	snprintf(import, sizeof(import), "file://%s/import/guest.raw", scratch);
	CHECK(guest_write(import + strlen("file://")));
	conf.import = import;
	verify_run(&conf, &r);
	printf("# %u passed, %u failed, %u skipped, %u orphans\n", r.passed,
	       r.failed, r.skipped, r.orphans);
	CHECK(r.failed == 0 && r.orphans == 0 && r.passed >= least);
	CHECK(machines(p) == before);
}

static void the_contract_holds(void)
{
	struct provider *p = open_libvirt("r", hosts());

	if (!p)
		return;
	CHECK(machines(p) == 0);
	verify(p, 30);
	provider_close(p);
}

/* What of it is the driver's own, and not QEMU's. */
static void the_contract_holds_where_machines_only_pretend(void)
{
	struct provider *p =
		open_libvirt("t", ",\"hosts\":[{\"name\":\"t\","
				  "\"uri\":\"test:///default\",\"cpus\":64,"
				  "\"memoryMiB\":65536}]");

	if (!p)
		return;
	verify(p, 20);
	provider_close(p);
}

int main(void)
{
	const char *why = obstacle();

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (why) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	arena_init(&arena, (size_t)64 << 20);
	if (!scratch_make())
		return 1;
	if (!getenv("MUSTER_LIBVIRT_URIS"))
		RUN(the_contract_holds_where_machines_only_pretend);
	RUN(the_contract_holds);
	arena_release(&arena);
	return test_done();
}
