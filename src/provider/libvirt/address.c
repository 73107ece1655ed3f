#include "provider/libvirt/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

/* "10.0.0.0/24": the address goes to TO, the length is returned; -1 when it is
 * neither an address nor a prefix of the family. */
static int split(const char *text, int family, void *to)
{
	int most = family == AF_INET ? 32 : 128;
	size_t n = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN];
	char *end;
	long bits;

	if (n >= sizeof(address))
		return -1;
	memcpy(address, text, n);
	address[n] = '\0';
	if (inet_pton(family, address, to) != 1)
		return -1;
	if (!text[n])
		return most;
	bits = strtol(text + n + 1, &end, 10);
	if (end == text + n + 1 || *end || bits < 0 || bits > most)
		return -1;
	return (int)bits;
}

static uint32_t mask4(int bits)
{
	return bits ? 0xffffffffU << (32 - bits) : 0;
}

bool address_net4(const char *prefix, struct net4 *ret)
{
	struct in_addr in;
	int bits = split(prefix, AF_INET, &in);

	if (bits < 0)
		return false;
	*ret = (struct net4){ntohl(in.s_addr) & mask4(bits), bits};
	return true;
}

bool address_parse4(const char *text, uint32_t *ret)
{
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) != 1)
		return false;
	*ret = ntohl(in.s_addr);
	return true;
}

void address_text4(uint32_t address, char out[INET_ADDRSTRLEN])
{
	struct in_addr in = {.s_addr = htonl(address)};

	inet_ntop(AF_INET, &in, out, INET_ADDRSTRLEN);
}

uint32_t address_user4(const struct net4 *n, unsigned which)
{
	uint32_t room = (uint32_t)(((uint64_t)1 << (32 - n->bits)) - 1);

	return n->first + ((0x200 + which) & room);
}

/* The last address of the reserved prefix that ADDRESS is in; 0: in none. */
static uint32_t reserved_to(const struct items *reserved, uint32_t address)
{
	const char *const *r = reserved->at;
	struct net4 net;

	for (size_t i = 0; i < reserved->n; i++)
		if (address_net4(r[i], &net) &&
		    (address & mask4(net.bits)) == net.first)
			return net.first | ~mask4(net.bits);
	return 0;
}

void address_pool(const char *prefix, const struct items *reserved,
		  struct address_pool *ret)
{
	struct net4 net;
	uint64_t end;

	ret->n = 0;
	if (!address_net4(prefix, &net))
		return;
	end = (uint64_t)(net.first | ~mask4(net.bits));
	for (uint64_t at = (uint64_t)net.first + 2;
	     at < end && ret->n < POOL_MOST; at++) {
		uint32_t to = reserved_to(reserved, (uint32_t)at);

		if (to)
			at = to;
		else
			ret->at[ret->n++] = (uint32_t)at;
	}
}

static int order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t address_pick(const struct address_pool *pool, const uint32_t *taken,
		      size_t n, uint32_t wish)
{
	for (size_t i = 0; i < pool->n; i++) {
		const uint32_t *at = &pool->at[(wish % pool->n + i) % pool->n];

		if (!n || !bsearch(at, taken, n, sizeof(*taken), order))
			return *at;
	}
	return 0;
}

void address_mac(uint32_t address, char out[ADDRESS_MAC_LEN + 1])
{
	snprintf(out, ADDRESS_MAC_LEN + 1, "52:54:%02x:%02x:%02x:%02x",
		 address >> 24, address >> 16 & 255, address >> 8 & 255,
		 address & 255);
}

static bool mac_bytes(const char *mac, unsigned char out[6])
{
	for (int i = 0; i < 6; i++) {
		char *end;

		out[i] = (unsigned char)strtoul(mac, &end, 16);
		if (end != mac + 2 || *end != (i < 5 ? ':' : '\0'))
			return false;
		mac = end + 1;
	}
	return true;
}

static bool first_64(const char *prefix6, struct in6_addr *ret)
{
	if (split(prefix6, AF_INET6, ret) < 0)
		return false;
	memset(ret->s6_addr + 8, 0, 8);
	return true;
}

bool address_eui64(const char *prefix6, const char *mac,
		   char out[INET6_ADDRSTRLEN])
{
	struct in6_addr in;
	unsigned char m[6];

	if (!first_64(prefix6, &in) || !mac_bytes(mac, m))
		return false;
	memcpy(in.s6_addr + 8, m, 3);
	in.s6_addr[8] ^= 2;
	in.s6_addr[11] = 0xff;
	in.s6_addr[12] = 0xfe;
	memcpy(in.s6_addr + 13, m + 3, 3);
	return inet_ntop(AF_INET6, &in, out, INET6_ADDRSTRLEN) != NULL;
}

bool address_nth6(const char *prefix6, unsigned n, char out[INET6_ADDRSTRLEN])
{
	struct in6_addr in;

	if (!first_64(prefix6, &in))
		return false;
	in.s6_addr[14] = (unsigned char)(n >> 8);
	in.s6_addr[15] = (unsigned char)n;
	return inet_ntop(AF_INET6, &in, out, INET6_ADDRSTRLEN) != NULL;
}

bool address_plain(const char *text, char out[INET6_ADDRSTRLEN + 4])
{
	int family = address_is6(text) ? AF_INET6 : AF_INET;
	struct in6_addr in;
	int bits = split(text, family, &in);
	size_t len;

	if (bits < 0 || !inet_ntop(family, &in, out, INET6_ADDRSTRLEN))
		return false;
	len = strlen(out);
	if (bits < (family == AF_INET ? 32 : 128))
		snprintf(out + len, INET6_ADDRSTRLEN + 4 - len, "/%d", bits);
	return true;
}
