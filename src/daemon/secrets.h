/* secrets - where the keys that secrets are sealed with come from. */
#pragma once

#include "base/err.h"

struct keyring;

#define SECRETS_VARIABLE "MUSTER_SECRET_KEY"
#define SECRETS_FILE     "secret.key" /* in the data folder, by default */

/* The keys of the data folder DATA: from the environment, or from FILE (NULL:
 * the default), which is made when nothing has been sealed yet.  Refused, with
 * what to do: keys that are missing, and a file that others can read. */
int secrets_open(const char *data, const char *file, struct keyring **ret,
		 struct err *err) MUST_CHECK;

/* Take what the environment had of them out of this process's memory. */
void secrets_forget_environment(void);

/* No core file, and no other process of ours that looks inside. */
void secrets_harden(void);
