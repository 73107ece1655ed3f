#include "model/sshca.h"

#define AT(member)     offsetof(struct sshca, member)
#define SPEC(member)   (AT(spec.member) - AT(spec))
#define STATUS(member) (AT(status.member) - AT(status))

static const struct field spec_fields[] = {
	{"publicKey", FIELD_STRING, FIELD_IMMUTABLE, SPEC(public_key),
	 "One line of OpenSSH's; absent: a key pair is made and held here.",
	 &format_text, .max = 2048},
	{"maxSeconds", FIELD_INT, 0, SPEC(max_seconds),
	 "How long a certificate that is signed here may hold.", .min = 60,
	 .max = 2592000, .fallback = "3600"},
	{0},
};

static const struct field status_fields[] = {
	{"fingerprint", FIELD_STRING, FIELD_COLUMN, STATUS(fingerprint),
	 "Of its public key."},
	{"signs", FIELD_BOOL, FIELD_COLUMN, STATUS(signs),
	 "The server holds its private key and signs with it."},
	{0},
};

static const struct field fields[] = {
	META_FIELDS,
	{"organizationId", FIELD_STRING, FIELD_READ_ONLY | FIELD_INDEX,
	 AT(organization_id), "The organization of its project.", &format_uuid,
	 .refers = "organization"},
	{"projectId", FIELD_STRING,
	 FIELD_REQUIRED | FIELD_IMMUTABLE | FIELD_INDEX | FIELD_COLUMN,
	 AT(project_id), "Whose it is.", &format_uuid, .refers = "project"},
	{"spec", FIELD_OBJECT, FIELD_ALWAYS, AT(spec), "What is wanted.",
	 .fields = spec_fields},
	{"privateKey", FIELD_STRING, FIELD_READ_ONLY | FIELD_SECRET,
	 AT(private_key), "The key it signs with, when it was made here.",
	 .max = 16384},
	{"status", FIELD_OBJECT, FIELD_READ_ONLY, AT(status),
	 "What it was found to be.", .fields = status_fields},
	{0},
};

const struct kind sshca_kind = {
	.name = "sshca",
	.plural = "sshcas",
	.title = "SshCertificateAuthority",
	.doc = "Whose certificates let people log in.",
	.size = sizeof(struct sshca),
	.organization_at = offsetof(struct sshca, organization_id),
	.project_at = offsetof(struct sshca, project_id),
	.fields = fields,
	.unique_within = "projectId",
	.version = 1,
};
