/* attr - the compiler attributes we use, under short names. */
#pragma once

#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_CHECK        __attribute__((warn_unused_result))
#define COUNT_OF(array)   (sizeof(array) / sizeof((array)[0]))

/* The struct of TYPE whose MEMBER lies at PTR. */
#define CONTAINER_OF(ptr, type, member)                                        \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))
