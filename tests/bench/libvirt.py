"""Real machines, by libvirt: Muster beside `virsh`, which does the same on the
same daemon; a login beside a QEMU that was started by hand; and what the server
takes with many of them.

The same is: the root disk's volume on the image's, the seed's volume and its
content, the console's, the machine's filter, the domain defined and started; and
all of that removed.  `virsh` is one process for a machine, and is given all of
it at once, from what Muster has made.  Machines are emulated, with an empty disk
but for the logins.  Server and floor take turns; each figure is the median of its rounds.

ROUNDS in the environment says how many of those, LOGINS how many logins,
PARALLEL how many machines at once, HELD how many are held, STEPS which of
"one many held login embedded" are taken.  IMAGE names a tiny image that was
built; otherwise one is.
"""

import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor

# At the end: what is called the same there is not what is meant here.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                             "e2e"))

import libvirtd  # noqa: E402
from machines import Api, ready, wait_until  # noqa: E402
from rig import CPUS, Server, median, row  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
PARALLEL = int(os.environ.get("PARALLEL", "20"))
HELD = int(os.environ.get("HELD", "100"))
LOGINS = int(os.environ.get("LOGINS", "3"))
STEPS = os.environ.get("STEPS", "one many held login embedded").split()
TARGET = "<= 1.15"
FLAVOR = {"name": "tiny", "vcpus": 1, "memoryMiB": 128, "diskGiB": 1}
SECONDS = 300  # that anything may take


def seconds(took):
    return f"{took:.2f} s"


def mib(count):
    return f"{count / (1 << 20):.1f} MiB"


def rss(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Watch(threading.Thread):
    """When each instance came to run, and when it was gone."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.changed = threading.Condition()
        self.instances, self.runs, self.gone = {}, {}, {}
        self.stream = urllib.request.urlopen(urllib.request.Request(
            f"http://127.0.0.1:{server.port}/v1/instances", headers={
                "Authorization": f"Bearer {server.token}",
                "Accept": "text/event-stream"}))
        self.start()

    def run(self):
        event = ""
        for line in self.stream:
            if line.startswith(b"event: "):
                event = line[7:].strip().decode()
            elif line.startswith(b"data: ") and event in ("put", "delete"):
                self.take(event, json.loads(line[6:]), time.monotonic())

    def take(self, event, doc, now):
        with self.changed:
            if event == "delete":
                self.gone[doc["id"]] = now
            else:
                self.instances[doc["id"]] = doc
                if doc["status"]["state"] == "running":
                    self.runs.setdefault(doc["id"], now)
            self.changed.notify_all()

    def last(self, times, ids):
        """The time of the last of IDS."""
        with self.changed:
            if not self.changed.wait_for(lambda: set(ids) <= set(times),
                                         SECONDS):
                sys.exit(f"bench: not in time: "
                         f"{[self.instances.get(id) for id in ids]}")
            return max(times[id] for id in ids)


class Region:
    """A server with a region of one host, and a network in it."""

    def __init__(self, bench, name, images, host=None):
        self.server = bench.start(Server, bench, name, "", CPUS)
        self.api = Api(self.server)
        own = f"qemu:///embed?root={self.server.data}/libvirt-here"
        self.id = self.api("POST", "/v1/regions", {"name": "here", "spec": {
            "provider": "libvirt", "callsAtOnce": 32, "options": {
                "hosts": [{"name": "h1", "uri": host.uri if host else own,
                           "cpus": 1000, "memoryMiB": 1 << 20,
                           "diskGiB": 1 << 20, "overcommitPercent": 100}],
                "images": images, "tcg": True, "flavors": [FLAVOR]}}})["id"]
        ready(self.api, "regions", self.id)
        organization = self.api("POST", "/v1/organizations",
                                {"name": "bench"})["id"]
        self.api("POST", "/v1/quotas", {
            "organizationId": organization, "limits": [
                {"kind": kind["name"], "limit": 1 << 40}
                for kind in self.api("GET", "/v1/quotakinds")["items"]]})
        project = self.api("POST", "/v1/projects", {
            "name": "p", "organizationId": organization})["id"]
        self.network = self.api("POST", "/v1/networks", {
            "name": "lan", "projectId": project, "regionId": self.id,
            "spec": {"prefix": "10.77.0.0/16"}})["id"]
        ready(self.api, "networks", self.network)
        self.flavor = self.named("flavors", "tiny")
        self.watch = Watch(self.server)
        self.made = 0

    def named(self, noun, name):
        items = self.api("GET", f"/v1/{noun}?regionId={self.id}")["items"]
        return next(i["id"] for i in items if i["name"] == name)

    def create(self, count, image="blank", **spec):
        """Until the last runs: ids, and how long that took."""
        bodies = []
        for _ in range(count):
            self.made += 1
            bodies.append({"name": f"m-{self.made}", "networkId": self.network,
                           "spec": {"flavorId": self.flavor, "imageId":
                                    self.named("images", image), **spec}})
        began = time.monotonic()
        with ThreadPoolExecutor(count) as pool:
            ids = [i["id"] for i in pool.map(
                lambda body: self.api("POST", "/v1/instances", body), bodies)]
        return ids, self.watch.last(self.watch.runs, ids) - began

    def delete(self, ids):
        """Until the last is gone."""
        began = time.monotonic()
        with ThreadPoolExecutor(len(ids)) as pool:
            list(pool.map(lambda id: self.api(
                "DELETE", f"/v1/instances/{id}"), ids))
        return self.watch.last(self.watch.gone, ids) - began

    def uuid(self, id):
        return self.watch.instances[id]["status"]["providerId"].split("@")[0]


class Twin:
    """A machine like one of Muster's, for virsh to make and remove."""

    last = 0

    def __init__(self, host, domain, filters, folder):
        Twin.last += 1
        self.host, self.n = host, Twin.last
        self.name = f"twin-{self.n}"
        root = ElementTree.fromstring(domain)
        for tag in ("uuid", "metadata"):
            root.remove(root.find(tag))
        root.find("name").text = self.name
        files = [e for tag in ("source", "log") for e in root.iter(tag)
                 if e.get("file")]
        for file in files:
            file.set("file", self.path(file.get("file")))
        # A serial line and the console that it is share a log.
        self.volumes = list(dict.fromkeys(
            os.path.basename(f.get("file")) for f in files))
        for mac in root.iter("mac"):
            mac.set("address", f"52:54:00:77:{self.n >> 8:02x}:"
                    f"{self.n & 255:02x}")
        for ref in root.iter("filterref"):
            ref.set("filter", self.name)
        rules = ElementTree.fromstring(filters)
        rules.remove(rules.find("uuid"))
        rules.set("name", self.name)
        self.domain, self.filter = (
            self.write(folder, what, doc) for what, doc in
            (("domain", root), ("filter", rules)))
        self.seed = os.path.join(folder, "seed")

    def path(self, of):
        """Beside OF: what it is, without its machine's UUID."""
        return os.path.join(os.path.dirname(of),
                            self.name + os.path.basename(of)[36:])

    def write(self, folder, what, doc):
        path = os.path.join(folder, f"{self.name}-{what}.xml")
        ElementTree.ElementTree(doc).write(path)
        return path

    def begin(self, base, size):
        root, seed, console = self.volumes
        files = (f"vol-create-as default {root} {FLAVOR['diskGiB']}G --format "
                 f"qcow2 --backing-vol {base} --backing-vol-format qcow2; "
                 f"vol-create-as default {seed} {size} --format raw; "
                 f"vol-upload {seed} {self.seed} --pool default; "
                 f"vol-create-as default {console} 0 --format raw; "
                 f"nwfilter-define {self.filter}")
        return files, f"define {self.domain}; start {self.name}"

    def end(self):
        volumes = "; ".join(f"vol-delete {volume} --pool default"
                            for volume in self.volumes)
        return (f"destroy {self.name}; undefine {self.name}; {volumes}; "
                f"nwfilter-undefine {self.name}")


class Virsh:
    """Twins of the machine with that UUID."""

    def __init__(self, bench, host, uuid):
        self.host, self.folder = host, bench.path("twins")
        os.makedirs(self.folder)
        self.domain = host.virsh("dumpxml", "--inactive", f"muster-{uuid}")
        name = re.search(r"filterref filter='([^']+)'", self.domain).group(1)
        self.filter = host.virsh("nwfilter-dumpxml", name)
        images = os.path.join(host.folder, "lib", "images")
        files = re.findall(r"<source file='([^']+)'", self.domain)
        seed = os.path.join(images, os.path.basename(files[1]))
        shutil.copy(seed, os.path.join(self.folder, "seed"))
        self.size = os.path.getsize(seed)
        info = json.loads(subprocess.run(
            ["qemu-img", "info", "-U", "--output", "json", os.path.join(
                images, os.path.basename(files[0]))], check=True,
            stdout=subprocess.PIPE).stdout)
        self.base = os.path.basename(info["backing-filename"])

    def twins(self, count):
        return [Twin(self.host, self.domain, self.filter, self.folder)
                for _ in range(count)]

    def all(self, scripts):
        """A virsh for each, all at once; how long until the last ended."""
        began = time.monotonic()
        running = [subprocess.Popen(
            ["virsh", "--quiet", "--connect", self.host.uri, script],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE) for script in scripts]
        for process in running:
            said = process.communicate(timeout=SECONDS)[1]
            if process.returncode or b"error" in said:
                sys.exit(f"bench: virsh failed: {said.decode()}")
        return time.monotonic() - began

    def round(self, count):
        twins = self.twins(count)
        both = [t.begin(self.base, self.size) for t in twins]
        begin = self.all([f"{files}; {domain}" for files, domain in both])
        return begin, self.all([t.end() for t in twins])

    def bare(self):
        """Defined and started alone, with its files there."""
        twin, = self.twins(1)
        files, domain = twin.begin(self.base, self.size)
        self.all([files])
        took = self.all([domain])
        self.all([twin.end()])
        return took


def turns(region, virsh, count):
    ours, floor = [], []
    for n in range(2 * ROUNDS):
        # Neither always comes after the other.
        if n % 4 in (0, 3):
            ids, created = region.create(count)
            ours.append((created, region.delete(ids)))
        else:
            floor.append(virsh.round(count))
    return ([median(column) for column in zip(*ours)],
            [median(column) for column in zip(*floor)])


def bench_virsh(bench, images, host):
    region = Region(bench, "daemon", images, host)
    ids, _ = region.create(1)
    virsh = Virsh(bench, host, region.uuid(ids[0]))
    region.delete(ids)
    virsh.round(1)
    for step, count in (("one", 1), ("many", PARALLEL)):
        if step not in STEPS:
            continue
        ours, floor = turns(region, virsh, count)
        note = f"median of {ROUNDS}"
        if count == 1:
            bare = median(virsh.bare() for _ in range(ROUNDS))
            note += f"; define and start alone are {seconds(bare)}"
        row(f"create to running, {count} at once", seconds(ours[0]),
            seconds(floor[0]), ours[0] / floor[0], TARGET, note)
        row(f"delete to gone, {count} at once", seconds(ours[1]),
            seconds(floor[1]), ours[1] / floor[1], TARGET,
            "the floor is virsh on the same daemon")
    return region


def tiny_image(bench, images):
    path = os.path.join(images, "tiny.qcow2")
    given = os.environ.get("IMAGE")
    if given:
        shutil.copy(given, path)
    else:
        subprocess.run([bench.program("muster"), "image", "build", "tiny",
                        "--to", path], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return path


class Login:
    def __init__(self, bench):
        self.key = bench.path("key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        self.key], check=True)
        with open(self.key + ".pub", encoding="ascii") as file:
            self.public = file.read().strip()

    @staticmethod
    def answers(port):
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as s:
                s.settimeout(5)
                return s.recv(4) == b"SSH-"
        except OSError:
            return False

    def wait(self, port):
        """Until a command was run inside."""
        wait_until(lambda: self.answers(port), SECONDS, 0.02)
        wait_until(lambda: subprocess.run(
            ["ssh", "-i", self.key, "-p", str(port), "-l", "root", "-o",
             "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
             "-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "127.0.0.1",
             "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            check=False).returncode == 0, SECONDS, 0.02)
        return time.monotonic()


def by_hand(bench, login, image, seed, mac):
    """A QEMU with the same devices; how long until the login."""
    disk, pid = bench.path("hand.qcow2"), bench.path("hand.pid")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    began = time.monotonic()
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-b", image,
                    "-F", "qcow2", disk, f"{FLAVOR['diskGiB']}G"], check=True)
    subprocess.run(
        ["qemu-system-x86_64", "-daemonize", "-pidfile", pid, "-machine",
         "q35,accel=tcg", "-cpu", "max", "-m", str(FLAVOR["memoryMiB"]),
         "-nodefaults", "-display", "none", "-vga", "std", "-serial", "null",
         "-drive", f"file={disk},if=virtio,discard=unmap", "-drive",
         f"file={seed},if=virtio,format=raw,readonly=on", "-netdev",
         f"user,id=n,net=10.77.0.0/16,hostfwd=tcp:127.0.0.1:{port}-:22",
         "-device", f"virtio-net-pci,netdev=n,mac={mac}", "-device",
         "virtio-serial-pci", "-device", "virtio-rng-pci"], check=True)
    took = login.wait(port) - began
    with open(pid, encoding="ascii") as file:
        number = int(file.read())
    os.kill(number, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{number}"), 30)
    os.unlink(disk)
    return took


def bench_login(bench, region, image):
    login = Login(bench)
    ours, running, floor = [], [], []
    for _ in range(2):  # then libvirt has found out what QEMU can do
        region.delete(region.create(1)[0])
    for _ in range(LOGINS):
        began = time.monotonic()
        (id,), took = region.create(1, "tiny", sshPublicKeys=[login.public])
        status = region.watch.instances[id]["status"]
        ours.append(login.wait(status["ports"][0]["port"]) - began)
        running.append(took)
        seed = bench.path("hand.seed")
        shutil.copy(glob.glob(os.path.join(
            region.server.data, "libvirt-*", "disks",
            region.uuid(id) + "-seed*"))[0], seed)
        region.delete([id])
        floor.append(by_hand(bench, login, image, seed, status["macAddress"]))
    row("create to login, emulated", seconds(median(ours)),
        seconds(median(floor)), median(ours) / median(floor), "",
        f"of that {seconds(median(running))} until it runs; the floor is "
        "QEMU started by hand, with the same image and seed")


def fill(region, count):
    """Many, a few at a time; what the server takes for each."""
    before, ids = region.server.rss(), []
    while len(ids) < count:
        ids += region.create(min(PARALLEL, count - len(ids)))[0]
    return before, ids


def bench_held(region, host=None):
    """The guests have found nothing to boot, and halt; on a host with a daemon
    they are held, while nobody wants anything of them."""
    daemon = rss(host.processes("libvirtd")[0]) if host else 0
    before, ids = fill(region, HELD)
    if host:
        region.api("PATCH", f"/v1/regions/{region.id}",
                   {"spec": {"paused": True}})
        for id in ids:
            host.virsh("suspend", "muster-" + region.uuid(id))
    time.sleep(10)
    now = region.server.rss()
    if host:
        daemon_now = rss(host.processes("libvirtd")[0])
        row(f"memory, {HELD} machines, a daemon's", mib(now), mib(daemon_now),
            now / daemon_now, "", f"{(now - before) / HELD / 1024:.0f} KiB a "
            "machine; the floor is libvirtd, "
            f"{(daemon_now - daemon) / HELD / 1024:.0f} KiB a machine")
        region.api("PATCH", f"/v1/regions/{region.id}",
                   {"spec": {"paused": False}})
    else:
        row(f"memory, {HELD} machines, embedded", mib(now), "", None, "",
            f"{(now - before) / HELD / 1024:.0f} KiB a machine, with libvirt in"
            " the same process")
    while ids:
        region.delete(ids[:PARALLEL])
        ids = ids[PARALLEL:]


def kill_all(bench):
    """Machines outlive their server; those that are left are nobody's."""
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"qemu-system" in words[0] and \
                any(bench.folder.encode() in word for word in words):
            os.kill(int(path.split("/")[2]), signal.SIGKILL)


def measure(bench, images):
    if {"one", "many", "held"} & set(STEPS):
        with libvirtd.Host() as host:
            region = bench_virsh(bench, images, host)
            if "held" in STEPS:
                bench_held(region, host)
            region.server.stop()
    if {"login", "embedded"} & set(STEPS):
        image = tiny_image(bench, images) if "login" in STEPS else None
        region = Region(bench, "embedded", images)
        if image:
            bench_login(bench, region, image)
        if "embedded" in STEPS:
            bench_held(region)
        region.server.stop()


def run(bench):
    why = libvirtd.missing()
    if why:
        row("real machines", "skipped", "", None, "", why)
        return
    # QEMU runs as another, and has to come through.
    os.chmod(bench.folder, 0o711)
    images = bench.path("images")
    os.makedirs(images)
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", os.path.join(
        images, "blank.qcow2"), "16M"], check=True)
    try:
        measure(bench, images)
    finally:
        kill_all(bench)
