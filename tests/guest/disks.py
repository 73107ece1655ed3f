#!/usr/bin/env python3
"""The disks of machines that run the tiny image, on a libvirt in the test's own
process or, with a second word, on two hosts.

    disks.py MUSTER TEST [hosts]
"""

import os
import subprocess
import sys

from guest import call, muster

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
import libvirtd  # noqa: E402


def main():
    program, test, *hosts = sys.argv[1:]
    why = libvirtd.missing()
    if why:
        print(f"1..0 # SKIP {why}")
        return 0
    images = muster.folder()
    call(os.path.abspath(program), "image", "build", "tiny", "--to",
         os.path.join(images, "tiny.qcow2"))
    argv = [os.path.abspath(test), images]
    if hosts:
        argv = [libvirtd.__file__, "--hosts", "2", *argv]
    return subprocess.run(argv, check=False,
                          stdin=subprocess.DEVNULL).returncode


if __name__ == "__main__":
    sys.exit(main())
