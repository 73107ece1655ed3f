#!/usr/bin/python3
"""What real machines keep: what was on an instance is on another that boots its
snapshot, and what was written to a volume in one instance is read in another.

    vm_disks.py MUSTER [IMAGE]

With IMAGE, the file of a Debian one, that is booted; otherwise the tiny one is
built.
"""

import os
import shlex
import shutil
import sys

import vms
from muster import run, tap, wait_for
from vm_first import Newcomer
from vms import BOOT, Embedded, processes

GIB = 1 << 30

# The volume is the only disk of its size.
SIZE = 2
FIND = ("for d in /sys/block/vd*; do "
        f"[ $(cat $d/size) != {SIZE * GIB // 512} ] || echo /dev/${{d##*/}}; "
        "done")


class Keeper(Newcomer):
    """Has a network, and an image in the region."""

    def __init__(self, image=None):
        super().__init__()
        self.flavor = "small" if image else "tiny"
        region = self.get("regions")[0]
        self.place = Embedded(os.path.join(self.server.data,
                                           f"libvirt-{region['id']}"))
        self.does("organization create acme")
        self.does("project create web --organization acme")
        tap.ok(wait_for(lambda: self.get("regions")[0]["status"]["state"] ==
                        "ready", BOOT), "the region gets ready",
               self.get("regions"))
        if image:
            there = os.path.join(self.server.data, "import", "debian.qcow2")
            shutil.copy(image, there)
            self.does("image create first --region local --project web --wait "
                      "--architecture x86_64 --user debian "
                      f"--uri file://{os.path.realpath(there)}")
        else:
            self.does("image build tiny --region local --project web "
                      f"--name first --data {self.server.data}")
        self.does("network create lan --project web --region local "
                  "--prefix 10.64.0.0/16")

    def named(self, noun, name):
        return next(o for o in self.get(noun) if o["name"] == name)

    def boot(self, name, image, *more):
        """An instance that can be logged in to."""
        self.does(f"instance create {name} --network lan --image {image} "
                  f"--flavor {self.flavor} --ssh-key generated --wait", *more)
        tap.ok(wait_for(lambda: self.named("instances", name)["status"].get(
            "readiness", {}).get("state") == "ready", BOOT, 0.2),
            f"{name} gets ready", self.named("instances", name))

    def tell(self, name, script):
        """Run by root in the instance; what it said."""
        sudo = "sudo " if self.flavor == "small" else ""
        failed = tap.failed
        said = self.does(f"ssh {name}", f"echo ---; {sudo}sh -c "
                         f"{shlex.quote(script)}").rpartition("---\n")[2].strip()
        if tap.failed != failed:
            tap.note(run("instance", "consoleoutput", name, env={
                **self.env, "MUSTER_TOKEN": self.server.token})[1])
        return said

    def attach(self, name, *volumes):
        """Those and no others, while it runs."""
        ids = [self.named("volumes", v)["id"] for v in volumes]
        one = self.named("instances", name)
        reply = self.api.patch(f"/v1/instances/{one['id']}", {"spec": {
            "volumes": [{"volumeId": id} for id in ids]}})
        tap.eq(reply.status, 200, f"{name} is to have {volumes}")
        tap.ok(wait_for(lambda: sorted(
            v["id"] for v in self.get("volumes")
            if v["status"].get("instanceId") == one["id"]) == sorted(ids) and
            not self.named("instances", name)["status"].get("change"),
            BOOT, 0.1), f"{name} has {volumes}", self.get("volumes"),
            self.named("instances", name))

    def device(self, name):
        """The guest's word for the volume, which it may yet have to see."""
        found = self.tell(name, "for i in $(seq 60); do "
                          f"found=$({FIND}); [ -z \"$found\" ] || break; "
                          "sleep 1; done; echo $found").split()
        tap.eq(len(found), 1, f"{name} sees one disk of {SIZE} GiB")
        return found[0] if found else "/dev/null"

    def delete(self, noun, name):
        self.does(f"{noun} delete {name} --wait --yes")


def writes(who):
    who.does(f"volume create data --project web --region local --size-gib "
             f"{SIZE} --wait")
    who.attach("one", "data")
    disk = who.device("one")
    said = who.tell("one", f"mke2fs {disk} >/dev/null 2>&1 && "
                    f"mount -t ext4 {disk} /mnt && "
                    "echo written in $(hostname) >/mnt/words && umount /mnt "
                    "&& echo done")
    tap.eq(said, "done", "a volume is written to")
    who.attach("one")
    tap.eq(who.tell("one", FIND), "", "detached, it is not seen any more")


def is_snapped(who):
    who.tell("one", "echo kept by $(hostname) >/root/kept")
    who.does("instance snapshot one --name second --wait")
    image = who.named("images", "second")
    tap.eq((image["status"]["source"], image["status"].get("consistency")),
           ("snapshot", "frozen"), "the guest held still for its snapshot")
    tap.ok(who.tell("one", "echo more >/root/more && sync && echo goes on")
           == "goes on", "and then went on")


def is_another(who):
    """The snapshot as an instance of its own, beside the first."""
    who.boot("two", "second")
    tap.eq(who.tell("two", "cat /root/kept; hostname; ls /root"),
           "kept by one\ntwo\nkept",
           "it has what was on the first then, and a name of its own")
    one, two = (who.named("instances", n)["status"] for n in ("one", "two"))
    tap.ok(one["sshHostKey"] != two["sshHostKey"], "and a host key of its own")


def reads(who, name):
    disk = who.device(name)
    tap.eq(who.tell(name, f"mount -t ext4 {disk} /mnt && cat /mnt/words; "
                    "umount /mnt"), "written in one",
           f"the volume is read in {name}")


def volumes_are_snapped(who):
    """Of one that an instance has, while it writes nothing to it."""
    who.does("volume snapshot data --name copied --wait")
    tap.eq(who.named("images", "copied")["status"]["source"], "volume",
           "an image is made of the volume")
    who.attach("two")
    who.delete("volume", "data")
    who.does(f"volume create again --project web --region local --size-gib "
             f"{SIZE} --image copied --wait")
    who.attach("two", "again")
    reads(who, "two")
    who.attach("two")


def all_goes(who):
    for name in ("two", "one"):
        who.delete("instance", name)
    who.delete("volume", "again")
    for name in ("copied", "second", "first"):
        who.delete("image", name)
    root = who.place.root
    tap.ok(wait_for(lambda: not (who.place.machines() or processes(root)),
                    BOOT, 0.1), "no machine is left", who.place.machines())
    tap.eq({name: os.listdir(os.path.join(root, name))
            for name in ("disks", "images", "volumes")},
           {"disks": [], "images": [], "volumes": []}, "nor any file")


def main():
    why = vms.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return
    who = Keeper(sys.argv[2] if len(sys.argv) > 2 else None)
    who.boot("one", "first")
    writes(who)
    is_snapped(who)
    is_another(who)
    who.attach("two", "data")
    reads(who, "two")
    volumes_are_snapped(who)
    all_goes(who)
    tap.eq(who.server.stop(), 0, "the server ends well")
    tap.end()


main()
