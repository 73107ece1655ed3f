#include "provider/libvirt/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "provider/libvirt/xml.h"

/* What may be in a rule of ours, as libvirt calls it. */
static const char *const protocols[] = {
	"all",  "all-ipv6", "arp", "icmp",     "icmpv6", "ip",
	"ipv6", "mac",      "tcp", "tcp-ipv6", "udp",    "udp-ipv6",
};

static const char *const attributes[] = {
	"match",        "srcmacaddr",   "arpsrcmacaddr", "arpsrcipaddr",
	"arpsrcipmask", "protocol",     "type",          "srcipaddr",
	"srcipmask",    "dstipaddr",    "dstipmask",     "srcportstart",
	"srcportend",   "dstportstart", "dstportend",    "state",
	"comment",
};

/* In one order, so that what was read is written as it was. */
static void write_attrs(struct xml *x, const struct items *attrs)
{
	for (size_t i = 0; i < COUNT_OF(attributes); i++) {
		const char *value = field_tag_get(attrs, attributes[i]);

		if (value)
			xml_attr(x, attributes[i], value);
	}
}

static void write_rule(struct xml *x, const struct filter_rule *r)
{
	xml_begin(x, "rule");
	xml_attr(x, "action", r->action);
	xml_attr(x, "direction", r->direction);
	xml_attr_int(x, "priority", r->priority);
	if (r->stateless)
		xml_attr(x, "statematch", "false");
	if (r->protocol) {
		xml_begin(x, r->protocol);
		write_attrs(x, &r->attrs);
		xml_end(x);
	}
	xml_end(x);
}

int filter_write(const struct filter *f, struct buf *out, struct err *err)
{
	const struct filter_rule *rules = f->rules.at;
	const char *const *refs = f->refs.at;
	struct xml *x = xml_new();

	xml_begin(x, "filter");
	xml_attr(x, "name", f->name);
	xml_attr(x, "chain", "root");
	xml_leaf(x, "uuid", f->uuid);
	for (size_t i = 0; i < f->refs.n; i++) {
		xml_begin(x, "filterref");
		xml_attr(x, "filter", refs[i]);
		xml_end(x);
	}
	for (size_t i = 0; i < f->rules.n; i++)
		write_rule(x, &rules[i]);
	xml_end(x);
	return xml_finish(x, out, err);
}

static size_t count(const struct xml_node *n)
{
	size_t sum = 0;

	for (; n; n = xml_next(n))
		sum++;
	return sum;
}

static void read_attrs(const struct xml_node *n, struct arena *a,
		       struct items *ret)
{
	struct field_tag *t = arena_alloc(a, sizeof(attributes) * 2);

	*ret = (struct items){t, 0};
	for (size_t i = 0; i < COUNT_OF(attributes); i++) {
		const char *value = xml_get(n, attributes[i], a);

		if (value)
			t[ret->n++] = (struct field_tag){attributes[i], value};
	}
}

static void read_rule(const struct xml_node *n, struct arena *a,
		      struct filter_rule *ret)
{
	const char *priority = xml_get(n, "priority", a);

	*ret = (struct filter_rule){
		.action = xml_get(n, "action", a),
		.direction = xml_get(n, "direction", a),
		.priority = priority ? strtol(priority, NULL, 10) : 0,
		.stateless = xml_is(n, "statematch", "false") ||
			     xml_is(n, "statematch", "0"),
	};
	for (size_t i = 0; i < COUNT_OF(protocols); i++) {
		const struct xml_node *p = xml_child(n, protocols[i]);

		if (!p)
			continue;
		ret->protocol = protocols[i];
		read_attrs(p, a, &ret->attrs);
	}
}

int filter_read(const char *xml, struct arena *a, struct filter *ret,
		struct err *err)
{
	struct xml_doc *d = xml_parse(xml, strlen(xml), err);
	const struct xml_node *root, *n;
	struct filter_rule *rules;
	const char **refs;

	if (!d)
		return -1;
	root = xml_root(d);
	rules = arena_alloc(a, count(xml_child(root, "rule")) * sizeof(*rules) +
				       1);
	refs = arena_alloc(
		a, count(xml_child(root, "filterref")) * sizeof(*refs) + 1);
	*ret = (struct filter){.name = xml_get(root, "name", a),
			       .uuid = xml_value(xml_child(root, "uuid"), a),
			       .rules = {rules, 0},
			       .refs = {refs, 0}};
	for (n = xml_child(root, "rule"); n; n = xml_next(n))
		read_rule(n, a, &rules[ret->rules.n++]);
	for (n = xml_child(root, "filterref"); n; n = xml_next(n))
		refs[ret->refs.n++] = xml_get(n, "filter", a);
	xml_free(d);
	if (!ret->name || !ret->uuid)
		return err_set(err, ERR_PROVIDER, "a filter has no name");
	return 0;
}

void filter_group_name(const char *installation, const char *ours,
		       char out[FILTER_NAME_LEN + 1])
{
	snprintf(out, FILTER_NAME_LEN + 1, "muster-%s-group-%s", installation,
		 ours);
}

void filter_machine_name(const char *installation, const char *network,
			 const char *address, char out[FILTER_NAME_LEN + 1])
{
	snprintf(out, FILTER_NAME_LEN + 1, "muster-%s-at-%s-%s", installation,
		 network, address);
}

/* What follows "muster-INSTALLATION" and WORD in it; NULL: it does not. */
static const char *after(const char *name, const char *installation,
			 const char *word)
{
	const char *const parts[] = {"muster-", installation, word};

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		size_t len = strlen(parts[i]);

		if (strncmp(name, parts[i], len) != 0)
			return NULL;
		name += len;
	}
	return name;
}

bool filter_is_group(const char *name, const char *installation,
		     char ret_ours[UUID_LEN + 1])
{
	const char *rest = after(name, installation, "-group-");

	if (!rest || strlen(rest) != UUID_LEN)
		return false;
	memcpy(ret_ours, rest, UUID_LEN + 1);
	return true;
}

bool filter_is_machine(const char *name, const char *installation,
		       char ret_network[UUID_LEN + 1],
		       char ret_address[INET_ADDRSTRLEN])
{
	const char *rest = after(name, installation, "-at-");

	if (!rest || strlen(rest) < UUID_LEN + 2 || rest[UUID_LEN] != '-' ||
	    strlen(rest + UUID_LEN + 1) >= INET_ADDRSTRLEN)
		return false;
	snprintf(ret_network, UUID_LEN + 1, "%.*s", UUID_LEN, rest);
	snprintf(ret_address, INET_ADDRSTRLEN, "%s", rest + UUID_LEN + 1);
	return true;
}
