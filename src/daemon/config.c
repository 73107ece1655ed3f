#include "daemon/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/yaml.h"
#include "identity/mtls.h"
#include "identity/oidc.h"

#define FILE_MOST ((size_t)1 << 20)

#define AT(member) offsetof(struct config, member)

static const char *const levels[] = {NULL,   "debug", "info",
				     "warn", "error", NULL};
static const char *const formats[] = {NULL, "text", "json", NULL};

static const struct field tls_fields[] = {
	{"certificate", FIELD_STRING, 0, AT(tls.cert) - AT(tls),
	 "PEM file with the certificate and its chain.  With it and the key, "
	 "TLS is spoken; both are read again on SIGHUP.",
	 .max = 4096},
	{"key", FIELD_STRING, 0, AT(tls.key) - AT(tls),
	 "PEM file with the private key.", .max = 4096},
	{"clientCa", FIELD_STRING, 0, AT(tls.client_ca) - AT(tls),
	 "PEM file with the authorities whose client certificates are taken.",
	 .max = 4096},
	{0},
};

#define LIMIT(member) (AT(limits.member) - AT(limits))

static const struct field limit_fields[] = {
	{"connections", FIELD_INT, 0, LIMIT(connections), "Connections in all.",
	 .min = 16, .max = 1000000, .fallback = "4096"},
	{"connectionsPerAddress", FIELD_INT, 0, LIMIT(connections_per_address),
	 "Connections from one address; 0 is no limit of its own.", .min = 0,
	 .max = 1000000, .fallback = "0"},
	{"bodyBytes", FIELD_INT, 0, LIMIT(body_bytes),
	 "The largest body that a request may have.", .min = 1024,
	 .max = 16 << 20, .fallback = "1048576"},
	{"headBytes", FIELD_INT, 0, LIMIT(head_bytes),
	 "Request line and headers.", .min = 1024, .max = 1 << 20,
	 .fallback = "12288"},
	{"idleSeconds", FIELD_INT, 0, LIMIT(idle_seconds),
	 "How long a connection is kept without a request.", .min = 1,
	 .max = 3600, .fallback = "75"},
	{"requestSeconds", FIELD_INT, 0, LIMIT(request_seconds),
	 "How long a client may take to send a whole request.", .min = 1,
	 .max = 3600, .fallback = "30"},
	{"requestsPerSecond", FIELD_INT, 0, LIMIT(requests_per_second),
	 "Requests a second from one caller; 0 is no limit.", .min = 0,
	 .max = 1000000, .fallback = "0"},
	{"pendingChanges", FIELD_INT, 0, LIMIT(pending_changes),
	 "Changes that may wait to be written before more are refused.",
	 .min = 1, .max = 1000000, .fallback = "4096"},
	{"watches", FIELD_INT, 0, LIMIT(watches),
	 "Watches and long polls at a time.", .min = 1, .max = 1000000,
	 .fallback = "16384"},
	{"consoles", FIELD_INT, 0, LIMIT(consoles),
	 "Consoles of machines that are open at a time.", .min = 1,
	 .max = 10000, .fallback = "256"},
	{"consolesPerCaller", FIELD_INT, 0, LIMIT(consoles_per_caller),
	 "Of those, one caller's.", .min = 1, .max = 10000, .fallback = "16"},
	{"ticketSeconds", FIELD_INT, 0, LIMIT(ticket_seconds),
	 "How long the address of a console can be connected to.", .min = 1,
	 .max = 3600, .fallback = "60"},
	{"consoleIdleSeconds", FIELD_INT, 0, LIMIT(console_idle_seconds),
	 "How long a console stays open without a byte either way; 0 is no "
	 "limit.",
	 .min = 0, .max = 604800, .fallback = "1800"},
	{"consoleSeconds", FIELD_INT, 0, LIMIT(console_seconds),
	 "How long in all; 0 is no limit.", .min = 0, .max = 604800,
	 .fallback = "43200"},
	{"stopSeconds", FIELD_INT, 0, LIMIT(stop_seconds),
	 "How long a stop waits for requests under way.", .min = 0, .max = 3600,
	 .fallback = "15"},
	{0},
};

#define HISTORY(member) (AT(history.member) - AT(history))

static const struct field history_fields[] = {
	{"maxRevisions", FIELD_INT, 0, HISTORY(max_revisions),
	 "How many revisions can be watched from and read.", .min = 1,
	 .max = 1000000000, .fallback = "1000000"},
	{"maxAgeSeconds", FIELD_INT, 0, HISTORY(max_age_seconds),
	 "For how long.", .min = 1, .max = 31536000, .fallback = "3600"},
	{"maxMiB", FIELD_INT, 0, HISTORY(max_mib),
	 "And in how much memory; 0 is a quarter of the machine's.", .min = 0,
	 .max = 1 << 20, .fallback = "0"},
	{0},
};

static const struct field audit_fields[] = {
	{"maxAgeDays", FIELD_INT, 0, AT(audit.max_age_days) - AT(audit),
	 "How long the audit trail is kept; 0 is for ever.", .min = 0,
	 .max = 36500, .fallback = "400"},
	{0},
};

static const struct field events_fields[] = {
	{"maxAgeHours", FIELD_INT, 0, AT(events.max_age_hours) - AT(events),
	 "How long events are kept after they last happened; 0 is for ever.",
	 .min = 0, .max = 876000, .fallback = "168"},
	{0},
};

static const struct field secrets_fields[] = {
	{"keyFile", FIELD_STRING, 0, AT(secrets.key_file) - AT(secrets),
	 "The keys that secrets are sealed with; DATA/secret.key when it is "
	 "not said, made at the first start.",
	 .max = 4000},
	{"coreDumps", FIELD_BOOL, 0, AT(secrets.core_dumps) - AT(secrets),
	 "Let the system write core files, which hold secrets.",
	 .fallback = "false"},
	{0},
};

static const struct field log_fields[] = {
	{"level", FIELD_ENUM, 0, AT(log.level) - AT(log),
	 "The least that is logged.", .names = levels, .fallback = "\"info\""},
	{"format", FIELD_ENUM, 0, AT(log.format) - AT(log),
	 "Lines of text for people, or JSON.", .names = formats,
	 .fallback = "\"text\""},
	{0},
};

const struct field config_fields[] = {
	{"listen", FIELD_STRING, 0, AT(listen), "Address and port.",
	 .fallback = "\"127.0.0.1:7070\""},
	{"data", FIELD_STRING, 0, AT(data), "The folder everything is kept in.",
	 .max = 4000, .fallback = "\"./var\""},
	{"rehearse", FIELD_BOOL, 0, AT(rehearse),
	 "When there is no region yet, begin with one that is simulated.",
	 .fallback = "false"},
	{"local", FIELD_BOOL, 0, AT(local),
	 "When there is no region yet, begin with one whose machines run on "
	 "this host.",
	 .fallback = "false"},
	{"workers", FIELD_INT, 0, AT(workers),
	 "Threads that call providers: calls that may be under way at a time; "
	 "one region gets at most three quarters of them.",
	 .min = 1, .max = 1024, .fallback = "16"},
	{"tls", FIELD_OBJECT, 0, AT(tls), "TLS; plain HTTP without it.",
	 .fields = tls_fields},
	{"oidc", FIELD_LIST, 0, AT(oidc),
	 "OpenID issuers whose tokens are taken.", .fields = oidc_fields,
	 .item = FIELD_OBJECT, .size = sizeof(struct oidc_issuer), .max = 64},
	{"mtls", FIELD_LIST, 0, AT(mtls),
	 "The service accounts that client certificates stand for.",
	 .fields = mtls_fields, .item = FIELD_OBJECT,
	 .size = sizeof(struct mtls_rule), .max = 1024},
	{"limits", FIELD_OBJECT, 0, AT(limits), "Ceilings.",
	 .fields = limit_fields},
	{"history", FIELD_OBJECT, 0, AT(history),
	 "How much of the past is kept.", .fields = history_fields},
	{"audit", FIELD_OBJECT, 0, AT(audit), "The audit trail.",
	 .fields = audit_fields},
	{"events", FIELD_OBJECT, 0, AT(events), "Events of objects.",
	 .fields = events_fields},
	{"secrets", FIELD_OBJECT, 0, AT(secrets), "Secrets at rest.",
	 .fields = secrets_fields},
	{"log", FIELD_OBJECT, 0, AT(log), "Logging.", .fields = log_fields},
	{0},
};

static int read_file(const char *path, struct buf *out, struct err *err)
{
	FILE *f = fopen(path, "re");
	char piece[4096];
	size_t n;

	if (!f)
		return err_set(err, ERR_NOT_FOUND, "cannot open %s: %s", path,
			       strerror(errno));
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		buf_add(out, piece, n);
	n = (size_t)ferror(f);
	fclose(f);
	if (n || !buf_ok(out))
		return err_set(err, ERR_INVALID, "cannot read %s: %s", path,
			       n ? "input error" : "the file is too large");
	return 0;
}

static int check(const struct config *c, struct err *err)
{
	if (!c->tls.cert != !c->tls.key)
		return err_set(err, ERR_INVALID,
			       "tls needs both certificate and key");
	if (c->tls.client_ca && !c->tls.cert)
		return err_set(err, ERR_INVALID,
			       "tls.clientCa needs certificate and key");
	if (c->mtls.n && !c->tls.client_ca)
		return err_set(err, ERR_INVALID,
			       "mtls needs tls.clientCa: who may sign the "
			       "certificates");
	if (oidc_validate(c->oidc.at, c->oidc.n, err) < 0)
		return -1;
	return mtls_validate(c->mtls.at, c->mtls.n, err);
}

/* Violations are told by path and all of them, in one message. */
static int tell(const struct violations *v, const char *file, struct err *err)
{
	struct buf b = BUF_INIT(sizeof(err->msg) - 1);

	for (size_t i = 0; i < v->n && i < VIOLATIONS_MOST; i++)
		buf_addf(&b, "%s%s %s", i ? "; " : "", v->list[i].pointer,
			 v->list[i].message);
	err_set(err, ERR_INVALID, "%s: %s", file, buf_str(&b));
	buf_release(&b);
	return -1;
}

/* Nothing but blanks and comments: to YAML that is no document, to us a file
 * that leaves everything as it is. */
static bool is_empty(const struct buf *text)
{
	bool comment = false;

	for (size_t i = 0; i < text->len; i++) {
		if (text->data[i] == '\n')
			comment = false;
		else if (text->data[i] == '#')
			comment = true;
		else if (!comment && !memchr(" \t\r", text->data[i], 3))
			return false;
	}
	return true;
}

int config_read(const char *file, struct arena *a, struct config *ret,
		struct err *err)
{
	struct buf text = BUF_INIT(FILE_MOST);
	struct node *n = node_new_object(a);
	struct violations v;

	if (file && read_file(file, &text, err) < 0) {
		buf_release(&text);
		return -1;
	}
	if (!is_empty(&text)) {
		n = yaml_parse(text.data, text.len, a, err);
		if (n && node_type(n) == NODE_NULL)
			n = node_new_object(a);
	}
	buf_release(&text);
	if (!n)
		return err_wrap(err, "%s", file);
	*ret = (struct config){0};
	violations_init(&v, a);
	field_decode(config_fields, n, FIELD_CREATE, ret, &v);
	return v.n ? tell(&v, file ? file : "defaults", err) : check(ret, err);
}
