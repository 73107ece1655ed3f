#include "identity/ssh.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/base64.h"
#include "base/ssh_wire.h"
#include "sshkeys.h"
#include "test.h"

static struct arena arena;

static const struct {
	const char *line, *fingerprint;
	enum ssh_type type;
	const char *certificate;
} keys[] = {
	{KEY_ED25519, FINGERPRINT_ED25519, SSH_ED25519,
	 "ssh-ed25519-cert-v01@openssh.com"},
	{KEY_ECDSA_256, FINGERPRINT_ECDSA_256, SSH_ECDSA_256,
	 "ecdsa-sha2-nistp256-cert-v01@openssh.com"},
	{KEY_ECDSA_384, FINGERPRINT_ECDSA_384, SSH_ECDSA_384,
	 "ecdsa-sha2-nistp384-cert-v01@openssh.com"},
	{KEY_ECDSA_521, FINGERPRINT_ECDSA_521, SSH_ECDSA_521,
	 "ecdsa-sha2-nistp521-cert-v01@openssh.com"},
	{KEY_RSA_2048, FINGERPRINT_RSA_2048, SSH_RSA,
	 "ssh-rsa-cert-v01@openssh.com"},
	{KEY_SK_ED25519, FINGERPRINT_SK_ED25519, SSH_SK_ED25519,
	 "sk-ssh-ed25519-cert-v01@openssh.com"},
	{KEY_SK_ECDSA, FINGERPRINT_SK_ECDSA, SSH_SK_ECDSA,
	 "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com"},
};

static void keys_of_every_type_are_read_as_ssh_keygen_reads_them(void)
{
	char print[SSH_FINGERPRINT_LEN + 1];
	struct ssh_public k;
	struct err err = {0};

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		CHECK(ssh_public_parse(keys[i].line, "/k", &arena, &k, &err) ==
		      0);
		CHECK(k.type == keys[i].type);
		CHECK_STR(k.line, keys[i].line);
		ssh_fingerprint(&k, print);
		CHECK_STR(print, keys[i].fingerprint);
	}
}

static void blanks_around_a_key_do_not_matter(void)
{
	struct ssh_public k;
	struct err err = {0};

	CHECK(ssh_public_parse("  " KEY_ED25519, "", &arena, &k, &err) == 0);
	CHECK_STR(k.line, KEY_ED25519);
	CHECK_STR(k.comment, "me@host");
}

static void what_is_not_one_good_key_is_refused_with_the_reason(void)
{
	static const struct {
		const char *line, *says;
	} t[] = {
		{"", "must be a public key"},
		{"hello", "must be a public key"},
		{"ssh-ed25519", "not base64"},
		{"ssh-ed25519 !!!!", "not base64"},
		{"ssh-ed25519 AAAA", "not of the type"},
		{"ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIN6XDWTaq3qvUUK+RyeaiqgiwVmKV"
		 "yprPyGYSM0XMIsQ",
		 "not of the type"},
		{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAHwAAAAAAAAAAAAAAAAAAAAAAA"
		 "AAAAAAAAAAAAAAAAAA=",
		 "damaged"},
		{KEY_DSA, "DSA"},
		{"ssh-dsx AAAA", "must be a public key"},
		{KEY_RSA_1024, "fewer than 2048"},
		{"no-pty " KEY_ED25519, "without options"},
		{"command=\"true\" " KEY_RSA_2048, "without options"},
		{KEY_ED25519 "\n" KEY_ED25519, "one key"},
		{"ssh-ed25519-cert-v01@openssh.com AAAA", "certificate"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----", "public key file"},
		{KEY_ED25519 " \x01", "line of text"},
	};
	static char huge[20000];
	struct ssh_public k;
	struct err long_err = {0};

	memset(huge, 'x', sizeof(huge) - 1);
	memcpy(huge, KEY_ED25519 " ", sizeof(KEY_ED25519));
	CHECK(ssh_public_parse(huge, "/k", &arena, &k, &long_err) < 0);
	CHECK(strstr(long_err.msg, "longer than any key"));
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct err err = {0};

		CHECK(ssh_public_parse(t[i].line, "/k", &arena, &k, &err) < 0);
		CHECK(err.code == ERR_INVALID);
		CHECK_STR(err.field, "/k");
		CHECK(strstr(err.msg, t[i].says));
		if (!strstr(err.msg, t[i].says))
			printf("# %s: %s\n", t[i].line, err.msg);
	}
}

/* A line of a key of TYPE that is made of these bytes. */
static const char *line_with(const char *type, const void *blob, size_t len)
{
	char *text = arena_alloc(&arena, BASE64_TEXT(len) + 1);

	base64_encode(blob, len, text);
	return arena_join(&arena, type, " ", text, NULL);
}

/* Of a key that has its type and then REST. */
static const char *key_with(const char *type, const struct buf *rest)
{
	struct buf b = BUF_INIT((size_t)64 << 10);
	const char *line;

	wire_adds(&b, type);
	buf_add(&b, rest->data, rest->len);
	line = line_with(type, b.data, b.len);
	buf_release(&b);
	return line;
}

static bool damaged(const char *line)
{
	struct ssh_public k;
	struct err err = {0};
	bool yes = ssh_public_parse(line, "/k", &arena, &k, &err) < 0;

	if (yes && !strstr(err.msg, "damaged"))
		printf("# %s\n", err.msg);
	return yes && err.code == ERR_INVALID && strstr(err.msg, "damaged");
}

static void a_key_that_is_cut_or_has_more_is_damaged(void)
{
	struct err err = {0};

	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct ssh_public k;
		unsigned char *more;

		CHECK(ssh_public_parse(keys[i].line, "", &arena, &k, &err) ==
		      0);
		more = arena_alloc(&arena, k.len + 1);
		memcpy(more, k.blob, k.len);
		more[k.len] = 0;
		for (size_t len = 4 + strlen(k.name); len < k.len; len++)
			CHECK(damaged(line_with(k.name, more, len)));
		CHECK(damaged(line_with(k.name, more, k.len + 1)));
	}
}

static void a_point_has_the_size_of_its_curve(void)
{
	static const struct {
		const char *curve;
		size_t len;
		unsigned char first;
		bool good;
	} t[] = {
		{"nistp256", 65, 4, true},  {"nistp384", 65, 4, false},
		{"nistp256", 64, 4, false}, {"nistp256", 33, 2, false},
		{"nistp256", 65, 2, false},
	};
	unsigned char point[66] = {0};

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct buf b = BUF_INIT(4096);
		struct ssh_public k;
		struct err err = {0};
		const char *line;

		point[0] = t[i].first;
		wire_adds(&b, t[i].curve);
		wire_add(&b, point, t[i].len);
		line = key_with("ecdsa-sha2-nistp256", &b);
		CHECK(t[i].good ? ssh_public_parse(line, "", &arena, &k,
						   &err) == 0
				: damaged(line));
		buf_release(&b);
	}
}

/* The application of a security key: "ssh:", and not just anything. */
static void a_security_key_is_for_something(void)
{
	static const size_t lens[] = {0, 1, 255, 256};
	unsigned char bytes[256];

	memset(bytes, 'x', sizeof(bytes));
	for (size_t i = 0; i < COUNT_OF(lens); i++) {
		struct buf b = BUF_INIT(4096);
		struct ssh_public k;
		struct err err = {0};
		const char *line;

		wire_add(&b, bytes, 32);
		wire_add(&b, bytes, lens[i]);
		line = key_with("sk-ssh-ed25519@openssh.com", &b);
		CHECK(i == 1 || i == 2 ? ssh_public_parse(line, "", &arena, &k,
							  &err) == 0
				       : damaged(line));
		buf_release(&b);
	}
}

/* Exponents, and the first and last bytes of a modulus of N_LEN bytes. */
static void numbers_of_rsa_are_neither_weak_nor_odd(void)
{
	static const struct {
		const char *e;
		size_t e_len, n_len;
		unsigned char first, second, last;
		bool good;
	} t[] = {
		{"\x01\x00\x01", 3, 257, 0, 0x80, 1, true},
		{"\x03", 1, 257, 0, 0x80, 1, true},
		{"\x01\x00\x01", 3, 2049, 0, 0x80, 1, true},
		{"", 0, 257, 0, 0x80, 1, false},
		{"\x01", 1, 257, 0, 0x80, 1, false},
		{"\x00", 1, 257, 0, 0x80, 1, false},
		{"\x00\x03", 2, 257, 0, 0x80, 1, false}, /* not as short as … */
		{"\x83", 1, 257, 0, 0x80, 1, false},     /* below zero */
		{"\x01\x00\x02", 3, 257, 0, 0x80, 1, false},
		{"\x01\0\0\0\0\0\0\0\x01", 9, 257, 0, 0x80, 1, false},
		{"\x01\x00\x01", 3, 257, 0, 0x80, 2, false},
		{"\x01\x00\x01", 3, 256, 0x7f, 0, 1, false},
		{"\x01\x00\x01", 3, 2050, 1, 0, 1, false},
		{"\x01\x00\x01", 3, 257, 0x80, 0, 1, false},
	};
	static unsigned char n[2050];

	for (size_t i = 0; i < COUNT_OF(t); i++) {
		struct buf b = BUF_INIT(8192);
		struct ssh_public k;
		struct err err = {0};
		const char *line;
		bool ok;

		memset(n, 0, sizeof(n));
		n[0] = t[i].first;
		n[1] = t[i].second;
		n[t[i].n_len - 1] = t[i].last;
		wire_add(&b, t[i].e, t[i].e_len);
		wire_add(&b, n, t[i].n_len);
		line = key_with("ssh-rsa", &b);
		ok = t[i].good
			     ? ssh_public_parse(line, "", &arena, &k, &err) == 0
			     : damaged(line);
		CHECK(ok);
		if (!ok)
			printf("# row %zu\n", i);
		buf_release(&b);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f)
		abort();
	fputs(text, f);
	fclose(f);
	chmod(path, 0600);
}

/* What ssh-keygen, asked WHAT, says of the file PATH.  False when it fails. */
static bool keygen(const char *what, const char *path, char *out, size_t room)
{
	int fds[2], status;
	ssize_t n;
	size_t len = 0;
	pid_t child;

	if (pipe(fds) < 0 || (child = fork()) < 0)
		abort();
	if (child == 0) {
		dup2(fds[1], 1);
		dup2(open("/dev/null", O_RDONLY), 0);
		execlp("ssh-keygen", "ssh-keygen", what, "-P", "", "-f", path,
		       (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	while ((n = read(fds[0], out + len, room - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	close(fds[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void a_private_key_made_here_is_one_that_ssh_keygen_reads(void)
{
	char dir[] = "/tmp/test_ssh.XXXXXX", path[64], out[4096];
	struct random_seeded r;
	struct ssh_pair pair, again;

	random_seed(&r, 1);
	ssh_make(&r.base, "muster-web-1", &arena, &pair);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/key", dir);
	write_file(path, pair.private_key);
	CHECK(keygen("-y", path, out, sizeof(out)));
	out[strcspn(out, "\n")] = '\0';
	CHECK_STR(out, pair.public_line);
	unlink(path);
	rmdir(dir);
	random_seed(&r, 1);
	ssh_make(&r.base, "muster-web-1", &arena, &again);
	CHECK_STR(again.private_key, pair.private_key);
	ssh_make(&r.base, "muster-web-1", &arena, &again);
	CHECK(strcmp(again.public_line, pair.public_line) != 0);
}

static void a_certificate_says_what_was_asked_for(void)
{
	char dir[] = "/tmp/test_ssh.XXXXXX", path[64], out[8192];
	const char *principals[] = {"one", "two"};
	struct random_seeded r;
	struct ssh_pair ca;
	struct ssh_public authority;
	char print[SSH_FINGERPRINT_LEN + 1];
	struct err err = {0};

	setenv("TZ", "UTC", 1);
	random_seed(&r, 7);
	ssh_make(&r.base, "ca", &arena, &ca);
	CHECK(ssh_public_parse(ca.public_line, "", &arena, &authority, &err) ==
	      0);
	ssh_fingerprint(&authority, print);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/key-cert.pub", dir);
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct ssh_public k;
		struct ssh_wish wish = {.key = &k,
					.serial = 123456789012345678ULL,
					.key_id = "joe for web-1",
					.principals = {principals, 2},
					.after = 1700000000,
					.before = 1700003600};
		const char *line = NULL;

		CHECK(ssh_public_parse(keys[i].line, "", &arena, &k, &err) ==
		      0);
		CHECK(ssh_certify(&wish, ca.private_key, &r.base, &arena, &line,
				  &err) == 0);
		CHECK(strncmp(line, keys[i].certificate,
			      strlen(keys[i].certificate)) == 0);
		write_file(path, line);
		CHECK(keygen("-L", path, out, sizeof(out)));
		CHECK(strstr(out, "user certificate"));
		CHECK(strstr(out, keys[i].certificate));
		CHECK(strstr(out, keys[i].fingerprint));
		CHECK(strstr(out, print));
		CHECK(strstr(out, "Key ID: \"joe for web-1\""));
		CHECK(strstr(out, "Serial: 123456789012345678"));
		CHECK(strstr(out, "from 2023-11-14T22:13:20 to "
				  "2023-11-14T23:13:20"));
		CHECK(strstr(out,
			     "                one\n                two\n"));
		CHECK(strstr(out, "Critical Options: (none)"));
		CHECK(strstr(out, "permit-pty"));
	}
	unlink(path);
	rmdir(dir);
}

static void what_is_no_private_key_signs_nothing(void)
{
	static const char *const t[] = {
		"",
		"-----BEGIN OPENSSH PRIVATE KEY-----\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
		"-----END OPENSSH PRIVATE KEY-----\n",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nA!AA\n"
		"-----END OPENSSH PRIVATE KEY-----\n",
		"x-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
		"-----END OPENSSH PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE "
		"KEY-----\n",
	};
	const char *principals[] = {"one"};
	struct random_seeded r;
	struct ssh_public k;
	struct err err = {0};
	struct ssh_wish wish = {
		.key = &k, .key_id = "", .principals = {principals, 1}};

	random_seed(&r, 7);
	CHECK(ssh_public_parse(KEY_ED25519, "", &arena, &k, &err) == 0);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *line = NULL;

		CHECK(ssh_certify(&wish, t[i], &r.base, &arena, &line, &err) <
		      0);
		CHECK(err.code == ERR_INTERNAL && !line);
	}
}

/* What a private key's file is made of. */
struct file {
	const char *magic, *cipher, *kdf, *options, *type;
	uint32_t keys, check, again;
	size_t public_len, pair_len, more;
	size_t cut;      /* from the end of its secret part */
	size_t short_by; /* and of the whole */
};

static const char *file_with(const struct file *f)
{
	struct buf b = BUF_INIT(8192), secret = BUF_INIT(8192);
	unsigned char bytes[80] = {1};
	const char *line, *text;

	wire_add_u32(&secret, f->check);
	wire_add_u32(&secret, f->again);
	wire_adds(&secret, f->type);
	wire_add(&secret, bytes, f->public_len);
	wire_add(&secret, bytes, f->pair_len);
	secret.len -= f->cut;
	buf_add(&b, f->magic, strlen(f->magic) + 1);
	wire_adds(&b, f->cipher);
	wire_adds(&b, f->kdf);
	wire_adds(&b, f->options);
	wire_add_u32(&b, f->keys);
	wire_add(&b, bytes, 51);
	wire_add(&b, secret.data, secret.len);
	buf_add(&b, bytes, f->more);
	b.len -= f->short_by;
	line = line_with("", b.data, b.len);
	text = arena_join(&arena, "-----BEGIN OPENSSH PRIVATE KEY-----\n",
			  line + 1, "\n-----END OPENSSH PRIVATE KEY-----\n",
			  NULL);
	buf_release(&b);
	buf_release(&secret);
	return text;
}

#define MAGIC "openssh-key-v1"
#define NONE  "none"
#define ED    "ssh-ed25519"

static void a_private_key_that_is_not_plain_signs_nothing(void)
{
	static const struct file t[] = {
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 0}, /* good */
		{"openssh-key-v2", NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 0},
		{MAGIC, "aes256-ctr", NONE, "", ED, 1, 7, 7, 32, 64, 0, 0},
		{MAGIC, NONE, "bcrypt", "", ED, 1, 7, 7, 32, 64, 0, 0},
		{MAGIC, NONE, NONE, "x", ED, 1, 7, 7, 32, 64, 0, 0},
		{MAGIC, NONE, NONE, "", ED, 2, 7, 7, 32, 64, 0, 0},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 8, 32, 64, 0, 0},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 1, 0},
		{MAGIC, NONE, NONE, "", "ssh-ed25518", 1, 7, 7, 32, 64, 0, 0},
		{MAGIC, NONE, NONE, "", "ssh-rsa", 1, 7, 7, 32, 64, 0, 0},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 31, 64, 0, 0},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 63, 0, 0},
		/* Cut in the pair, the public key, and the checks. */
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 1},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 68 + 1},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 104 + 15 + 1},
		{MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 104 + 15 + 5},
	};
	const char *principals[] = {"one"};
	struct random_seeded r;
	struct ssh_public k;
	struct err err = {0};
	struct ssh_wish wish = {
		.key = &k, .key_id = "", .principals = {principals, 1}};

	random_seed(&r, 7);
	CHECK(ssh_public_parse(KEY_ED25519, "", &arena, &k, &err) == 0);
	for (size_t i = 0; i < COUNT_OF(t); i++) {
		const char *line = NULL;
		int rc = ssh_certify(&wish, file_with(&t[i]), &r.base, &arena,
				     &line, &err);

		CHECK(i ? rc < 0 && err.code == ERR_INTERNAL && !line
			: rc == 0 && line);
	}
}

static void a_private_key_that_is_cut_signs_nothing(void)
{
	struct file f = {MAGIC, NONE, NONE, "", ED, 1, 7, 7, 32, 64, 0, 0};
	const char *principals[] = {"one"};
	struct random_seeded r;
	struct ssh_public k;
	struct err err = {0};
	struct ssh_wish wish = {
		.key = &k, .key_id = "", .principals = {principals, 1}};
	const char *line = NULL;

	random_seed(&r, 7);
	CHECK(ssh_public_parse(KEY_ED25519, "", &arena, &k, &err) == 0);
	for (f.short_by = 1; f.short_by < 200; f.short_by++)
		CHECK(ssh_certify(&wish, file_with(&f), &r.base, &arena, &line,
				  &err) < 0);
}

static void a_certificate_has_bounds(void)
{
	const char *principals[] = {"one"};
	static char name[70000];
	struct random_seeded r;
	struct ssh_public k;
	struct ssh_pair ca;
	struct err err = {0};
	const char *line = NULL;
	struct ssh_wish wish = {
		.key = &k, .key_id = name, .principals = {principals, 1}};

	random_seed(&r, 7);
	memset(name, 'x', sizeof(name) - 1);
	ssh_make(&r.base, "ca", &arena, &ca);
	CHECK(ssh_public_parse(KEY_ED25519, "", &arena, &k, &err) == 0);
	CHECK(ssh_certify(&wish, ca.private_key, &r.base, &arena, &line, &err) <
	      0);
	CHECK(err.code == ERR_TOO_LARGE && !line);
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(keys_of_every_type_are_read_as_ssh_keygen_reads_them);
	RUN(blanks_around_a_key_do_not_matter);
	RUN(what_is_not_one_good_key_is_refused_with_the_reason);
	RUN(a_key_that_is_cut_or_has_more_is_damaged);
	RUN(a_point_has_the_size_of_its_curve);
	RUN(a_security_key_is_for_something);
	RUN(numbers_of_rsa_are_neither_weak_nor_odd);
	RUN(a_private_key_made_here_is_one_that_ssh_keygen_reads);
	RUN(a_certificate_says_what_was_asked_for);
	RUN(what_is_no_private_key_signs_nothing);
	RUN(a_private_key_that_is_not_plain_signs_nothing);
	RUN(a_private_key_that_is_cut_signs_nothing);
	RUN(a_certificate_has_bounds);
	arena_release(&arena);
	return test_done();
}
