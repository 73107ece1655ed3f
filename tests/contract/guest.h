/*
 * guest - the least guest there can be: it says "up" on its serial line, lets go
 * of devices that it is asked for, and switches itself off when the power button
 * is pressed.
 *
 * It is a boot sector, and needs a second of emulation.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* QEMU has the registers of ACPI's power management at 0x600, and those for
 * devices that come and go, a bit for each slot, at 0xae00. */
static const unsigned char guest_code[] = {
	0x31, 0xc0,                   /* xor ax, ax */
	0x8e, 0xd8,                   /* mov ds, ax */
	0xfc,                         /* cld */
	0xbe, 0x3f, 0x7c,             /* mov si, words */
	0xac,                         /* say: lodsb */
	0x84, 0xc0,                   /* test al, al */
	0x74, 0x06,                   /* jz said */
	0xba, 0xf8, 0x03,             /* mov dx, 0x3f8 */
	0xee,                         /* out dx, al */
	0xeb, 0xf5,                   /* jmp say */
	0xba, 0x02, 0x06,             /* said: mov dx, 0x602 */
	0xb8, 0x00, 0x01,             /* mov ax, 0x100 */
	0xef,                         /* out dx, ax: tell of the power button */
	0xfb,                         /* wait: sti */
	0xf4,                         /* hlt: until the clock's next tick */
	0xba, 0x04, 0xae,             /* mov dx, 0xae04 */
	0x66, 0xed,                   /* in eax, dx: what is to go */
	0x66, 0x85, 0xc0,             /* test eax, eax */
	0x74, 0x05,                   /* jz nothing */
	0xba, 0x08, 0xae,             /* mov dx, 0xae08 */
	0x66, 0xef,                   /* out dx, eax: it may */
	0xba, 0x00, 0x06,             /* nothing: mov dx, 0x600 */
	0xed,                         /* in ax, dx */
	0xf6, 0xc4, 0x01,             /* test ah, 1: was it pressed? */
	0x74, 0xe6,                   /* jz wait */
	0xfa,                         /* cli */
	0xba, 0x04, 0x06,             /* mov dx, 0x604 */
	0xb8, 0x00, 0x20,             /* mov ax, 0x2000 */
	0xef,                         /* out dx, ax: off */
	0xf4,                         /* hlt */
	0xeb, 0xfd,                   /* jmp to it */
	'u',  'p',  '\r', '\n', 0x00, /* words */
};

/* A disk with it, as PATH. */
static inline bool guest_write(const char *path)
{
	unsigned char disk[512 * 2048] = {0};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool good;

	memcpy(disk, guest_code, sizeof(guest_code));
	disk[510] = 0x55;
	disk[511] = 0xaa;
	good = fd >= 0 && write(fd, disk, sizeof(disk)) == sizeof(disk);
	if (fd >= 0)
		close(fd);
	return good;
}
