# common - what the recipes share.
#
# A recipe is run by `muster image build` as a shell script, in an empty folder
# of its own that is removed afterwards.  It is given
#
#	recipe	the folder that these files are in
#	image	where the image goes, a qcow2
#
# and tells what it does on standard output, a line each: "step" is shown as it
# happens, "fact NAME VALUE" is something to know of the image, and "fail" says
# why there is none.  What programs say goes to standard error, and is shown when
# something fails.
set -eu
exec 3>&1 1>&2
PATH=$PATH:/usr/sbin:/sbin
umask 022

step() {
	echo "step $*" >&3
}

fact() {
	echo "fact $*" >&3
}

fail() {
	echo "fail $*" >&3
	exit 1
}

# See that programs are there: need PROGRAM=PACKAGE...
need() {
	missing=
	for pair; do
		command -v "${pair%%=*}" >/dev/null ||
			missing="$missing ${pair#*=}"
	done
	[ -z "$missing" ] ||
		fail "some programs are missing; as root: apt-get install$missing"
}

# What both kinds of image are made with, and for.
need_common() {
	command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
		fail "images are made of Debian packages, by apt-get and" \
			"dpkg-deb, which are not on this machine"
	arch=$(dpkg --print-architecture)
	[ "$arch" = amd64 ] ||
		fail "images are made for amd64 only, and this machine is $arch"
	[ "$(id -u)" -eq 0 ] || need unshare=util-linux
	need mke2fs=e2fsprogs sfdisk=fdisk grub-mkimage=grub-common \
		qemu-img=qemu-utils "$@"
}

# Have the content of Debian packages, without installing them.  Those that this
# machine lacks are downloaded, with what they depend on, and unpacked to
# ./unpacked; the others are where they belong.
packages() {
	mkdir -p debs/partial unpacked
	apt-get -qq -y --no-install-recommends --no-upgrade --download-only \
		-o Debug::NoLocking=1 -o Dir::Cache::archives="$PWD/debs" \
		install "$@" ||
		fail "apt-get cannot get $*: is it up to date (as root:" \
			"apt-get update), and can it reach its servers?"
	for deb in debs/*.deb; do
		[ -e "$deb" ] || continue
		dpkg-deb -x "$deb" unpacked
	done
}

# Where a file of those packages is: unpacked, or on this machine.
at() {
	if [ -e "unpacked/$1" ]; then
		echo "unpacked/$1"
	elif [ -e "/$1" ]; then
		echo "/$1"
	else
		fail "/$1 is in none of the packages"
	fi
}

# Run something that sees our own files as root's.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		unshare --map-root-user "$@"
	fi
}

# How a partition is filled, with the features that GRUB knows; what mke2fs
# makes otherwise is newer.
mkfs='mke2fs -q -F -t ext4 -m 1 -J size=8 -E offset=1048576,root_owner=0:0 -O none'
for feature in has_journal ext_attr resize_inode dir_index filetype extent \
	64bit flex_bg sparse_super large_file huge_file dir_nlink extra_isize \
	metadata_csum; do
	mkfs=$mkfs,$feature
done

# A disk of that many MiB: one partition, from the second MiB on.
empty_disk() {
	rm -f disk
	truncate -s "$1M" disk
	echo 'start=2048, type=83, bootable' | sfdisk -q disk
	partition=$(($1 - 1))
}

# Fill the partition with a folder: fill_disk LABEL FOLDER.
fill_disk() {
	# shellcheck disable=SC2086
	as_root $mkfs -L "$1" -d "$2" disk "${partition}M"
}

# Have it boot, by the BIOS: GRUB lies between the first sector and the
# partition, which has the kernel and /boot/grub/grub.cfg.  This is what
# grub-install does; that would need a device, and root's rights.
boot_disk() {
	grub=$(at usr/lib/grub/i386-pc)
	grub-mkimage -d "$grub" -O i386-pc -o core.img \
		-p '(hd0,msdos1)/boot/grub' biosdisk part_msdos ext2 normal \
		linux linux16 serial terminal echo test
	dd if="$grub/boot.img" of=disk bs=440 count=1 conv=notrunc
	dd if=core.img of=disk bs=512 seek=1 conv=notrunc
}

# The disk as an image: small with -c, but then slower to read, each time.
pack_disk() {
	qemu-img convert -q -f raw -O qcow2 "$@" disk "$image"
	rm -f disk
}
