#include "cli/manifest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/yaml.h"
#include "cli/settings.h"

/* A file being read. */
struct reading {
	struct arena *arena;
	const char *file, *text;
	struct manifest *manifest;
	size_t number;
};

const char *manifest_where(const struct manifest_doc *doc, const char *pointer,
			   struct arena *a)
{
	return arena_printf(a, "%s:%zu: %s%s%s", doc->file,
			    manifest_line(doc, pointer),
			    doc->kind ? doc->kind->name : "document",
			    doc->name ? " " : "", doc->name ? doc->name : "");
}

static int complain(const struct manifest_doc *doc, const char *pointer,
		    const char *why, struct arena *a, struct failure *p)
{
	return failure_usage(p, "%s: %s", manifest_where(doc, pointer, a), why);
}

static const struct kind *kind_of(const char *word, struct arena *a)
{
	char *lower = arena_strdup(a, word);
	const struct kind *k;

	for (char *s = lower; *s; s++)
		*s = (char)tolower((unsigned char)*s);
	k = kind_find(lower);
	return k && !k->internal ? k : NULL;
}

static int add(struct reading *r, struct node *n, size_t line,
	       struct failure *p)
{
	struct manifest *m = r->manifest;
	struct manifest_doc doc = {.file = r->file,
				   .number = ++r->number,
				   .line = line,
				   .text = r->text,
				   .node = n};
	const char *word;

	if (node_type(n) != NODE_OBJECT)
		return complain(&doc, "", "is not an object", r->arena, p);
	word = node_text(n, "kind");
	doc.name = node_text(n, "name");
	if (!word)
		return complain(&doc, "", "has no kind", r->arena, p);
	doc.kind = kind_of(word, r->arena);
	if (!doc.kind)
		return complain(&doc, "/kind", "there is no such kind",
				r->arena, p);
	if (doc.kind->read_only)
		return complain(&doc, "/kind", "only the server writes those",
				r->arena, p);
	if (!doc.name)
		return complain(&doc, "", "has no name", r->arena, p);
	if (m->n == MANIFEST_MOST)
		return complain(&doc, "", "one document too many", r->arena, p);
	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 16;
		struct manifest_doc *docs =
			arena_alloc(r->arena, room * sizeof(*docs));

		if (m->n)
			memcpy(docs, m->docs, m->n * sizeof(*docs));
		m->docs = docs;
		m->room = room;
	}
	node_unset(r->arena, n, "kind");
	m->docs[m->n++] = doc;
	return 0;
}

/* A document, or a list of them. */
static int add_all(struct reading *r, struct node *n, size_t line,
		   struct failure *p)
{
	if (node_type(n) != NODE_ARRAY)
		return add(r, n, line, p);
	for (size_t i = 0; i < node_count(n); i++)
		if (add(r, node_at(n, i), line, p) < 0)
			return -1;
	return 0;
}

static bool is_blank(const char *s, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t line = strcspn(s + i, "\n");
		size_t from = strspn(s + i, " \t\r");

		if (line > len - i)
			line = len - i;
		if (from < line && s[i + from] != '#')
			return false;
		i += line + 1;
	}
	return true;
}

/* How many lines are passed over before the first that says something. */
static size_t first_line(const char *s)
{
	size_t n = 0;

	for (;;) {
		size_t skip = strspn(s, " \t\r");

		if (s[skip] != '\n' && s[skip] != '#')
			return n;
		s += strcspn(s, "\n");
		s += *s == '\n';
		n++;
	}
}

/* The document between two offsets; lines keep their numbers. */
static int parse_piece(struct reading *r, size_t from, size_t to,
		       struct failure *p)
{
	struct buf b = BUF_INIT((size_t)32 << 20);
	size_t line = 1;
	struct node *n;
	int rc = 0;

	if (is_blank(r->text + from, to - from))
		return 0;
	for (size_t i = 0; i < from; i++)
		if (r->text[i] == '\n') {
			buf_addc(&b, '\n');
			line++;
		}
	buf_add(&b, r->text + from, to - from);
	line += first_line(r->text + from);
	n = yaml_parse(buf_str(&b), b.len, r->arena, &p->err);
	if (!n) {
		p->usage = true;
		rc = err_wrap(&p->err, "%s", r->file);
	} else {
		rc = add_all(r, n, line, p);
	}
	buf_release(&b);
	return rc;
}

/* "---" at the beginning of a line parts documents, wherever it is. */
static bool is_mark(const char *s)
{
	return strncmp(s, "---", 3) == 0 && (!s[3] || strchr(" \t\r\n", s[3]));
}

int manifest_parse(struct arena *a, const char *file, const char *text,
		   struct manifest *m, struct failure *p)
{
	struct reading r = {a, file, text, m, 0};
	size_t from = 0, at = 0, blank = strspn(text, " \t\r\n");

	if (text[blank] == '{' || text[blank] == '[') {
		struct node *n = json_parse(text, strlen(text), a, &p->err);

		if (n)
			return add_all(&r, n, 1, p);
		p->usage = true;
		return err_wrap(&p->err, "%s", file);
	}
	while (text[at]) {
		size_t len = strcspn(text + at, "\n");

		if (is_mark(text + at)) {
			if (parse_piece(&r, from, at, p) < 0)
				return -1;
			from = at + 3;
		}
		at += len + (text[at + len] == '\n');
	}
	return parse_piece(&r, from, at, p);
}

static int read_file(struct cli *c, const char *path, struct manifest *m,
		     struct failure *p)
{
	const char *text;
	size_t len;

	if (settings_read_file(path, &c->arena, &text, &len, &p->err) < 0) {
		p->usage = true;
		return -1;
	}
	if (strlen(text) != len)
		return failure_usage(p, "%s holds a NUL", path);
	return manifest_parse(&c->arena, path, text, m, p);
}

static int is_manifest(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && dot != e->d_name &&
	       (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0 ||
		strcmp(dot, ".json") == 0);
}

int manifest_read(struct cli *c, const char *path, struct manifest *m,
		  struct failure *p)
{
	struct dirent **list = NULL;
	struct stat st;
	int n, rc = 0;

	if (strcmp(path, "-") == 0 || stat(path, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return read_file(c, path, m, p);
	n = scandir(path, &list, is_manifest, alphasort);
	if (n < 0)
		return failure_usage(p, "%s: %s", path, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = read_file(c,
				       arena_printf(&c->arena, "%s/%s", path,
						    list[i]->d_name),
				       m, p);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* The next line from *AT on whose key is KEY; 0 when there is none. */
static size_t line_of_key(const char *text, size_t *at, size_t *line,
			  const char *key)
{
	size_t len = strlen(key);

	while (text[*at]) {
		const char *s = text + *at;
		size_t skip = strspn(s, " \t-\"'{");
		bool hit = strncmp(s + skip, key, len) == 0 &&
			   strspn(s + skip + len, "\"' \t") ==
				   strcspn(s + skip + len, ":");

		if (hit && s[skip + len])
			return *line;
		if (*at && is_mark(s))
			return 0;
		*at += strcspn(s, "\n");
		*at += text[*at] == '\n';
		++*line;
	}
	return 0;
}

size_t manifest_line(const struct manifest_doc *doc, const char *pointer)
{
	size_t line = 1, at = 0, best = doc->line;

	while (doc->text && line < doc->line && doc->text[at]) {
		at += strcspn(doc->text + at, "\n");
		at += doc->text[at] == '\n';
		line++;
	}
	while (doc->text && *pointer == '/') {
		size_t len = strcspn(++pointer, "/");
		char key[64];

		if (len < sizeof(key) && !isdigit((unsigned char)*pointer)) {
			size_t hit;

			memcpy(key, pointer, len);
			key[len] = '\0';
			hit = line_of_key(doc->text, &at, &line, key);
			/* A name instead of an id. */
			if (!hit)
				break;
			best = hit;
		}
		pointer += len;
	}
	return best;
}
