#include "daemon/provider.h"

#include "base/field_ops.h"
#include "provider/driver.h"

static void tell_drivers(const char *provider, struct violations *v)
{
	struct buf names = BUF_INIT(4096);

	for (size_t i = 0; drivers[i]; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", drivers[i]->name);
	violations_add(v, "/spec/provider",
		       "there is no provider \"%s\"; there are: %s", provider,
		       buf_str(&names));
	buf_release(&names);
}

/* Values are not told: they may be secret. */
static void check(const struct field *fields, size_t size, const struct node *n,
		  const char *where, struct violations *v)
{
	struct arena *a = v->arena;
	struct violations inner;

	if (!n)
		n = node_new_object(a);
	if (!fields) {
		if (node_count(n))
			violations_add(v, where, "the provider takes none");
		return;
	}
	violations_init(&inner, a);
	field_decode(fields, n, FIELD_CREATE, arena_alloc(a, size), &inner);
	for (size_t i = 0; i < inner.n && i < VIOLATIONS_MOST; i++)
		violations_add(
			v,
			arena_printf(a, "%s%s", where, inner.list[i].pointer),
			"%s", inner.list[i].message);
}

void provider_check_region(const char *provider, const struct node *options,
			   const struct node *credentials, struct violations *v)
{
	const struct driver *d = driver_find(provider);

	if (!d) {
		tell_drivers(provider, v);
		return;
	}
	check(d->options, d->options_size, options, "/spec/options", v);
	check(d->credentials, d->credentials_size, credentials,
	      "/spec/credentials", v);
}
