/*
 * A line that says it is a public key.  Whatever it is, it is taken apart or
 * refused with a reason; what is taken is one line, of the type that its data
 * says, and reads the same again.
 */

#include "fuzz/fuzz.h"
#include "identity/ssh.h"

static void check_key(const struct ssh_public *k, struct arena *a)
{
	struct ssh_public again;
	struct err err = {0};
	char print[SSH_FINGERPRINT_LEN + 1];
	size_t name = strlen(k->name);

	MUST(!strpbrk(k->line, "\r\n"));
	MUST(strncmp(k->line, k->name, name) == 0 && k->line[name] == ' ');
	MUST(k->len > 4 + name && memcmp(k->blob + 4, k->name, name) == 0);
	ssh_fingerprint(k, print);
	MUST(strlen(print) == SSH_FINGERPRINT_LEN);
	MUST(ssh_public_parse(k->line, "", a, &again, &err) == 0);
	MUST_SAME(again.line, k->line);
	MUST(again.type == k->type && again.len == k->len);
}

static void check_certificate(const struct ssh_public *k, struct arena *a)
{
	const char *principals[] = {"p"};
	struct ssh_wish wish = {
		.key = k, .key_id = "id", .principals = {principals, 1}};
	struct random_seeded r;
	struct ssh_public not_a_key;
	struct ssh_pair ca;
	struct err err = {0};
	const char *line = NULL;

	random_seed(&r, 1);
	ssh_make(&r.base, "ca", a, &ca);
	MUST(ssh_certify(&wish, ca.private_key, &r.base, a, &line, &err) == 0);
	MUST(strstr(line, "-cert-v01@openssh.com "));
	MUST(ssh_public_parse(line, "", a, &not_a_key, &err) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	struct ssh_public k;
	struct err err = {0};
	char *line;

	arena_init(&a, (size_t)16 << 20);
	line = arena_memdup(&a, data, size);
	if (ssh_public_parse(line, "/k", &a, &k, &err) < 0) {
		MUST(err.code == ERR_INVALID && err.msg[0]);
	} else {
		check_key(&k, &a);
		check_certificate(&k, &a);
	}
	arena_release(&a);
	return 0;
}
