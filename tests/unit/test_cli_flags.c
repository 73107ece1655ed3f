#include "cli/flags.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "test.h"

/* A noun with a field of every sort. */
static const char *const powers[] = {NULL, "on", "off", NULL};
static const char *const states[] = {NULL, "pending", "running", NULL};

static const struct field volume_fields[] = {
	{"volumeId", FIELD_STRING, .refers = "volume"},
	{"mountPath", FIELD_STRING},
	{"deleteWithIt", FIELD_BOOL},
	{0},
};
static const char *const directions[] = {NULL, "ingress", "egress", NULL};
static const struct field rule_fields[] = {
	{"direction", FIELD_ENUM, .names = directions},
	{"port", FIELD_INT},
	{"portMax", FIELD_INT},
	{"prefix", FIELD_STRING, .format = &format_prefix},
	{"securityGroupId", FIELD_STRING, .refers = "securitygroup"},
	{0},
};
static const struct field disk_fields[] = {
	{"sizeGiB", FIELD_INT, .doc = "How large."},
	{0},
};
static const struct field spec_fields[] = {
	{"flavorId", FIELD_STRING, FIELD_REQUIRED, .refers = "flavor"},
	{"rootDisk", FIELD_OBJECT, .fields = disk_fields},
	{"publicIp", FIELD_BOOL},
	{"power", FIELD_ENUM, .names = powers},
	{"expiresAt", FIELD_TIME},
	{"options", FIELD_RAW},
	{"sshPublicKeys", FIELD_LIST, .item = FIELD_STRING},
	{"securityGroupIds", FIELD_LIST, .item = FIELD_STRING,
	 .refers = "securitygroup"},
	{"volumes", FIELD_LIST, .item = FIELD_OBJECT, .fields = volume_fields},
	{"rules", FIELD_LIST, .item = FIELD_OBJECT, .fields = rule_fields},
	{"sourceAddresses", FIELD_LIST, .item = FIELD_STRING},
	{"sshCertificateAuthorityId", FIELD_STRING, .refers = "sshca"},
	{"userData", FIELD_STRING, FIELD_SECRET, .format = &format_base64},
	{"plan", FIELD_STRING, .doc = "A field called like an option."},
	{0},
};
static const struct field status_fields[] = {
	{"state", FIELD_ENUM, FIELD_STATE | FIELD_READ_ONLY, .names = states},
	{0},
};
static const struct field fields[] = {
	{"id", FIELD_STRING, FIELD_READ_ONLY},
	{"name", FIELD_STRING, FIELD_REQUIRED},
	{"description", FIELD_STRING},
	{"tags", FIELD_TAGS, FIELD_INDEX},
	{"projectId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 .refers = "project"},
	{"networkId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX, .refers = "network"},
	{"spec", FIELD_OBJECT, .fields = spec_fields},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, .fields = status_fields},
	{0},
};
static const struct kind machine = {
	.name = "machine",
	.plural = "machines",
	.fields = fields,
	.unique_within = "networkId",
};

static const struct command_option options[] = {
	{"plan", .doc = "An option called like a field."},
	{"limit", .argument = "N"},
	{0},
};
static const struct command_option *const taken[] = {options, NULL};

static struct arena arena;
static struct failure failure;
static struct buf out = BUF_INIT(65536);

/* "id-of-KIND-NAME", but for "nobody". */
static int resolve(void *ctx, const char *kind, const char *text,
		   const char **ret_id, struct failure *p)
{
	(void)ctx;
	if (strcmp(text, "nobody") == 0)
		return err_set(&p->err, ERR_NOT_FOUND, "no %s", kind);
	*ret_id = arena_printf(&arena, "id-of-%s-%s", kind, text);
	return 0;
}

static const struct flags_world world = {
	.arena = &arena, .now = 1000, .resolve = resolve};

/* What the arguments in LINE (parted by spaces) make, as JSON or as a query;
 * NULL when they are refused. */
static const char *make(enum command_fields which, const char *line)
{
	char *argv[32] = {arena_strdup(&arena, "verb")};
	struct args args;
	struct flags f;
	struct node *patch;
	int argc = 1, rc;

	for (char *p = arena_strdup(&arena, line); p && *p;) {
		char *space = strchr(p, ' ');

		argv[argc++] = p;
		if (space)
			*space = '\0';
		p = space ? space + 1 : NULL;
	}
	buf_clear(&out);
	failure = (struct failure){0};
	flags_make(&f, &machine, which, taken, &arena);
	rc = args_parse((const struct command_option *const[]){f.options,
							       options, NULL},
			argc, argv, &arena, &args, &failure.err);
	if (rc < 0)
		return NULL;
	if (which == COMMAND_FILTERS) {
		rc = flags_query(&f, &args, &world, &out, &failure);
	} else {
		rc = flags_patch(&f, &args, &world, &patch, &failure);
		if (rc == 0)
			json_write(patch, false, &out);
	}
	return rc < 0 ? NULL : buf_str(&out);
}

#define CREATES(line, want) CHECK_STR(make(COMMAND_CREATE, line), want)
#define UPDATES(line, want) CHECK_STR(make(COMMAND_UPDATE, line), want)
#define REFUSED(line, want)                                                    \
	do {                                                                   \
		CHECK(!make(COMMAND_CREATE, line));                            \
		CHECK_STR(failure.err.msg, want);                              \
	} while (0)

static void no_flags_make_an_empty_document(void)
{
	CREATES("", "{}");
}

static void plain_fields(void)
{
	CREATES("--name web --description=x", "{\"name\":\"web\","
					      "\"description\":\"x\"}");
	CREATES("--name a --name b", "{\"name\":\"b\"}");
	CREATES("--root-disk-size-gib 20",
		"{\"spec\":{\"rootDisk\":{\"sizeGiB\":20}}}");
	CREATES("--power off", "{\"spec\":{\"power\":\"off\"}}");
	CREATES("--options {\"a\":[1]}",
		"{\"spec\":{\"options\":{\"a\":[1]}}}");
}

static void switches(void)
{
	CREATES("--public-ip", "{\"spec\":{\"publicIp\":true}}");
	CREATES("--public-ip=false", "{\"spec\":{\"publicIp\":false}}");
	CREATES("--no-public-ip", "{\"spec\":{\"publicIp\":false}}");
}

static void times(void)
{
	CREATES("--expires-at 2026-11-15T04:40:28Z",
		"{\"spec\":{\"expiresAt\":\"2026-11-15T04:40:28Z\"}}");
	CREATES("--expires-at +1s",
		"{\"spec\":{\"expiresAt\":\"1970-01-01T00:00:02.000Z\"}}");
}

static void references_by_name_and_by_id(void)
{
	CREATES("--network n --flavor f",
		"{\"networkId\":\"id-of-network-n\","
		"\"spec\":{\"flavorId\":\"id-of-flavor-f\"}}");
	CREATES("--network-id n --flavor-id f",
		"{\"networkId\":\"n\",\"spec\":{\"flavorId\":\"f\"}}");
	CHECK(!make(COMMAND_CREATE, "--network nobody"));
	CHECK(failure.err.code == ERR_NOT_FOUND && !failure.usage);
}

static void lists_are_repeated(void)
{
	CREATES("--ssh-public-key a --ssh-public-key b",
		"{\"spec\":{\"sshPublicKeys\":[\"a\",\"b\"]}}");
	CREATES("--security-group web --security-group-id x",
		"{\"spec\":{\"securityGroupIds\":[\"id-of-securitygroup-web\","
		"\"x\"]}}");
	CREATES("--volume volume=data,mount-path=/srv,deleteWithIt=true",
		"{\"spec\":{\"volumes\":[{\"volumeId\":\"id-of-volume-data\","
		"\"mountPath\":\"/srv\",\"deleteWithIt\":true}]}}");
	CREATES("--volume volumeId=x --volume {\"volumeId\":\"y\"}",
		"{\"spec\":{\"volumes\":[{\"volumeId\":\"x\"},"
		"{\"volumeId\":\"y\"}]}}");
}

static void items_without_keys_go_where_they_can(void)
{
	CREATES("--volume data:/srv",
		"{\"spec\":{\"volumes\":[{\"volumeId\":\"id-of-volume-data\","
		"\"mountPath\":\"/srv\"}]}}");
	CREATES("--volume data,deleteWithIt=true",
		"{\"spec\":{\"volumes\":[{\"volumeId\":\"id-of-volume-data\","
		"\"deleteWithIt\":true}]}}");
	CREATES("--rule ingress,22,0.0.0.0/0",
		"{\"spec\":{\"rules\":[{\"direction\":\"ingress\",\"port\":22,"
		"\"prefix\":\"0.0.0.0/0\"}]}}");
	CREATES("--rule ingress,1,9,::/0",
		"{\"spec\":{\"rules\":[{\"direction\":\"ingress\",\"port\":1,"
		"\"portMax\":9,\"prefix\":\"::/0\"}]}}");
	CREATES("--rule ingress,web",
		"{\"spec\":{\"rules\":[{\"direction\":\"ingress\","
		"\"securityGroupId\":\"id-of-securitygroup-web\"}]}}");
	REFUSED("--rule ingress,22,23,web,more",
		"--rule: no place for 'more'; say KEY=more");
}

static void long_words_are_short(void)
{
	CREATES("--source-address 10.0.0.0/8 --ssh-ca corp",
		"{\"spec\":{\"sourceAddresses\":[\"10.0.0.0/8\"],"
		"\"sshCertificateAuthorityId\":\"id-of-sshca-corp\"}}");
}

static void a_file_is_encoded(void)
{
	char path[] = "/tmp/muster-test-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, "#!/bin/sh\n\xff\xfe>", 13) == 13);
	close(fd);
	CREATES(arena_printf(&arena, "--user-data @%s", path),
		"{\"spec\":{\"userData\":\"IyEvYmluL3NoCv/+Pg==\"}}");
	CREATES("--user-data aGk=", "{\"spec\":{\"userData\":\"aGk=\"}}");
	unlink(path);
}

static void a_secret_is_taken_away_by_an_empty_text(void)
{
	UPDATES("--user-data=", "{\"spec\":{\"userData\":\"\"}}");
}

static void whose_it_is_tells_names_apart(void)
{
	CREATES("--project p", "{}");
	CHECK_STR(make(COMMAND_NARROW, "--project p --network n"), "{}");
}

static void tags(void)
{
	CREATES("--tag a=1 --tag b=x=y --tag c=",
		"{\"tags\":{\"a\":\"1\",\"b\":\"x=y\",\"c\":\"\"}}");
	UPDATES("--tag a=1 --remove-tag b", "{\"tags\":{\"a\":\"1\","
					    "\"b\":null}}");
}

static void an_empty_value_removes(void)
{
	UPDATES("--description=", "{\"description\":null}");
	UPDATES("--tag=", "{\"tags\":null}");
	UPDATES("--ssh-public-key=", "{\"spec\":{\"sshPublicKeys\":null}}");
}

static void an_update_cannot_set_what_is_set_once(void)
{
	/* It is there, but only to tell names apart. */
	UPDATES("--network n", "{}");
}

static void a_flag_makes_way_for_an_option(void)
{
	CREATES("--machine-plan x --plan", "{\"spec\":{\"plan\":\"x\"}}");
}

static void says_what_is_wrong(void)
{
	REFUSED("--root-disk-size-gib x",
		"--root-disk-size-gib: 'x' is not a whole number");
	REFUSED("--power onn", "--power cannot be 'onn'; did you mean 'on'?");
	REFUSED("--expires-at soon", "--expires-at: 'soon' is not a time like "
				     "2026-11-15T04:40:28Z or +2h");
	REFUSED("--tag a", "--tag: 'a' is not KEY=VALUE");
	REFUSED("--tag =a", "--tag: '=a' is not KEY=VALUE");
	REFUSED("--volume colour=red", "--volume has no key 'colour'");
	REFUSED("--id x", "unknown option '--id'");
	CHECK(!make(COMMAND_CREATE, "--options @/nowhere"));
	CHECK(failure.usage);
}

static void filters_lists(void)
{
	CHECK_STR(make(COMMAND_FILTERS, "--name w --tag a=b&c --network n "
					"--state running --limit 3"),
		  "&name=w&tag=a%3Db%26c&networkId=id-of-network-n"
		  "&state=running");
	CHECK(!make(COMMAND_FILTERS, "--description x"));
	CHECK(!make(COMMAND_FILTERS, "--tag a"));
}

static void finds_the_flag_of_a_pointer(void)
{
	struct flags f;

	flags_make(&f, &machine, COMMAND_CREATE, taken, &arena);
	CHECK_STR(flags_of_pointer(&f, "/name"), "name");
	CHECK_STR(flags_of_pointer(&f, "/spec/flavorId"), "flavor");
	CHECK_STR(flags_of_pointer(&f, "/spec/rootDisk/sizeGiB"),
		  "root-disk-size-gib");
	CHECK_STR(flags_of_pointer(&f, "/spec/volumes/0/volumeId"), "volume");
	CHECK_STR(flags_of_pointer(&f, "/tags/a"), "tag");
	CHECK(!flags_of_pointer(&f, "/nam"));
	CHECK(!flags_of_pointer(&f, "/names"));
	CHECK(!flags_of_pointer(&f, ""));
	CHECK(!flags_of_pointer(&f, "/status/state"));
}

static void knows_what_a_create_needs(void)
{
	const char *path = NULL;

	CHECK_STR(flags_required(&machine, &arena),
		  " --network my-network --flavor my-flavor");
	CHECK(flags_state(&machine, &arena, &path));
	CHECK_STR(path, "status.state");
}

int main(void)
{
	arena_init(&arena, (size_t)16 << 20);
	RUN(no_flags_make_an_empty_document);
	RUN(plain_fields);
	RUN(switches);
	RUN(times);
	RUN(references_by_name_and_by_id);
	RUN(lists_are_repeated);
	RUN(items_without_keys_go_where_they_can);
	RUN(long_words_are_short);
	RUN(a_file_is_encoded);
	RUN(a_secret_is_taken_away_by_an_empty_text);
	RUN(whose_it_is_tells_names_apart);
	RUN(tags);
	RUN(an_empty_value_removes);
	RUN(an_update_cannot_set_what_is_set_once);
	RUN(a_flag_makes_way_for_an_option);
	RUN(says_what_is_wrong);
	RUN(filters_lists);
	RUN(finds_the_flag_of_a_pointer);
	RUN(knows_what_a_create_needs);
	buf_release(&out);
	arena_release(&arena);
	return test_done();
}
