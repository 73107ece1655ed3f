"""A guest on QEMU without Muster: what the tests of images share.

It is emulated, so that it is the same everywhere; its seed is what the driver
for libvirt makes; its lines (serial, monitor, guest agent) are sockets in a
folder that goes away with the test.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
import muster  # noqa: E402

SEED = os.path.abspath(sys.argv[2])
PRINCIPAL = "the-project"

# How long anything in a guest may take: it is emulated, and not alone.
PATIENCE = 240


def call(*argv, data=None):
    """A program that must succeed; what it wrote."""
    done = subprocess.run(argv, input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, timeout=400,
                          stdin=None if data is not None
                          else subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(f"{argv}: {done.returncode}\n"
                           f"{done.stderr.decode(errors='replace')}")
    return done.stdout


class Key:
    """A key pair of OpenSSH's, in a file."""

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name)
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f",
             self.path)

    @property
    def public(self):
        with open(self.path + ".pub", encoding="ascii") as file:
            return file.read().strip()

    def certify(self, other, principal):
        """Sign OTHER's key: for PRINCIPAL, for an hour."""
        call("ssh-keygen", "-q", "-s", self.path, "-I", "test", "-n",
             principal, "-V", "-1h:+1h", other.path + ".pub")
        os.replace(other.path + "-cert.pub", f"{other.path}-{principal}.cert")
        return f"{other.path}-{principal}.cert"


class Story:
    """What guests are told: by whom they are known, and who may log in."""

    def __init__(self):
        self.folder = muster.folder()
        self.ca, self.other_ca, self.host, self.mine, self.plain = (
            Key(self.folder, name)
            for name in ("ca", "other-ca", "host", "mine", "plain"))
        self.certificate = self.ca.certify(self.mine, PRINCIPAL)

    def seed(self, name, user_data, extras=True, address=""):
        """The file of a seed for NAME, with the key and authority or not."""
        path = os.path.join(self.folder, name + ".iso")
        words = ((self.plain.public, self.ca.public, PRINCIPAL) if extras
                 else ("", "", ""))
        with open(path, "wb") as file:
            file.write(call(SEED, name, self.host.path, *words, address,
                            data=user_data))
        return path


class Guest:
    """One disk on top of IMAGE, and a machine that is started and ends."""

    def __init__(self, image, memory=128, disk=None):
        self.folder = muster.folder()
        self.disk = os.path.join(self.folder, "disk")
        self.memory = memory
        self.process = None
        self.port = None
        call("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b",
             os.path.abspath(image), self.disk, *([disk] if disk else []))

    def path(self, name):
        return os.path.join(self.folder, name)

    def line(self, name):
        return (f"socket,id={name},path={self.path(name)},server=on,wait=off,"
                f"logfile={self.path(name + '.log')}")

    def start(self, seed, cd=False):
        for name in ("serial", "agent", "monitor"):
            for end in ("", ".log"):
                if os.path.exists(self.path(name + end)):
                    os.remove(self.path(name + end))
        argv = ["qemu-system-x86_64", "-accel", "tcg", "-m", str(self.memory),
                "-nodefaults", "-display", "none", "-no-user-config",
                "-drive", f"file={self.disk},if=virtio,format=qcow2",
                "-nic", "user,id=net,model=virtio-net-pci,"
                "hostfwd=tcp:127.0.0.1:0-:22",
                "-chardev", self.line("serial"), "-serial", "chardev:serial",
                "-chardev", self.line("agent"), "-device", "virtio-serial",
                "-device", "virtserialport,chardev=agent,"
                "name=org.qemu.guest_agent.0",
                "-qmp", f"unix:{self.path('monitor')},server=on,wait=off",
                "-device", "virtio-rng-pci"]
        argv += ["-drive", f"file={seed},format=raw,readonly=on," +
                 ("if=ide,media=cdrom" if cd else "if=virtio")]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        muster._processes.append(self.process)  # noqa: killed at the end
        if not muster.wait_for(lambda: self.listens()
                               or self.process.poll() is not None):
            raise RuntimeError("QEMU does not start")
        if self.process.poll() is not None:
            raise RuntimeError(self.process.stderr.read().decode())
        told = self.monitor("human-monitor-command",
                            **{"command-line": "info usernet"})
        self.port = int(re.search(r"HOST_FORWARD\S*\s+\d+\s+127\.0\.0\.1\s+"
                                  r"(\d+)", told).group(1))

    def listens(self):
        """QEMU takes calls; its socket is there a moment before."""
        with socket.socket(socket.AF_UNIX) as s:
            return s.connect_ex(self.path("monitor")) == 0

    def monitor(self, command, **arguments):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(self.path("monitor"))
            talk = s.makefile("rw")
            talk.readline()
            for name, given in (("qmp_capabilities", {}),
                                (command, arguments)):
                talk.write(json.dumps({"execute": name, "arguments": given})
                           + "\n")
                talk.flush()
                reply = json.loads(talk.readline())
                while "event" in reply:
                    reply = json.loads(talk.readline())
            return reply.get("return")

    def agent(self, command):
        """What the guest agent answers, or None."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE)
            s.connect(self.path("agent"))
            s.sendall(json.dumps({"execute": command}).encode() + b"\n")
            try:
                return json.loads(s.makefile().readline()).get("return")
            except (TimeoutError, ValueError):
                return None

    def said(self):
        """All that came on the serial line."""
        try:
            with open(self.path("serial.log"), "rb") as file:
                return file.read().decode(errors="replace").replace("\r", "")
        except FileNotFoundError:
            return ""

    def says(self, words, seconds=None):
        """WORDS, a pattern, come on the serial line."""
        def is_over():
            ended = self.process.poll() is not None
            return re.search(words, self.said(), re.M) or ended

        found = muster.wait_for(is_over, seconds or PATIENCE, 0.05)
        return isinstance(found, re.Match)

    def greets(self):
        """Its SSH server is there: QEMU takes calls before the guest does."""
        def banner():
            try:
                with socket.create_connection(("127.0.0.1", self.port),
                                              PATIENCE) as s:
                    return s.recv(4) == b"SSH-"
            except OSError:
                return False
        return muster.wait_for(banner, PATIENCE, 0.1)

    def ssh(self, command, key, user="root", known=None, certificate=None):
        """(status, output) of a command in the guest; KNOWN is the only host
        key that is believed."""
        hosts = self.path("known_hosts")
        with open(hosts, "w", encoding="ascii") as file:
            file.write(f"[127.0.0.1]:{self.port} {known}\n")
        argv = ["ssh", "-F", "none", "-p", str(self.port), "-i", key.path,
                "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
                "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes",
                "-o", f"UserKnownHostsFile={hosts}",
                "-o", "GlobalKnownHostsFile=/dev/null",
                "-o", f"ConnectTimeout={int(PATIENCE)}"]
        if certificate:
            argv += ["-o", f"CertificateFile={certificate}"]
        done = subprocess.run([*argv, f"{user}@127.0.0.1", command],
                              stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE, errors="replace")
        return done.returncode, done.stdout

    def press_power(self):
        """The button; whether it went off."""
        self.monitor("system_powerdown")
        try:
            return self.process.wait(PATIENCE) == 0
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def seconds_since(began):
    return f"{time.monotonic() - began:.1f} s"
