/*
 * The journal: a line for each change, {"machine": …}, {"thing": …} or
 * {"gone": id}; the last line about an id counts.  When it has grown to some
 * times what there is, it is written anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "provider/sim_place.h"

#define LINE_MOST  ((size_t)1 << 20)
#define ARENA_MOST ((size_t)16 << 20)
#define LEAST_ANEW ((size_t)1 << 20) /* bytes */

static int fail(const struct sim_journal *j, struct err *err)
{
	return err_set(err, ERR_UNAVAILABLE, "%s: %s", j->path,
		       strerror(errno));
}

/* Another process, or another region of this one, must not have it. */
static int lock(struct sim_journal *j, struct err *err)
{
	if (flock(fileno(j->file), LOCK_EX | LOCK_NB) == 0)
		return 0;
	return err_set(err, ERR_UNAVAILABLE,
		       "%s is in use: this cloud is open already", j->path);
}

static void write_line(struct buf *line, const char *kind,
		       const struct field *fields, const void *object)
{
	buf_addf(line, "{\"%s\":", kind);
	field_encode(fields, object, FIELD_FULL, line);
	buf_adds(line, "}\n");
}

static void write_all(struct sim_cloud *c, FILE *to, size_t *ret_bytes)
{
	struct buf line = BUF_INIT(LINE_MOST);
	struct sorted_walk w = sorted_from(&c->all_things, NULL);
	struct sim_holding *h;
	struct sim_place *p;

	fprintf(to, "{\"sequence\":%llu}\n", (unsigned long long)c->sequence);
	while ((h = sorted_next(&w))) {
		buf_clear(&line);
		write_line(&line, "thing", sim_thing_fields, h->doc);
		fwrite(line.data, 1, line.len, to);
	}
	w = sorted_from(&c->all_machines, NULL);
	while ((p = sorted_next(&w))) {
		buf_clear(&line);
		write_line(&line, "machine", sim_machine_fields, p->doc);
		fwrite(line.data, 1, line.len, to);
	}
	*ret_bytes = (size_t)ftell(to);
	buf_release(&line);
}

/* The new file takes the old one's place once it is whole. */
static int write_anew(struct sim_cloud *c, struct err *err)
{
	struct sim_journal *j = &c->journal;
	struct sim_journal new = {.path = j->path};
	char path[4096];

	snprintf(path, sizeof(path), "%s.new", j->path);
	new.file = fopen(path, "we");
	if (!new.file)
		return fail(j, err);
	write_all(c, new.file, &new.bytes);
	if (fflush(new.file) != 0 || ferror(new.file) || lock(&new, err) < 0 ||
	    rename(path, j->path) < 0) {
		fail(j, err);
		fclose(new.file);
		unlink(path);
		return -1;
	}
	fclose(j->file);
	new.bytes_after = new.bytes;
	*j = new;
	return 0;
}

int sim_journal_mend(struct sim_cloud *c, struct err *err)
{
	if (!c->journal.broken)
		return 0;
	return write_anew(c, err);
}

static int append(struct sim_cloud *c, struct buf *line, struct err *err)
{
	struct sim_journal *j = &c->journal;
	int fd = fileno(j->file);
	bool whole = buf_ok(line) &&
		     write(fd, line->data, line->len) == (ssize_t)line->len;

	j->bytes += line->len;
	if (!whole)
		j->broken = true;
	/* What could not be appended may yet be kept this way. */
	if (j->broken ||
	    (j->bytes > LEAST_ANEW && j->bytes > 4 * j->bytes_after)) {
		if (write_anew(c, err) < 0)
			return whole && !j->broken ? 0 : -1;
	}
	return 0;
}

int sim_journal_machine(struct sim_cloud *c, const struct sim_machine *m,
			struct err *err)
{
	struct buf line = BUF_INIT(LINE_MOST);
	int r;

	if (!c->journal.file)
		return 0;
	write_line(&line, "machine", sim_machine_fields, m);
	r = append(c, &line, err);
	buf_release(&line);
	return r;
}

int sim_journal_thing(struct sim_cloud *c, const struct sim_thing *t,
		      struct err *err)
{
	struct buf line = BUF_INIT(LINE_MOST);
	int r;

	if (!c->journal.file)
		return 0;
	write_line(&line, "thing", sim_thing_fields, t);
	r = append(c, &line, err);
	buf_release(&line);
	return r;
}

int sim_journal_gone(struct sim_cloud *c, const char *id, struct err *err)
{
	struct buf line = BUF_INIT(LINE_MOST);
	int r;

	if (!c->journal.file)
		return 0;
	buf_addf(&line, "{\"gone\":\"%s\"}\n", id);
	r = append(c, &line, err);
	buf_release(&line);
	return r;
}

/* The numbers of ids are never used twice. */
static void note_number(struct sim_cloud *c, const char *id)
{
	const char *dash = strchr(id, '-');
	uint64_t n = dash ? strtoull(dash + 1, NULL, 16) : 0;

	if (n > c->sequence)
		c->sequence = n;
}

static void drop(struct sim_cloud *c, const char *id)
{
	struct sim_place *p = map_get(&c->machines, id);
	struct sim_holding *h = map_get(&c->things, id);

	if (p)
		sim_place_free(c, p);
	if (h)
		sim_holding_free(c, h);
}

static void restore_thing(struct sim_cloud *c, const struct sim_thing *t)
{
	struct sim_holding *h = map_get(&c->things, t->id);

	/* A network's machines have its addresses. */
	if (h) {
		sim_holding_revise(h, t);
		sim_heap_set(&c->due, &h->item, t->due);
	} else {
		sim_holding_new(c, t);
	}
}

static int read_line(struct sim_cloud *c, const struct node *n, struct arena *a,
		     struct err *err)
{
	const struct node *machine = node_get(n, "machine");
	const struct node *thing = node_get(n, "thing");
	const struct node *sequence = node_get(n, "sequence");
	const char *id = node_text(n, "gone");
	struct sim_machine m = {0};
	struct sim_thing t = {0};
	struct violations v;

	violations_init(&v, a);
	if (machine)
		field_decode(sim_machine_fields, machine, FIELD_STORED, &m, &v);
	else if (thing)
		field_decode(sim_thing_fields, thing, FIELD_STORED, &t, &v);
	if (v.n)
		return violations_err(&v, err);
	if (machine && m.id && m.name && m.state &&
	    strlen(m.id) <= SIM_ID_LEN) {
		note_number(c, m.id);
		drop(c, m.id);
		sim_place_new(c, &m);
	} else if (thing && t.id && t.kind && t.ours && t.state &&
		   strlen(t.id) <= SIM_ID_LEN) {
		note_number(c, t.id);
		restore_thing(c, &t);
	} else if (id) {
		note_number(c, id);
		drop(c, id);
	} else if (sequence && node_type(sequence) == NODE_INT) {
		c->sequence = (uint64_t)node_int(sequence);
	} else {
		return err_set(err, ERR_INVALID, "it says nothing we know");
	}
	return 0;
}

/* The last line may have been cut off when its writer was killed: its call was
 * not answered. */
static int read_lines(struct sim_cloud *c, FILE *from, struct err *err)
{
	struct arena a;
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t len;
	int r = 0;

	arena_init(&a, ARENA_MOST);
	while (r == 0 && (len = getline(&line, &room, from)) > 0) {
		const struct node *n;

		number++;
		if (line[len - 1] != '\n')
			break;
		n = json_parse(line, (size_t)len, &a, err);
		r = n ? read_line(c, n, &a, err) : -1;
		arena_clear(&a);
	}
	if (r < 0)
		err_wrap(err, "%s: line %zu", c->journal.path, number);
	free(line);
	arena_release(&a);
	return r;
}

static void settle_volumes(struct sim_cloud *c)
{
	struct sorted_walk w = sorted_from(&c->all_things, NULL);
	struct sim_holding *h;

	while ((h = sorted_next(&w))) {
		struct sim_place *p =
			h->doc->machine ? map_get(&c->machines, h->doc->machine)
					: NULL;

		if (p && !sim_place_gone(p))
			p->volumes = true;
		else
			h->doc->machine = h->doc->device = NULL;
	}
}

int sim_journal_open(struct sim_cloud *c, const char *path, struct err *err)
{
	struct sim_journal *j = &c->journal;

	j->path = xstrdup(path);
	j->file = fopen(path, "a+e");
	if (!j->file)
		return fail(j, err);
	if (lock(j, err) < 0)
		return -1;
	rewind(j->file);
	if (read_lines(c, j->file, err) < 0)
		return -1;
	settle_volumes(c);
	/* So that it begins whole. */
	return write_anew(c, err);
}

void sim_journal_close(struct sim_cloud *c)
{
	if (c->journal.file)
		fclose(c->journal.file);
	free(c->journal.path);
}
