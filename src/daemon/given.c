#include "daemon/given.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/yaml.h"

#define TEXT_MOST ((size_t)1 << 20)

static int read_file(const char *path, struct buf *out, struct err *err)
{
	FILE *f = fopen(path, "re");
	char piece[4096];
	size_t n;

	if (!f)
		return err_set(err, ERR_INVALID, "%s: %s", path,
			       strerror(errno));
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
	fclose(f);
	if (!buf_ok(out))
		return err_set(err, ERR_TOO_LARGE, "%s is too large", path);
	return 0;
}

struct node *given_document(const char *text, struct arena *a, struct err *err)
{
	struct buf file = BUF_INIT(TEXT_MOST);
	struct node *n = NULL;

	if (text[0] == '{')
		return json_parse(text, strlen(text), a, err);
	if (read_file(text, &file, err) == 0) {
		n = yaml_parse(buf_str(&file), file.len, a, err);
		if (!n)
			err_wrap(err, "%s", text);
	}
	buf_release(&file);
	return n;
}
