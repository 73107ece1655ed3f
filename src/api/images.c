#include "model/image.h"

#include <string.h>

#include "api/owner.h"
#include "api/regional.h"
#include "model/region.h"
#include "store/tx.h"

#define HEX "0123456789abcdefABCDEF"

/* A file is on the machine of whoever runs the region: theirs to name. */
static bool may_name_files(const struct call *c)
{
	return access_may(c->who, permission_noun("regions"), VERB_UPDATE,
			  (struct owner){0});
}

static void check_import(const struct call *c, const struct image *i,
			 struct violations *v)
{
	const char *uri = i->spec.uri, *sum = i->spec.checksum;

	if (!uri)
		violations_add(v, "/spec/uri", "is required");
	else if (strncmp(uri, "file:", 5) == 0 && !may_name_files(c))
		violations_add(v, "/spec/uri",
			       "must begin with https:// or http://");
	else if (strncmp(uri, "https://", 8) != 0 &&
		 strncmp(uri, "http://", 7) != 0 &&
		 strncmp(uri, "file:///", 8) != 0)
		violations_add(v, "/spec/uri",
			       "must begin with https://, http:// or file:///");
	else if (strpbrk(uri, " \t\"<>\\^`{|}"))
		violations_add(v, "/spec/uri",
			       "has letters in it that a URI has not");
	else if (strncmp(uri, "http://", 7) == 0 && !sum)
		violations_add(v, "/spec/checksum",
			       "is required for what comes over plain http");
	if (sum && (strncmp(sum, "sha256:", 7) != 0 || strlen(sum) != 71 ||
		    strspn(sum + 7, HEX) != 64))
		violations_add(v, "/spec/checksum",
			       "must be \"sha256:\" and 64 hexadecimal digits");
}

int image_create(struct call *c, struct tx *tx, void *object, struct err *err)
{
	struct image *i = object;
	const struct region *r;
	struct violations v;

	if (!i->project_id)
		return err_at(err, ERR_INVALID, "/projectId", "is required");
	i->status.backed.state = BACKED_PENDING;
	i->status.source = IMAGE_IMPORT;
	if (owner_project(c, tx, i->project_id, &i->organization_id, err) < 0 ||
	    regional_find(c, tx, i->region_id, "/regionId", &r, err) < 0 ||
	    regional_can(r, "import", "import of images", err) < 0)
		return -1;
	violations_init(&v, c->x->arena);
	check_import(c, i, &v);
	return v.n ? violations_err(&v, err) : 0;
}

/* Those that a region brings are as the provider says, and go when it says. */
static int check_own(const struct image *i, struct err *err)
{
	if (i->project_id)
		return 0;
	return err_set(err, ERR_CONFLICT,
		       "image \"%s\" is the region's own: its provider says "
		       "what it is, and whether it is there",
		       i->meta.name);
}

int image_update(struct call *c, struct tx *tx, const void *old, void *object,
		 struct err *err)
{
	(void)c;
	(void)tx;
	(void)object;
	return check_own(old, err);
}

int image_remove(struct call *c, struct tx *tx, const void *old,
		 struct err *err)
{
	(void)c;
	(void)tx;
	return check_own(old, err);
}
