#include "model/sshca.h"

#include "api/owner.h"
#include "api/regional.h"
#include "store/tx.h"

int sshca_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct sshca *ca = object;

	return owner_project(c, tx, ca->project_id, &ca->organization_id, err);
}
