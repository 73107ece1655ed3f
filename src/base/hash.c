#include "base/hash.h"

#include <string.h>

/* Both halves of the product: of the lower one alone, the uppermost bits of a
 * word change the same bits whatever H is, and could be made up for in the next
 * word. */
static uint64_t mix(uint64_t h, uint64_t word)
{
	unsigned __int128 p =
		(unsigned __int128)(h ^ word) * 0x9e3779b97f4a7c15U;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* It begins with an address that the kernel picked at random for this
 * process. */
uint32_t hash_of(const char *key, size_t len)
{
	uint64_t h = (uint64_t)(uintptr_t)&hash_of ^ len, word;

	for (; len >= sizeof(word); len -= sizeof(word)) {
		memcpy(&word, key, sizeof(word));
		h = mix(h, word);
		key += sizeof(word);
	}
	word = 0;
	memcpy(&word, key, len);
	return (uint32_t)(mix(mix(h, word), h) >> 32);
}
