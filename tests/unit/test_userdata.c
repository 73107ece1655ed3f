#include "model/userdata.h"

#define ZLIB_CONST
#include <zlib.h>

#include "base/attr.h"
#include "base/base64.h"
#include "base/buf.h"
#include "model/instance.h"
#include "model/sshca.h"
#include "test.h"

static struct arena arena;

static const char *encode(const char *text, size_t len)
{
	char *out = arena_alloc(&arena, BASE64_TEXT(len) + 1);

	base64_encode((const unsigned char *)text, len, out);
	return out;
}

static const struct {
	const char *text;
	enum userdata_format format;
	const char *type; /* of the part that it becomes; NULL: none */
} t[] = {
	{"#cloud-config\npackages: [git]\n", USERDATA_CLOUD_CONFIG,
	 "text/cloud-config"},
	{"#!/bin/sh\ntrue\n", USERDATA_SCRIPT, "text/x-shellscript"},
	{"#cloud-boothook\ntrue\n", USERDATA_BOOTHOOK, "text/cloud-boothook"},
	{"#include\nhttps://example.com/x\n", USERDATA_INCLUDE,
	 "text/x-include-url"},
	{"#include-once\nhttps://example.com/x\n", USERDATA_INCLUDE,
	 "text/x-include-once-url"},
	{"#cloud-config-archive\n- type: text/plain\n", USERDATA_CONFIG_ARCHIVE,
	 "text/cloud-config-archive"},
	{"#part-handler\ndef list_types():\n", USERDATA_PART_HANDLER,
	 "text/part-handler"},
	{"## template: jinja\n#cloud-config\n", USERDATA_JINJA, "text/jinja2"},
	{"  \n#Cloud-Config\n", USERDATA_CLOUD_CONFIG, "text/cloud-config"},
	{"#cloud-config", USERDATA_CLOUD_CONFIG, "text/cloud-config"},
	{"Content-Type: multipart/mixed; boundary=\"b\"\n\n--b\n\nx\n--b--\n",
	 USERDATA_MULTIPART, NULL},
	{"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n",
	 USERDATA_MULTIPART, NULL},
	{"#cloud-configuration\n", USERDATA_OTHER, NULL},
	{"hello", USERDATA_OTHER, NULL},
	{"#", USERDATA_OTHER, NULL},
	{" \n\t", USERDATA_OTHER, NULL},
	{"\x1f", USERDATA_OTHER, NULL},
	{"\x1f\x8c", USERDATA_OTHER, NULL},
	{"\x1f\x8b\x08", USERDATA_GZIP, NULL},
	{"", USERDATA_EMPTY, NULL},
};

static void formats_are_known_by_how_they_begin(void)
{
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		CHECK(userdata_format(t[i].text, strlen(t[i].text)) ==
		      t[i].format);
		if (userdata_format(t[i].text, strlen(t[i].text)) !=
		    t[i].format)
			printf("# %s\n", t[i].text);
	}
}

static void without_extras_every_format_is_taken(void)
{
	struct err err = {0};

	for (size_t i = 0; i < COUNT_OF(t); i++)
		CHECK(userdata_check(encode(t[i].text, strlen(t[i].text)),
				     false, "/u", &arena, &err) == 0);
	CHECK(userdata_check(NULL, false, "/u", &arena, &err) == 0);
}

static void with_extras_what_is_unknown_or_damaged_is_refused(void)
{
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err err = {0};
		int rc = userdata_check(encode(t[i].text, strlen(t[i].text)),
					true, "/u", &arena, &err);
		bool bad = t[i].format == USERDATA_GZIP ||
			   t[i].format == USERDATA_OTHER;

		CHECK((rc < 0) == bad);
		if (!bad)
			continue;
		CHECK(err.code == ERR_INVALID);
		CHECK_STR(err.field, "/u");
		CHECK(strstr(err.msg, t[i].format == USERDATA_GZIP
					      ? "damaged"
					      : "must be cloud-config"));
	}
}

static void what_is_too_large_or_no_base64_is_refused(void)
{
	static char most[USERDATA_MOST + 1];
	struct err err = {0};

	CHECK(userdata_check(encode(most, USERDATA_MOST), false, "/u", &arena,
			     &err) == 0);
	CHECK(userdata_check(encode(most, USERDATA_MOST + 1), false, "/u",
			     &arena, &err) < 0);
	CHECK(strstr(err.msg, "65537"));
	CHECK(userdata_check("a", false, "/u", &arena, &err) < 0);
	CHECK(strstr(err.msg, "base64"));
}

static const char *compose(const char *text, const struct userdata_extras *e)
{
	const char *out = NULL;
	size_t len = 0;
	struct err err = {0};

	CHECK(userdata_compose(encode(text, strlen(text)), e, &arena, &out,
			       &len, &err) == 0);
	CHECK(!out || strlen(out) == len);
	return out;
}

static void alone_it_is_left_as_it_is(void)
{
	struct userdata_extras none = {0};
	const char *got;
	size_t len;
	struct err err = {0};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		got = compose(t[i].text, &none);
		CHECK(t[i].text[0] ? got && strcmp(got, t[i].text) == 0 : !got);
	}
	CHECK(userdata_compose(NULL, &none, &arena, &got, &len, &err) == 0);
	CHECK(!got && len == 0);
}

static const char *keys[] = {"ssh-ed25519 AAAA joe \"the\" admin",
			     "ssh-ed25519 BBBB"};
static const char *names[] = {"an-instance", "a-project"};

static void each_format_becomes_a_part_beside_ours(void)
{
	struct userdata_extras e = {.keys = {keys, 2}};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *got;

		if (t[i].format == USERDATA_GZIP ||
		    t[i].format == USERDATA_OTHER ||
		    t[i].format == USERDATA_EMPTY)
			continue;
		got = compose(t[i].text, &e);
		CHECK(strncmp(got, "Content-Type: multipart/mixed; boundary=",
			      40) == 0);
		if (t[i].type)
			CHECK(strstr(got, t[i].type));
		if (t[i].type)
			CHECK(strstr(got,
				     encode(t[i].text, strlen(t[i].text))));
		else
			CHECK(strstr(got, t[i].text));
		CHECK(strstr(got, "filename=\"muster\""));
		CHECK_STR(got, compose(t[i].text, &e));
	}
}

/* LEN bytes as gzip packs them, in base64. */
static const char *pack(const char *text, size_t len)
{
	unsigned char *out = arena_alloc(&arena, len + 1024);
	z_stream z = {0};

	CHECK(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, 0) == Z_OK);
	z.next_in = (const unsigned char *)text;
	z.avail_in = (unsigned int)len;
	z.next_out = out;
	z.avail_out = (unsigned int)len + 1024;
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	len = z.total_out;
	deflateEnd(&z);
	return encode((const char *)out, len);
}

/* As if it had never been packed: what is a message has to become one of the
 * parts. */
static void what_is_packed_is_joined_as_it_was_before(void)
{
	struct userdata_extras e = {.keys = {keys, 2}}, none = {0};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *packed = pack(t[i].text, strlen(t[i].text));
		const char *got = NULL;
		struct err err = {0};
		size_t len = 0;
		int rc = userdata_compose(packed, &e, &arena, &got, &len, &err);

		if (t[i].format == USERDATA_GZIP ||
		    t[i].format == USERDATA_OTHER) {
			CHECK(rc < 0 &&
			      strstr(err.msg, "must be cloud-config"));
			continue;
		}
		CHECK(rc == 0 && strlen(got) == len);
		CHECK_STR(got, compose(t[i].text, &e));
		/* With nothing to be put in it stays packed. */
		CHECK(userdata_compose(packed, &none, &arena, &got, &len,
				       &err) == 0);
		CHECK_STR(encode(got, len), packed);
	}
}

static void what_unpacks_to_too_much_is_refused(void)
{
	const size_t most = USERDATA_UNPACKED_MOST, bomb = (size_t)32 << 20;
	char *text = arena_alloc(&arena, bomb);
	struct err err = {0};

	memset(text, '\n', bomb);
	memcpy(text, "#!/bin/sh", 9);
	CHECK(userdata_check(pack(text, most), true, "/u", &arena, &err) == 0);
	CHECK(userdata_check(pack(text, most + 1), true, "/u", &arena, &err) <
	      0);
	CHECK(strstr(err.msg, "262144"));
	CHECK(userdata_check(pack(text, bomb), true, "/u", &arena, &err) < 0);
	CHECK(err.code == ERR_INVALID && strstr(err.msg, "262144"));
}

/* Its head becomes the part's, which cannot begin with an empty line. */
static void blanks_before_a_message_are_left_out(void)
{
	struct userdata_extras e = {.keys = {keys, 1}};
	const char *got = compose("\n \r\nMIME-Version: 1.0\nX: y\n", &e);
	const char *part = strstr(got, "\n--");

	CHECK(part && strncmp(strchr(part + 1, '\n'),
			      "\nMIME-Version: 1.0\nX: y\n", 24) == 0);
}

static void what_cannot_be_put_together_is_refused(void)
{
	struct userdata_extras e = {.keys = {keys, 1}}, none = {0};
	const char *out = "as it was";
	char *huge = arena_alloc(&arena, 600001);
	size_t len = 7;
	struct err err = {0};

	CHECK(userdata_compose("=", &none, &arena, &out, &len, &err) < 0);
	CHECK(err.code == ERR_INVALID);
	CHECK(userdata_compose(encode("hello", 5), &e, &arena, &out, &len,
			       &err) < 0);
	CHECK(err.code == ERR_INVALID);
	/* Keys that do not fit, alone and beside something. */
	memset(huge, 'x', 600000);
	huge[600000] = 0;
	e.keys.at = (const char *[]){huge};
	CHECK(userdata_compose(NULL, &e, &arena, &out, &len, &err) < 0);
	CHECK(err.code == ERR_TOO_LARGE);
	/* It fits by itself, and in base64 it does not. */
	huge[450000] = 0;
	CHECK(userdata_compose(encode("#!/bin/sh", 9), &e, &arena, &out, &len,
			       &err) < 0);
	CHECK(err.code == ERR_TOO_LARGE);
	CHECK_STR(err.field, "/spec/userData");
	CHECK_STR(out, "as it was");
	CHECK(len == 7);
}

static void keys_alone_are_a_cloud_config(void)
{
	struct userdata_extras e = {.keys = {keys, 2}};
	const char *got = compose("", &e);

	CHECK(strncmp(got, "#cloud-config\n{", 15) == 0);
	CHECK(strstr(got, "\"ssh_authorized_keys\":[\"ssh-ed25519 AAAA joe "
			  "\\\"the\\\" admin\",\"ssh-ed25519 BBBB\"]"));
	CHECK(!strstr(got, "write_files"));
}

static void an_authority_is_trusted_for_the_names_it_may_give(void)
{
	struct userdata_extras e = {.ca = "ssh-ed25519 CCCC"};
	const char *got = compose("", &e);

	CHECK(strstr(got, "ssh-ed25519 CCCC\\n"));
	CHECK(strstr(got, "TrustedUserCAKeys /etc/ssh/muster_ca.pub"));
	CHECK(!strstr(got, "AuthorizedPrincipalsFile"));
	e.principals = (struct items){names, 2};
	got = compose("", &e);
	CHECK(strstr(got,
		     "AuthorizedPrincipalsFile /etc/ssh/muster_principals"));
	CHECK(strstr(got, "an-instance\\na-project\\n"));
}

static void the_boundary_is_in_no_part(void)
{
	struct userdata_extras e = {.keys = {keys, 1}};
	const char *first = compose(t[10].text, &e);
	char boundary[65] = "", *again;
	struct buf b = BUF_INIT(4096);

	memcpy(boundary, strchr(first, '"') + 1, 64);
	CHECK(strlen(boundary) == 64);
	/* A message that quotes the boundary of the one before. */
	buf_adds(&b, t[10].text);
	buf_addf(&b, "--%s\n", boundary);
	again = strchr(compose(b.data, &e), '"') + 1;
	CHECK(strncmp(again, boundary, 64) != 0);
	buf_release(&b);
}

static void what_an_instance_needs_follows_from_its_fields(void)
{
	struct instance i = {.meta.id = "an-instance",
			     .project_id = "a-project"};
	struct sshca ca = {.spec.public_key = "ssh-ed25519 CCCC"};
	struct userdata_extras e = userdata_extras(&i, NULL, &arena);

	CHECK(!e.keys.n && !e.ca && !e.principals.n);
	i.spec.ssh_public_keys = (struct items){keys, 2};
	i.status.ssh_public_key = "ssh-ed25519 DDDD";
	e = userdata_extras(&i, &ca, &arena);
	CHECK(e.keys.n == 3);
	CHECK_STR(((const char **)e.keys.at)[2], "ssh-ed25519 DDDD");
	CHECK_STR(e.ca, "ssh-ed25519 CCCC");
	CHECK(!e.principals.n);
	/* One whose key has not been made yet. */
	ca.spec.public_key = NULL;
	CHECK(!userdata_extras(&i, &ca, &arena).ca);
	ca.spec.public_key = "ssh-ed25519 CCCC";
	ca.status.signs = true;
	e = userdata_extras(&i, &ca, &arena);
	CHECK(e.principals.n == 2);
	CHECK_STR(((const char **)e.principals.at)[0], "an-instance");
}

int main(void)
{
	arena_init(&arena, (size_t)256 << 20);
	RUN(formats_are_known_by_how_they_begin);
	RUN(without_extras_every_format_is_taken);
	RUN(with_extras_what_is_unknown_or_damaged_is_refused);
	RUN(what_is_too_large_or_no_base64_is_refused);
	RUN(alone_it_is_left_as_it_is);
	RUN(each_format_becomes_a_part_beside_ours);
	RUN(what_is_packed_is_joined_as_it_was_before);
	RUN(what_unpacks_to_too_much_is_refused);
	RUN(blanks_before_a_message_are_left_out);
	RUN(what_cannot_be_put_together_is_refused);
	RUN(keys_alone_are_a_cloud_config);
	RUN(an_authority_is_trusted_for_the_names_it_may_give);
	RUN(the_boundary_is_in_no_part);
	RUN(what_an_instance_needs_follows_from_its_fields);
	arena_release(&arena);
	return test_done();
}
