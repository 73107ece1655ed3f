/*
 * Disks of real machines: volumes that come and go while a guest runs, growth,
 * and snapshots.  Given a folder with one image, whose guest says "login:" on its
 * serial line, takes disks in and out, and has an agent; and one that is empty,
 * and removed by who gives it.  On a libvirt in this process, or on the hosts
 * that MUSTER_LIBVIRT_URIS has, one a line.
 */
#include <dirent.h>
#include <fcntl.h>
#include <libvirt/libvirt-qemu.h>
#include <libvirt/libvirt.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "base/uuid.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/server.h"
#include "provider/front.h"
#include "provider/libvirt/boot.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "test.h"

#define INSTALLATION "5f0c6f1e-5a5e-4d5c-8a5b-0c8f5d3a1b2c"

enum { WAITS_MOST = 3000, WAIT_US = 100 * 1000 };

static struct arena arena;
static struct provider *p;
static struct err err;
static const char *image, *network, *machine, *volume;
static const char *folder;
static const char *uris[2]; /* of hosts "a" and "b" */
static int hosts;

static const char *new_id(void)
{
	char *id = arena_alloc(&arena, UUID_LEN + 1);

	uuid_v7(clock_wall(&clock_system), 0, &random_system, id);
	return id;
}

static bool did(int rc, const char *what)
{
	if (rc < 0)
		printf("# %s: %s (%s)\n", what, err.msg, err.provider_msg);
	return rc == 0;
}

static void make_network(void)
{
	const struct network n = {.meta.name = "a network",
				  .spec.prefix = "10.0.2.0/24"};
	const struct network_spec spec = {.id.ours = new_id(), .network = &n};
	struct backing b;

	if (!did(provider_ensure_network(p, &spec, &arena, &b, &err),
		 "network"))
		exit(1);
	network = b.id;
}

/* Where they are; one in this process when there are none. */
static const char *hosts_option(void)
{
	const char *all = getenv("MUSTER_LIBVIRT_URIS");

	for (; all && *all && hosts < 2; hosts++) {
		size_t len = strcspn(all, "\n");

		uris[hosts] = arena_memdup(&arena, all, len);
		all += len + (all[len] == '\n');
	}
	if (hosts < 2)
		return "\"tcg\":true";
	return arena_printf(&arena,
			    "\"tcg\":true,\"hosts\":[{\"name\":\"a\","
			    "\"uri\":\"%s\"},{\"name\":\"b\","
			    "\"uri\":\"%s\"}]",
			    uris[0], uris[1]);
}

static const char *uri_of(const char *id)
{
	return uris[id[strlen(id) - 1] == 'b'];
}

static void open_it(const char *images)
{
	const char *options = arena_printf(&arena, "{\"images\":\"%s\",%s}",
					   images, hosts_option());
	struct provider_conf conf = {
		.region = "r", .installation = INSTALLATION, .folder = folder};
	struct catalogue c;

	conf.options = json_parse(options, strlen(options), &arena, &err);
	if (!did(provider_open("libvirt", &conf, &p, &err), "open") ||
	    !did(provider_catalogue(p, &arena, &c, &err), "catalogue"))
		exit(1);
	if (hosts < 2)
		uris[0] = arena_join(&arena, lv_of(p)->hosts[0]->uri, NULL);
	for (size_t n = 0; n < c.notes.n; n++)
		printf("# %s\n", ((const char **)c.notes.at)[n]);
	CHECK(c.images.n == 1);
	image = ((struct image *)c.images.at)->status.backed.provider;
	make_network();
}

static struct machine launch(const char *from, int64_t gib)
{
	const char *server = new_id();
	struct field_tag tags[] = {{TAG_INSTALLATION, INSTALLATION},
				   {TAG_SERVER, server}};
	struct machine_spec spec = {.server = server,
				    .token = server,
				    .name = "a machine",
				    .flavor = "tiny",
				    .image = from,
				    .network = network,
				    .root_disk_gib = gib,
				    .tags = {tags, 2}};
	struct machine m = {0};

	if (!did(provider_launch(p, &spec, &arena, &m, &err), "launch"))
		exit(1);
	return m;
}

/* The guest of ID is up. */
static bool is_up(const char *id)
{
	struct buf out = BUF_INIT((size_t)1 << 20);
	bool up = false;

	for (int i = 0; i < WAITS_MOST && !up; i++) {
		buf_clear(&out);
		if (provider_console_output(p, id, 200000, &arena, &out,
					    &err) == 0)
			up = strstr(buf_str(&out), "login:");
		if (!up)
			usleep(WAIT_US);
	}
	if (!up)
		printf("# %s\n", buf_str(&out));
	buf_release(&out);
	return up;
}

static virDomainPtr domain_of(const char *id, virConnectPtr *ret)
{
	*ret = virConnectOpen(uri_of(id));
	return virDomainLookupByUUIDString(*ret,
					   arena_memdup(&arena, id, UUID_LEN));
}

/* What QEMU has as the disk of that name, in GiB; 0: there is none. */
static int64_t disk_gib(const char *id, const char *device)
{
	virConnectPtr conn;
	virDomainPtr d = domain_of(id, &conn);
	const char *name = strrchr(device, '/');
	virDomainBlockInfo info = {0};

	if (virDomainGetBlockInfo(d, name ? name + 1 : device, &info, 0) < 0)
		info.capacity = 0;
	virDomainFree(d);
	virConnectClose(conn);
	return (int64_t)(info.capacity >> 30);
}

static bool comes_to(const char *id, int state)
{
	struct machine m = {0};

	for (int i = 0; i < WAITS_MOST; i++) {
		if (did(provider_describe(p, id, &arena, &m, &err),
			"describe") &&
		    m.state == state)
			return true;
		usleep(WAIT_US);
	}
	return false;
}

static bool attached(const char *to, const char **ret)
{
	return did(provider_attach(p, to, volume, &arena, ret, &err), "attach");
}

static bool detached(const char *from)
{
	return did(provider_detach(p, from, volume, &err), "detach");
}

static int64_t ensured(int64_t gib)
{
	const struct volume_spec spec = {
		.id.ours = volume, .name = "a volume", .size_gib = gib};
	struct backing b = {0};

	CHECK(did(provider_ensure_volume(p, &spec, &arena, &b, &err),
		  "ensure"));
	CHECK(b.state == BACKED_READY);
	return b.size;
}

static void a_machine_boots(void)
{
	machine = launch(image, 2).id;
	CHECK(machine && is_up(machine));
}

static void volumes_come_and_go_while_it_runs(void)
{
	const struct backing_id id = {.ours = volume};
	const char *first = "", *again = "";

	CHECK(ensured(1) == 1);
	CHECK(attached(machine, &first) && attached(machine, &again));
	CHECK_STR(first, again);
	CHECK(disk_gib(machine, first) == 1);
	CHECK(ensured(2) == 2);
	CHECK(disk_gib(machine, first) == 2);
	CHECK(provider_remove_volume(p, &id, &err) < 0);
	CHECK(err.code == ERR_CONFLICT);
	CHECK(detached(machine) && detached(machine));
	CHECK(disk_gib(machine, first) == 0);
}

/* Attached as often as it is asked for: a volume may have to come from another
 * host first. */
static bool is_brought(const char *to, const char **ret)
{
	for (int i = 0; i < WAITS_MOST; i++) {
		if (provider_attach(p, to, volume, &arena, ret, &err) == 0)
			return true;
		if (err.code != ERR_UNAVAILABLE)
			break;
		usleep(WAIT_US);
	}
	return did(-1, "attach");
}

static void volumes_are_one_machines(void)
{
	const char *other = launch(image, 2).id, *device = "";

	CHECK(attached(machine, &device));
	CHECK(provider_attach(p, other, volume, &arena, &device, &err) < 0);
	CHECK(err.code == ERR_CONFLICT);
	CHECK(detached(machine));
	/* On another host, when there is one. */
	CHECK(hosts < 2 || uri_of(other) != uri_of(machine));
	CHECK(is_brought(other, &device));
	CHECK(disk_gib(other, device) == 2);
	CHECK(did(provider_terminate(p, other, &err), "terminate"));
	CHECK(is_brought(machine, &device) && detached(machine));
}

static void root_disks_grow(void)
{
	CHECK(did(provider_grow_root_disk(p, machine, 3, &err), "grow"));
	CHECK(disk_gib(machine, "vda") == 3);
}

static struct image_spec snapshot_spec(const char *of)
{
	return (struct image_spec){
		.id.ours = new_id(), .name = "a snapshot", .machine = of};
}

static const char *snapshot_as(const struct image_spec *spec, int consistency)
{
	struct backing b = {0};

	for (int i = 0; i < WAITS_MOST && b.state != BACKED_READY; i++) {
		if (!did(provider_snapshot(p, spec, &arena, &b, &err),
			 "snapshot"))
			break;
		usleep(WAIT_US);
	}
	CHECK(b.state == BACKED_READY);
	if (b.consistency != consistency)
		printf("# it is %s\n", consistency_names[b.consistency]);
	CHECK(b.consistency == consistency);
	return spec->id.ours;
}

static const char *snapshot(const char *of, int consistency)
{
	const struct image_spec spec = snapshot_spec(of);

	return snapshot_as(&spec, consistency);
}

static bool removed(const char *id)
{
	const struct backing_id which = {.ours = id};

	return provider_remove_image(p, &which, &err) == 0;
}

static void boots_and_goes(const char *from)
{
	const char *other = launch(from, 4).id;

	CHECK(is_up(other));
	CHECK(!removed(from) && err.code == ERR_CONFLICT);
	CHECK(did(provider_terminate(p, other, &err), "terminate"));
	CHECK(did(removed(from) ? 0 : -1, "remove"));
}

static void snapshots_of_running_machines_boot(void)
{
	const char *young = launch(image, 2).id;

	/* Nobody is there yet who could hold it still. */
	CHECK(removed(snapshot(young, CONSISTENCY_CRASH)));
	CHECK(did(provider_terminate(p, young, &err), "terminate"));
	boots_and_goes(snapshot(machine, CONSISTENCY_FROZEN));
}

static int was_never_started(struct domain_facts *f, struct arena *a, void *ctx,
			     struct err *e)
{
	(void)a;
	(void)ctx;
	(void)e;
	f->started = false;
	return 0;
}

/* As its launch leaves it, or a crash right after that. */
static void make_pending(const char *id)
{
	auto_found struct found m = {0};

	CHECK(did(machine_find(p, id, &m, &err), "find"));
	CHECK(did(machine_kill(m.host, m.domain, &err), "kill"));
	CHECK(did(facts_change(m.host, m.domain, was_never_started, NULL, &err),
		  "change"));
}

static void snapshots_wait_for_the_first_start(void)
{
	make_pending(machine);
	CHECK(removed(snapshot(machine, CONSISTENCY_CRASH)));
	CHECK(comes_to(machine, INSTANCE_RUNNING));
}

/* Another process that has a disk open for as long as it can read from us. */
struct holder {
	int in, out;
	pid_t pid;
};

/* The root disk of ID; only to read when FLAG is "-r", and with NULL for more. */
static struct holder hold(const char *id, const char *flag)
{
	const char *path = arena_printf(&arena, "%s/libvirt-r/disks/%.36s-%s",
					folder, id, DISK_ROOT);
	int in[2], out[2];
	struct holder h;
	char c;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		exit(1);
	h = (struct holder){in[1], out[0], fork()};
	if (h.pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execlp("qemu-io", "qemu-io", "-f", "qcow2", path, flag, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	/* It prompts when it has it. */
	CHECK(read(h.out, &c, 1) == 1);
	return h;
}

static void let_go(const struct holder *h)
{
	close(h->in);
	close(h->out);
	waitpid(h->pid, NULL, 0);
}

/* A first start of it was tried, and is not over. */
static bool waits_to_start(const char *id)
{
	auto_found struct found m = {0};
	struct machine seen = {0};

	make_pending(id);
	CHECK(did(machine_find(p, id, &m, &err), "find"));
	boot_begin(m.host, m.uuid);
	while (boot_tells(m.host, m.uuid))
		usleep(WAIT_US);
	CHECK(did(provider_describe(p, id, &arena, &seen, &err), "describe"));
	return seen.state == INSTANCE_PENDING;
}

/* What comes of one that cannot be made now; false: it was made. */
static bool is_put_off(const struct image_spec *spec)
{
	struct backing b = {0};

	while (provider_snapshot(p, spec, &arena, &b, &err) == 0) {
		if (b.state == BACKED_READY)
			return false;
		usleep(WAIT_US);
	}
	return err_passes(&err);
}

static void disks_that_are_held_are_waited_for(void)
{
	const struct image_spec spec = snapshot_spec(machine);
	struct holder holder;

	CHECK(did(provider_stop(p, machine, true, &err), "stop"));
	holder = hold(machine, "-r");
	CHECK(provider_start(p, machine, &err) < 0);
	CHECK(err.code == ERR_UNAVAILABLE);
	CHECK(waits_to_start(machine));
	let_go(&holder);
	CHECK(comes_to(machine, INSTANCE_RUNNING));
	CHECK(did(provider_stop(p, machine, true, &err), "stop"));
	holder = hold(machine, NULL);
	CHECK(is_put_off(&spec));
	let_go(&holder);
	CHECK(removed(snapshot_as(&spec, CONSISTENCY_OFFLINE)));
	CHECK(did(provider_start(p, machine, &err), "start"));
}

/* What its agent says of its file systems. */
static bool stands_still(const char *id)
{
	virConnectPtr conn;
	virDomainPtr d = domain_of(id, &conn);
	char *said = virDomainQemuAgentCommand(
		d, "{\"execute\":\"guest-fsfreeze-status\"}", 30, 0);
	bool frozen = said && strstr(said, "frozen");

	CHECK(said != NULL);
	free(said);
	virDomainFree(d);
	virConnectClose(conn);
	return frozen;
}

static void freeze(const char *id)
{
	virConnectPtr conn;
	virDomainPtr d = domain_of(id, &conn);

	CHECK(virDomainFSFreeze(d, NULL, 0, 0) > 0);
	virDomainFree(d);
	virConnectClose(conn);
}

/* A record of one that a process before us began. */
static const char *begun_before(const char *of)
{
	const char *id = new_id();
	FILE *f = fopen(arena_join(&arena, folder, "/libvirt-r/images/", id,
				   ".json", NULL),
			"w");

	fprintf(f,
		"{\"id\":\"%s\",\"installation\":\"" INSTALLATION
		"\",\"stage\":\"making\",\"machine\":\"%s\"}",
		id, of);
	fclose(f);
	return id;
}

/* As after a crash between the two: made again or given up, it goes on. */
static void no_guest_is_left_standing_still(void)
{
	freeze(machine);
	CHECK(stands_still(machine));
	CHECK(removed(snapshot(machine, CONSISTENCY_CRASH)));
	CHECK(!stands_still(machine));
	freeze(machine);
	CHECK(did(removed(begun_before(machine)) ? 0 : -1, "remove"));
	CHECK(!stands_still(machine));
}

static void what_is_off_is_changed_too(void)
{
	const char *device = "";

	CHECK(did(provider_stop(p, machine, true, &err), "stop"));
	CHECK(comes_to(machine, INSTANCE_STOPPED));
	CHECK(attached(machine, &device) && detached(machine));
	CHECK(attached(machine, &device) && ensured(3) == 3);
	CHECK(did(provider_grow_root_disk(p, machine, 4, &err), "grow"));
	boots_and_goes(snapshot(machine, CONSISTENCY_OFFLINE));
	CHECK(did(provider_start(p, machine, &err), "start"));
	CHECK(disk_gib(machine, device) == 3);
	CHECK(disk_gib(machine, "vda") == 4);
}

static size_t count_in(const char *name)
{
	DIR *d = opendir(arena_join(&arena, folder, "/libvirt-r/", name, NULL));
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			printf("# %s/%s\n", name, e->d_name);
			n++;
		}
	if (d)
		closedir(d);
	return n;
}

static int count_on(const char *uri)
{
	virConnectPtr conn = virConnectOpen(uri);
	virStoragePoolPtr pool = virStoragePoolLookupByName(conn, "default");
	int n;

	virStoragePoolRefresh(pool, 0);
	n = virStoragePoolNumOfVolumes(pool);
	virStoragePoolFree(pool);
	virConnectClose(conn);
	return n;
}

static void nothing_is_left(void)
{
	const struct backing_id id = {.ours = volume};

	CHECK(did(provider_terminate(p, machine, &err), "terminate"));
	CHECK(did(provider_remove_volume(p, &id, &err), "remove"));
	CHECK(count_in("volumes") == 0);
	/* The region's own image is a record and a file, and on each host: with
	 * a mark where that is needed. */
	CHECK(count_in("images") == 2);
	if (hosts < 2)
		CHECK(count_in("disks") == 1);
	for (int i = 0; i < hosts; i++)
		CHECK(count_on(uris[i]) == 2);
}

static void end_all(const char *uri)
{
	virConnectPtr conn = virConnectOpen(uri);
	virDomainPtr *all = NULL;
	int n = conn ? virConnectListAllDomains(conn, &all, 0) : 0;

	for (int i = 0; i < n; i++) {
		virDomainDestroy(all[i]);
		virDomainUndefine(all[i]);
		virDomainFree(all[i]);
	}
	free(all);
	if (conn)
		virConnectClose(conn);
}

/* Also when it ends in the middle. */
static void leave_nothing(void)
{
	if (p)
		for (int i = 0; i < 2 && uris[i]; i++)
			end_all(uris[i]);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	folder = argv[2];
	atexit(leave_nothing);
	setvbuf(stdout, NULL, _IOLBF, 0);
	arena_init(&arena, (size_t)256 << 20);
	volume = new_id();
	open_it(argv[1]);
	RUN(a_machine_boots);
	RUN(volumes_come_and_go_while_it_runs);
	RUN(volumes_are_one_machines);
	RUN(root_disks_grow);
	RUN(snapshots_of_running_machines_boot);
	RUN(no_guest_is_left_standing_still);
	RUN(snapshots_wait_for_the_first_start);
	/* Where the disks of other hosts are only those know. */
	if (hosts < 2)
		RUN(disks_that_are_held_are_waited_for);
	RUN(what_is_off_is_changed_too);
	RUN(nothing_is_left);
	return test_done();
}
