#include "identity/ssh.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
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
		{KEY_RSA_1024, "fewer than 2048"},
		{"no-pty " KEY_ED25519, "without options"},
		{"command=\"true\" " KEY_RSA_2048, "without options"},
		{KEY_ED25519 "\n" KEY_ED25519, "one key"},
		{"ssh-ed25519-cert-v01@openssh.com AAAA", "certificate"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----", "public key file"},
		{KEY_ED25519 " \x01", "line of text"},
	};
	struct ssh_public k;

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

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(keys_of_every_type_are_read_as_ssh_keygen_reads_them);
	RUN(blanks_around_a_key_do_not_matter);
	RUN(what_is_not_one_good_key_is_refused_with_the_reason);
	RUN(a_private_key_made_here_is_one_that_ssh_keygen_reads);
	RUN(a_certificate_says_what_was_asked_for);
	RUN(what_is_no_private_key_signs_nothing);
	arena_release(&arena);
	return test_done();
}
