/* What there is of ours that is no machine. */
#include <string.h>

#include "base/buf.h"
#include "provider/libvirt/group.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/network.h"
#include "provider/libvirt/volume.h"

#define THINGS_MOST ((size_t)64 << 20)

void things_add(struct buf *things, const struct thing *thing)
{
	const struct thing *t = (const struct thing *)(void *)things->data;

	for (size_t i = 0; i < things->len / sizeof(*t); i++)
		if (t[i].kind == thing->kind && strcmp(t[i].id, thing->id) == 0)
			return;
	buf_add(things, thing, sizeof(*thing));
}

/* All on one page: there are as many as people have made. */
static int lv_list_things(struct provider *p, const char *installation,
			  const char *page, struct arena *a,
			  struct thing_page *ret, struct err *err)
{
	struct buf things = BUF_INIT(THINGS_MOST);
	struct lv *lv = lv_of(p);
	int rc = 0;

	(void)page;
	if (image_things(lv, installation, a, &things, err) < 0 ||
	    volume_things(lv, installation, a, &things, err) < 0 ||
	    network_things(lv, installation, a, &things, err) < 0 ||
	    group_things(lv, installation, a, &things, err) < 0)
		rc = -1;
	else if (!buf_ok(&things))
		rc = err_set(err, ERR_TOO_LARGE, "there are too many");
	if (rc == 0) {
		*ret = (struct thing_page){
			.things = {arena_alloc(a, things.len + 1),
				   things.len / sizeof(struct thing)}};
		if (things.len)
			memcpy(ret->things.at, things.data, things.len);
	}
	buf_release(&things);
	return rc;
}

const struct thing_ops lv_thing_ops = {
	.list = lv_list_things,
};
