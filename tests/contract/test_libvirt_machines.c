/*
 * What the contract of providers does not ask for, on real machines: QEMU on
 * this host, by a libvirt in this process.
 */
#include <arpa/inet.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "base/json.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/server.h"
#include "provider/front.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/facts.h"
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

/* What the provider says by itself. */
static atomic_uint news;
static char last_news[128];

static void on_change(void *listener, const char *machine)
{
	(void)listener;
	snprintf(last_news, sizeof(last_news), "%s", machine);
	atomic_fetch_add(&news, 1);
}

static struct provider *open_embedded(const char *more)
{
	struct provider_conf conf = {.region = "r",
				     .installation = INSTALLATION,
				     .folder = scratch,
				     .changed = on_change};
	const char *options =
		arena_printf(&arena,
			     "{\"images\":\"%s/images\",\"flavors\":["
			     "{\"name\":\"least\",\"vcpus\":1,"
			     "\"memoryMiB\":32,\"diskGiB\":1},"
			     "{\"name\":\"more\",\"vcpus\":2,"
			     "\"memoryMiB\":48,\"diskGiB\":1},"
			     "{\"name\":\"slow\",\"vcpus\":1,"
			     "\"memoryMiB\":64,\"diskGiB\":1,"
			     "\"cpuPercent\":50,\"cpuShares\":10,"
			     "\"diskIops\":100,\"diskMiBPerSecond\":1},"
			     "{\"name\":\"huge\",\"vcpus\":1,"
			     "\"memoryMiB\":16000000,\"diskGiB\":1}]%s}",
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
static size_t machines(void *ctx)
{
	struct host *h = lv_of(ctx)->hosts[0];
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

/* Files of machines; images and the rest stay. */
static size_t disks(struct provider *p)
{
	struct host *h = lv_of(p)->hosts[0];
	const struct disk_info *d;
	struct items all;
	struct err err;
	size_t n = 0;

	CHECK(h->disks->list(h, &arena, &all, &err) == 0);
	d = all.at;
	for (size_t i = 0; i < all.n; i++) {
		if (strncmp(d[i].name, "image-", 6) == 0)
			continue;
		printf("# there is %s\n", d[i].name);
		n++;
	}
	return n;
}

static const char *image_id(struct provider *p)
{
	const struct image *images;
	struct catalogue c;
	struct err err;

	if (provider_catalogue(p, &arena, &c, &err) < 0 || !c.images.n)
		return "none";
	images = c.images.at;
	return images[0].status.backed.provider;
}

#define NETWORK "4f9c1f4e-1f0a-4b5e-8f44-7d1d6c0affff"

static const char *network_id(struct provider *p)
{
	const struct network n = {.meta = {.id = NETWORK, .name = "n"},
				  .spec.prefix = "10.77.0.0/24"};
	const struct network_spec spec = {.id.ours = NETWORK, .network = &n};
	struct backing b = {0};
	struct err err;

	CHECK(provider_ensure_network(p, &spec, &arena, &b, &err) == 0);
	return b.id;
}

/* A machine, and what its region's provider has said of it by itself. */
struct subject {
	struct provider *p;
	struct field_tag tags[3];
	struct machine_spec spec;
	struct machine m;
	struct err err;
};

static bool look(struct subject *s)
{
	if (provider_describe(s->p, s->m.id, &arena, &s->m, &s->err) == 0)
		return true;
	printf("# %s / %s\n", s->err.msg, s->err.provider_msg);
	return false;
}

static bool wait_for(struct subject *s, int state)
{
	for (int i = 0; i < 3000; i++) {
		if (!look(s))
			return false;
		if (s->m.state == state)
			return true;
		usleep(100000);
	}
	printf("# it is %s (%s)\n", s->m.native_state,
	       s->m.reason ? s->m.reason : "");
	return false;
}

static bool launch(struct subject *s)
{
	if (provider_launch(s->p, &s->spec, &arena, &s->m, &s->err) == 0)
		return true;
	printf("# %s / %s\n", s->err.msg, s->err.provider_msg);
	return false;
}

/* What is heard first of a new machine is how its start went. */
static bool is_told_that_it_runs(struct subject *s)
{
	for (int i = 0; i < 30000 && strcmp(last_news, s->m.id) != 0; i++)
		usleep(10000);
	CHECK_STR(last_news, s->m.id);
	return look(s) && s->m.state == INSTANCE_RUNNING;
}

/* Its words are hard on those who do not take care. */
static struct subject subject(struct provider *p, const char *token)
{
	struct subject s = {.p = p};

	s.tags[0] = (struct field_tag){TAG_SERVER, token};
	s.tags[1] = (struct field_tag){TAG_INSTALLATION, INSTALLATION};
	s.tags[2] = (struct field_tag){"</muster:machine>&\"'<x y='",
				       "]]>\x01\xef\xbf\xbf\n$(reboot)"};
	s.spec = (struct machine_spec){.server = token,
				       .token = token,
				       .name = "'><evil/>&amp;\"",
				       .flavor = "least",
				       .image = image_id(p),
				       .network = network_id(p),
				       .root_disk_gib = 1};
	return s;
}

static bool begin(struct subject *s, struct provider *p, const char *token)
{
	*s = subject(p, token);
	s->spec.tags = (struct items){s->tags, 3};
	return launch(s) && wait_for(s, INSTANCE_RUNNING);
}

static pid_t qemu_of(const struct subject *s)
{
	char path[256], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/libvirt-r/run/qemu/muster-%.36s.pid",
		 scratch, s->m.id);
	f = fopen(path, "re");
	CHECK(f && fgets(text, sizeof(text), f));
	if (f)
		fclose(f);
	return (pid_t)strtol(text, NULL, 10);
}

static void words_stay_where_they_are(struct subject *s)
{
	CHECK(s->m.tags.n == 3);
	for (size_t i = 0; i < 3; i++) {
		const char *value = field_tag_get(&s->m.tags, s->tags[i].key);

		CHECK(value && strcmp(value, s->tags[i].value) == 0);
	}
}

static bool answers(const struct port *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port->port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool good;

	inet_pton(AF_INET, port->address, &at.sin_addr);
	good = connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
	close(fd);
	return good;
}

static void ports_are_published(struct subject *s)
{
	const struct port *port = s->m.ports.at;
	int64_t before;

	CHECK(s->m.ports.n == 1 && port->guest == 22 && answers(port));
	if (!s->m.ports.n)
		return;
	before = port->port;
	CHECK(provider_stop(s->p, s->m.id, true, &s->err) == 0);
	CHECK(wait_for(s, INSTANCE_STOPPED) && s->m.ports.n == 0);
	CHECK(provider_start(s->p, s->m.id, &s->err) == 0);
	CHECK(wait_for(s, INSTANCE_RUNNING));
	port = s->m.ports.at;
	CHECK(s->m.ports.n == 1 && port->port == before && answers(port));
}

/* Killed, or ended by somebody: it is told at once, and can be started again. */
static void a_crash_is_told(struct subject *s)
{
	unsigned heard = atomic_load(&news);
	pid_t pid = qemu_of(s);

	CHECK(pid > 1 && kill(pid, SIGKILL) == 0);
	for (int i = 0; i < 600 && atomic_load(&news) == heard; i++)
		usleep(10000);
	CHECK(atomic_load(&news) != heard);
	CHECK(strcmp(last_news, s->m.id) == 0);
	CHECK(wait_for(s, INSTANCE_STOPPED) && s->m.reason);
	CHECK(provider_start(s->p, s->m.id, &s->err) == 0);
	CHECK(wait_for(s, INSTANCE_RUNNING));
}

static virDomainPtr domain_of(struct subject *s)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	virDomainPtr d = NULL;
	bool other;
	struct host *h = host_of_machine(lv_of(s->p), s->m.id, uuid, &other);

	CHECK(h && host_domain(h, uuid, &d, &s->err) == 0);
	return d;
}

static void one_that_is_held_goes_on(struct subject *s)
{
	auto_domain virDomainPtr d = domain_of(s);

	CHECK(virDomainSuspend(d) == 0);
	CHECK(look(s) && s->m.state == INSTANCE_STOPPED);
	CHECK_STR(s->m.native_state, "paused");
	CHECK(provider_start(s->p, s->m.id, &s->err) == 0);
	CHECK(look(s) && s->m.state == INSTANCE_RUNNING);
}

static int forget_start(struct domain_facts *f, struct arena *a, void *ctx,
			struct err *err)
{
	(void)a;
	(void)ctx;
	(void)err;
	f->started = false;
	return 0;
}

/* As after a crash between two steps of a launch. */
static void half_a_launch_is_finished(struct subject *s)
{
	auto_domain virDomainPtr d = domain_of(s);
	char id[128];

	snprintf(id, sizeof(id), "%s", s->m.id);
	CHECK(virDomainDestroy(d) == 0);
	CHECK(facts_change(lv_of(s->p)->hosts[0], d, forget_start, NULL,
			   &s->err) == 0);
	CHECK(launch(s) && s->m.state == INSTANCE_PENDING);
	CHECK_STR(s->m.id, id);
	CHECK(wait_for(s, INSTANCE_RUNNING) && s->m.ports.n == 1);
	CHECK(machines(s->p) == 1);
}

/* The machine does not end with us, and the next process finds it. */
static void machines_outlive_the_server(struct subject *s)
{
	const struct machine_filter ours = {TAG_INSTALLATION, INSTALLATION};
	const struct machine *found;
	struct machine_page page;

	provider_close(s->p);
	CHECK(kill(qemu_of(s), 0) == 0);
	s->p = open_embedded("");
	CHECK(look(s) && s->m.state == INSTANCE_RUNNING);
	CHECK(provider_list(s->p, &ours, NULL, &arena, &page, &s->err) == 0);
	found = page.machines.at;
	CHECK(page.machines.n == 1 && strcmp(found->id, s->m.id) == 0);
}

static void what_was_made_is_there_again(void)
{
	struct provider *p = open_embedded("");
	struct subject s;

	if (!p)
		return;
	if (!begin(&s, p, "4f9c1f4e-1f0a-4b5e-8f44-7d1d6c0a0001")) {
		CHECK(!"it runs");
		return;
	}
	words_stay_where_they_are(&s);
	ports_are_published(&s);
	a_crash_is_told(&s);
	one_that_is_held_goes_on(&s);
	half_a_launch_is_finished(&s);
	machines_outlive_the_server(&s);
	CHECK(provider_terminate(s.p, s.m.id, &s.err) == 0);
	CHECK(machines(s.p) == 0 && disks(s.p) == 0);
	provider_close(s.p);
}

static void what_there_is_no_room_for_is_refused(void)
{
	struct provider *p = open_embedded("");
	struct subject s;

	if (!p)
		return;
	s = subject(p, "4f9c1f4e-1f0a-4b5e-8f44-7d1d6c0a0002");
	s.spec.flavor = "huge";
	CHECK(provider_launch(p, &s.spec, &arena, &s.m, &s.err) < 0);
	CHECK(s.err.code == ERR_CAPACITY);
	CHECK(strstr(s.err.msg, "host local has "));
	CHECK(machines(p) == 0 && disks(p) == 0);
	provider_close(p);
}

/* A flavor with every limit; processors only where the host can. */
static void limits_are_kept(void)
{
	struct provider *p = open_embedded("");
	auto_domain virDomainPtr d = NULL;
	struct subject s;
	char *xml;

	if (!p)
		return;
	s = subject(p, "4f9c1f4e-1f0a-4b5e-8f44-7d1d6c0a0003");
	s.spec.flavor = "slow";
	CHECK(launch(&s));
	if (!s.m.id)
		return;
	CHECK(is_told_that_it_runs(&s));
	d = domain_of(&s);
	xml = virDomainGetXMLDesc(d, 0);
	CHECK(xml && strstr(xml, "<total_iops_sec>100</total_iops_sec>"));
	CHECK(xml && strstr(xml, "<total_bytes_sec>1048576<"));
	free(xml);
	CHECK(provider_terminate(p, s.m.id, &s.err) == 0);
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
	RUN(what_was_made_is_there_again);
	RUN(what_there_is_no_room_for_is_refused);
	RUN(limits_are_kept);
	arena_release(&arena);
	return test_done();
}
