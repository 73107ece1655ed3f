/*
 * compose - user data as a guest is given it.
 *
 *	compose KEY CA PRINCIPAL <USERDATA >COMPOSED
 *
 * An empty word is nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "model/userdata.h"

int main(int argc, char **argv)
{
	struct arena a;
	struct err err = {0};
	struct userdata_extras extras = {0};
	char *data = xmalloc(USERDATA_MOST);
	char *text = xmalloc(BASE64_TEXT(USERDATA_MOST) + 1);
	const char *out = NULL;
	size_t len;

	arena_init(&a, (size_t)8 << 20);
	if (argc != 4)
		return 2;
	len = fread(data, 1, USERDATA_MOST, stdin);
	base64_encode((const unsigned char *)data, len, text);
	if (*argv[1])
		extras.keys = (struct items){.at = &argv[1], .n = 1};
	if (*argv[2])
		extras.ca = argv[2];
	if (*argv[3])
		extras.principals = (struct items){.at = &argv[3], .n = 1};
	if (userdata_compose(text, &extras, &a, &out, &len, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (out)
		fwrite(out, 1, len, stdout);
	arena_release(&a);
	free(text);
	free(data);
	return 0;
}
