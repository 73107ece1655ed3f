/* Finding a driver and opening it with what a region says. */
#include <string.h>

#include "base/field_ops.h"
#include "provider/call.h"
#include "provider/driver.h"
#include "provider/front.h"
#include "provider/libvirt/libvirt.h"
#include "provider/sim.h"

const struct driver *const drivers[] = {&sim_driver, &libvirt_driver, NULL};

const struct driver *driver_find(const char *name)
{
	for (size_t i = 0; drivers[i]; i++)
		if (strcmp(drivers[i]->name, name) == 0)
			return drivers[i];
	return NULL;
}

/* What a driver is told, and the table it is read by. */
struct part {
	const char *what;
	const struct field *fields;
	size_t size;
};

/* All that is wrong in one message: the violations do not outlive the arena
 * they are in. */
static int tell(const struct violations *v, const char *what, struct err *err)
{
	struct buf b = BUF_INIT(sizeof(err->msg) - 1);

	for (size_t i = 0; i < v->n && i < VIOLATIONS_MOST; i++)
		buf_addf(&b, "%s%s%s %s", i ? "; " : "", what,
			 v->list[i].pointer, v->list[i].message);
	err_set(err, ERR_INVALID, "%s", buf_str(&b));
	buf_release(&b);
	return -1;
}

/* A copy of N that lives as long as the provider: what is decoded points into
 * it. */
static const struct node *keep(struct arena *a, const struct node *n,
			       struct err *err)
{
	struct buf text = BUF_INIT((size_t)1 << 20);
	const struct node *copy;

	if (!n)
		return node_new_object(a);
	json_write(n, false, &text);
	copy = json_parse(buf_str(&text), text.len, a, err);
	/* It may be secret. */
	if (text.data)
		explicit_bzero(text.data, text.len);
	buf_release(&text);
	return copy;
}

/* N as one of the driver's structs; without a table nothing may be said. */
static int decode(struct front *f, const struct part *part,
		  const struct node *n, const void **ret, struct err *err)
{
	struct arena *a = front_arena(f);
	struct violations v;
	void *out;

	*ret = NULL;
	n = keep(a, n, err);
	if (!n)
		return -1;
	if (node_type(n) != NODE_OBJECT)
		return err_set(err, ERR_INVALID, "%s must be an object, not %s",
			       part->what, node_type_name(n));
	if (!part->fields) {
		if (node_count(n))
			return err_set(err, ERR_INVALID,
				       "the driver takes no %s", part->what);
		return 0;
	}
	out = arena_alloc(a, part->size);
	violations_init(&v, a);
	field_decode(part->fields, n, FIELD_CREATE, out, &v);
	if (v.n)
		return tell(&v, part->what, err);
	*ret = out;
	return 0;
}

static int open_with(const struct driver *d, struct front *f,
		     const struct provider_conf *conf, struct provider **out,
		     struct err *err)
{
	const struct part parts[] = {
		{"options", d->options, d->options_size},
		{"credentials", d->credentials, d->credentials_size},
	};
	const void *options, *credentials;

	if (decode(f, &parts[0], conf->options, &options, err) < 0 ||
	    decode(f, &parts[1], conf->credentials, &credentials, err) < 0)
		return -1;
	return d->open(front_conf(f), options, credentials, out, err);
}

int provider_open(const char *driver, const struct provider_conf *conf,
		  struct provider **out, struct err *err)
{
	const struct driver *d = driver_find(driver);
	struct provider *p;
	struct front *f;

	if (!d)
		return err_set(err, ERR_INVALID,
			       "there is no provider \"%s\": see "
			       "'muster provider list'",
			       driver);
	f = front_new(conf);
	if (open_with(d, f, conf, &p, err) < 0) {
		front_free(f);
		return -1;
	}
	front_begin(f, p);
	*out = p;
	return 0;
}

void provider_close(struct provider *p)
{
	struct front *f;

	if (!p)
		return;
	f = p->front;
	p->driver->close(p);
	front_free(f);
}
