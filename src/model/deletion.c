#include "model/deletion.h"

#include "model/image.h"
#include "model/instance.h"
#include "model/network.h"
#include "model/securitygroup.h"
#include "model/volume.h"

static void set_state(const struct kind *k, void *object)
{
	if (k == &image_kind) {
		((struct image *)object)->status.backed.state = BACKED_DELETING;
	} else if (k == &network_kind) {
		((struct network *)object)->status.backed.state =
			BACKED_DELETING;
	} else if (k == &securitygroup_kind) {
		((struct securitygroup *)object)->status.state =
			BACKED_DELETING;
	} else if (k == &volume_kind) {
		((struct volume *)object)->status.backed.state =
			BACKED_DELETING;
	} else if (k == &instance_kind) {
		struct instance *i = object;

		i->status.state = INSTANCE_TERMINATING;
		i->status.provisioning = PROVISIONING_DEPROVISIONING;
	}
}

void deletion_begin(const struct kind *k, void *object, int64_t now,
		    const char *by)
{
	struct meta *meta = object;

	if (meta->deleted_at)
		return;
	meta->deleted_at = meta->updated_at = now;
	meta->updated_by = by;
	set_state(k, object);
}
