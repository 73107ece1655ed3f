/* openapi - the OpenAPI 3.1 document, written from the tables. */
#include <assert.h>
#include <string.h>

#include "api/filter.h"
#include "api/routes.h"
#include "api/schema.h"

static const char info[] =
	"\"title\":\"Muster\",\"description\":\"A compute control plane: "
	"instances, groups and warm pools on many clouds and on your own "
	"hosts.\",\"license\":{\"name\":\"Apache-2.0\","
	"\"identifier\":\"Apache-2.0\"}";

static const char problem[] =
	"{\"type\":\"object\",\"additionalProperties\":false,\"required\":["
	"\"type\",\"title\",\"status\",\"detail\",\"code\",\"scope\","
	"\"retry\"],\"properties\":{"
	"\"type\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},"
	"\"status\":{\"type\":\"integer\"},\"detail\":{\"type\":\"string\"},"
	"\"code\":{\"type\":\"string\",\"enum\":[%s]},"
	"\"field\":{\"type\":\"string\"},"
	"\"scope\":{\"type\":\"string\",\"enum\":[\"request\",\"object\","
	"\"flavor\",\"zone\",\"region\",\"account\",\"provider\"]},"
	"\"retry\":{\"type\":\"string\",\"enum\":[\"never\",\"later\","
	"\"afterChange\",\"elsewhere\"]},"
	"\"retryAfterMs\":{\"type\":\"integer\"},"
	"\"requestId\":{\"type\":\"string\"},"
	"\"violations\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"pointer\",\"message\"],\"properties\":{"
	"\"pointer\":{\"type\":\"string\"},"
	"\"message\":{\"type\":\"string\"}}}},"
	"\"plan\":{\"type\":\"object\",\"required\":[\"action\",\"kind\"]}}}";

/* What each query word is. */
static const struct {
	const char *name, *schema, *doc;
} words[] = {
	{"limit", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}",
	 "How many at most; 100 when it is not said.  A page may have fewer: "
	 "only the absence of `next` means the end."},
	{"after", "{\"type\":\"string\"}",
	 "The `next` of the page before.  All pages show one revision."},
	{"at", "{\"type\":\"integer\",\"minimum\":1}",
	 "Read as it was at this revision; 410 when it is no longer kept."},
	{"wait", "{\"type\":\"string\"}",
	 "Wait until it is in this state, has `changed` or is `deleted`; the "
	 "answer is the object as it is then, 204 when it is gone."},
	{"timeoutMs", "{\"type\":\"integer\",\"minimum\":0,\"maximum\":600000}",
	 "How long to wait at most; a minute when it is not said."},
	{"maxStalenessMs",
	 "{\"type\":\"integer\",\"minimum\":0,\"maximum\":86400000}",
	 "When what is known of its machine is older, look at it before "
	 "answering: 504 when the provider does not answer within timeoutMs "
	 "(10 s when it is not said, a minute at most), 503 when it cannot be "
	 "asked.  An instance without a machine is answered as it is."},
	{"plan", "{\"type\":\"boolean\"}",
	 "Say what would happen, and change nothing."},
	{"allow", "{\"type\":\"string\",\"enum\":[\"restart\",\"rebuild\"]}",
	 "What may be done to a machine for it: be restarted, or be rebuilt "
	 "or replaced, which loses what is on it; 409 with the plan "
	 "otherwise."},
	{"ticket", "{\"type\":\"string\"}",
	 "The secret in the address, good once."},
	{"length", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":1048576}",
	 "About how many bytes of its end; 64 KiB when it is not said."},
	{"who", "{\"type\":\"string\"}",
	 "Only what this caller did, or another for them: an id or a name."},
	{"kind", "{\"type\":\"string\"}", "Only of this kind of object."},
	{"objectId", "{\"type\":\"string\"}", "Only of this object."},
	{"organizationId", "{\"type\":\"string\"}",
	 "Only of this organization; who belongs to one sees its own."},
	{"projectId", "{\"type\":\"string\"}", "Only of this project."},
	{"action", "{\"type\":\"string\"}", "Only this: create, update, …"},
	{"result", "{\"type\":\"string\"}",
	 "Only what ended so: ok, or a problem's code."},
	{"since", "{\"type\":\"string\",\"format\":\"date-time\"}",
	 "From this time on."},
	{"until", "{\"type\":\"string\",\"format\":\"date-time\"}",
	 "Before this time."},
};

static void add_string(struct buf *out, const char *s)
{
	json_add_string(out, s, strlen(s));
}

static void add_parameter(struct buf *out, const char *in, const char *name,
			  const char *schema, const char *doc)
{
	buf_addf(out, "%s{\"name\":\"%s\",\"in\":\"%s\",\"schema\":%s",
		 out->data[out->len - 1] == '[' ? "" : ",", name, in, schema);
	if (strcmp(in, "path") == 0)
		buf_adds(out, ",\"required\":true");
	buf_adds(out, ",\"description\":");
	add_string(out, doc);
	buf_addc(out, '}');
}

/* The words that a list of K is filtered by, of FIELDS of it. */
static void add_filters(struct buf *out, const struct kind *k,
			const struct field *fields)
{
	struct field_walk w = field_walk(fields);
	char path[FILTER_PATH];
	const struct field *f;

	while ((f = field_walk_next(&w, NULL))) {
		if (f->type == FIELD_TAGS && fields == k->fields)
			add_parameter(out, "query", "tag",
				      "{\"type\":\"array\",\"items\":{\"type\":"
				      "\"string\"}}",
				      "Only those with this tag: key=value.  "
				      "May come several times.");
		else if (f->type == FIELD_OBJECT && fields == k->fields)
			add_filters(out, k, f->fields);
		else if (filter_field(k, f->name, path) == f)
			add_parameter(out, "query", f->name,
				      "{\"type\":\"string\"}",
				      "Only those where it is this.");
	}
}

static void add_words(struct buf *out, const char *const *list)
{
	for (const char *const *q = list; *q; q++)
		for (size_t i = 0; i < COUNT_OF(words); i++)
			if (strcmp(words[i].name, *q) == 0)
				add_parameter(out, "query", *q, words[i].schema,
					      words[i].doc);
}

static void add_query(struct buf *out, const struct route *r,
		      const struct kind *k)
{
	add_words(out, r->query);
	if (k && route_words(r, noun_find(k->plural)))
		add_words(out, route_words(r, noun_find(k->plural)));
	if (r->flags & ROUTE_FILTERS && k)
		add_filters(out, k, k->fields);
}

/* What follows the id in a path: "rotate"; NULL when nothing does. */
static const char *below(const struct route *r)
{
	const char *id = strstr(r->path, "{id}/");

	return id ? id + strlen("{id}/") : NULL;
}

static void add_headers(struct buf *out, const struct route *r)
{
	static const char text[] = "{\"type\":\"string\"}";

	if (r->need > NEED_TICKET)
		add_parameter(out, "header", "Muster-Act-As", text,
			      "Act for the user or service account with this "
			      "id, as far as both may.");
	if (strcmp(r->method, "POST") == 0)
		add_parameter(out, "header", "Idempotency-Key", text,
			      "The same key with the same body is answered as "
			      "the first time; with another body, 409.");
	if (strcmp(r->method, "PUT") == 0 || strcmp(r->method, "PATCH") == 0 ||
	    strcmp(r->method, "DELETE") == 0)
		add_parameter(out, "header", "If-Match", text,
			      "The ETag it must still have; else 412.");
	if (strstr(r->path, "{id}") && !below(r) &&
	    strcmp(r->method, "GET") == 0)
		add_parameter(out, "header", "If-None-Match", text,
			      "The ETag you know: 304 while it has it; with "
			      "wait, answered once it has another.");
	if (r->flags & ROUTE_FILTERS)
		add_parameter(out, "header", "Last-Event-ID", text,
			      "For a watch: go on after this revision.");
}

static void add_request(struct buf *out, const struct route *r,
			const struct kind *k)
{
	static const struct {
		const char *method, *suffix;
	} bodies[] = {
		{"POST", "Create"}, {"PUT", "Replace"}, {"PATCH", "Patch"}};

	if (r->takes) {
		buf_addf(out,
			 ",\"requestBody\":{\"required\":%s,\"content\":{"
			 "\"%s\":{\"schema\":",
			 r->flags & ROUTE_BODY_OPTIONAL ? "false" : "true",
			 r->consumes[0]);
		schema_write(r->takes, SCHEMA_CREATE, out);
		buf_adds(out, "}}}");
		return;
	}
	for (size_t i = 0; k && r->consumes && i < COUNT_OF(bodies); i++) {
		if (strcmp(bodies[i].method, r->method) != 0)
			continue;
		assert(k);
		buf_adds(out, ",\"requestBody\":{\"required\":true,"
			      "\"content\":{");
		for (const char *const *t = r->consumes; *t; t++)
			buf_addf(out,
				 "%s\"%s\":{\"schema\":{\"$ref\":"
				 "\"#/components/schemas/%s%s\"}}",
				 t == r->consumes ? "" : ",", *t, k->title,
				 bodies[i].suffix);
		buf_adds(out, "}}");
	}
}

#define PRINCIPAL                                                              \
	"{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"id\":" \
	"{"                                                                    \
	"\"type\":\"string\"},\"name\":{\"type\":\"string\"}}}"

static const char audit_entry[] =
	",\"AuditEntry\":{\"type\":\"object\",\"required\":[\"seq\",\"at\","
	"\"hash\"],\"properties\":{\"seq\":{\"type\":\"integer\"},\"at\":{"
	"\"type\":\"string\",\"format\":\"date-time\"},\"revision\":{\"type\":"
	"\"integer\"},\"hash\":{\"type\":\"string\"},\"who\":" PRINCIPAL
	",\"as\":" PRINCIPAL ",\"from\":{\"type\":\"string\"},\"tokenId\":{"
	"\"type\":\"string\"},\"requestId\":{\"type\":\"string\"},\"action\":{"
	"\"type\":\"string\"},\"kind\":{\"type\":\"string\"},\"objectId\":{"
	"\"type\":\"string\"},\"organizationId\":{\"type\":\"string\"},"
	"\"projectId\":{\"type\":\"string\"},\"before\":{\"type\":\"integer\"},"
	"\"count\":{\"type\":\"integer\"},\"result\":{\"type\":\"string\"}}}";

/* What the routes without a noun answer with; the rest is read from tables. */
static const struct {
	const char *path, *status, *type, *schema, *more;
} plain[] = {
	{"/healthz", "200", "text/plain", "{\"type\":\"string\"}"},
	{"/readyz", "200", "text/plain", "{\"type\":\"string\"}"},
	{"/readyz", "503", "text/plain", "{\"type\":\"string\"}"},
	{"/metrics", "200", "text/plain", "{\"type\":\"string\"}"},
	{"/v1/version", "200", "application/json",
	 "{\"type\":\"object\",\"required\":[\"name\",\"version\",\"api\"],"
	 "\"properties\":{\"name\":{\"type\":\"string\"},\"version\":{"
	 "\"type\":\"string\"},\"api\":{\"type\":\"string\"}}}"},
	{"/v1/openapi.json", "200", "application/json",
	 "{\"type\":\"object\",\"required\":[\"openapi\",\"info\"]}"},
	{"/v1/audit", "200", "application/json",
	 "{\"type\":\"object\",\"additionalProperties\":false,\"required\":["
	 "\"items\"],\"properties\":{\"items\":{\"type\":\"array\",\"items\":"
	 "{\"$ref\":\"#/components/schemas/AuditEntry\"}},\"next\":{\"type\":"
	 "\"string\"}}}",
	 ",\"application/x-ndjson\":{\"schema\":{\"type\":\"string\"}}"},
	{"/v1/login", "200", "application/json",
	 "{\"type\":\"object\",\"required\":[\"issuers\"],\"properties\":{"
	 "\"issuers\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	 "\"required\":[\"name\",\"issuer\",\"clientId\",\"audience\","
	 "\"scopes\"],\"additionalProperties\":{\"type\":\"string\"}}}}}"},
	{"/v1/whoami", "200", "application/json",
	 "{\"$ref\":\"#/components/schemas/Principal\"}"},
	{"/v1/tokens/{id}/rotate", "200", "application/json",
	 "{\"$ref\":\"#/components/schemas/Token\"}"},
	{"/v1/organizations/{id}/usage", "200", "application/json",
	 "{\"$ref\":\"#/components/schemas/Usage\"}"},
	{"/v1/projects/{id}/usage", "200", "application/json",
	 "{\"$ref\":\"#/components/schemas/Usage\"}"},
};

static const char usage[] =
	",\"Usage\":{\"type\":\"object\",\"required\":[\"items\"],"
	"\"additionalProperties\":false,\"properties\":{\"items\":{\"type\":"
	"\"array\",\"items\":{\"type\":\"object\",\"required\":[\"kind\","
	"\"unit\",\"committed\",\"reserved\",\"used\"],"
	"\"additionalProperties\":false,\"properties\":{\"kind\":{\"type\":"
	"\"string\"},\"unit\":{\"type\":\"string\"},\"committed\":{\"type\":"
	"\"integer\"},\"reserved\":{\"type\":\"integer\"},\"used\":{\"type\":"
	"\"integer\"},\"limit\":{\"type\":\"integer\"},\"free\":{\"type\":"
	"\"integer\"}}}}}}";

static const char principal[] =
	",\"Principal\":{\"type\":\"object\",\"required\":[\"id\",\"name\","
	"\"grants\"],\"additionalProperties\":false,\"properties\":{"
	"\"id\":{\"type\":\"string\"},\"name\":{\"type\":\"string\"},"
	"\"tokenId\":{\"type\":\"string\"},"
	"\"userIds\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
	"\"grants\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
	"\"required\":[\"permissions\"],\"properties\":{"
	"\"organizationId\":{\"type\":\"string\"},"
	"\"projectId\":{\"type\":\"string\"},\"permissions\":{\"type\":"
	"\"array\",\"items\":{\"type\":\"string\"}}}}},"
	"\"actingFor\":{\"$ref\":\"#/components/schemas/Principal\"}}}";

#define TEXT_HEADER "{\"schema\":{\"type\":\"string\"}}"
#define SURE_HEADER "{\"required\":true,\"schema\":{\"type\":\"string\"}}"
#define STREAM      ",\"text/event-stream\":{\"schema\":{\"type\":\"string\"}}"

/* Begins an answer; MORE is what it has beside its content. */
static void add_answer(struct buf *out, const char *status, const char *doc,
		       const char *more)
{
	buf_addf(out, "\"%s\":{\"description\":\"%s\"%s", status, doc, more);
}

static void add_content(struct buf *out, const char *type, const char *schema,
			const char *more)
{
	buf_addf(out, ",\"content\":{\"%s\":{\"schema\":%s}%s}", type, schema,
		 more);
}

/* The object, its list, or the plan to change it. */
static void add_schema(struct buf *out, const char *title, const char *suffix,
		       const char *more)
{
	struct buf ref = BUF_INIT(256);

	buf_addf(&ref, "{\"$ref\":\"#/components/schemas/%s%s\"}", title,
		 suffix);
	add_content(out, "application/json", buf_str(&ref), more);
	buf_adds(out, "},");
	buf_release(&ref);
}

static void add_either(struct buf *out, const char *title)
{
	struct buf any = BUF_INIT(256);

	buf_addf(&any,
		 "{\"anyOf\":[{\"$ref\":\"#/components/schemas/%s\"},"
		 "{\"$ref\":\"#/components/schemas/Plan\"}]}",
		 title);
	add_content(out, "application/json", buf_str(&any), "");
	buf_adds(out, "},");
	buf_release(&any);
}

/* Done, made anew, or begun: the object as it then is; or the plan. */
static void add_given(struct buf *out, const struct route *r)
{
	static const char *const statuses[] = {"200", "201", "202"};

	for (size_t i = 0; i < COUNT_OF(statuses); i++) {
		add_answer(out, statuses[i], "The object.",
			   ",\"headers\":{\"ETag\":" TEXT_HEADER
			   ",\"Location\":" TEXT_HEADER
			   ",\"Idempotency-Replayed\":" TEXT_HEADER "}");
		if (i == 0)
			add_either(out, r->gives->title);
		else
			add_schema(out, r->gives->title, "", "");
	}
}

static void add_own_answer(struct buf *out, const struct route *r)
{
	struct buf schema = BUF_INIT((size_t)64 << 10);

	schema_write(r->answers, SCHEMA_READ, &schema);
	add_answer(out, "200", "The answer.", "");
	add_content(out, "application/json", buf_str(&schema), "");
	buf_adds(out, "},");
	buf_release(&schema);
}

static void add_plain(struct buf *out, const struct route *r)
{
	if (r->gives)
		add_given(out, r);
	if (r->answers)
		add_own_answer(out, r);
	if (r->flags & ROUTE_UPGRADE)
		add_answer(out, "101", "The WebSocket: binary messages.", "},");
	for (size_t i = 0; i < COUNT_OF(plain); i++) {
		if (strcmp(plain[i].path, r->path) != 0)
			continue;
		add_answer(out, plain[i].status, "The answer.", "");
		add_content(out, plain[i].type, plain[i].schema,
			    plain[i].more ? plain[i].more : "");
		buf_adds(out, "},");
	}
}

static void add_noun_answers(struct buf *out, const struct route *r,
			     const struct kind *k)
{
	static const char etag[] = ",\"headers\":{\"ETag\":" SURE_HEADER "}";

	if (r->flags & ROUTE_FILTERS) {
		add_answer(out, "200", "A page, or a watch.", "");
		add_schema(out, k->title, "List", STREAM);
	} else if (below(r)) {
		add_answer(out, "200", "A page.", "");
		add_schema(out, "Event", "List", "");
	} else if (strcmp(r->method, "GET") == 0) {
		add_answer(out, "200", "The object.", etag);
		add_schema(out, k->title, "", "");
		add_answer(out, "204", "It is gone: what was waited for.",
			   "},");
		add_answer(out, "304", "It is as you know it.", etag);
		buf_adds(out, "},");
	} else if (strcmp(r->method, "POST") == 0) {
		add_answer(out, "200", "The plan.", "");
		add_schema(out, "Plan", "", "");
		add_answer(out, "201", "Created.",
			   ",\"headers\":{\"ETag\":" SURE_HEADER
			   ",\"Location\":" SURE_HEADER
			   ",\"Idempotency-Replayed\":" TEXT_HEADER "}");
		add_schema(out, k->title, "", "");
	} else if (strcmp(r->method, "DELETE") == 0) {
		add_answer(out, "200", "The plan.", "");
		add_schema(out, "Plan", "", "");
		add_answer(out, "204", "Deleted.", "},");
		if (noun_find(k->plural)->cascades || k->backed) {
			add_answer(out, "202",
				   "It is being deleted, what is its first.",
				   etag);
			add_schema(out, k->title, "", "");
		}
	} else {
		add_answer(out, "200", "The object as it is now, or the plan.",
			   ",\"headers\":{\"ETag\":" TEXT_HEADER "}");
		add_either(out, k->title);
	}
}

static void add_answers(struct buf *out, const struct route *r,
			const struct kind *k)
{
	buf_adds(out, ",\"responses\":{");
	if (k)
		add_noun_answers(out, r, k);
	else
		add_plain(out, r);
	add_answer(out, "default", "A problem.",
		   ",\"headers\":{\"Retry-After\":" TEXT_HEADER
		   ",\"WWW-Authenticate\":" TEXT_HEADER
		   ",\"Allow\":" TEXT_HEADER "}");
	add_content(out, "application/problem+json",
		    "{\"$ref\":\"#/components/schemas/Problem\"}", "");
	buf_adds(out, "}}");
}

static void add_capital(struct buf *out, const char *word)
{
	buf_addf(out, "%c%s", word[0] & ~0x20, word + 1);
}

/* The kind in a path that names one: "/v1/tokens/{id}/rotate". */
static const struct kind *kind_in(const char *path)
{
	for (size_t i = 0; i < n_nouns; i++) {
		const char *plural = nouns[i].kind->plural;
		size_t len = strlen(plural);

		if (strncmp(path, "/v1/", 4) == 0 &&
		    strncmp(path + 4, plural, len) == 0 && path[4 + len] == '/')
			return nouns[i].kind;
	}
	return NULL;
}

static const char *verb_of(const struct route *r)
{
	static const struct {
		const char *method, *verb;
	} verbs[] = {{"GET", "get"},
		     {"POST", "create"},
		     {"PUT", "replace"},
		     {"PATCH", "patch"},
		     {"DELETE", "delete"}};

	for (size_t i = 0; i < COUNT_OF(verbs); i++)
		if (strcmp(verbs[i].method, r->method) == 0)
			return verbs[i].verb;
	return r->method;
}

/* "listProjects", "patchProject", "getProjectUsage", "rotateToken", "whoami":
 * what generated clients call it. */
static void add_operation_id(struct buf *out, const struct route *r,
			     const struct kind *k)
{
	const struct kind *named = k ? k : kind_in(r->path);
	const char *last = strrchr(r->path, '/') + 1;

	buf_adds(out, ",\"operationId\":\"");
	if (named && below(r) && strcmp(r->method, "GET") != 0) {
		buf_addf(out, "%s%s", below(r), named->title);
	} else if (named && below(r)) {
		buf_addf(out, "get%s", named->title);
		add_capital(out, below(r));
	} else if (!k) {
		buf_add(out, last, strcspn(last, "."));
	} else if (r->flags & ROUTE_FILTERS) {
		buf_adds(out, "list");
		add_capital(out, k->plural);
	} else {
		buf_addf(out, "%s%s", verb_of(r), k->title);
	}
	buf_addc(out, '"');
}

static void add_operation(struct buf *out, const struct route *r,
			  const struct kind *k)
{
	char method[8] = "";

	for (size_t i = 0; r->method[i] && i + 1 < sizeof(method); i++)
		method[i] = (char)(r->method[i] | 0x20);
	buf_addf(out, "\"%s\":{\"summary\":", method);
	add_string(out, r->summary);
	add_operation_id(out, r, k);
	if (k)
		buf_addf(out, ",\"tags\":[\"%s\"]", k->plural);
	if (r->need <= NEED_TICKET)
		buf_adds(out, ",\"security\":[]");
	buf_adds(out, ",\"parameters\":[");
	if (strstr(r->path, "{id}"))
		add_parameter(out, "path", "id", "{\"type\":\"string\"}",
			      "The object's id.");
	add_query(out, r, k);
	add_headers(out, r);
	buf_addc(out, ']');
	add_request(out, r, k);
	add_answers(out, r, k);
	buf_addc(out, '}');
}

/* The path of R with the noun K in it: "/v1/projects/{id}". */
static void add_path(struct buf *out, const struct route *r,
		     const struct kind *k)
{
	const char *hole = strstr(r->path, "{noun}");

	if (!hole || !k) {
		buf_adds(out, r->path);
		return;
	}
	assert(k);
	buf_add(out, r->path, (size_t)(hole - r->path));
	buf_adds(out, k->plural);
	buf_adds(out, hole + 6);
}

/* Routes of one path stand together in the table. */
static void add_paths_of(struct buf *out, const struct kind *k)
{
	const char *last = "";

	for (const struct route *r = routes; r->method; r++) {
		if (!strstr(r->path, "{noun}") != !k || (k && !route_has(r, k)))
			continue;
		if (strcmp(last, r->path) != 0) {
			buf_adds(out, *last ? "},\"" : "\"");
			add_path(out, r, k);
			buf_adds(out, "\":{");
		} else {
			buf_addc(out, ',');
		}
		add_operation(out, r, k);
		last = r->path;
	}
	buf_addc(out, '}');
}

static void add_schemas_of(struct buf *out, const struct kind *k)
{
	static const char *const suffixes[] = {
		[SCHEMA_READ] = "",
		[SCHEMA_CREATE] = "Create",
		[SCHEMA_REPLACE] = "Replace",
		[SCHEMA_PATCH] = "Patch",
	};

	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		buf_addf(out, ",\"%s%s\":", k->title, suffixes[i]);
		schema_write(k->fields, (enum schema_use)i, out);
	}
	buf_addf(out,
		 ",\"%sList\":{\"type\":\"object\",\"additionalProperties\":"
		 "false,\"required\":[\"items\",\"revision\"],\"properties\":{"
		 "\"items\":{\"type\":\"array\",\"items\":{\"$ref\":"
		 "\"#/components/schemas/%s\"}},"
		 "\"next\":{\"type\":\"string\"},"
		 "\"revision\":{\"type\":\"integer\"}}}",
		 k->title, k->title);
}

static void add_problem(struct buf *out)
{
	struct buf codes = BUF_INIT(2048);

	for (int i = 1; i < ERR_CODE_COUNT; i++)
		buf_addf(&codes, "%s\"%s\"", i > 1 ? "," : "",
			 err_name((enum err_code)i));
	buf_adds(out, "\"Problem\":");
	buf_addf(out, problem, codes.data);
	buf_release(&codes);
}

void openapi_write(const char *version, struct buf *out)
{
	buf_addf(out, "{\"openapi\":\"3.1.0\",\"info\":{%s,\"version\":\"%s\"}",
		 info, version);
	buf_adds(out, ",\"servers\":[{\"url\":\"/\"}],\"security\":"
		      "[{\"bearer\":[]}],\"paths\":{");
	add_paths_of(out, NULL);
	for (size_t i = 0; i < n_nouns; i++) {
		buf_addc(out, ',');
		add_paths_of(out, nouns[i].kind);
	}
	buf_adds(out, "},\"components\":{\"securitySchemes\":{\"bearer\":{"
		      "\"type\":\"http\",\"scheme\":\"bearer\"}},"
		      "\"schemas\":{");
	add_problem(out);
	buf_adds(out,
		 ",\"Plan\":{\"type\":\"object\",\"required\":[\"plan\"],"
		 "\"additionalProperties\":false,\"properties\":{\"plan\":"
		 "{\"type\":\"object\",\"required\":[\"action\",\"kind\"],"
		 "\"properties\":{\"action\":{\"type\":\"string\",\"enum\":"
		 "[\"create\",\"update\",\"delete\",\"none\",\"reboot\","
		 "\"hardReboot\",\"resize\",\"rebuild\",\"replace\"]},"
		 "\"kind\":{\"type\":\"string\"}}},\"object\":{\"type\":"
		 "\"object\"}}"
		 "}");
	buf_adds(out, audit_entry);
	buf_adds(out, principal);
	buf_adds(out, usage);
	for (size_t i = 0; i < n_nouns; i++)
		add_schemas_of(out, nouns[i].kind);
	buf_adds(out, "}}}");
}
