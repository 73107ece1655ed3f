#!/usr/bin/env python3
"""The disks of machines that run the tiny image, on a libvirt in the test's own
process or, with a second word, on two hosts.

    disks.py MUSTER TEST [hosts]

Environment: IMAGES, a folder with the image, which is built otherwise.
"""

import os
import signal
import subprocess
import sys

from guest import call, muster

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
import libvirtd  # noqa: E402
import vms  # noqa: E402


def build(program):
    images = muster.folder()
    call(os.path.abspath(program), "image", "build", "tiny", "--to",
         os.path.join(images, "tiny.qcow2"))
    return images


def main():
    program, test, *hosts = sys.argv[1:]
    why = libvirtd.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    images = os.environ.get("IMAGES") or build(program)
    place = muster.folder()
    os.chmod(place, 0o711)
    argv = [os.path.abspath(test), images, place]
    if hosts:
        argv = [libvirtd.__file__, "--hosts", "2", *argv]
    # Machines outlive whoever started them.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        return subprocess.run(argv, check=False,
                              stdin=subprocess.DEVNULL).returncode
    finally:
        for pid in vms.processes(place + "/").values():
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
