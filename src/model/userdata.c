#include "model/userdata.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/gunzip.h"
#include "base/json.h"
#include "model/instance.h"
#include "model/sshca.h"

#define COMPOSED_MOST ((size_t)512 << 10)
#define LINE_LEN      76 /* of base64 in a part */

/* How text of each format begins, and what it is called as a part; the longest
 * beginning first. */
static const struct {
	const char *start;
	enum userdata_format format;
	const char *type;
} formats[] = {
	{"#cloud-config-archive", USERDATA_CONFIG_ARCHIVE,
	 "text/cloud-config-archive"},
	{"#cloud-config", USERDATA_CLOUD_CONFIG, "text/cloud-config"},
	{"#cloud-boothook", USERDATA_BOOTHOOK, "text/cloud-boothook"},
	{"#include-once", USERDATA_INCLUDE, "text/x-include-once-url"},
	{"#include", USERDATA_INCLUDE, "text/x-include-url"},
	{"#part-handler", USERDATA_PART_HANDLER, "text/part-handler"},
	{"## template: jinja", USERDATA_JINJA, "text/jinja2"},
	{"#!", USERDATA_SCRIPT, "text/x-shellscript"},
	{"mime-version:", USERDATA_MULTIPART, NULL},
	{"content-type: multipart/", USERDATA_MULTIPART, NULL},
};

/* The row that DATA begins like, or -1.  As cloud-init does it: blanks before
 * it and capitals do not matter. */
static int row_of(const char *data, size_t len)
{
	while (len && isspace((unsigned char)*data)) {
		data++;
		len--;
	}
	for (size_t i = 0; i < COUNT_OF(formats); i++) {
		size_t n = strlen(formats[i].start);
		bool word = formats[i].start[n - 1] == '!' ||
			    formats[i].format == USERDATA_MULTIPART;

		if (len >= n && strncasecmp(data, formats[i].start, n) == 0 &&
		    (word || len == n || isspace((unsigned char)data[n])))
			return (int)i;
	}
	return -1;
}

enum userdata_format userdata_format(const char *data, size_t len)
{
	int row;

	if (!len)
		return USERDATA_EMPTY;
	if (len >= 2 && memcmp(data, "\x1f\x8b", 2) == 0)
		return USERDATA_GZIP;
	row = row_of(data, len);
	return row < 0 ? USERDATA_OTHER : formats[row].format;
}

static const char *decode(const char *base64, struct arena *a, size_t *ret_len)
{
	size_t len = base64 ? strlen(base64) : 0;
	char *data = arena_alloc(a, BASE64_BYTES(len) + 1);
	long n =
		base64_decode(base64 ? base64 : "", len, (unsigned char *)data);

	*ret_len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? NULL : data;
}

struct userdata_extras userdata_extras(const struct instance *i,
				       const struct sshca *ca, struct arena *a)
{
	const char *const *have = i->spec.ssh_public_keys.at;
	size_t n = i->spec.ssh_public_keys.n;
	const char **keys = arena_alloc(a, (n + 1) * sizeof(*keys));
	const char **names = arena_alloc(a, 2 * sizeof(*names));
	struct userdata_extras e = {.keys.at = keys, .principals.at = names};

	for (; e.keys.n < n; e.keys.n++)
		keys[e.keys.n] = have[e.keys.n];
	if (i->status.ssh_public_key)
		keys[e.keys.n++] = i->status.ssh_public_key;
	if (!ca || !ca->spec.public_key)
		return e;
	e.ca = ca->spec.public_key;
	/* Certificates that are signed here name instances and projects; an
	 * authority elsewhere names users, as is the custom. */
	if (ca->status.signs) {
		names[e.principals.n++] = i->meta.id;
		names[e.principals.n++] = i->project_id;
	}
	return e;
}

struct bytes {
	const char *at;
	size_t len;
};

/* What gzip has packed at *BYTES, in its place. */
static int unpack(struct bytes *bytes, const char *pointer, struct arena *a,
		  struct err *err)
{
	struct buf plain = BUF_INIT(USERDATA_UNPACKED_MOST);
	int rc = gunzip(bytes->at, bytes->len, &plain);

	if (rc == 0) {
		bytes->at = arena_memdup(a, buf_str(&plain), plain.len);
		bytes->len = plain.len;
	} else if (buf_ok(&plain)) {
		err_at(err, ERR_INVALID, pointer, "is gzip and damaged");
	} else {
		err_at(err, ERR_INVALID, pointer,
		       "is gzip of more than %d bytes, too many for SSH keys "
		       "or an authority to be put into",
		       USERDATA_UNPACKED_MOST);
	}
	if (plain.data)
		explicit_bzero(plain.data, plain.len); /* secrets, as ever */
	buf_release(&plain);
	return rc;
}

/* The bytes to be given, or to be joined with EXTRAS, in A. */
static int take(const char *base64, bool extras, const char *pointer,
		struct arena *a, struct bytes *ret, struct err *err)
{
	ret->at = decode(base64, a, &ret->len);
	if (!ret->at)
		return err_at(err, ERR_INVALID, pointer, "is not base64");
	if (ret->len > USERDATA_MOST)
		return err_at(err, ERR_INVALID, pointer,
			      "has %zu bytes; at most %d can be given to a "
			      "guest",
			      ret->len, USERDATA_MOST);
	if (extras && userdata_format(ret->at, ret->len) == USERDATA_GZIP &&
	    unpack(ret, pointer, a, err) < 0)
		return -1;
	if (extras && ret->len && row_of(ret->at, ret->len) < 0)
		return err_at(err, ERR_INVALID, pointer,
			      "SSH keys or an authority cannot be put into "
			      "it: it must be cloud-config, a script (#!), "
			      "MIME multipart, a boothook, an include, a "
			      "config archive, a part handler or a jinja "
			      "template, packed by gzip or not");
	return 0;
}

int userdata_check(const char *base64, bool extras, const char *pointer,
		   struct arena *a, struct err *err)
{
	struct bytes bytes;

	return take(base64, extras, pointer, a, &bytes, err);
}

static void add_list(struct buf *out, const struct items *items)
{
	const char *const *list = items->at;

	buf_addc(out, '[');
	for (size_t i = 0; i < items->n; i++) {
		if (i)
			buf_addc(out, ',');
		json_add_string(out, list[i], strlen(list[i]));
	}
	buf_addc(out, ']');
}

static void add_file(struct buf *out, const char *path, const char *content)
{
	buf_addf(out, "{\"path\":\"%s\",\"permissions\":\"0644\",\"content\":",
		 path);
	json_add_string(out, content, strlen(content));
	buf_addc(out, '}');
}

#define CA_FILE         "/etc/ssh/muster_ca.pub"
#define PRINCIPALS_FILE "/etc/ssh/muster_principals"
#define SSHD_FILE       "/etc/ssh/sshd_config.d/50-muster.conf"

static void add_authority(struct buf *out, const struct userdata_extras *e,
			  struct arena *a)
{
	const char *const *names = e->principals.at;
	struct buf list = BUF_INIT(4096);

	buf_adds(out, ",\"write_files\":[");
	add_file(out, CA_FILE, arena_join(a, e->ca, "\n", NULL));
	buf_addc(out, ',');
	add_file(out, SSHD_FILE,
		 e->principals.n ? "TrustedUserCAKeys " CA_FILE
				   "\nAuthorizedPrincipalsFile " PRINCIPALS_FILE
				   "\n"
				 : "TrustedUserCAKeys " CA_FILE "\n");
	for (size_t i = 0; i < e->principals.n; i++)
		buf_addf(&list, "%s\n", names[i]);
	if (list.len) {
		buf_addc(out, ',');
		add_file(out, PRINCIPALS_FILE, list.data);
	}
	buf_release(&list);
	/* An older sshd reads one file only; one that is up reads it again. */
	buf_adds(out, "],\"runcmd\":[[\"sh\",\"-c\",\"grep -qi '^ *include "
		      ".*sshd_config.d' /etc/ssh/sshd_config || cat " SSHD_FILE
		      " >> /etc/ssh/sshd_config; systemctl reload ssh || "
		      "systemctl reload sshd || true\"]]");
}

/* YAML takes JSON; the lists join those of the user's own. */
static void add_managed(struct buf *out, const struct userdata_extras *e,
			struct arena *a)
{
	buf_adds(out, "#cloud-config\n{\"merge_how\":[{\"name\":\"list\","
		      "\"settings\":[\"append\"]},{\"name\":\"dict\","
		      "\"settings\":[\"no_replace\",\"recurse_list\"]}]");
	if (e->keys.n) {
		buf_adds(out, ",\"ssh_authorized_keys\":");
		add_list(out, &e->keys);
	}
	if (e->ca)
		add_authority(out, e, a);
	buf_adds(out, "}\n");
}

static void add_part(struct buf *out, const char *type, const char *name,
		     const char *data, size_t len)
{
	char line[LINE_LEN + 1];

	buf_addf(out,
		 "Content-Type: %s; charset=\"utf-8\"\nMIME-Version: 1.0\n"
		 "Content-Transfer-Encoding: base64\n"
		 "Content-Disposition: attachment; filename=\"%s\"\n\n",
		 type, name);
	for (size_t at = 0; at < len; at += LINE_LEN / 4 * 3) {
		size_t n = len - at;

		if (n > LINE_LEN / 4 * 3)
			n = LINE_LEN / 4 * 3;
		base64_encode((const unsigned char *)data + at, n, line);
		buf_addf(out, "%s\n", line);
	}
}

/* What is found in neither part, since nothing has its own digest in it. */
static void find_boundary(const char *data, size_t len,
			  const struct buf *managed, char out[65])
{
	unsigned char sum[DIGEST_SHA256_LEN];
	struct digest *d = digest_new();

	digest_add(d, data, len);
	digest_add(d, managed->data, managed->len);
	digest_end(d, sum);
	digest_hex(sum, sizeof(sum), out);
}

static void add_message(struct buf *out, const char *data, size_t len,
			const struct buf *managed)
{
	const char *type = formats[row_of(data, len)].type;
	char boundary[65];

	find_boundary(data, len, managed, boundary);
	buf_addf(out,
		 "Content-Type: multipart/mixed; boundary=\"%s\"\n"
		 "MIME-Version: 1.0\n\n--%s\n",
		 boundary, boundary);
	/* A message is a part as it is: its head becomes the part's. */
	if (!type) {
		for (; isspace((unsigned char)*data); data++)
			len--;
		buf_add(out, data, len);
	} else {
		add_part(out, type, "user-data", data, len);
	}
	buf_addf(out, "\n--%s\n", boundary);
	add_part(out, "text/cloud-config", "muster", managed->data,
		 managed->len);
	buf_addf(out, "--%s--\n", boundary);
}

int userdata_compose(const char *base64, const struct userdata_extras *extras,
		     struct arena *a, const char **ret, size_t *ret_len,
		     struct err *err)
{
	struct buf managed = BUF_INIT(COMPOSED_MOST);
	struct buf out = BUF_INIT(COMPOSED_MOST);
	bool some = extras->keys.n || extras->ca;
	struct bytes own;
	int rc = take(base64, some, "/spec/userData", a, &own, err);

	if (rc == 0 && some)
		add_managed(&managed, extras, a);
	if (rc == 0 && some && own.len)
		add_message(&out, own.at, own.len, &managed);
	if (rc == 0 && (!buf_ok(&managed) || !buf_ok(&out)))
		rc = err_at(err, ERR_TOO_LARGE, "/spec/userData",
			    "the user data with what is put in is too large");
	if (rc == 0 && some) {
		const struct buf *b = own.len ? &out : &managed;

		own.at = arena_memdup(a, b->data, b->len);
		own.len = b->len;
	}
	buf_release(&managed);
	buf_release(&out);
	if (rc < 0)
		return -1;
	*ret = own.len ? own.at : NULL;
	*ret_len = own.len;
	return 0;
}
