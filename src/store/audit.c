#include "store/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"

/* What one page takes: a page may come back short, with a next.  Reading what
 * an entry says takes longer than seeing whose and when it is. */
#define EFFORT_MOST  200000
#define EFFORT_PARSE 10

/* Entries lie in the order of their times, but for those that waited. */
#define DISORDER_MS (60 * 60 * 1000)

#define ARENA_MOST ((size_t)1 << 20)
#define PAGE_MOST  ((size_t)64 << 20)

void chain_begin(struct chain *c, const char *installation)
{
	c->seq = 0;
	digest_sha256(installation, strlen(installation), c->hash);
}

void chain_add(struct chain *c, const struct audit *e)
{
	struct buf b = BUF_INIT((size_t)1 << 30);

	c->seq++;
	buf_add(&b, c->hash, sizeof(c->hash));
	buf_addi(&b, (int64_t)c->seq);
	buf_addc(&b, ' ');
	buf_addi(&b, e->at);
	buf_addc(&b, ' ');
	buf_addi(&b, (int64_t)e->revision);
	buf_addc(&b, ' ');
	buf_adds(&b, e->organization ? e->organization : "-");
	buf_addc(&b, '\n');
	if (!buf_ok(&b))
		abort();
	digest_sha256_two(b.data, b.len, e->text, e->len, c->hash);
	buf_release(&b);
}

void chain_text(const struct chain *c, char out[AUDIT_MARK_LEN])
{
	char hex[2 * DIGEST_SHA256_LEN + 1];

	digest_hex(c->hash, sizeof(c->hash), hex);
	snprintf(out, AUDIT_MARK_LEN, "%llu %s", (unsigned long long)c->seq,
		 hex);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool chain_read(struct chain *c, const char *text)
{
	char again[AUDIT_MARK_LEN];
	char *p;

	c->seq = strtoull(text, &p, 10);
	if (*p++ != ' ' || strlen(p) != 2 * sizeof(c->hash))
		return false;
	for (size_t i = 0; i < sizeof(c->hash); i++, p += 2) {
		if (digit(p[0]) < 0 || digit(p[1]) < 0)
			return false;
		c->hash[i] = (unsigned char)(digit(p[0]) << 4 | digit(p[1]));
	}
	chain_text(c, again);
	return strcmp(text, again) == 0;
}

struct audit_query *audit_query_new(const struct audit_filter *filter,
				    bool lines)
{
	struct audit_query *q = xcalloc(1, sizeof(*q));
	const char **const strings[] = {
		&q->filter.who,          &q->filter.kind,    &q->filter.object,
		&q->filter.organization, &q->filter.project, &q->filter.action,
		&q->filter.result,
	};

	arena_init(&q->arena, ARENA_MOST);
	list_init(&q->link);
	q->lines = lines;
	q->text = BUF_INIT(PAGE_MOST);
	q->filter = *filter;
	for (size_t i = 0; i < COUNT_OF(strings); i++)
		if (*strings[i])
			*strings[i] = arena_strdup(&q->arena, *strings[i]);
	return q;
}

void audit_query_free(struct audit_query *q)
{
	arena_release(&q->arena);
	buf_release(&q->text);
	free(q);
}

static bool is(const struct node *n, const char *key, const char *want)
{
	const char *have;

	if (!want)
		return true;
	have = node_text(n, key);
	return have && strcmp(have, want) == 0;
}

/* Who did it, or for whom, by id or by name. */
static bool is_by(const struct node *n, const char *want)
{
	return is(n, "who.id", want) || is(n, "who.name", want) ||
	       is(n, "as.id", want) || is(n, "as.name", want) ||
	       is(n, "who", want); /* as entries before hashes had it */
}

/* Whose and when it is are right. */
static bool lies_in(const struct audit_filter *f, const struct audit *e)
{
	if ((f->since && e->at < f->since) || (f->until && e->at >= f->until))
		return false;
	return !f->organization ||
	       (e->organization &&
		strcmp(f->organization, e->organization) == 0);
}

static bool says(const struct audit_filter *f, const struct audit *e,
		 struct arena *a)
{
	struct err err;
	struct node *n;

	if (!f->who && !f->kind && !f->object && !f->project && !f->action &&
	    !f->result)
		return true;
	n = json_parse(e->text, e->len, a, &err);
	return n && is_by(n, f->who) && is(n, "kind", f->kind) &&
	       (is(n, "objectId", f->object) || is(n, "id", f->object)) &&
	       is(n, "projectId", f->project) && is(n, "action", f->action) &&
	       is(n, "result", f->result);
}

/* The JSON is an object: more members go before its first. */
static void write_entry(struct audit_query *q, uint64_t seq,
			const struct audit *e, const unsigned char *hash)
{
	char at[CLOCK_TEXT_LEN + 1], hex[2 * DIGEST_SHA256_LEN + 1];
	struct buf *out = &q->text;

	clock_format(e->at, at);
	digest_hex(hash, DIGEST_SHA256_LEN, hex);
	if (q->n++ && !q->lines)
		buf_addc(out, ',');
	buf_addf(out, "{\"seq\":%llu,\"at\":\"%s\"", (unsigned long long)seq,
		 at);
	if (e->revision)
		buf_addf(out, ",\"revision\":%llu",
			 (unsigned long long)e->revision);
	buf_addf(out, ",\"hash\":\"%s\"", hex);
	if (e->len > 2) {
		buf_addc(out, ',');
		buf_add(out, e->text + 1, e->len - 1);
	} else {
		buf_addc(out, '}');
	}
	if (q->lines)
		buf_addc(out, '\n');
}

bool audit_query_take(struct audit_query *q, uint64_t seq,
		      const struct audit *e, const unsigned char *hash)
{
	struct arena a;

	if (e->at + DISORDER_MS < q->filter.since)
		return false;
	if (q->n == q->filter.limit || q->looked >= EFFORT_MOST) {
		q->next = seq + 1;
		return false;
	}
	q->looked++;
	if (!lies_in(&q->filter, e))
		return true;
	q->looked += EFFORT_PARSE;
	arena_init(&a, ARENA_MOST);
	if (says(&q->filter, e, &a))
		write_entry(q, seq, e, hash);
	arena_release(&a);
	return true;
}
