#include "provider/libvirt/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "provider/libvirt/xml.h"

#define ARENA_MOST ((size_t)8 << 20)

#define AT(member)     offsetof(struct domain_facts, member)
#define VOLUME(member) offsetof(struct domain_volume, member)
#define TEXTS          .item = FIELD_STRING, .size = sizeof(const char *)

static const struct field volume_fields[] = {
	{"volume", FIELD_STRING, 0, VOLUME(volume), "Its id."},
	{"device", FIELD_STRING, 0, VOLUME(device), "What it is there."},
	{0},
};

static const struct field fields[] = {
	{"installation", FIELD_STRING, 0, AT(installation), "Whose it is."},
	{"server", FIELD_STRING, 0, AT(server), "Of which server."},
	{"token", FIELD_STRING, 0, AT(token), "Of the launch."},
	{"name", FIELD_STRING, 0, AT(name), "The user's."},
	{"flavor", FIELD_STRING, 0, AT(flavor), "What it has."},
	{"image", FIELD_STRING, 0, AT(image), "What it was made of."},
	{"zone", FIELD_STRING, 0, AT(zone), "Where it was asked to be."},
	{"network", FIELD_STRING, 0, AT(network), "What it is in."},
	{"groups", FIELD_LIST, 0, AT(groups), "Security groups.", TEXTS},
	{"sources", FIELD_LIST, 0, AT(sources), "What it may send as.", TEXTS},
	{"publicIp", FIELD_BOOL, 0, AT(public_ip), "It has one."},
	{"tags", FIELD_TAGS, 0, AT(tags), "All of them."},
	{"mac", FIELD_STRING, 0, AT(mac), "Of its network card."},
	{"address", FIELD_STRING, 0, AT(address), "In its network."},
	{"address6", FIELD_STRING, 0, AT(address6), "Likewise."},
	{"ports", FIELD_LIST, 0, AT(ports), "Those that are published.",
	 .item = FIELD_OBJECT, .fields = port_fields,
	 .size = sizeof(struct port)},
	{"volumes", FIELD_LIST, 0, AT(volumes), "Those that it has.",
	 .item = FIELD_OBJECT, .fields = volume_fields,
	 .size = sizeof(struct domain_volume)},
	{"rootDiskGiB", FIELD_INT, 0, AT(root_disk_gib), "How large it is."},
	{"createdAt", FIELD_TIME, 0, AT(created_at), "When."},
	{"stoppedAt", FIELD_TIME, 0, AT(stopped_at), "When it was asked to."},
	{"failure", FIELD_STRING, 0, AT(failure), "Why it is not started."},
	{"started", FIELD_BOOL, 0, AT(started), "Its launch is over."},
	{0},
};

/* JSON can say all characters; two of them XML cannot carry, and they can be
 * written otherwise. */
static void add_for_xml(struct buf *out, const char *json)
{
	for (const char *p; (p = strstr(json, "\xef\xbf")); json = p + 3) {
		unsigned char last = (unsigned char)p[2];

		buf_add(out, json, (size_t)(p - json));
		if (last == 0xbe || last == 0xbf)
			buf_adds(out, last == 0xbe ? "\\ufffe" : "\\uffff");
		else
			buf_add(out, p, last ? 3 : 2);
		if (!last)
			return;
	}
	buf_adds(out, json);
}

int facts_text(const struct domain_facts *f, struct buf *out, struct err *err)
{
	struct buf json = BUF_INIT(FACTS_MOST);
	bool good;

	field_encode(fields, f, FIELD_FULL, &json);
	good = buf_ok(&json);
	if (good)
		add_for_xml(out, buf_str(&json));
	buf_release(&json);
	if (!good || !buf_ok(out))
		return err_set(err, ERR_TOO_LARGE,
			       "there is too much to say of the machine");
	return 0;
}

int facts_write(const struct domain_facts *f, struct buf *out, struct err *err)
{
	struct buf text = BUF_INIT(FACTS_MOST);
	int r = -1;

	if (facts_text(f, &text, err) == 0) {
		struct xml *x = xml_new();

		xml_begin(x, DOMAIN_ELEMENT);
		xml_text(x, buf_str(&text));
		xml_end(x);
		r = xml_finish(x, out, err);
	}
	buf_release(&text);
	return r;
}

int facts_read(const char *xml, struct arena *a, struct domain_facts *ret,
	       struct err *err)
{
	struct xml_doc *d = xml_parse(xml, strlen(xml), err);
	struct domain_facts f = {0};
	struct violations v;
	const char *text;
	struct node *n;

	if (!d)
		return -1;
	text = xml_value(xml_root(d), a);
	xml_free(d);
	n = text ? json_parse(text, strlen(text), a, err) : NULL;
	if (!n || node_type(n) != NODE_OBJECT)
		return err_set(err, ERR_PROVIDER,
			       "a machine's metadata cannot be read");
	violations_init(&v, a);
	field_decode(fields, n, FIELD_STORED, &f, &v);
	if (v.n)
		return err_set(err, ERR_PROVIDER,
			       "a machine's metadata is not ours");
	*ret = f;
	return 0;
}

int facts_load(struct host *h, virDomainPtr d, struct arena *a,
	       struct domain_facts *ret, struct err *err)
{
	auto_free char *xml = virDomainGetMetadata(
		d, VIR_DOMAIN_METADATA_ELEMENT, DOMAIN_NAMESPACE, 0);

	if (!xml)
		return host_err(h, "read the machine's metadata", err);
	return facts_read(xml, a, ret, err);
}

static int save(struct host *h, virDomainPtr d, const struct domain_facts *f,
		struct err *err)
{
	unsigned flags = VIR_DOMAIN_AFFECT_CONFIG;
	struct buf xml = BUF_INIT(FACTS_MOST);
	int r = facts_write(f, &xml, err);

	if (r == 0) {
		int active = virDomainIsActive(d);

		if (active > 0)
			flags |= VIR_DOMAIN_AFFECT_LIVE;
		r = active < 0
			    ? -1
			    : virDomainSetMetadata(d,
						   VIR_DOMAIN_METADATA_ELEMENT,
						   buf_str(&xml), DOMAIN_PREFIX,
						   DOMAIN_NAMESPACE, flags);
		if (r < 0)
			host_err(h, "write the machine's metadata", err);
	}
	buf_release(&xml);
	return r;
}

int facts_change(struct host *h, virDomainPtr d, facts_change_fn *change,
		 void *ctx, struct err *err)
{
	pthread_mutex_t *lock = host_facts_lock(h);
	struct domain_facts f;
	struct arena a;
	int r;

	arena_init(&a, ARENA_MOST);
	pthread_mutex_lock(lock);
	r = facts_load(h, d, &a, &f, err);
	if (r == 0)
		r = change(&f, &a, ctx, err);
	if (r == 0)
		r = save(h, d, &f, err);
	pthread_mutex_unlock(lock);
	arena_release(&a);
	return r;
}
