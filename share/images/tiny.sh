# tiny - a small Linux that boots in seconds: for tests and first steps.
#
# Debian's kernel for clouds, busybox, OpenSSH's sshd (smaller ones know no
# certificates), QEMU's guest agent, and the scripts in tiny/.
. "$recipe/common.sh"

# What is loaded to find the disk, and what is loaded later.
early='virtio_pci virtio_blk virtio_scsi sd_mod ata_piix'
late='virtio_net virtio_console virtio_rng virtio_balloon sr_mod isofs button
evdev'

need_common cpio=cpio modprobe=kmod depmod=kmod
step 'Looking for the packages'
packages linux-image-cloud-amd64 busybox-static openssh-server openssh-client \
	qemu-guest-agent grub-pc-bin

kernel() {
	for file in unpacked/boot/vmlinuz-*-cloud-amd64 \
		/boot/vmlinuz-*-cloud-amd64; do
		[ -r "$file" ] || continue
		echo "${file##*/vmlinuz-}"
	done | sort -V | tail -n 1
}
version=$(kernel)
[ -n "$version" ] || fail "there is no kernel in linux-image-cloud-amd64"
modules=$(at "lib/modules/$version")
[ -e "$modules/modules.dep" ] || depmod -b unpacked "$version"

# Put kernel modules, and those that they need, below a folder.
take_modules() {
	to=$1/lib/modules/$version
	shift
	for name; do
		modprobe -d "${modules%/lib/modules/*}/" -S "$version" \
			--show-depends "$name"
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u >taken
	while read -r file; do
		path=${file#*/lib/modules/"$version"/}
		mkdir -p "$to/${path%/*}"
		cp "$file" "$to/$path"
	done <taken
	cp "$modules/modules.order" "$modules/modules.builtin" "$to"
	depmod -b "${to%/lib/modules/*}" "$version"
	# Only what busybox reads is left.
	find "$to" -maxdepth 1 -name 'modules.*' \
		! -name modules.dep ! -name modules.alias -delete
}

# Put a program where it belongs, with the libraries that it needs.
take_program() {
	from=$(at "$1")
	install -D "$from" "root/$1"
	LD_LIBRARY_PATH=$libraries ldd "$from" |
		sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' |
		while read -r library; do
			case $library in
			*/ld-linux*) to=root/usr/lib64 ;;
			*) to=root/usr/lib/x86_64-linux-gnu ;;
			esac
			cp -Ln "$library" "$to"
		done
}
libraries=unpacked/lib/x86_64-linux-gnu:unpacked/usr/lib/x86_64-linux-gnu

step "Taking the kernel $version"
busybox=$(at bin/busybox)
mkdir -p early/bin early/dev early/proc early/sys early/root
cp "$busybox" early/bin/busybox
for applet in findfs modprobe mount sh sleep sort switch_root xargs; do
	ln -s busybox "early/bin/$applet"
done
install "$recipe/tiny/early" early/init
install "$recipe/tiny/coldplug" early/bin/coldplug
# shellcheck disable=SC2086
take_modules early $early

step 'Making the system'
for dir in usr/bin usr/sbin usr/lib64 usr/lib/x86_64-linux-gnu usr/lib/muster \
	etc/ssh/sshd_config.d etc/acpi/PWRF boot/grub dev proc sys run mnt \
	root var/empty var/lib/muster var/log; do
	mkdir -p "root/$dir"
done
for dir in bin sbin lib lib64; do
	ln -s "usr/$dir" "root/$dir"
done
ln -s /run root/var/run
mkdir -m 1777 root/tmp
chmod 700 root/root
cp "$busybox" root/usr/bin/busybox
"$busybox" --list | while read -r applet; do
	[ "$applet" = busybox ] || ln -s busybox "root/usr/bin/$applet"
done
ln -s ../bin/busybox root/usr/sbin/init
# shellcheck disable=SC2086
take_modules root $early $late
for program in usr/sbin/sshd usr/bin/ssh-keygen usr/sbin/qemu-ga; do
	take_program "$program"
done

# Put files of ours into a folder: take_files MODE FOLDER FILE...
take_files() {
	mode=$1 to=$2
	shift 2
	for file; do
		install -m "$mode" "$recipe/tiny/$file" "root/$to/$file"
	done
}
take_files 755 usr/lib/muster boot coldplug first-boot last lease network
take_files 644 usr/lib/muster json.awk mime.awk
take_files 755 usr/sbin shutdown
take_files 644 etc passwd group inittab issue
take_files 600 etc shadow
take_files 644 etc/ssh sshd_config
take_files 644 boot/grub grub.cfg
ln -s /usr/sbin/shutdown root/etc/acpi/PWRF/00000080
echo tiny >root/etc/hostname
cp "$(at "boot/vmlinuz-$version")" root/boot/vmlinuz
(cd early && find . | cpio --quiet -o -H newc -R 0:0) | gzip -9 \
	>root/boot/initrd

step 'Making the disk'
empty_disk 1024
fill_disk tiny root
boot_disk
pack_disk

fact user root
fact minDiskGiB 1
fact kernel linux
fact family busybox
fact distro tiny
fact version "${version%%-*}"
