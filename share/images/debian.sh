# debian - Debian with cloud-init: for use.
#
# The release is this machine's, from the archives of Debian that its apt knows.
. "$recipe/common.sh"

need_common mmdebstrap=mmdebstrap tar=tar
[ "$(id -u)" -eq 0 ] || need newuidmap=uidmap
. /etc/os-release
[ "$ID" = debian ] || fail "this machine is no Debian, but ${PRETTY_NAME:-$ID}"

# systemd's own parts make the network, and cloud-init tells them how.
packages='linux-image-cloud-amd64 initramfs-tools systemd-sysv systemd-resolved
systemd-timesyncd dbus udev cloud-init cloud-guest-utils openssh-server
qemu-guest-agent sudo ca-certificates iproute2 iputils-ping netbase e2fsprogs
fdisk less procps'

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
source="deb [signed-by=$keyring] \$(REPO_URI) \$(RELEASE) \$(COMPONENT)"
apt-get indextargets --format "$source" 'Created-By: Packages' \
	'Origin: Debian' | sort -u >sources
[ -s sources ] && [ -e $keyring ] ||
	fail "this machine's apt knows no archive of Debian: is it in its" \
		"sources, and has apt-get update been run?"

# What is done to the system when everything is installed.
cat >finish <<'END'
set -eu
root=$1
cp "$recipe/debian/cloud.cfg" "$root/etc/cloud/cloud.cfg.d/10_muster.cfg"
mkdir -p "$root/boot/grub"
cp "$recipe/debian/grub.cfg" "$root/boot/grub/grub.cfg"
echo 'LABEL=debian / ext4 defaults,errors=remount-ro 0 1' >"$root/etc/fstab"
echo localhost >"$root/etc/hostname"
echo LANG=C.UTF-8 >"$root/etc/default/locale"
ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
chroot "$root" systemctl -q enable systemd-networkd systemd-resolved
# Each machine makes its own.
rm -f "$root"/etc/ssh/ssh_host_*
END
chmod 755 finish

step "Installing Debian $VERSION_ID"
mkfifo said
tee /dev/stderr <said |
	sed -un 's/^I: \(\(down\|extr\|inst\).*\)\.\.\.$/step - \1/p' >&3 &
# shellcheck disable=SC2086
mmdebstrap --variant=apt --include="$(echo $packages | tr ' ' ,)" \
	--dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--customize-hook="$PWD/finish" --format=tar "$VERSION_CODENAME" - - \
	<sources >root.tar 2>said

# Files are of many users, which only root can make, or what takes itself for
# root and has its own numbers: which may not write here otherwise.
as_anyone() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	else
		mmdebstrap --unshare-helper "$@"
	fi
}

step 'Making the disk'
packages grub-pc-bin
empty_disk 3072
chmod 666 disk
mkdir -m 777 open
export mkfs partition
# shellcheck disable=SC2016
as_anyone sh -euc 'mkdir open/root
tar -x --numeric-owner --xattrs --xattrs-include="*" -C open/root <root.tar
$mkfs -L debian -d open/root disk "${partition}M"
rm -rf open/root'
rm root.tar
boot_disk
step 'Compressing it'
pack_disk -c

fact user debian
fact minDiskGiB 3
fact kernel linux
fact family debian
fact distro debian
fact codename "$VERSION_CODENAME"
fact version "$VERSION_ID"
