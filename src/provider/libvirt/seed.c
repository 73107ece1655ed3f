#include "provider/libvirt/seed.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "model/network.h"
#include "provider/libvirt/iso.h"

/* What one file may be; the user's own is much less. */
#define FILE_MOST ((size_t)4 << 20)

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

void seed_hostname(const char *name, char out[64])
{
	size_t n = 0;

	for (; *name && n < 63; name++) {
		char c = *name;

		if (c >= 'A' && c <= 'Z')
			c = (char)(c | 0x20);
		if (is_plain(c))
			out[n++] = c;
		else if (n && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n && out[n - 1] == '-')
		n--;
	out[n] = '\0';
	if (!n)
		memcpy(out, "machine", sizeof("machine"));
}

static void add_text(struct buf *out, const char *s)
{
	json_add_string(out, s, strlen(s));
}

static void add_member(struct buf *out, const char *name, const char *value)
{
	buf_addf(out, "%s\"%s\":", out->data[out->len - 1] == '{' ? "" : ",",
		 name);
	add_text(out, value);
}

static void meta_data(const struct machine_spec *spec, const char *instance,
		      struct buf *out)
{
	char host[64];

	seed_hostname(spec->name, host);
	buf_adds(out, "{");
	add_member(out, "instance-id", instance);
	add_member(out, "local-hostname", host);
	buf_adds(out, "}\n");
}

/* cloud-init waits for a source in vain that has none. */
static void user_data(const struct machine_spec *spec, struct buf *out)
{
	if (spec->user_data_len)
		buf_add(out, spec->user_data, spec->user_data_len);
	else
		buf_adds(out, "#cloud-config\n{}\n");
}

/* Keys that the image has from where it was made go, and no others are made:
 * what the guest shows is what we know. */
static void vendor_data(const struct machine_spec *spec, struct buf *out)
{
	const struct ssh_pair *key = &spec->host_key;

	buf_adds(out, "#cloud-config\n{\"ssh_deletekeys\":true");
	if (key->private_key) {
		buf_adds(out, ",\"ssh_keys\":{");
		add_member(out, "ed25519_private", key->private_key);
		add_member(out, "ed25519_public", key->public_line);
		buf_adds(out, "}");
	}
	buf_adds(out, "}\n");
}

/* "10.0.0.5/24", of an address and the prefix that it is in. */
static void add_address(struct buf *out, const char *address,
			const char *prefix, const char *before)
{
	const char *bits = prefix ? strchr(prefix, '/') : NULL;
	char text[96];

	if (!address || !bits)
		return;
	snprintf(text, sizeof(text), "%s%s", address, bits);
	buf_adds(out, before);
	add_text(out, text);
}

static void add_route(struct buf *out, const char *to, const char *via)
{
	if (!via)
		return;
	buf_adds(out, out->data[out->len - 1] == '[' ? "{" : ",{");
	add_member(out, "to", to);
	add_member(out, "via", via);
	buf_adds(out, "}");
}

static void add_dns(struct buf *out, const struct items *dns)
{
	const char *const *list = dns->at;

	if (!dns->n)
		return;
	buf_adds(out, ",\"nameservers\":{\"addresses\":[");
	for (size_t i = 0; i < dns->n; i++) {
		buf_adds(out, i ? "," : "");
		add_text(out, list[i]);
	}
	buf_adds(out, "]}");
}

/* What is known is said, so that nobody waits for DHCP; what is not is asked
 * there. */
static void network_config(const struct nic *nic, struct buf *out)
{
	const struct network_route *routes = nic->routes.at;
	bool known = nic->address && nic->prefix && strchr(nic->prefix, '/');

	buf_adds(out, "{\"version\":2,\"ethernets\":{\"eth0\":{\"match\":{");
	if (nic->mac)
		add_member(out, "macaddress", nic->mac);
	else
		add_member(out, "name", "e*");
	buf_adds(out, "}");
	/* Not everyone who writes configurations looks for the one that
	 * matches. */
	if (nic->mac)
		add_member(out, "set-name", "eth0");
	buf_addf(out, ",\"dhcp4\":%s,\"dhcp6\":false",
		 known ? "false" : "true");
	if (known) {
		buf_adds(out, ",\"addresses\":[");
		add_address(out, nic->address, nic->prefix, "");
		add_address(out, nic->address6, nic->prefix6, ",");
		buf_adds(out, "],\"routes\":[");
		add_route(out, "0.0.0.0/0", nic->gateway);
		add_route(out, "::/0", nic->address6 ? nic->gateway6 : NULL);
		for (size_t i = 0; i < nic->routes.n; i++)
			add_route(out, routes[i].prefix, routes[i].next_hop);
		buf_adds(out, "]");
		add_dns(out, &nic->dns);
	}
	buf_adds(out, "}}}\n");
}

/* A secret, as far as it was written. */
static void wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->len);
	buf_release(b);
}

int seed_iso(const struct machine_spec *spec, const char *instance,
	     const struct nic *nic, struct buf *out, struct err *err)
{
	struct iso_file files[] = {
		{"meta-data", BUF_INIT(FILE_MOST)},
		{"user-data", BUF_INIT(FILE_MOST)},
		{"vendor-data", BUF_INIT(FILE_MOST)},
		{"network-config", BUF_INIT(FILE_MOST)},
	};
	size_t n = nic ? COUNT_OF(files) : COUNT_OF(files) - 1;
	int rc = 0;

	meta_data(spec, instance, &files[0].bytes);
	user_data(spec, &files[1].bytes);
	vendor_data(spec, &files[2].bytes);
	if (nic)
		network_config(nic, &files[3].bytes);
	for (size_t i = 0; i < n && rc == 0; i++)
		if (!buf_ok(&files[i].bytes))
			rc = err_set(err, ERR_TOO_LARGE,
				     "the machine's %s is too large",
				     files[i].name);
	if (rc == 0)
		rc = iso_write(SEED_LABEL, files, n, out, err);
	for (size_t i = 0; i < COUNT_OF(files); i++)
		wipe(&files[i].bytes);
	return rc;
}
