/* The documentation says what the tables say.  Takes the project's folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/call.h"
#include "api/routes.h"
#include "base/buf.h"
#include "base/field_ops.h"
#include "daemon/config.h"
#include "provider/driver.h"
#include "provider/front.h"
#include "test.h"

static const char *folder;

static void read_doc(const char *name, struct buf *out)
{
	char path[4096], piece[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/docs/%s", folder, name);
	f = fopen(path, "re");
	CHECK(f != NULL);
	while (f && (n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
	if (f)
		fclose(f);
}

static void expect(const struct buf *doc, const char *text)
{
	if (strstr(buf_str(doc), text))
		return;
	printf("# the documentation does not say: %s\n", text);
	CHECK(!"documented");
}

static void expect_config(const struct buf *doc, const struct field *fields,
			  const char *prefix)
{
	struct field_walk w = field_walk(fields);
	const struct field *f;
	char text[256];

	while ((f = field_walk_next(&w, NULL))) {
		if (f->type == FIELD_OBJECT) {
			snprintf(text, sizeof(text), "%s%s.", prefix, f->name);
			expect_config(doc, f->fields, text);
			continue;
		}
		if (f->type == FIELD_LIST && f->fields) {
			snprintf(text, sizeof(text), "%s%s[].", prefix,
				 f->name);
			expect_config(doc, f->fields, text);
		}
		if (f->fallback) {
			size_t quoted = f->fallback[0] == '"';

			snprintf(text, sizeof(text), "| `%s%s` | `%.*s` |",
				 prefix, f->name,
				 (int)(strlen(f->fallback) - 2 * quoted),
				 f->fallback + quoted);
		} else {
			snprintf(text, sizeof(text), "| `%s%s` |", prefix,
				 f->name);
		}
		expect(doc, text);
	}
}

static void every_setting_is_documented_with_its_default(void)
{
	struct buf doc = BUF_INIT((size_t)1 << 20);

	read_doc("operating.md", &doc);
	expect_config(&doc, config_fields, "");
	buf_release(&doc);
}

static void every_error_is_documented_with_its_status(void)
{
	struct buf doc = BUF_INIT((size_t)1 << 20);
	char text[128];

	read_doc("api.md", &doc);
	for (int i = 1; i < ERR_CODE_COUNT; i++) {
		enum err_code code = (enum err_code)i;

		if (code == ERR_INVALID)
			snprintf(text, sizeof(text),
				 "| `invalid` | 400, 422 |");
		else
			snprintf(text, sizeof(text), "| `%s` | %d |",
				 err_name(code), problem_status(code));
		expect(&doc, text);
	}
	buf_release(&doc);
}

static void every_route_and_noun_is_documented(void)
{
	struct buf doc = BUF_INIT((size_t)1 << 20);
	char text[128];

	read_doc("api.md", &doc);
	for (const struct route *r = routes; r->method; r++) {
		snprintf(text, sizeof(text), "`%s %s`", r->method, r->path);
		expect(&doc, text);
	}
	for (size_t i = 0; i < n_nouns; i++) {
		snprintf(text, sizeof(text), "`%s`", nouns[i].kind->plural);
		expect(&doc, text);
	}
	buf_release(&doc);
}

static void every_option_of_every_provider_is_documented(void)
{
	char name[64];

	for (size_t i = 0; drivers[i]; i++) {
		struct buf doc = BUF_INIT((size_t)1 << 20);

		snprintf(name, sizeof(name), "providers/%s.md",
			 drivers[i]->name);
		read_doc(name, &doc);
		if (drivers[i]->options)
			expect_config(&doc, drivers[i]->options, "");
		if (drivers[i]->credentials)
			expect_config(&doc, drivers[i]->credentials, "");
		buf_release(&doc);
	}
}

static void every_provider_and_capability_is_documented(void)
{
	struct buf doc = BUF_INIT((size_t)1 << 20);
	char text[64];

	read_doc("providers.md", &doc);
	for (size_t i = 0; drivers[i]; i++) {
		snprintf(text, sizeof(text), "[%s](providers/%s.md)",
			 drivers[i]->name, drivers[i]->name);
		expect(&doc, text);
	}
	for (int i = 0; i < CAPABILITIES; i++)
		expect(&doc, capability_name((enum capability)i));
	buf_release(&doc);
}

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : ".";
	RUN(every_setting_is_documented_with_its_default);
	RUN(every_error_is_documented_with_its_status);
	RUN(every_route_and_noun_is_documented);
	RUN(every_option_of_every_provider_is_documented);
	RUN(every_provider_and_capability_is_documented);
	return test_done();
}
