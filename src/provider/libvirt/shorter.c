#include "provider/libvirt/shorter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"

/* "/lib/qemu/channel/target/domain-NNNNN-" and 20 bytes of the machine's name,
 * "/org.qemu.guest_agent.0". */
enum { BELOW = 82, PATH_MOST = 107, NAME_BYTES = 5 };

/* Where links are kept; NULL: nowhere that is ours alone. */
static const char *place(void)
{
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0)
		return "/run/muster";
	return own && own[0] == '/' ? own : NULL;
}

static int fail(const char *path, struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE, "cannot make the link %s: %s",
		       path, strerror(errno));
}

static bool leads_to(const char *path, const char *folder, struct arena *a)
{
	size_t len = strlen(folder);
	char *to = arena_alloc(a, len + 2);

	return readlink(path, to, len + 1) == (ssize_t)len &&
	       memcmp(to, folder, len) == 0;
}

/* Another that was there is replaced at once: it is in use, perhaps. */
static int make(const char *path, const char *folder, struct arena *a,
		struct err *err)
{
	const char *part = arena_printf(a, "%s.%d", path, (int)getpid());

	if (leads_to(path, folder, a))
		return 0;
	unlink(part);
	if (symlink(folder, part) < 0)
		return fail(part, err);
	if (rename(part, path) < 0) {
		fail(path, err);
		unlink(part);
		return -1;
	}
	return 0;
}

int shorter(const char *folder, struct arena *a, const char **ret,
	    struct err *err)
{
	unsigned char hash[DIGEST_SHA256_LEN];
	char name[2 * NAME_BYTES + 1];
	const char *in = place();

	*ret = folder;
	if (strlen(folder) + BELOW <= PATH_MOST || !in)
		return 0;
	if (mkdir(in, 0755) < 0 && errno != EEXIST)
		return fail(in, err);
	digest_sha256(folder, strlen(folder), hash);
	digest_hex(hash, NAME_BYTES, name);
	*ret = arena_join(a, in, "/", name, NULL);
	return make(*ret, folder, a, err);
}
