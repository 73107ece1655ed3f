/*
 * address - arithmetic on the addresses of a network.  Pure.
 *
 * An instance's hardware address follows from its IPv4 address, and its IPv6
 * address from that: so the one address that is chosen decides them all, and
 * DHCP can be told of everybody before anybody is there.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/field.h"

#define ADDRESS_MAC_LEN 17

/* How many machines there can be in a network. */
enum { POOL_MOST = 4093 };

/* The addresses of a network that machines may have, in order. */
struct address_pool {
	uint32_t at[POOL_MOST];
	size_t n;
};

struct net4 {
	uint32_t first; /* the address of the network itself */
	int bits;
};

/* False when it is no IPv4 prefix. */
bool address_net4(const char *prefix, struct net4 *ret);
bool address_parse4(const char *text, uint32_t *ret);
void address_text4(uint32_t address, char out[INET_ADDRSTRLEN]);

/* All of PREFIX but the network's own address, the gateway's, which is the
 * first, broadcast's, and what RESERVED (const char *) says. */
void address_pool(const char *prefix, const struct items *reserved,
		  struct address_pool *ret);

/* One of POOL that is not among the N sorted addresses TAKEN, the same for the
 * same WISH as long as that is free; 0: there is none. */
uint32_t address_pick(const struct address_pool *pool, const uint32_t *taken,
		      size_t n, uint32_t wish);

/* What QEMU's user-mode network has: itself, who answers for names, the guest.
 * They are in the third 256 addresses, where there are so many. */
enum { USER_GATEWAY = 2, USER_DNS = 3, USER_GUEST = 15 };
uint32_t address_user4(const struct net4 *n, unsigned which);

/* "52:54:0a:00:00:0f" for 10.0.0.15. */
void address_mac(uint32_t address, char out[ADDRESS_MAC_LEN + 1]);

/* The address that who has this MAC makes for itself in the first /64 of the
 * prefix. */
bool address_eui64(const char *prefix6, const char *mac,
		   char out[INET6_ADDRSTRLEN]);
/* The Nth address of its first /64. */
bool address_nth6(const char *prefix6, unsigned n, char out[INET6_ADDRSTRLEN]);

/* The same in one way to write it, "10.0.0.0/8" or "fd00::1"; false when it is
 * neither address nor prefix. */
bool address_plain(const char *text, char out[INET6_ADDRSTRLEN + 4]);

/* Of one of either sort. */
static inline bool address_is6(const char *text)
{
	for (; *text; text++)
		if (*text == ':')
			return true;
	return false;
}
