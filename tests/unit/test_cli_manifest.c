#include "cli/manifest.h"

#include "model/instance.h"
#include "model/network.h"
#include "test.h"

static struct arena arena;
static struct failure failure;
static struct buf out = BUF_INIT(65536);

static struct manifest read_text(const char *text)
{
	struct manifest m = {0};

	failure = (struct failure){0};
	if (manifest_parse(&arena, "f", text, &m, &failure) < 0)
		m.n = SIZE_MAX;
	return m;
}

/* "id-of-KIND-NAME", but for "nobody". */
static int resolve(void *ctx, const struct kind *k, const char *name,
		   const char **ret_id, struct failure *p)
{
	(void)ctx;
	if (strcmp(name, "nobody") == 0)
		return err_set(&p->err, ERR_NOT_FOUND, "no such %s", k->name);
	*ret_id = arena_printf(&arena, "id-of-%s-%s", k->name, name);
	return 0;
}

static const struct manifest_world world = {&arena, resolve, NULL};

static const char *translated(const char *text)
{
	struct manifest m = read_text(text);
	struct node *n;

	buf_clear(&out);
	failure = (struct failure){0};
	if (m.n != 1 ||
	    manifest_translate(&m.docs[0], &world, &n, &failure) < 0)
		return failure.err.msg;
	json_write(n, false, &out);
	return buf_str(&out);
}

static void documents_are_parted(void)
{
	struct manifest m = read_text("# first\n"
				      "kind: network\nname: a\n"
				      "---\n# nothing\n--- \n\n"
				      "kind: Instances\nname: b\n---\n");

	CHECK(m.n == 2);
	CHECK(m.docs[0].kind == &network_kind && m.docs[0].line == 2);
	CHECK(m.docs[1].kind == &instance_kind && m.docs[1].line == 8);
	CHECK_STR(m.docs[1].name, "b");
	CHECK(read_text("").n == 0);
	CHECK(read_text("[{\"kind\":\"network\",\"name\":\"a\"},"
			"{\"kind\":\"network\",\"name\":\"b\"}]")
		      .n == 2);
	CHECK(read_text("- {kind: network, name: a}\n").n == 1);
}

static void mistakes_have_a_place(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"kind: network\nname: [\n", "line 3"},
		{"a\n", "f:1: document: is not an object"},
		{"\n\nkind: x\n", "f:3: document: there is no such kind"},
		{"name: x\n", "f:1: document x: has no kind"},
		{"kind: network\n", "f:1: network: has no name"},
		{"kind: flavor\nname: x", "only the server"},
		{"{\"kind\":", "f: "},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		bool refused = read_text(cases[i].text).n == SIZE_MAX;

		if (refused && strstr(failure.err.msg, cases[i].want))
			continue;
		printf("# %s: %s\n", cases[i].text, failure.err.msg);
		CHECK(!"refused so");
	}
}

static void pointers_become_lines(void)
{
	struct manifest m = read_text("kind: volume\nname: other\n---\n"
				      "kind: instance\n"
				      "name: a\n"
				      "spec:\n"
				      "  zone: b\n"
				      "  rootDisk:\n"
				      "    sizeGiB: 1\n"
				      "  volumes:\n"
				      "    - volume: x\n"
				      "      mountPath: /srv\n");
	const struct manifest_doc *d = &m.docs[1];

	CHECK(m.n == 2);
	CHECK(manifest_line(d, "") == 4);
	CHECK(manifest_line(d, "/name") == 5);
	CHECK(manifest_line(d, "/spec/zone") == 7);
	CHECK(manifest_line(d, "/spec/rootDisk/sizeGiB") == 9);
	CHECK(manifest_line(d, "/spec/volumes/0/mountPath") == 12);
	CHECK(manifest_line(d, "/spec/none") == 6);
	CHECK(manifest_line(&m.docs[0], "/spec/zone") == 1);
}

static void names_become_ids(void)
{
	CHECK_STR(translated("kind: instance\nname: a\nnetwork: n\n"
			     "spec: {flavor: f, imageId: i, sshCa: c,\n"
			     "  securityGroups: [x, y],\n"
			     "  volumes: [{volume: v, mountPath: /srv}],\n"
			     "  alternatives: [{flavor: g}]}\n"),
		  "{\"name\":\"a\",\"networkId\":\"id-of-network-n\","
		  "\"spec\":{\"flavorId\":\"id-of-flavor-f\","
		  "\"imageId\":\"id-of-image-i\","
		  "\"sshCertificateAuthorityId\":\"id-of-sshca-c\","
		  "\"securityGroupIds\":[\"id-of-securitygroup-x\","
		  "\"id-of-securitygroup-y\"],"
		  "\"volumes\":[{\"volumeId\":\"id-of-volume-v\","
		  "\"mountPath\":\"/srv\"}],"
		  "\"alternatives\":[{\"flavorId\":\"id-of-flavor-g\"}]}}");
	CHECK_STR(translated("kind: instance\nname: a\n"
			     "network: 0190c1b4-6a3e-7c52-9d0f-3b1a5e8f2c47\n"),
		  "{\"name\":\"a\",\"networkId\":"
		  "\"0190c1b4-6a3e-7c52-9d0f-3b1a5e8f2c47\"}");
	CHECK_STR(translated("kind: instance\nname: a\nnetwork: nobody\n"),
		  "f:3: instance a: no such network");
	CHECK_STR(translated("kind: instance\nname: a\ncolour: red\n"),
		  "{\"name\":\"a\",\"colour\":\"red\"}");
}

static void text_becomes_base64(void)
{
	CHECK_STR(translated("kind: instance\nname: a\n"
			     "spec: {userData: \"#!/bin/sh\"}\n"),
		  "{\"name\":\"a\",\"spec\":"
		  "{\"userData\":\"IyEvYmluL3No\"}}");
	CHECK_STR(translated("kind: instance\nname: a\n"
			     "spec: {userData: IyEvYmluL3No}\n"),
		  "{\"name\":\"a\",\"spec\":"
		  "{\"userData\":\"IyEvYmluL3No\"}}");
}

static void tell(void *ctx, const struct kind *k, const char *name)
{
	(void)ctx;
	buf_addf(&out, "%s %s;", k->name, name);
}

static void references_are_found(void)
{
	struct manifest m =
		read_text("kind: instance\nname: a\nnetwork: n\n"
			  "spec: {flavor: f, securityGroups: [x]}\n");

	buf_clear(&out);
	manifest_references(&m.docs[0], &arena, tell, NULL);
	CHECK_STR(buf_str(&out), "network n;flavor f;securitygroup x;");
}

int main(void)
{
	arena_init(&arena, (size_t)64 << 20);
	RUN(documents_are_parted);
	RUN(mistakes_have_a_place);
	RUN(pointers_become_lines);
	RUN(names_become_ids);
	RUN(text_becomes_base64);
	RUN(references_are_found);
	buf_release(&out);
	arena_release(&arena);
	return test_done();
}
