#include "api/regional.h"

#include "api/owner.h"
#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/securitygroup.h"
#include "model/sshca.h"
#include "model/volume.h"
#include "store/tx.h"

int image_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct image *i = object;

	if (!i->project_id)
		return err_at(err, ERR_INVALID, "/projectId", "is required");
	i->status.backed.state = BACKED_PENDING;
	i->status.source = IMAGE_IMPORT;
	return owner_project(c, tx, i->project_id, &i->organization_id, err);
}

int network_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct network *n = object;

	n->status.backed.state = BACKED_PENDING;
	return owner_project(c, tx, n->project_id, &n->organization_id, err);
}

int securitygroup_create(struct call *c, struct tx *tx, void *object,
			 struct err *err)
{
	struct securitygroup *g = object;
	const struct network *n;

	if (owner_network(c, tx, g->network_id, &n, err) < 0)
		return -1;
	g->organization_id = n->organization_id;
	g->project_id = n->project_id;
	g->region_id = n->region_id;
	g->status.state = BACKED_PENDING;
	return 0;
}

int sshca_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct sshca *ca = object;

	return owner_project(c, tx, ca->project_id, &ca->organization_id, err);
}

int volume_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct volume *v = object;

	v->status.backed.state = BACKED_PENDING;
	return owner_project(c, tx, v->project_id, &v->organization_id, err);
}

int instance_create(struct call *c, struct tx *tx, void *object,
		    struct err *err)
{
	struct instance *i = object;
	const struct network *n;

	if (owner_network(c, tx, i->network_id, &n, err) < 0)
		return -1;
	i->organization_id = n->organization_id;
	i->project_id = n->project_id;
	i->region_id = n->region_id;
	i->status.state = INSTANCE_PENDING;
	return 0;
}
