/*
 * The images of the folder that the options name: everyone's in the region.
 *
 * Each is copied into the library, so that what becomes of the file changes no
 * machine; another file of the same name is another image.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/uuid.h"
#include "model/image.h"
#include "provider/libvirt/disk.h"
#include "provider/libvirt/driver.h"
#include "provider/libvirt/file.h"
#include "provider/libvirt/image.h"
#include "provider/libvirt/import.h"
#include "provider/libvirt/library.h"

/* What the ids of such images are derived from. */
#define SPACE "5f0f4b0e-6a9c-5d2e-9a55-3c1d6f6a7b10"

enum { IMAGES_MOST = 256, NOTES_MOST = 32 };

/* "debian-12.qcow2" is "debian-12"; NULL: it is no image by its name. */
static const char *name_of(const char *file, struct arena *a)
{
	static const char *const ends[] = {".qcow2", ".raw", ".img"};
	size_t len = strlen(file);

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		size_t n = strlen(ends[i]);

		if (file[0] != '.' && len > n && len - n <= 128 &&
		    strcmp(file + len - n, ends[i]) == 0)
			return arena_memdup(a, file, len - n);
	}
	return NULL;
}

static const char *id_of(const char *file, const struct stat *st,
			 struct arena *a)
{
	char *id = arena_alloc(a, UUID_LEN + 1);
	const char *version = arena_printf(
		a, "%s/%lld/%lld.%ld", file, (long long)st->st_size,
		(long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);

	uuid_v5(SPACE, version, id);
	return id;
}

static struct image to_image(const struct image_record *r)
{
	return (struct image){
		.meta.name = r->name,
		.spec = {.architecture = ARCHITECTURE_X86_64,
			 .min_disk_gib = (r->bytes - 1) / DISK_GIB + 1,
			 .virtualization = VIRTUALIZATION_VIRTUALIZED,
			 .os = {.kernel = "linux"}},
		.status = {.backed = {.state = BACKED_READY,
				      .native = "ready",
				      .provider = r->id},
			   .source = IMAGE_PROVIDER,
			   .size_bytes = r->stored},
	};
}

static int read_one(struct lv *lv, const char *path, const char *file,
		    struct arena *a, struct image *ret, struct err *err)
{
	struct image_record r;
	struct err none = {0};
	struct stat st;
	const char *id;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "it is no file");
	id = id_of(file, &st, a);
	if (library_get(lv->library, id, a, &r, &none) < 0 ||
	    r.stage != IMAGE_READY) {
		r = (struct image_record){.id = id,
					  .name = name_of(file, a),
					  .stage = IMAGE_MAKING,
					  .created_at =
						  clock_wall(lv->conf->clock),
					  .everyones = true};
		if (import_file(lv, path, &r, err) < 0)
			return -1;
	}
	*ret = to_image(&r);
	return 0;
}

/* One that is no good is told of, and the others are there. */
static void add(struct lv *lv, const char *file, struct arena *a,
		struct catalogue *ret)
{
	struct image *images = ret->images.at;
	const char **notes = ret->notes.at;
	const char *path = arena_join(a, lv->options.images, "/", file, NULL);
	struct err err = {0};

	if (!name_of(file, a) || ret->images.n == IMAGES_MOST)
		return;
	if (read_one(lv, path, file, a, &images[ret->images.n], &err) == 0)
		ret->images.n++;
	else if (ret->notes.n < NOTES_MOST)
		notes[ret->notes.n++] =
			arena_join(a, "image ", file, ": ", err.msg, NULL);
}

int image_catalogue(struct lv *lv, struct arena *a, struct catalogue *ret,
		    struct err *err)
{
	struct items names;

	ret->images.at = arena_alloc(a, IMAGES_MOST * sizeof(struct image));
	ret->images.n = 0;
	if (!lv->options.images || !lv->library)
		return 0;
	if (file_names(lv->options.images, a, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.n; i++)
		add(lv, ((const char **)names.at)[i], a, ret);
	return 0;
}
