#include "identity/ssh.h"

#include <string.h>

#include "base/base64.h"
#include "base/digest.h"
#include "base/format.h"
#include "base/ssh_wire.h"

enum {
	LINE_MOST = 16384,
	ED25519_LEN = 32,
	RSA_BITS_LEAST = 2048, /* what can be broken is refused */
	RSA_BITS_MOST = 16384,
};

typedef bool key_check(struct wire *w);

static bool check_ed25519(struct wire *w)
{
	struct wire key;

	return wire_string(w, &key) && key.left == ED25519_LEN;
}

/* An uncompressed point of a curve whose field has BYTES bytes. */
static bool check_point(struct wire *w, const char *curve, size_t bytes)
{
	struct wire point;

	return wire_is(w, curve) && wire_string(w, &point) &&
	       point.left == 1 + 2 * bytes && point.at[0] == 4;
}

static bool check_p256(struct wire *w)
{
	return check_point(w, "nistp256", 32);
}

static bool check_p384(struct wire *w)
{
	return check_point(w, "nistp384", 48);
}

static bool check_p521(struct wire *w)
{
	return check_point(w, "nistp521", 66);
}

/* A positive number, written as short as it can be; how many bits it has. */
static bool read_number(struct wire *w, size_t *ret_bits, bool *ret_odd)
{
	struct wire n;

	if (!wire_string(w, &n) || !n.left || n.at[0] & 0x80)
		return false;
	if (n.at[0] == 0) {
		n.at++;
		n.left--;
		if (!n.left || !(n.at[0] & 0x80))
			return false;
	}
	*ret_bits = n.left * 8;
	for (unsigned top = n.at[0]; !(top & 0x80); top <<= 1)
		--*ret_bits;
	*ret_odd = n.at[n.left - 1] & 1;
	return true;
}

static bool check_rsa(struct wire *w)
{
	size_t e_bits, n_bits;
	bool e_odd, n_odd;

	return read_number(w, &e_bits, &e_odd) &&
	       read_number(w, &n_bits, &n_odd) && e_odd && e_bits > 1 &&
	       e_bits <= 64 && n_odd && n_bits >= RSA_BITS_LEAST &&
	       n_bits <= RSA_BITS_MOST;
}

/* What the security key holds it for: "ssh:". */
static bool check_application(struct wire *w)
{
	struct wire s;

	return wire_string(w, &s) && s.left && s.left <= 255;
}

static bool check_sk_ed25519(struct wire *w)
{
	return check_ed25519(w) && check_application(w);
}

static bool check_sk_ecdsa(struct wire *w)
{
	return check_p256(w) && check_application(w);
}

static const struct {
	const char *name;
	enum ssh_type type;
	key_check *check;
} types[] = {
	{"ssh-ed25519", SSH_ED25519, check_ed25519},
	{"ecdsa-sha2-nistp256", SSH_ECDSA_256, check_p256},
	{"ecdsa-sha2-nistp384", SSH_ECDSA_384, check_p384},
	{"ecdsa-sha2-nistp521", SSH_ECDSA_521, check_p521},
	{"ssh-rsa", SSH_RSA, check_rsa},
	{"sk-ssh-ed25519@openssh.com", SSH_SK_ED25519, check_sk_ed25519},
	{"sk-ecdsa-sha2-nistp256@openssh.com", SSH_SK_ECDSA, check_sk_ecdsa},
};

static int find_type(const char *word, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (strlen(types[i].name) == len &&
		    memcmp(types[i].name, word, len) == 0)
			return (int)i;
	return -1;
}

/* Why the line's first word is no type. */
static int refuse_type(const char *line, size_t len, const char *pointer,
		       struct err *err)
{
	const char *rest = line + len;

	if (strncmp(line, "-----", 5) == 0)
		return err_at(err, ERR_INVALID, pointer,
			      "give the line of OpenSSH's public key file, "
			      "such as \"ssh-ed25519 AAAA…\"");
	if (len == 7 && memcmp(line, "ssh-dss", 7) == 0)
		return err_at(err, ERR_INVALID, pointer,
			      "DSA keys are not safe any more: use ed25519");
	if (memmem(line, len, "-cert-v01@", 10))
		return err_at(err, ERR_INVALID, pointer,
			      "is a certificate: give the key itself");
	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (strstr(rest, types[i].name))
			return err_at(err, ERR_INVALID, pointer,
				      "a key is given without options before "
				      "it");
	return err_at(err, ERR_INVALID, pointer,
		      "must be a public key of OpenSSH's: ed25519, ecdsa, rsa "
		      "or one on a security key");
}

static const char *skip(const char *s)
{
	return s + strspn(s, " \t");
}

static size_t word_len(const char *s)
{
	return strcspn(s, " \t");
}

/* TEXT, a word, is the key of type ROW. */
static int read_blob(const char *text, int row, const char *pointer,
		     struct arena *a, struct ssh_public *k, struct err *err)
{
	size_t len = word_len(text);
	unsigned char *blob = arena_alloc(a, BASE64_BYTES(len) + 1);
	long n = base64_decode(text, len, blob);
	struct wire w = {blob, n < 0 ? 0 : (size_t)n};

	if (n <= 0)
		return err_at(err, ERR_INVALID, pointer,
			      "what follows the key's type is not base64");
	if (!wire_is(&w, types[row].name))
		return err_at(err, ERR_INVALID, pointer,
			      "the key is not of the type that its line says");
	if (!types[row].check(&w) || w.left)
		return err_at(err, ERR_INVALID, pointer,
			      types[row].type == SSH_RSA
				      ? "the key is damaged, or has fewer than "
					"2048 bits"
				      : "the key is damaged");
	k->blob = blob;
	k->len = (size_t)n;
	return 0;
}

int ssh_public_parse(const char *line, const char *pointer, struct arena *a,
		     struct ssh_public *ret, struct err *err)
{
	struct ssh_public k = {0};
	const char *text, *comment;
	size_t len = strlen(line);
	int row;

	if (len > LINE_MOST)
		return err_at(err, ERR_INVALID, pointer,
			      "is longer than any key");
	if (line[strcspn(line, "\r\n")])
		return err_at(err, ERR_INVALID, pointer,
			      "must be one key, on one line");
	line = skip(line);
	len = word_len(line);
	row = find_type(line, len);
	if (row < 0)
		return refuse_type(line, len, pointer, err);
	text = skip(line + len);
	len = word_len(text);
	comment = skip(text + len);
	if (read_blob(text, row, pointer, a, &k, err) < 0)
		return -1;
	if (*comment && !format_text.check(comment, strlen(comment)))
		return err_at(err, ERR_INVALID, pointer,
			      "the key's comment must be a line of text");
	k.type = types[row].type;
	k.name = types[row].name;
	k.comment = arena_strdup(a, comment);
	k.line = arena_join(a, k.name, " ", arena_memdup(a, text, len),
			    *comment ? " " : "", k.comment, NULL);
	*ret = k;
	return 0;
}

void ssh_fingerprint(const struct ssh_public *k,
		     char out[SSH_FINGERPRINT_LEN + 1])
{
	unsigned char sum[DIGEST_SHA256_LEN];
	char text[BASE64_TEXT(DIGEST_SHA256_LEN) + 1];

	digest_sha256(k->blob, k->len, sum);
	base64_encode(sum, sizeof(sum), text);
	memcpy(out, "SHA256:", 7);
	memcpy(out + 7, text, SSH_FINGERPRINT_LEN - 7); /* unpadded */
	out[SSH_FINGERPRINT_LEN] = '\0';
}
