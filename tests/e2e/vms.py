"""What the tests of real machines share: a region of one's own hosts, and what
there really is on them, whatever the server believes.

A host is embedded in the server (Embedded), or has daemons of its own (Daemon,
on libvirtd.Host).  Both tell their machines from libvirt's own files, their
processes from the kernel, and what lies about from the folders.
"""

import atexit
import glob
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import xml.etree.ElementTree as ElementTree

import muster
from machines import World
from muster import Client, Server, folder, wait_for

# Machines are emulated, and not alone.
BOOT = 12 * muster.PATIENCE

# All machines are listed so often, in seconds.
OBSERVE = 5

NAMESPACE = "{https://muster.invalid/libvirt/1}"
PREFIX = "muster-"
UUID = "[0-9a-f-]{36}"


def missing():
    """Why there can be no machines here; None when there can."""
    if os.geteuid() != 0:
        return "only root can have QEMU run as another"
    for program in ("qemu-system-x86_64", "qemu-img"):
        if not shutil.which(program):
            return f"there is no {program}"
    try:
        pwd.getpwnam("libvirt-qemu")
    except KeyError:
        return "there is no user libvirt-qemu"
    return None


def commands():
    """Pairs of a pid and its arguments, each with a NUL behind it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                yield int(pid), file.read().decode(errors="replace")
        except OSError:
            continue


def guests(pattern, *words):
    """Pairs of what PATTERN finds in the name of a QEMU's guest, and its pid;
    of those in whose arguments each of WORDS is."""
    for pid, line in commands():
        # Others may be called nearly so.
        name = re.search(f"guest={PREFIX}({pattern}),", line)
        if name and line.split("\0")[0].endswith("x86_64") and \
                all(word in line for word in words):
            yield name.group(1), pid


def questions(place):
    """The pids of QEMUs that are asked things in PLACE."""
    for pid, line in commands():
        found = re.search(r"\0(/[^\0]*/lib/qemu)/qmp-[^/\0]*/qmp\.pid\0",
                          line)
        if found and os.path.realpath(found.group(1)) == place:
            yield pid


def processes(*words):
    """The machines' processes: their pids by UUID; a machine with two is an
    error."""
    found = {}
    for uuid, pid in guests(UUID, *words):
        if uuid in found:
            raise AssertionError(f"{uuid} runs twice: {pid}, {found[uuid]}")
        found[uuid] = pid
    return found


def definitions(place):
    """What libvirt keeps of our machines in PLACE: facts by UUID."""
    found = {}
    for path in glob.glob(os.path.join(place, PREFIX + "*.xml")):
        if not re.fullmatch(f"{PREFIX}{UUID}.xml", os.path.basename(path)):
            continue
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError):
            continue  # it is going, or being written
        node = next((e for e in root.iter() if e.tag.startswith(NAMESPACE)),
                    None)
        found[root.findtext("uuid")] = json.loads(node.text) \
            if node is not None else {}
    return found


class Embedded:
    """The host in the server itself, in ROOT."""

    def __init__(self, root):
        self.root = root

        # Machines outlive the server.
        atexit.register(self.kill)

    def kill(self):
        for pid in [*self.processes().values(), *self.probes(),
                    *self.questions()]:
            os.kill(pid, signal.SIGKILL)

    def machines(self):
        return definitions(os.path.join(self.root, "etc", "qemu"))

    def processes(self):
        return processes(self.root + "/disks/")

    def probes(self):
        """What finds out whether KVM works."""
        return [pid for _, pid in guests("probe", self.root + "/disks/")]

    def questions(self):
        """The QEMUs that libvirt only asks what they can do."""
        return list(questions(os.path.realpath(self.root) + "/lib/qemu"))

    def files(self):
        """What lies about that is a machine's."""
        names = os.listdir(os.path.join(self.root, "disks"))
        return sorted(n for n in names if not n.startswith("image-"))


class Daemon:
    """HOST (libvirtd.Host), whose machines are in namespaces of its own."""

    def __init__(self, host):
        self.host = host

    def machines(self):
        return definitions(os.path.join(self.host.folder, "etc", "qemu"))

    def processes(self):
        ours = set(self.host.processes("qemu-system-x86_64"))
        return {uuid: pid for uuid, pid in processes().items() if pid in ours}

    def questions(self):
        """Its daemon ends them, or is their parent when that is started again."""
        return []

    def files(self):
        place = os.path.join(self.host.folder, "lib", "images")
        return sorted(n for n in os.listdir(place) if "image-" not in n)


def blank_image(place):
    """One that boots nothing: its machines run, and take no time."""
    path = os.path.join(place, "blank.qcow2")
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, "16M"],
                   check=True)
    return path


class VmWorld(World):
    """A server with a region `local` (HOSTS, or the one in itself), and a
    project with a network in it."""

    def __init__(self, hosts=None, images=None, server=None, **options):
        # As World does, without its cloud.
        # pylint: disable=super-init-not-called
        self.server = server or Server()
        # QEMU runs as another, and must come through.
        os.chmod(self.server.home, 0o711)
        self.server.start()
        self.api = Client(self.server)
        if not images:
            images = folder()
            os.chmod(images, 0o711)
            blank_image(images)
        if hosts:
            options["hosts"] = [{"name": f"h{n}", "uri": host.uri}
                                for n, host in enumerate(hosts, 1)]
        self.region = self.make("regions", {"name": "local", "spec": {
            "provider": "libvirt", "observeSeconds": OBSERVE,
            "options": {"images": images, **options}}})["id"]
        self.ready("regions", self.region)
        self.places = [Daemon(host) for host in hosts] if hosts else [
            Embedded(os.path.join(self.server.data, f"libvirt-{self.region}"))]
        self.flavors = self.catalogue("flavors")
        self.images = self.catalogue("images")
        self.organization = self.make("organizations", {"name": "acme"})["id"]
        self.make("quotas", {"organizationId": self.organization, "limits": [
            {"kind": kind["name"], "limit": 1 << 30}
            for kind in self.all("quotakinds")]})
        self.project = self.make("projects", {
            "name": "web", "organizationId": self.organization})["id"]
        self.networks = 0
        self.network = self.new_network("lan")

    def ready(self, noun, id):
        if not wait_for(lambda: self.get(noun, id)["status"]["state"] ==
                        "ready", BOOT, 0.05):
            raise AssertionError(f"not ready: {self.get(noun, id)}")

    def body(self, name, flavor="tiny", image="blank", network=None, **spec):
        return super().body(name, flavor, image, network, **spec)

    # What there really is.

    def machines(self):
        """Facts by UUID, of all hosts; on two of them is an error."""
        found = {}
        for place in self.places:
            for uuid, facts in place.machines().items():
                if uuid in found:
                    raise AssertionError(f"{uuid} is on two hosts")
                found[uuid] = facts
        return found

    def processes(self):
        return {uuid: pid for place in self.places
                for uuid, pid in place.processes().items()}

    def files(self):
        return [name for place in self.places for name in place.files()]

    def differences(self):
        """Between what is wanted, the store's servers and the hosts."""
        wrong, machines = [], self.machines()
        running = self.processes()
        servers = {s["id"]: s for s in self.all("servers")}
        for one in self.all("instances"):
            status, name = one["status"], one["name"]
            uuid = status.get("providerId", "").split("@")[0]
            facts = machines.pop(uuid, None)
            server = servers.pop(status.get("serverId"), None)
            if not server or server["instanceId"] != one["id"] or \
                    server["status"].get("providerId") != \
                    status.get("providerId"):
                wrong.append(f"{name} and its server differ: {server}")
            if facts is None:
                wrong.append(f"{name} has no machine: {status}")
                continue
            if facts.get("server") != status["serverId"]:
                wrong.append(f"{name} has another's machine: {facts}")
            if (uuid in running) != (one["spec"]["power"] == "on"):
                wrong.append(f"{name} should be {one['spec']['power']}:"
                             f" {status}")
            running.pop(uuid, None)
        wrong += [f"a server of nobody: {s}" for s in servers.values()]
        wrong += [f"a machine of nobody: {u} {f}" for u, f in machines.items()]
        wrong += [f"a process of nobody: {u} {p}" for u, p in running.items()]
        return wrong

    def leftovers(self):
        """What there is of machines when there should be none."""
        return [*self.machines(), *self.processes().items(), *self.files(),
                *(pid for place in self.places for pid in place.questions())]


def reaches(address, port, begins=b"SSH-"):
    """Whether what answers there begins like that."""
    try:
        with socket.create_connection((address, port), 5) as s:
            s.settimeout(10)
            return s.recv(64).startswith(begins)
    except OSError:
        return False
