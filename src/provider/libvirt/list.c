/* Lists of machines: host after host, by UUID. */
#include <stdlib.h>
#include <string.h>

#include "base/field_ops.h"
#include "base/mem.h"
#include "provider/libvirt/machine.h"
#include "provider/libvirt/sweep.h"

#define NAME_PREFIX "muster-"

/* The domains of a host; names and UUIDs are known without asking for them. */
struct domains {
	virDomainPtr *at;
	int n;
};

static void domains_release(struct domains *d)
{
	for (int i = 0; i < d->n; i++)
		host_domain_drop(&d->at[i]);
	free(d->at);
}

/* Where a page begins: on this host, after this UUID. */
struct place {
	size_t host;
	char after[VIR_UUID_STRING_BUFLEN];
};

static int compare(const void *a, const void *b)
{
	char x[VIR_UUID_STRING_BUFLEN] = "", y[VIR_UUID_STRING_BUFLEN] = "";
	virDomainPtr const *one = a, *other = b;

	virDomainGetUUIDString(*one, x);
	virDomainGetUUIDString(*other, y);
	return strcmp(x, y);
}

static int load(struct host *h, struct domains *ret, struct err *err)
{
	auto_conn virConnectPtr conn = NULL;

	if (host_take(h, &conn, err) < 0)
		return -1;
	ret->n = virConnectListAllDomains(conn, &ret->at, 0);
	if (ret->n < 0) {
		ret->n = 0;
		return host_err(h, "list the machines", err);
	}
	qsort(ret->at, (size_t)ret->n, sizeof(virDomainPtr), compare);
	return 0;
}

/* "HOST/UUID", the host by its name: their order may change. */
static int parse(const struct lv *lv, const char *page, struct place *ret,
		 struct err *err)
{
	const char *slash = page ? strchr(page, '/') : NULL;

	*ret = (struct place){0};
	if (!page)
		return 0;
	for (size_t i = 0; slash && i < lv->n_hosts; i++) {
		const char *name = lv->hosts[i]->name;

		if (strlen(name) != (size_t)(slash - page) ||
		    strncmp(name, page, strlen(name)) != 0 ||
		    strlen(slash + 1) >= sizeof(ret->after))
			continue;
		ret->host = i;
		memcpy(ret->after, slash + 1, strlen(slash + 1) + 1);
		return 0;
	}
	return err_set(err, ERR_INVALID, "there is no page \"%s\"", page);
}

static bool matches(const struct domain_facts *f,
		    const struct machine_filter *filter)
{
	const char *value = field_tag_get(&f->tags, filter->key);

	return value && strcmp(value, filter->value) == 0;
}

/* One that is gone meanwhile, or whose metadata is not to be read, is not in the
 * list; a host that cannot be asked is no list. */
static int tell(struct host *h, virDomainPtr d,
		const struct machine_filter *filter, struct arena *a,
		struct items *ret, struct err *err)
{
	struct machine *m = ret->at;
	struct domain_facts f;

	if (facts_load(h, d, a, &f, err) < 0 ||
	    (matches(&f, filter) &&
	     machine_tell(h, d, &f, a, &m[ret->n], err) < 0))
		return err_passes(err) ? -1 : 0;
	ret->n += matches(&f, filter);
	return 0;
}

static int list_host(struct host *h, const struct machine_filter *filter,
		     struct place *at, struct arena *a,
		     struct machine_page *ret, struct err *err)
{
	struct domains domains = {0};
	int r = load(h, &domains, err);

	for (int i = 0; r == 0 && i < domains.n; i++) {
		char uuid[VIR_UUID_STRING_BUFLEN] = "";
		const char *name = virDomainGetName(domains.at[i]);

		virDomainGetUUIDString(domains.at[i], uuid);
		if (strcmp(uuid, at->after) <= 0 || !name ||
		    strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)) != 0)
			continue;
		if (ret->machines.n == h->lv->base.facts.page) {
			ret->next =
				arena_join(a, h->name, "/", at->after, NULL);
			break;
		}
		r = tell(h, domains.at[i], filter, a, &ret->machines, err);
		memcpy(at->after, uuid, sizeof(uuid));
	}
	domains_release(&domains);
	return r;
}

int lv_list(struct provider *p, const struct machine_filter *filter,
	    const char *page, struct arena *a, struct machine_page *ret,
	    struct err *err)
{
	struct machine_page found = {0};
	struct lv *lv = lv_of(p);
	struct place at;

	if (parse(lv, page, &at, err) < 0)
		return -1;
	found.machines.at =
		arena_alloc(a, p->facts.page * sizeof(struct machine));
	for (; at.host < lv->n_hosts && !found.next; at.host++) {
		if (list_host(lv->hosts[at.host], filter, &at, a, &found, err) <
		    0)
			return -1;
		at.after[0] = '\0';
	}
	if (!found.next)
		sweep(lv);
	*ret = found;
	return 0;
}
