/*
 * seed - what a guest reads when it first boots, as Muster makes it.
 *
 *	seed NAME HOST-KEY KEY CA PRINCIPAL ADDRESS <USERDATA >ISO
 *
 * NAME is the machine's, and which one it is; HOST-KEY a file of ssh-keygen's;
 * KEY and CA are lines of OpenSSH's; ADDRESS is in QEMU's own network.  An empty
 * word is nothing; without an address it is asked for by DHCP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "model/userdata.h"
#include "provider/libvirt/seed.h"

#define MAC "52:54:00:12:34:56" /* QEMU's first */

static char *read_file(const char *path)
{
	char *text = xcalloc(1, 16384);
	FILE *f = fopen(path, "re");

	if (!f || !fread(text, 1, 16383, f))
		exit(2);
	fclose(f);
	return text; /* to the end of the program, as all the rest */
}

static struct nic nic_of(const char *address)
{
	static const char *servers[] = {"10.0.2.3"};

	return (struct nic){
		.mac = MAC,
		.address = *address ? address : NULL,
		.prefix = *address ? "10.0.2.0/24" : NULL,
		.gateway = "10.0.2.2",
		.dns = {.at = servers, .n = 1},
	};
}

int main(int argc, char **argv)
{
	struct buf iso = BUF_INIT((size_t)8 << 20);
	char *data = xmalloc(USERDATA_MOST);
	char *text = xmalloc(BASE64_TEXT(USERDATA_MOST) + 1);
	struct userdata_extras extras = {0};
	struct machine_spec spec = {0};
	struct err err = {0};
	struct arena a;
	struct nic nic;
	size_t len;

	if (argc != 7)
		return 2;
	arena_init(&a, (size_t)8 << 20);
	len = fread(data, 1, USERDATA_MOST, stdin);
	base64_encode((const unsigned char *)data, len, text);
	spec.name = argv[1];
	spec.host_key = (struct ssh_pair){
		.private_key = read_file(argv[2]),
		.public_line = read_file(arena_join(&a, argv[2], ".pub", NULL)),
	};
	if (*argv[3])
		extras.keys = (struct items){.at = &argv[3], .n = 1};
	if (*argv[4])
		extras.ca = argv[4];
	if (*argv[5])
		extras.principals = (struct items){.at = &argv[5], .n = 1};
	nic = nic_of(argv[6]);
	if (userdata_compose(text, &extras, &a, &spec.user_data,
			     &spec.user_data_len, &err) < 0 ||
	    seed_iso(&spec, spec.name, &nic, &iso, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	fwrite(iso.data, 1, iso.len, stdout);
	return 0;
}
