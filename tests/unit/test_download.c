#include "http/download.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "test.h"
#include "unit/webserver.h"

enum { LEN = 1 << 20, MOST = 4 << 20 };

static struct webserver server;
static char body[LEN];
static struct err err;
static struct stat kept; /* what is in the file then */

static uint64_t room; /* that there is */

static bool begun(void *ctx, const char *version, uint64_t at, uint64_t total)
{
	(void)ctx;
	(void)version;
	return total - at <= room;
}

static bool grew(void *ctx, uint64_t bytes)
{
	(void)ctx;
	return bytes <= room;
}

/* Into a file that is looked at and goes. */
static int get(unsigned idle_ms)
{
	char path[] = "/tmp/muster-download-XXXXXX";
	auto_close int fd = mkstemp(path);
	const struct download d = {.url = server.url,
				   .fd = fd,
				   .most = MOST,
				   .idle_ms = idle_ms,
				   .timeout_ms = 600 * 1000,
				   .begun = begun,
				   .grew = grew};
	int rc;

	err = (struct err){0};
	rc = download(&d, &err);
	CHECK(fstat(fd, &kept) == 0);
	unlink(path);
	return rc;
}

static bool fails(unsigned idle_ms, enum err_code code, const char *says)
{
	if (get(idle_ms) < 0 && err.code == code && strstr(err.msg, says))
		return true;
	printf("# %s: %s\n", err_name(err.code), err.msg);
	return false;
}

static void a_file_is_fetched(void)
{
	webserver_start(&server, body, LEN);
	CHECK(get(60000) == 0 && kept.st_size == LEN);
	/* Its length need not be told. */
	server.head = "HTTP/1.1 200 x\r\nConnection: close\r\n";
	CHECK(get(60000) == 0 && kept.st_size == LEN);
	webserver_stop(&server);
}

static void a_body_that_never_ends_is_not_kept(void)
{
	webserver_start(&server, body, LEN);
	server.head = "HTTP/1.1 200 x\r\nConnection: close\r\n";
	server.endless = true;
	CHECK(fails(60000, ERR_TOO_LARGE, "more than 4 MiB"));
	CHECK(kept.st_size <= MOST);
	/* However long it says it is. */
	server.head = "HTTP/1.1 200 x\r\nContent-Length: 4194305\r\n";
	CHECK(fails(60000, ERR_TOO_LARGE, "more than 4 MiB"));
	CHECK(kept.st_size == 0);
	server.head = "HTTP/1.1 200 x\r\nContent-Length: 4194304\r\n";
	CHECK(get(60000) == 0 && kept.st_size == MOST);
	webserver_stop(&server);
}

static void a_head_that_never_ends_is_not_read(void)
{
	static const char line[] = "X-More: and more, and more, and more\r\n";

	for (size_t i = 0; i < LEN; i++)
		body[i] = line[i % strlen(line)];
	/* It begins again with a whole line. */
	webserver_start(&server, body, LEN / strlen(line) * strlen(line));
	server.head = "HTTP/1.1 200 x";
	server.endless = true;
	CHECK(fails(60000, ERR_INVALID, "no end of headers"));
	CHECK(kept.st_size == 0);
	webserver_stop(&server);
}

static void one_without_room_is_left(void)
{
	webserver_start(&server, body, LEN);
	room = LEN - 1;
	CHECK(fails(60000, ERR_CAPACITY, "no room") && kept.st_size == 0);
	/* Which is seen late when its length is not told. */
	server.head = "HTTP/1.1 200 x\r\nConnection: close\r\n";
	CHECK(fails(60000, ERR_CAPACITY, "no room") && err_passes(&err));
	room = UINT64_MAX;
	webserver_stop(&server);
}

static void one_that_stands_still_is_left(void)
{
	webserver_start(&server, body, LEN);
	atomic_store(&server.hold, 1000);
	CHECK(fails(1000, ERR_TIMEOUT, "too slow"));
	CHECK(err_passes(&err));
	webserver_stop(&server);
}

int main(void)
{
	room = UINT64_MAX;
	RUN(a_file_is_fetched);
	RUN(a_body_that_never_ends_is_not_kept);
	RUN(a_head_that_never_ends_is_not_read);
	RUN(one_without_room_is_left);
	RUN(one_that_stands_still_is_left);
	return test_done();
}
