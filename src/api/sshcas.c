#include "model/sshca.h"

#include "api/owner.h"
#include "api/regional.h"
#include "identity/ssh.h"
#include "store/tx.h"

/* A key that is brought is kept as it is meant, without a comment that only
 * its owner's other files agree on. */
static int take_key(struct call *c, struct sshca *ca, struct err *err)
{
	struct arena *a = c->x->arena;
	char *fingerprint = arena_alloc(a, SSH_FINGERPRINT_LEN + 1);
	struct ssh_public key;

	if (ssh_public_parse(ca->spec.public_key, "/spec/publicKey", a, &key,
			     err) < 0)
		return -1;
	ssh_fingerprint(&key, fingerprint);
	ca->spec.public_key = key.line;
	ca->status.fingerprint = fingerprint;
	return 0;
}

int sshca_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct sshca *ca = object;
	struct ssh_pair pair;

	if (owner_project(c, tx, ca->project_id, &ca->organization_id, err) < 0)
		return -1;
	/* Run again, it must not take its own key for one that was brought. */
	if (ca->spec.public_key && !ca->private_key)
		return take_key(c, ca, err);
	ssh_make(c->api->conf.random, ca->meta.name, c->x->arena, &pair);
	ca->spec.public_key = pair.public_line;
	ca->private_key = pair.private_key;
	ca->status.signs = true;
	return take_key(c, ca, err);
}
