/* instance_ssh - what lets people log in: certificates that are signed for
 * them, and the key that was made with the instance.  Who got one is told in the
 * events and the audit trail. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/instances.h"
#include "api/permit.h"
#include "api/routes.h"
#include "api/verb.h"
#include "identity/ssh.h"
#include "model/instance.h"
#include "model/sshca.h"
#include "store/tx.h"

#define SECONDS_FALLBACK 3600

/* The clocks of guests may be behind. */
#define SKEW_SECONDS 60

struct certificate {
	const char *public_key;
	int64_t seconds;
	struct items principals;
};

const struct field certificate_fields[] = {
	{"publicKey", FIELD_STRING, FIELD_REQUIRED,
	 offsetof(struct certificate, public_key),
	 "Whose it is to be: one line of OpenSSH's.", &format_text,
	 .max = 16384},
	{"seconds", FIELD_INT, 0, offsetof(struct certificate, seconds),
	 "How long it holds; absent: an hour, or as long as the authority lets "
	 "it.",
	 .min = 60, .max = 2592000},
	{"principals", FIELD_LIST, 0, offsetof(struct certificate, principals),
	 "Where it is good: the instance's id, which it is when this is "
	 "absent, or its project's.",
	 &format_text, .item = FIELD_STRING, .size = sizeof(const char *),
	 .max = 16},
	{0},
};

struct signed_certificate {
	const char *certificate, *key_id, *fingerprint;
	int64_t serial, valid_after, valid_before;
	struct items principals;
};

const struct field certificate_answer[] = {
	{"certificate", FIELD_STRING, 0,
	 offsetof(struct signed_certificate, certificate),
	 "One line, for the file beside the private key: id_ed25519-cert.pub."},
	{"serial", FIELD_INT, 0, offsetof(struct signed_certificate, serial),
	 "Its number."},
	{"keyId", FIELD_STRING, 0, offsetof(struct signed_certificate, key_id),
	 "What the guest's log says of who logged in."},
	{"fingerprint", FIELD_STRING, 0,
	 offsetof(struct signed_certificate, fingerprint), "Of the key."},
	{"principals", FIELD_LIST, 0,
	 offsetof(struct signed_certificate, principals), "Where it is good.",
	 .item = FIELD_STRING, .size = sizeof(const char *)},
	{"validAfter", FIELD_TIME, 0,
	 offsetof(struct signed_certificate, valid_after), "From when on."},
	{"validBefore", FIELD_TIME, 0,
	 offsetof(struct signed_certificate, valid_before), "Until when."},
	{0},
};

static int find_authority(struct tx *tx, const struct instance *i,
			  const struct sshca **ret, struct err *err)
{
	const struct sshca *ca =
		i->spec.sshca_id ? tx_get(tx, &sshca_kind, i->spec.sshca_id)
				 : NULL;

	if (!ca)
		return err_set(err, ERR_CONFLICT,
			       "the instance trusts no SSH certificate "
			       "authority: give it one with "
			       "sshCertificateAuthorityId");
	if (!ca->private_key)
		return err_set(err, ERR_CONFLICT,
			       "the private key of the SSH certificate "
			       "authority \"%s\" is not held here: have it "
			       "signed where that is",
			       ca->meta.name);
	*ret = ca;
	return 0;
}

/* How long it holds. */
static int choose_seconds(const struct certificate *asked,
			  const struct sshca *ca, int64_t *ret, struct err *err)
{
	int64_t most;

	assert(ca);
	most = ca->spec.max_seconds;

	*ret = asked->seconds;
	if (*ret == FIELD_NONE)
		*ret = most < SECONDS_FALLBACK ? most : SECONDS_FALLBACK;
	if (*ret > most)
		return err_at(err, ERR_INVALID, "/seconds",
			      "the authority \"%s\" signs for at most %lld "
			      "seconds",
			      ca->meta.name, (long long)most);
	return 0;
}

/* Other words would be good nowhere, or where this is not about. */
static int check_principals(const struct instance *i,
			    const struct items *principals, struct err *err)
{
	const char *const *list = principals->at;
	char at[48];

	for (size_t n = 0; n < principals->n; n++) {
		if (strcmp(list[n], i->meta.id) == 0 ||
		    strcmp(list[n], i->project_id) == 0)
			continue;
		snprintf(at, sizeof(at), "/principals/%zu", n);
		return err_at(err, ERR_INVALID, at,
			      "must be the id of the instance or of its "
			      "project");
	}
	return 0;
}

static int sign(struct call *c, struct tx *tx, const struct instance *i,
		struct signed_certificate *ret, struct err *err)
{
	struct arena *a = c->x->arena;
	struct certificate asked = {0};
	const struct sshca *ca = NULL;
	struct ssh_public key;
	struct ssh_wish wish;
	char *print = arena_alloc(a, SSH_FINGERPRINT_LEN + 1);
	const char **own = arena_alloc(a, sizeof(*own));
	int64_t seconds, now = tx_time(tx) / 1000;

	if (call_body(c, &asked, err) < 0 ||
	    find_authority(tx, i, &ca, err) < 0 ||
	    ssh_public_parse(asked.public_key, "/publicKey", a, &key, err) <
		    0 ||
	    choose_seconds(&asked, ca, &seconds, err) < 0 ||
	    check_principals(i, &asked.principals, err) < 0)
		return -1;
	own[0] = i->meta.id;
	if (!asked.principals.n)
		asked.principals = (struct items){own, 1};
	wish = (struct ssh_wish){
		.key = &key,
		.serial = tx_revision(tx),
		.key_id = arena_join(a, c->who->name, " ", i->meta.name, NULL),
		.principals = asked.principals,
		.after = (uint64_t)(now - SKEW_SECONDS),
		.before = (uint64_t)(now + seconds),
	};
	ssh_fingerprint(&key, print);
	*ret = (struct signed_certificate){
		.key_id = wish.key_id,
		.fingerprint = print,
		.serial = (int64_t)wish.serial,
		.valid_after = (int64_t)wish.after * 1000,
		.valid_before = (int64_t)wish.before * 1000,
		.principals = wish.principals,
	};
	return ssh_certify(&wish, ca->private_key, c->api->conf.random, a,
			   &ret->certificate, err);
}

static int certify(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct instance *i;
	struct signed_certificate answer;

	if (verb_begin(c, tx, (const void **)&i, err) < 0)
		return -1;
	if (!i)
		return 0;
	if (sign(c, tx, i, &answer, err) < 0)
		return -1;
	tx_event(tx, &instance_kind, i->meta.id, "sshCertificate",
		 "%s had certificate %lld signed for %s", c->who->name,
		 (long long)answer.serial, answer.fingerprint);
	verb_answer(c, &answer);
	verb_done(c, tx);
	return 0;
}

void handle_ssh_certificate(struct call *c)
{
	verb_run(c, certify);
}

struct key_answer {
	const char *private_key, *public_key;
};

const struct field ssh_key_answer[] = {
	{"privateKey", FIELD_STRING, 0,
	 offsetof(struct key_answer, private_key), "OpenSSH's file."},
	{"publicKey", FIELD_STRING, 0, offsetof(struct key_answer, public_key),
	 "One line of OpenSSH's."},
	{0},
};

static int read_key(struct tx *tx, void *ctx, struct err *err)
{
	struct call *c = ctx;
	const struct instance *i;

	if (verb_begin(c, tx, (const void **)&i, err) < 0)
		return -1;
	if (!i)
		return 0;
	if (!i->ssh_private_key)
		return err_set(err, ERR_CONFLICT,
			       "no key pair was made for the instance: its "
			       "sshKey is \"none\"");
	tx_event(tx, &instance_kind, i->meta.id, "sshKey",
		 "%s read its private key", c->who->name);
	verb_answer(c, &(struct key_answer){i->ssh_private_key,
					    i->status.ssh_public_key});
	verb_done(c, tx);
	return 0;
}

/* A GET that leaves a trail. */
void handle_ssh_key(struct call *c)
{
	verb_run(c, read_key);
}
