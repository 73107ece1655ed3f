#include "identity/permission.h"

#include <string.h>

#include "base/json.h"
#include "model/kind.h"

static const char *const verbs[VERB_COUNT] = {
	[VERB_READ] = "read",
	[VERB_CREATE] = "create",
	[VERB_UPDATE] = "update",
	[VERB_DELETE] = "delete",
	[VERB_ROTATE] = "rotate",
	[VERB_IMPERSONATE] = "impersonate",
	[VERB_START] = "start",
	[VERB_STOP] = "stop",
	[VERB_REBOOT] = "reboot",
	[VERB_REBUILD] = "rebuild",
	[VERB_SNAPSHOT] = "snapshot",
	[VERB_CONSOLE] = "console",
	[VERB_CONSOLE_OUTPUT] = "consoleoutput",
	[VERB_SSH_CERTIFICATE] = "sshcertificate",
	[VERB_SSH_KEY] = "sshkey",
	[VERB_SYNC] = "sync",
};

/* Nouns of the API that are not objects in the store. */
static const char *const others[] = {"audit"};

#define OTHERS_FROM (64 - (int)COUNT_OF(others))

int permission_noun(const char *noun)
{
	for (int i = 0; kinds[i]; i++)
		if (strcmp(kinds[i]->plural, noun) == 0)
			return i;
	for (int i = 0; i < (int)COUNT_OF(others); i++)
		if (strcmp(others[i], noun) == 0)
			return OTHERS_FROM + i;
	return -1;
}

const char *verb_name(enum verb verb)
{
	return verbs[verb];
}

static uint64_t noun_bits(const char *word, size_t len)
{
	char noun[40];
	int i;

	if (len == 1 && word[0] == '*')
		return UINT64_MAX;
	if (len >= sizeof(noun))
		return 0;
	memcpy(noun, word, len);
	noun[len] = '\0';
	i = permission_noun(noun);
	return i < 0 ? 0 : (uint64_t)1 << i;
}

bool rights_add(struct rights *r, const char *word)
{
	const char *colon = strchr(word, ':');
	uint64_t bits = colon ? noun_bits(word, (size_t)(colon - word)) : 0;
	bool any = false;

	for (int v = 0; bits && v < VERB_COUNT; v++) {
		if (strcmp(colon + 1, "*") != 0 &&
		    strcmp(colon + 1, verbs[v]) != 0)
			continue;
		r->nouns[v] |= bits;
		any = true;
	}
	return any;
}

bool rights_have(const struct rights *r, int noun, enum verb verb)
{
	return r->nouns[verb] >> noun & 1;
}

bool rights_cover(const struct rights *a, const struct rights *b)
{
	for (int v = 0; v < VERB_COUNT; v++)
		if (b->nouns[v] & ~a->nouns[v])
			return false;
	return true;
}

void rights_join(struct rights *to, const struct rights *from)
{
	for (int v = 0; v < VERB_COUNT; v++)
		to->nouns[v] |= from->nouns[v];
}

static void add_word(struct buf *out, const char *noun, const char *verb)
{
	if (out->data[out->len - 1] != '[')
		buf_addc(out, ',');
	buf_addf(out, "\"%s:%s\"", noun, verb);
}

void rights_write(const struct rights *r, struct buf *out)
{
	buf_addc(out, '[');
	for (int v = 0; v < VERB_COUNT; v++) {
		if (r->nouns[v] == UINT64_MAX) {
			add_word(out, "*", verbs[v]);
			continue;
		}
		for (int i = 0; kinds[i]; i++)
			if (rights_have(r, i, (enum verb)v))
				add_word(out, kinds[i]->plural, verbs[v]);
		for (int i = 0; i < (int)COUNT_OF(others); i++)
			if (rights_have(r, OTHERS_FROM + i, (enum verb)v))
				add_word(out, others[i], verbs[v]);
	}
	buf_addc(out, ']');
}
