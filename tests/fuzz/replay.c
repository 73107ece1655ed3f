/* replay - a fuzz target run over its corpus, as a test: one case a file. */

#include <dirent.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"

static int count;

static int is_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int run_file(const char *folder, const char *name)
{
	struct buf path = BUF_INIT(4096), bytes = BUF_INIT((size_t)8 << 20);
	FILE *file;
	char *to;
	size_t n;

	buf_addf(&path, "%s/%s", folder, name);
	file = fopen(buf_str(&path), "rb");
	if (!file)
		return -1;
	while ((to = buf_reserve(&bytes, 65536)) &&
	       (n = fread(to, 1, 65536, file)) > 0)
		buf_grew(&bytes, n);
	fclose(file);
	/* So that a crash shows which file it was. */
	printf("# %s\n", name);
	fflush(stdout);
	LLVMFuzzerTestOneInput((const uint8_t *)buf_str(&bytes), bytes.len);
	printf("ok %d - %s\n", ++count, name);
	buf_release(&bytes);
	buf_release(&path);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int n;

	if (argc != 2 || (n = scandir(argv[1], &names, is_file, alphasort)) < 0)
		return 2;
	for (int i = 0; i < n; i++) {
		if (run_file(argv[1], names[i]->d_name) < 0)
			printf("not ok %d - %s\n", ++count, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	printf("1..%d\n", count);
	return 0;
}
