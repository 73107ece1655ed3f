/*
 * A host that vanishes in the middle of a launch, whichever step it was at: the
 * error says so, the same launch again is one machine, and one that is never
 * made again leaves nothing there once the host is back.  And a process that is
 * killed in the middle of one, whose next one knows.
 *
 * On the host that tests/e2e/libvirtd.py has started about us, over a way to it
 * that breaks at one call of the launch after the other.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/uuid.h"
#include "cut.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/securitygroup.h"
#include "model/server.h"
#include "provider/front.h"
#include "provider/libvirt/driver.h"
#include "scratch.h"
#include "test.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"

static struct arena arena;
static struct err err;
static struct cut *way;
static const char *uri; /* past the way */
static struct provider *p;
static const char *image, *network, *group;

/* The machine's, and so much later. */
static atomic_uint_least64_t later;

static int64_t wall(const struct clock *c)
{
	(void)c;
	return clock_wall(&clock_system) + (int64_t)atomic_load(&later);
}

static uint64_t mono(const struct clock *c)
{
	(void)c;
	return clock_mono(&clock_system) + atomic_load(&later);
}

static const struct clock clock_later = {wall, mono};

static bool did(int r, const char *what)
{
	if (r < 0)
		printf("# %s: %s (%s)\n", what, err.msg, err.provider_msg);
	return r == 0;
}

static const char *new_id(void)
{
	char *id = arena_alloc(&arena, UUID_LEN + 1);

	uuid_v7(clock_wall(&clock_system), 0, &random_system, id);
	return id;
}

static void open_it(void)
{
	struct provider_conf conf = {.region = "r",
				     .installation = INSTALLATION,
				     .folder = scratch,
				     .clock = &clock_later};
	const char *options = arena_printf(
		&arena,
		"{\"images\":\"%s/images\",\"tcg\":true,"
		"\"hosts\":[{\"name\":\"far\",\"uri\":\"qemu:///system?"
		"socket=%s/way\"}],\"flavors\":[{\"name\":\"least\","
		"\"vcpus\":1,\"memoryMiB\":32,\"diskGiB\":1,"
		"\"localDiskGiB\":1}]}",
		scratch, scratch);
	struct catalogue c;

	conf.options = json_parse(options, strlen(options), &arena, &err);
	if (!did(provider_open("libvirt", &conf, &p, &err), "open") ||
	    !did(provider_catalogue(p, &arena, &c, &err), "catalogue"))
		exit(1);
	image = ((struct image *)c.images.at)->status.backed.provider;
}

static void make_things(void)
{
	const struct network n = {.meta.name = "lan",
				  .spec.prefix = "10.81.0.0/24"};
	const struct network_spec spec = {.id.ours = new_id(), .network = &n};
	const struct securitygroup g = {.meta.name = "none"};
	struct group_spec in = {.id.ours = new_id(), .group = &g};
	struct backing b = {0};

	CHECK(did(provider_ensure_network(p, &spec, &arena, &b, &err), "net"));
	in.network = network = b.id;
	CHECK(did(provider_ensure_group(p, &in, &arena, &b, &err), "group"));
	group = b.id;
}

static int launch(const char *token, struct machine *ret)
{
	struct field_tag tags[] = {{TAG_SERVER, token},
				   {TAG_INSTALLATION, INSTALLATION}};
	struct machine_spec spec = {.server = token,
				    .token = token,
				    .name = "m",
				    .flavor = "least",
				    .image = image,
				    .network = network,
				    .groups = {&group, 1},
				    .root_disk_gib = 1,
				    .tags = {tags, 2}};

	return provider_launch(p, &spec, &arena, ret, &err);
}

/* How much there is on the host, whatever we say. */
struct inventory {
	size_t machines, disks, filters;
};

static struct inventory look(void)
{
	virConnectPtr conn = virConnectOpen(uri);
	virStoragePoolPtr pool = virStoragePoolLookupByName(conn, "default");
	struct inventory all = {0};

	virStoragePoolRefresh(pool, 0);
	all.machines = (size_t)virConnectListAllDomains(conn, NULL, 0);
	all.disks = (size_t)virStoragePoolNumOfVolumes(pool);
	all.filters = (size_t)virConnectNumOfNWFilters(conn);
	virStoragePoolFree(pool);
	virConnectClose(conn);
	return all;
}

static struct inventory before;

static bool is_as_before(void)
{
	struct inventory now = look();

	if (now.machines == before.machines && now.disks == before.disks &&
	    now.filters == before.filters)
		return true;
	printf("# %zu machines, %zu disks, %zu filters; there were %zu, %zu, "
	       "%zu\n",
	       now.machines, now.disks, now.filters, before.machines,
	       before.disks, before.filters);
	return false;
}

static bool comes_to(const char *id, int state)
{
	struct machine m = {0};

	for (int i = 0; i < 1200; i++) {
		if (did(provider_describe(p, id, &arena, &m, &err),
			"describe") &&
		    m.state == state)
			return true;
		usleep(50000);
	}
	printf("# it is %s\n", m.native_state);
	return false;
}

enum { CONNECTIONS = 6 };

/* Calls take turns on several connections, which are made when their turn
 * comes.  How many there are that answer; one that does not is known to be none
 * from then on. */
static size_t connections(void)
{
	virConnectPtr all[2 * CONNECTIONS] = {0};
	unsigned long version;
	size_t n = 0;

	for (size_t i = 0; i < COUNT_OF(all); i++) {
		size_t same = 0;

		if (host_take(lv_of(p)->hosts[0], &all[i], &err) < 0)
			continue;
		while (same < i && all[same] != all[i])
			same++;
		n += same == i &&
		     virConnectGetLibVersion(all[i], &version) == 0;
	}
	for (size_t i = 0; i < COUNT_OF(all); i++)
		host_drop(&all[i]);
	return n;
}

static unsigned calls; /* of a launch that nothing befalls */
static unsigned told;  /* that the host had vanished */

static void a_launch_without_trouble(void)
{
	struct machine m = {0};

	/* The first brings the image. */
	CHECK(did(launch(new_id(), &m), "launch") &&
	      comes_to(m.id, INSTANCE_RUNNING));
	CHECK(did(provider_terminate(p, m.id, &err), "terminate"));
	before = look();
	CHECK(before.machines == 0);
	cut_at(way, 0, false);
	CHECK(did(launch(new_id(), &m), "launch"));
	calls = cut_calls(way);
	CHECK(connections() == CONNECTIONS);
	printf("# a launch is %u calls\n", calls);
	CHECK(calls > 20);
	CHECK(did(provider_terminate(p, m.id, &err), "terminate"));
	CHECK(is_as_before());
}

/* What there is of ours is told and ended, as the engine does that finds it. */
static bool end_all(void)
{
	const struct machine_filter ours = {TAG_INSTALLATION, INSTALLATION};
	const struct machine *m;
	struct machine_page page;

	if (!did(provider_list(p, &ours, NULL, &arena, &page, &err), "list"))
		return false;
	m = page.machines.at;
	for (size_t i = 0; i < page.machines.n; i++)
		if (!did(provider_terminate(p, m[i].id, &err), "terminate"))
			return false;
	return true;
}

/* The second list is one that a call cannot be on its way any more for. */
static bool is_swept(void)
{
	bool good = end_all();

	atomic_fetch_add(&later, p->facts.call_ms + 20000);
	return good && end_all() && is_as_before();
}

/* It is connected to anew, and at once as often as is good: after a failure that
 * is not tried at once. */
static bool is_back(void)
{
	const struct machine_filter none = {TAG_SERVER, "none"};
	struct machine_page page;
	size_t n;

	cut_mend(way);
	/* What was not noticed to be gone yet is now. */
	connections();
	atomic_fetch_add(&later, 3000);
	n = connections();
	if (n != CONNECTIONS)
		printf("# there are %zu connections\n", n);
	return n == CONNECTIONS &&
	       did(provider_list(p, &none, NULL, &arena, &page, &err), "list");
}

static bool is_away(void)
{
	if (err.code == ERR_UNAVAILABLE && strstr(err.msg, "host far"))
		return true;
	printf("# error %d: %s (%s)\n", err.code, err.msg, err.provider_msg);
	return false;
}

/* Each connection that is not noticed to be gone yet fails one call, and the one
 * that was launched by has: after the others it is told where nobody is. */
static bool is_told(const char *token)
{
	struct machine m = {0};

	for (int i = 1; i <= CONNECTIONS; i++) {
		if (launch(token, &m) == 0 || !is_away())
			return false;
		if (strstr(err.msg, "/way'"))
			return true;
	}
	printf("# error %d: %s (%s)\n", err.code, err.msg, err.provider_msg);
	return false;
}

static bool is_repeated(const char *token)
{
	struct machine m = {0}, again = {0};
	bool good = did(launch(token, &m), "launch") &&
		    did(launch(token, &again), "launch again");

	if (!good)
		return false;
	if (strcmp(m.id, again.id) != 0 || look().machines != 1) {
		printf("# there are %zu machines: %s, %s\n", look().machines,
		       m.id, again.id);
		good = false;
	}
	return did(provider_terminate(p, m.id, &err), "terminate") && good &&
	       is_as_before();
}

/* At call NTH of a launch; AGAIN: the launch is repeated. */
static bool vanishes(unsigned nth, bool answered, bool again)
{
	const char *token = new_id();
	struct machine m = {0};
	bool good = true;

	cut_at(way, nth, answered);
	/* Some of the calls that were counted are those of the machine's first
	 * start, which goes on after the answer. */
	if (launch(token, &m) < 0) {
		told++;
		good = is_away() && cut_happened(way) && is_told(token);
	}
	good = is_back() && good && (again ? is_repeated(token) : is_swept());
	if (!good)
		printf("# at call %u of %u, %s, %s\n", nth, calls,
		       answered ? "answered" : "not answered",
		       again ? "again" : "once");
	return good;
}

/* Those that are repeated begin a machine, which takes a while. */
static void a_launch_that_is_repeated_is_one_machine(void)
{
	for (unsigned nth = 1; nth <= calls; nth += 3)
		CHECK(vanishes(nth, nth / 3 % 2, true));
}

static void a_launch_that_is_not_leaves_nothing(void)
{
	for (unsigned nth = 1; nth <= calls; nth++)
		CHECK(vanishes(nth, nth % 2, false));
	CHECK(told > calls / 2);
}

/* Ourselves, as another process: see be_killed(). */
static pid_t begin_other(const char *token)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl("/proc/self/exe", "test_libvirt_vanish", scratch, token,
		      network, group, NULL);
		_exit(1);
	}
	return waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)
		       ? pid
		       : -1;
}

/* Stops, for it to be seen that it is there; then launches. */
static int be_killed(char **argv)
{
	struct machine m;

	memcpy(scratch, argv[1], sizeof(scratch));
	network = argv[3];
	group = argv[4];
	open_it();
	raise(SIGSTOP);
	/* It is not always: a launch may be over before. */
	_exit(launch(argv[2], &m) < 0);
}

static unsigned killed;

static bool is_killed(unsigned nth, bool answered)
{
	pid_t pid;
	int status = -1;
	bool good;

	provider_close(p);
	pid = begin_other(new_id());
	if (pid > 0) {
		cut_kills(way, pid);
		cut_at(way, nth, answered);
		kill(pid, SIGCONT);
		waitpid(pid, &status, 0);
		cut_kills(way, 0);
	}
	killed += WIFSIGNALED(status);
	cut_at(way, 0, false);
	cut_mend(way);
	open_it();
	good = pid > 0 && (status == 0 || WIFSIGNALED(status)) && is_back() &&
	       is_swept();
	if (!good)
		printf("# killed at call %u of %u, %s: %d\n", nth, calls,
		       answered ? "answered" : "not answered", status);
	return good;
}

/* A server that was killed left the root disk and the seed of an instance that
 * was deleted before it was launched again. */
static void a_launch_whose_process_is_killed_leaves_nothing(void)
{
	for (unsigned nth = 1; nth <= calls; nth += 3)
		CHECK(is_killed(nth, nth / 3 % 2));
	CHECK(killed > calls / 6);
}

int main(int argc, char **argv)
{
	const char *uris = getenv("MUSTER_LIBVIRT_URIS"), *to;
	char path[96];

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN); /* as the server does */
	to = uris ? strstr(uris, "socket=") : NULL;
	if (!to) {
		printf("1..0 # SKIP there is no host about us\n");
		return 0;
	}
	arena_init(&arena, (size_t)1 << 30);
	if (argc == 5)
		return be_killed(argv);
	uri = uris;
	if (!scratch_make())
		return 1;
	snprintf(path, sizeof(path), "%s/way", scratch);
	way = cut_open(path, to + strlen("socket="));
	open_it();
	make_things();
	RUN(a_launch_without_trouble);
	RUN(a_launch_that_is_not_leaves_nothing);
	RUN(a_launch_whose_process_is_killed_leaves_nothing);
	RUN(a_launch_that_is_repeated_is_one_machine);
	provider_close(p);
	cut_close(way);
	arena_release(&arena);
	return test_done();
}
