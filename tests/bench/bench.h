/* bench - what the load programs share. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"

static inline void die(const char *fmt, ...) PRINTF(1, 2);

static inline void die(const char *fmt, ...)
{
	va_list ap;

	fputs("bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

/* A connection to PORT of this machine; the caller makes it non-blocking. */
static inline int connect_to(unsigned port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die("connect: %s", strerror(errno));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* The value of an option, a number; ends the program when it is none. */
static inline unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *end)
		die("not a number: %s", text);
	return n;
}

/* A project to create, about 570 bytes: a description and a handful of tags. */
static inline int project_body(char *to, size_t room, const char *prefix,
			       size_t i, const char *organization)
{
	return snprintf(
		to, room,
		"{\"name\":\"%s-%08zu\",\"organizationId\":\"%s\","
		"\"description\":\"Runs the nightly batch of invoices: reads "
		"the day's orders, writes one document each, and mails those "
		"that asked for it. Owned by the billing team; ask them before "
		"you touch it, and keep it out of the month's last three days. "
		"Made by the benchmark; not a real "
		"service.\",\"tags\":{\"team\":\"billing\","
		"\"environment\":\"production\",\"cost-center\":\"4711-%02zu\","
		"\"tier\":\"backend\",\"owner\":\"invoices@example.com\","
		"\"data-class\":\"confidential\",\"region\":\"eu-central\","
		"\"stage\":\"main\"}}",
		prefix, i, organization, i % 64);
}

/* The lines of a file, without their ends. */
static inline char **read_lines(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "re");
	char **lines = NULL, text[4096];
	size_t n = 0, room = 0;

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		if (n == room) {
			room = room ? 2 * room : 64;
			lines = realloc(lines, room * sizeof(char *));
		}
		if (!lines || !(lines[n++] = strdup(text)))
			die("no memory");
	}
	fclose(f);
	if (!n)
		die("%s is empty", path);
	*ret_n = n;
	return lines;
}
