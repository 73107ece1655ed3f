/* provider - what the API asks of providers, which it does not know. */
#pragma once

struct node;
struct violations;

/* Adds to V whatever is wrong with the provider, options and credentials of a
 * region, by the tables of the driver; see api.h. */
void provider_check_region(const char *provider, const struct node *options,
			   const struct node *credentials,
			   struct violations *v);
