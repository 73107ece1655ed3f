/* The simulated cloud's machines, in our words. */
#include <string.h>

#include "base/base64.h"
#include "base/field_ops.h"
#include "model/server.h"
#include "provider/sim_driver.h"
#include "provider/sim_line.h"

/* Where machines have no tags, their names say whose they are. */
#define NAME_PREFIX "muster."

static const struct {
	const char *native;
	enum instance_state state;
} states[] = {
	{"building", INSTANCE_PENDING},     {"active", INSTANCE_RUNNING},
	{"halting", INSTANCE_STOPPING},     {"halted", INSTANCE_STOPPED},
	{"booting", INSTANCE_PENDING},      {"rebooting", INSTANCE_RUNNING},
	{"resizing", INSTANCE_PENDING},     {"rebuilding", INSTANCE_PENDING},
	{"deleting", INSTANCE_TERMINATING}, {"deleted", INSTANCE_TERMINATED},
	{"error", INSTANCE_FAILED},
};

static int state_of(const char *native)
{
	for (size_t i = 0; native && i < COUNT_OF(states); i++)
		if (strcmp(states[i].native, native) == 0)
			return states[i].state;
	return INSTANCE_UNKNOWN;
}

static struct items tags_from_name(const char *name, struct arena *a)
{
	size_t prefix = strlen(NAME_PREFIX);
	const char *dot;
	struct field_tag *t;

	if (!name || strncmp(name, NAME_PREFIX, prefix) != 0)
		return (struct items){0};
	name += prefix;
	dot = strchr(name, '.');
	if (!dot)
		return (struct items){0};
	t = arena_alloc(a, 2 * sizeof(*t));
	t[0] = (struct field_tag){TAG_INSTALLATION,
				  arena_memdup(a, name, (size_t)(dot - name))};
	t[1] = (struct field_tag){TAG_SERVER, arena_strdup(a, dot + 1)};
	return (struct items){t, 2};
}

static int ready_of(const char *guest)
{
	if (!guest)
		return READY_UNTOLD;
	return strcmp(guest, "up") == 0 ? READY_NOW : READY_NOT_YET;
}

static void to_machine(const struct provider *p, const struct sim_machine *m,
		       struct arena *a, struct machine *ret)
{
	*ret = (struct machine){
		.id = m->id,
		.state = state_of(m->state),
		.native_state = m->state,
		.reason = m->reason,
		.flavor = m->flavor,
		.image = m->image,
		.zone = m->zone,
		.private_ip = m->private_ip,
		.private_ip6 = m->private_ip6,
		.public_ip = m->public_ip,
		.mac = m->mac,
		.ports = m->ports,
		.ready = ready_of(m->guest),
		.ready_why = m->guest ? arena_join(a, "the guest is ", m->guest,
						   NULL)
				      : NULL,
		.tags = p->facts.tags ? m->tags : tags_from_name(m->name, a),
		.created_at = m->created_at,
		.spot = m->spot,
	};
}

static const char *name_of(const char *installation, const char *server,
			   struct arena *a)
{
	return arena_join(a, NAME_PREFIX, installation, ".", server, NULL);
}

static const char *user_data(const struct machine_spec *spec, struct arena *a)
{
	char *text;

	if (!spec->user_data)
		return NULL;
	text = arena_alloc(a, BASE64URL_TEXT(spec->user_data_len) + 1);
	base64url_encode((const unsigned char *)spec->user_data,
			 spec->user_data_len, text);
	return text;
}

static int list_page(struct provider *p, const struct machine_filter *filter,
		     const char *page, struct arena *a, struct sim_page *ret,
		     struct err *err)
{
	struct sim_act act = {
		.key = filter->key, .value = filter->value, .page = page};

	if (!p->facts.tags && strcmp(filter->key, TAG_SERVER) == 0) {
		act.key = "name";
		act.value = name_of(p->installation, filter->value, a);
	} else if (!p->facts.tags) {
		act.key = act.value = NULL;
	}
	return sim_link_call(sim_link(p), SIM_LIST, &act, a, ret, err);
}

static int sim_list(struct provider *p, const struct machine_filter *filter,
		    const char *page, struct arena *a, struct machine_page *ret,
		    struct err *err)
{
	struct sim_page found;
	const struct sim_machine *from;
	struct machine *to;
	size_t n = 0;

	if (list_page(p, filter, page, a, &found, err) < 0)
		return -1;
	from = found.machines.at;
	to = arena_alloc(a, found.machines.n * sizeof(*to) + 1);
	for (size_t i = 0; i < found.machines.n; i++) {
		const char *value;

		to_machine(p, &from[i], a, &to[n]);
		/* Strangers are among them where there are no tags. */
		value = field_tag_get(&to[n].tags, filter->key);
		n += value && strcmp(value, filter->value) == 0;
	}
	*ret = (struct machine_page){{to, n}, found.next};
	return 0;
}

/* Those of PAGE that are ours go to its beginning: another installation may have
 * had the same servers. */
static void keep_ours(const struct provider *p, struct machine_page *page)
{
	struct machine *m = page->machines.at;
	size_t n = 0;

	for (size_t i = 0; i < page->machines.n; i++) {
		const char *whose = field_tag_get(&m[i].tags, TAG_INSTALLATION);

		if (whose && strcmp(whose, p->installation) == 0)
			m[n++] = m[i];
	}
	page->machines.n = n;
}

/* Without launch tokens: the machine that an earlier call of this launch made,
 * as far as the cloud shows it. */
static int find_launched(struct provider *p, const struct machine_spec *spec,
			 struct arena *a, struct machine *ret, bool *ret_found,
			 struct err *err)
{
	const struct machine_filter filter = {TAG_SERVER, spec->server};
	struct machine_page page;
	const struct machine *found;

	*ret_found = false;
	if (sim_list(p, &filter, NULL, a, &page, err) < 0)
		return -1;
	keep_ours(p, &page);
	if (page.machines.n > 1)
		return err_set(err, ERR_CONFLICT,
			       "there are %zu machines of server %s",
			       page.machines.n, spec->server);
	found = page.machines.at;
	if (page.machines.n) {
		*ret = *found;
		*ret_found = true;
	}
	return 0;
}

static int sim_launch(struct provider *p, const struct machine_spec *spec,
		      struct arena *a, struct machine *ret, struct err *err)
{
	struct sim_machine ask = {
		.token = p->facts.launch_tokens ? spec->token : NULL,
		.name = spec->name,
		.flavor = spec->flavor,
		.image = spec->image,
		.zone = spec->zone,
		.network = spec->network,
		.spot = spec->spot,
		.has_public = spec->public_ip,
		.root_disk_gib = spec->root_disk_gib,
		.root_disk_class = spec->root_disk_class,
		.groups = spec->groups,
		.sources = spec->sources,
		.ssh_keys = spec->ssh_keys,
		.tags = spec->tags,
		.user_data = user_data(spec, a),
		.host_key = spec->host_key.public_line,
	};
	struct sim_machine made;
	bool found = false;

	if (!p->facts.launch_tokens &&
	    find_launched(p, spec, a, ret, &found, err) < 0)
		return -1;
	if (found)
		return 0;
	if (!p->facts.tags)
		ask.name = name_of(p->installation, spec->server, a);
	if (sim_link_call(sim_link(p), SIM_LAUNCH, &ask, a, &made, err) < 0)
		return -1;
	to_machine(p, &made, a, ret);
	return 0;
}

static int sim_describe(struct provider *p, const char *id, struct arena *a,
			struct machine *ret, struct err *err)
{
	const struct sim_act act = {.id = id};
	struct sim_machine m;

	if (sim_link_call(sim_link(p), SIM_DESCRIBE, &act, a, &m, err) < 0)
		return -1;
	to_machine(p, &m, a, ret);
	return 0;
}

/* A call that answers nothing. */
static int do_act(struct provider *p, enum sim_call call, const void *ask,
		  struct err *err)
{
	struct arena a;
	int r;

	arena_init(&a, (size_t)1 << 20);
	r = sim_link_call(sim_link(p), call, ask, &a, NULL, err);
	arena_release(&a);
	return r;
}

static int sim_terminate(struct provider *p, const char *id, struct err *err)
{
	const struct sim_act act = {.id = id};

	if (do_act(p, SIM_TERMINATE, &act, err) < 0 &&
	    err->code != ERR_NOT_FOUND)
		return -1;
	sim_line_cut(((struct sim *)p)->lines, id);
	return 0;
}

static int sim_stop(struct provider *p, const char *id, bool hard,
		    struct err *err)
{
	const struct sim_act act = {.id = id, .hard = hard};

	if (do_act(p, SIM_STOP, &act, err) < 0)
		return -1;
	sim_line_cut(((struct sim *)p)->lines, id);
	return 0;
}

static int sim_start(struct provider *p, const char *id, struct err *err)
{
	const struct sim_act act = {.id = id};

	return do_act(p, SIM_START, &act, err);
}

static int sim_reboot(struct provider *p, const char *id, bool hard,
		      struct err *err)
{
	const struct sim_act act = {.id = id, .hard = hard};

	return do_act(p, SIM_REBOOT, &act, err);
}

static int sim_resize(struct provider *p, const char *id, const char *flavor,
		      struct err *err)
{
	const struct sim_act act = {.id = id, .flavor = flavor};

	return do_act(p, SIM_RESIZE, &act, err);
}

static int sim_rebuild(struct provider *p, const char *id,
		       const struct machine_spec *spec, struct err *err)
{
	struct sim_machine ask = {.id = id,
				  .image = spec->image,
				  .ssh_keys = spec->ssh_keys,
				  .host_key = spec->host_key.public_line};
	struct arena a;
	int r;

	arena_init(&a, (size_t)4 << 20);
	ask.user_data = user_data(spec, &a);
	r = sim_link_call(sim_link(p), SIM_REBUILD, &ask, &a, NULL, err);
	arena_release(&a);
	return r;
}

static int sim_grow_root_disk(struct provider *p, const char *id, int64_t gib,
			      struct err *err)
{
	const struct sim_act act = {.id = id, .gib = gib};

	return do_act(p, SIM_GROW, &act, err);
}

static int sim_set_tags(struct provider *p, const char *id,
			const struct items *tags, struct err *err)
{
	const struct sim_act act = {.id = id, .tags = *tags};

	return do_act(p, SIM_SET_TAGS, &act, err);
}

static int sim_set_access(struct provider *p, const char *id,
			  const struct machine_spec *spec, struct err *err)
{
	const struct sim_machine ask = {.id = id,
					.groups = spec->groups,
					.sources = spec->sources,
					.has_public = spec->public_ip};

	return do_act(p, SIM_SET_ACCESS, &ask, err);
}

static int sim_console(struct provider *p, const char *id,
		       enum console_kind kind, struct arena *a,
		       struct console *ret, struct err *err)
{
	const struct sim_act act = {
		.id = id, .console = kind == CONSOLE_VNC ? "vnc" : "serial"};
	struct sim_text answer;

	if (sim_link_call(sim_link(p), SIM_CONSOLE, &act, a, &answer, err) < 0)
		return -1;
	*ret = (struct console){.url = answer.text, .fd = -1};
	if (answer.text)
		return 0;
	return sim_line_open(((struct sim *)p)->lines, id, kind == CONSOLE_VNC,
			     &ret->fd, err);
}

static int sim_console_output(struct provider *p, const char *id, size_t length,
			      struct arena *a, struct buf *out, struct err *err)
{
	const struct sim_act act = {.id = id, .length = (int64_t)length};
	struct sim_text answer;

	if (sim_link_call(sim_link(p), SIM_OUTPUT, &act, a, &answer, err) < 0)
		return -1;
	buf_adds(out, answer.text ? answer.text : "");
	return 0;
}

const struct machine_ops sim_machine_ops = {
	.launch = sim_launch,
	.describe = sim_describe,
	.terminate = sim_terminate,
	.list = sim_list,
	.stop = sim_stop,
	.start = sim_start,
	.reboot = sim_reboot,
	.resize = sim_resize,
	.rebuild = sim_rebuild,
	.grow_root_disk = sim_grow_root_disk,
	.set_tags = sim_set_tags,
	.set_access = sim_set_access,
	.console = sim_console,
	.console_output = sim_console_output,
};
