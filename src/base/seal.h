/*
 * seal - secrets as they are kept: AES-256-GCM under one of several keys.
 *
 * A sealed value is "sealed:KEYID:" and base64url of nonce, ciphertext and tag.
 * It opens only at the place it was sealed for.  Sealing the same twice gives
 * two texts of one length.  A key's id is the beginning of its SHA-256, so that
 * one key is not taken for another.
 *
 * Keys lie in memory that is neither swapped nor dumped, as far as the system
 * lets us.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/random.h"

enum { SEAL_KEY_LEN = 32, SEAL_ID_LEN = 8, SEAL_KEYS_MOST = 64 };

struct keyring;

/* No keys yet. */
struct keyring *keyring_new(void);

/* The keys are wiped; NULL is fine. */
void keyring_free(struct keyring *k);

/* Add the keys in TEXT, newest first: base64 (of either alphabet) of 32 bytes
 * each, with blanks, commas or line ends between; '#' begins a remark. */
int keyring_read(struct keyring *k, const char *text, size_t len,
		 struct err *err) MUST_CHECK;

/* A new key, before all others. */
void keyring_renew(struct keyring *k, struct random *r);
void keyring_remove(struct keyring *k, size_t i);

size_t keyring_count(const struct keyring *k);
const char *keyring_id(const struct keyring *k, size_t i);

/* As a file has it; wipe it after use. */
void keyring_write(const struct keyring *k, struct buf *out);

/* TEXT has the form of a sealed value; its key's id into ID unless NULL. */
bool seal_is(const char *text, size_t len, char id[SEAL_ID_LEN + 1]);

/* LEN bytes of PLAIN, sealed under the newest key for PLACE, appended. */
void seal_close(const struct keyring *k, struct random *r, const char *place,
		const char *plain, size_t len, struct buf *out);

/* The other way round; what is appended is a secret.  ERR_NOT_FOUND when the
 * key is not there, ERR_INVALID when it is not what was sealed. */
int seal_open(const struct keyring *k, const char *place, const char *text,
	      size_t len, struct buf *out, struct err *err) MUST_CHECK;
