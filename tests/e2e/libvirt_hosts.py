#!/usr/bin/python3
"""Machines on hosts with a libvirt of their own: networks, security groups that
change while machines run, several hosts, TLS.

What a machine can be reached by is asked of itself and of its neighbours, over
SSH from its host, for that is where a network of libvirt's is left.

    libvirt_hosts.py MUSTER [SECTION...]

Environment: MUSTER_TINY_IMAGE, which is built otherwise; or MUSTER_DEBIAN_IMAGE:
then the one section that is about that is run.
"""

import base64
import ipaddress
import os
import shutil
import subprocess
import sys

import libvirtd
import muster
from muster import Client, Server, binary, folder, tap, wait_for
from tenant import made

# A machine is emulated, and not alone.
BOOT = 12 * muster.PATIENCE

# What answers in each machine; and how one on a bridge, where nobody gives
# addresses, learns its own: by its hardware address.
USER_DATA = """#!/bin/sh
nc -ll -p 5432 -e /bin/echo hello >/dev/null 2>&1 &
nc -ll -p 8080 -e /bin/echo hello >/dev/null 2>&1 &
"""
BY_MAC = """#!/bin/sh
m=$(cut -d: -f3- /sys/class/net/eth0/address | tr : ' ')
ip address add $(printf '%d.%d.%d.%d/24' $(printf '0x%s ' $m)) dev eth0
nc -ll -p 5432 -e /bin/echo hello >/dev/null 2>&1 &
"""


def image():
    """The tiny one, made once; a path."""
    path = os.environ.get("MUSTER_TINY_IMAGE")
    if not path:
        path = os.path.join(folder(), "tiny.qcow2")
        status, said = muster.run("image", "build", "tiny", "--to", path,
                                  timeout=600)
        if status:
            raise RuntimeError(said)
    return path


class Region:
    """A server with a region of HOSTS, and a project in it."""

    last = None

    def __init__(self, hosts, tls=False, flavor="tiny", **options):
        Region.last = self
        self.hosts = hosts
        self.server = Server().start()
        self.api = Client(self.server)
        images = os.path.join(self.server.home, "images")
        os.mkdir(images)
        shutil.copy(IMAGE, os.path.join(images, "guest.qcow2"))
        self.key = os.path.join(self.server.home, "key")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        self.key], check=True)
        with open(self.key + ".pub", encoding="ascii") as file:
            self.public = file.read().strip()
        self.region = self.make("regions", {"name": "here", "spec": {
            "provider": "libvirt", "options": {
                "hosts": [{"name": f"h{n}", "uri": h.tls_uri if tls else h.uri}
                          for n, h in enumerate(hosts, 1)],
                "images": images, "tcg": True, **options}}})["id"]
        self.ready("regions", self.region)
        self.flavor = self.named("flavors", flavor)
        self.image = self.named("images", "guest")
        self.organization = self.make("organizations", {"name": "acme"})["id"]
        self.make("quotas", {"organizationId": self.organization, "limits": [
            {"kind": kind["name"], "limit": 1 << 30}
            for kind in self.api.get("/v1/quotakinds").json["items"]]})
        self.project = self.make("projects", {
            "name": "web", "organizationId": self.organization})["id"]

    def make(self, noun, body):
        return made(self.api.post(f"/v1/{noun}", body))

    def get(self, noun, id):
        return self.api.get(f"/v1/{noun}/{id}").json

    def named(self, noun, name):
        found = wait_for(lambda: [i["id"] for i in self.api.get(
            f"/v1/{noun}?regionId={self.region}&limit=1000").json["items"]
            if i["name"].split(".")[0] == name])
        return found[0]

    def ready(self, noun, id):
        if not wait_for(lambda: self.get(noun, id)["status"]["state"] ==
                        "ready", BOOT, 0.05):
            raise AssertionError(f"not ready: {self.get(noun, id)}")

    def network(self, name, **spec):
        id = self.make("networks", {
            "name": name, "projectId": self.project, "regionId": self.region,
            "spec": spec})["id"]
        self.ready("networks", id)
        return id

    def group(self, name, network, *rules):
        id = self.make("securitygroups", {
            "name": name, "networkId": network,
            "spec": {"rules": list(rules)}})["id"]
        self.ready("securitygroups", id)
        return id

    def rules(self, group, *rules):
        """Other rules; returns when they are in force."""
        reply = self.api.patch(f"/v1/securitygroups/{group}",
                               {"spec": {"rules": list(rules)}})
        generation = reply.json["generation"]
        return wait_for(lambda: self.get("securitygroups", group)["status"]
                        .get("observedGeneration") == generation, BOOT, 0.05)

    def instance(self, name, network, *groups, data=USER_DATA):
        return self.make("instances", {
            "name": name, "networkId": network, "spec": {
                "flavorId": self.flavor, "imageId": self.image,
                "securityGroupIds": list(groups),
                "sshPublicKeys": [self.public],
                "userData": base64.b64encode(data.encode()).decode()}})

    def groups(self, instance, *groups):
        """Be in these; returns when it is."""
        reply = self.api.patch(f"/v1/instances/{instance['id']}", {
            "spec": {"securityGroupIds": list(groups)}})
        generation = reply.json["generation"]
        return wait_for(lambda: self.read(instance)["status"].get(
            "observedGeneration") == generation and
            not self.read(instance)["status"].get("change"), BOOT, 0.05)

    def read(self, instance):
        reply = self.api.get(f"/v1/instances/{instance['id']}")
        return reply.json if reply.status == 200 else None

    def until(self, instance, state):
        found = wait_for(lambda: self.read(instance)["status"]["state"] in
                         (state, "failed") and self.read(instance),
                         BOOT, 0.05)
        if not found or found["status"]["state"] != state:
            raise AssertionError(self.read(instance))
        return found

    def gone(self, *instances):
        for one in instances:
            self.api.delete(f"/v1/instances/{one['id']}")
        return all(wait_for(lambda one=one: self.read(one) is None, BOOT, 0.05)
                   for one in instances)

    def end(self, noun, *ids):
        for id in ids:
            self.api.delete(f"/v1/{noun}/{id}")
        return all(wait_for(lambda id=id: self.api.get(
            f"/v1/{noun}/{id}").status == 404, BOOT, 0.05) for id in ids)


def says(host, address, port, seconds=2):
    """The first of what answers there, asked from HOST itself."""
    done = host("sh", "-c", f"busybox nc -w {seconds} {address} {port} "
                "</dev/null | busybox head -c 4", check=False,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout


class Shell:
    """Commands in a machine, over SSH from its host."""

    def __init__(self, region, host, address, user="root"):
        self.argv = ["ssh", "-i", region.key, "-o", "StrictHostKeyChecking=no",
                     "-o", "UserKnownHostsFile=/dev/null", "-o",
                     "LogLevel=ERROR", "-o", "BatchMode=yes", "-o",
                     "ConnectTimeout=60", f"{user}@{address}"]
        self.host = host

    def __call__(self, command):
        done = self.host(*self.argv, command, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.strip()

    def up(self):
        return wait_for(lambda: self("true")[0] == 0, BOOT, 0.5)

    def reaches(self, address, port):
        """The neighbour at ADDRESS says something at PORT."""
        return self(f"nc -w 3 {address} {port} </dev/null")[1] == "hello"


def tcp(port, **more):
    return {"direction": "ingress", "protocol": "tcp", "port": port, **more}


NOTHING = {"machines": [], "networks": [], "filters": [], "disks": []}


def things(host):
    """All that there is of ours on a host, whatever Muster says; but for the
    images, which stay."""
    host.virsh("pool-refresh", "default")
    found = {what: [line for line in host.virsh(*argv).splitlines() if line]
             for what, argv in {
                 "machines": ("list", "--all", "--name"),
                 "networks": ("net-list", "--all", "--name"),
                 "filters": ("nwfilter-list",),
                 "disks": ("vol-list", "default")}.items()}
    found["disks"] = [name for name in found["disks"]
                      if not name.strip().startswith("image-")]
    return found


def groups_change_while_machines_run():
    host = libvirtd.Host()
    r = Region([host])
    lan = r.network("lan", prefix="10.77.0.0/24", prefix6="fd00:77::/64",
                    reservedAddresses=["10.77.0.2", "10.77.0.128/25"])
    ssh = r.group("ssh", lan, tcp(22))
    web = r.group("web", lan)
    db = r.group("db", lan, tcp(5432, securityGroupId=web))
    front = r.instance("front", lan, ssh, web)
    back = r.instance("back", lan, ssh, db)
    other = r.instance("other", lan, ssh)
    front, back, other = (r.until(i, "running") for i in (front, back, other))
    at = [i["status"]["privateIp"] for i in (front, back, other)]
    tap.ok(len(set(at)) == 3 and all(
        ipaddress.ip_address(a) in ipaddress.ip_network("10.77.0.0/25") and
        a not in ("10.77.0.1", "10.77.0.2") for a in at),
        "machines have addresses of the network that nobody reserved", at)
    shells = [Shell(r, host, a) for a in at]
    tap.ok(all(s.up() for s in shells), "they are let in where a rule says so",
           host.virsh("net-dhcp-leases", "--network", host.virsh(
               "net-list", "--name")))
    a_shell, b_shell, c_shell = shells
    tap.eq([s("ip -4 -o address show eth0 | awk '{print $4}'")[1]
            for s in shells], [f"{a}/24" for a in at],
           "a guest is given the address that was told at its launch")
    tap.eq([s("ip -6 -o address show eth0 scope global | awk '{print $4}' | "
              "cut -d/ -f1")[1] for s in shells],
           [i["status"].get("privateIp6") for i in (front, back, other)],
           "and so it is in IPv6")
    tap.ok(a_shell.reaches(at[1], 5432),
           "who is in a group is let in where a rule names the group")
    tap.ok(not c_shell.reaches(at[1], 5432), "and who is not, is not")
    tap.ok(not a_shell.reaches(at[1], 8080), "nor at another port")
    tap.ok(not says(host, at[1], 5432), "nor is the host")

    tap.ok(r.groups(other, ssh, web), "a machine that runs enters a group")
    tap.ok(c_shell.reaches(at[1], 5432), "and then it is let in")
    tap.ok(r.groups(other, ssh), "it leaves the group")
    tap.ok(not c_shell.reaches(at[1], 5432), "and is not any more")
    spoof(r, a_shell, c_shell, at)
    close_a_port(r, host, ssh, at[0], a_shell)

    filters = host.virsh("nwfilter-dumpxml", group_filter(host, db))
    tap.ok(f"'{at[0]}'" in filters, "the filter has its members' addresses")
    tap.ok(r.gone(front), "one of them is deleted")
    filters = host.virsh("nwfilter-dumpxml", group_filter(host, db))
    tap.ok(f"'{at[0]}'" not in filters, "and then it has it no more")
    tap.ok(r.gone(back, other) and r.end("securitygroups", db, web, ssh) and
           r.end("networks", lan), "everything is deleted")
    tap.eq(things(host), NOTHING, "and nothing is left on the host")
    r.server.stop()
    host.stop()


def group_filter(host, group):
    return [line.split()[1] for line in host.virsh("nwfilter-list").split("\n")
            if line.endswith("-group-" + group)][0]


def spoof(r, shell, neighbour, at):
    """It cannot be somebody else."""
    neighbour("nc -ll -u -p 9999 -e /bin/true >/dev/null 2>&1 &")
    shell("ip address add 10.77.0.99/32 dev eth0")
    status, said = shell(f"ping -c 2 -W 2 -I 10.77.0.99 {at[1]}")
    tap.ok(status != 0, "a machine cannot send from an address that is not "
           "its own", said)
    shell("ip address del 10.77.0.99/32 dev eth0")
    status, said = shell("ping -c 1 -W 3 10.77.0.1")
    tap.eq(status, 0, "from its own it can")


def close_a_port(r, host, group, address, shell):
    """Both new connections and one that is open are cut by a change."""
    tap.eq(says(host, address, 22), "SSH-", "a port is open")
    # It says a line a second, for as long as it is let.
    open_one = subprocess.Popen(
        ["nsenter", "--target", str(host.pid), "--mount", "--net", "--pid",
         *shell.argv, "while echo tick; do sleep 1; done"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL)
    open_one.stdout.readline()
    tap.ok(r.rules(group), "its rule is taken out")
    tap.eq(says(host, address, 22), "", "it is closed on the live machine")
    os.set_blocking(open_one.stdout.fileno(), False)
    open_one.stdout.read()
    quiet = wait_for(lambda: True, 4) and not _more(open_one, 4)
    tap.ok(quiet, "and so is the connection that was open")
    open_one.kill()
    open_one.wait()
    tap.ok(r.rules(group, tcp(22)), "the rule is put back")
    tap.eq(says(host, address, 22), "SSH-", "the port is open again")


def a_debian_guests_port_is_closed():
    """As on any machine; in a guest that people use."""
    host = libvirtd.Host()
    r = Region([host], flavor="small")
    lan = r.network("lan", prefix="10.79.0.0/24")
    ssh = r.group("ssh", lan, tcp(22))
    one = r.until(r.instance("one", lan, ssh, data="#!/bin/sh\ntrue\n"),
                  "running")
    at = one["status"]["privateIp"]
    shell = Shell(r, host, at, "debian")
    tap.ok(shell.up(), "it can be logged in to")
    tap.eq(shell(". /etc/os-release; echo $ID")[1], "debian", "it is Debian")
    close_a_port(r, host, ssh, at, shell)
    tap.ok(r.gone(one) and r.end("securitygroups", ssh) and
           r.end("networks", lan), "everything is deleted")
    tap.eq(things(host), NOTHING, "and nothing is left on the host")
    r.server.stop()
    host.stop()


def _more(process, seconds):
    """Whether it says something in that time."""
    return wait_for(process.stdout.read, seconds, 0.1)


def several_hosts_over_tls():
    pki = libvirtd.Certificates(os.path.join(folder(), "pki"))
    first = libvirtd.Host(pki)
    hosts = [first, libvirtd.Host(pki, like=first)]
    r = Region(hosts, tls=True)
    lan = r.network("lan", prefix="10.78.0.0/28")
    for host in hosts:
        tap.eq(len(things(host)["networks"]), 1,
               "a network is made on every host")
    some = [r.instance(f"i{n}", lan) for n in range(4)]
    some = [r.until(i, "running") for i in some]
    tap.eq([len(things(h)["machines"]) for h in hosts], [2, 2],
           "machines are spread over the hosts")
    tap.eq(len({i["status"]["privateIp"] for i in some}), 4,
           "no address is given twice, on whichever host")

    hosts[1].freeze()
    late = r.instance("late", lan)
    hosts[1].freeze(False)
    tap.ok(r.until(late, "running"),
           "a host that does not answer for a while loses nothing")
    tap.ok(r.gone(late, *some) and r.end("networks", lan),
           "everything is deleted")
    tap.eq([things(h) for h in hosts], 2 * [NOTHING],
           "and nothing is left on the hosts")
    r.server.stop()
    for host in hosts:
        host.stop()


def a_bridge_joins_machines_of_several_hosts():
    wire = libvirtd.Wire()
    first = libvirtd.Host(wire=wire)
    hosts = [first, libvirtd.Host(wire=wire, like=first)]
    for n, host in enumerate(hosts, 1):
        host("ip", "address", "flush", "dev", "up0")
        for line in ("link add br0 type bridge", "link set up0 master br0",
                     f"address add 10.79.0.{n + 1}/24 dev br0",
                     "link set br0 up"):
            host("ip", *line.split())
    r = Region(hosts, network={"mode": "bridge", "bridge": "br0"})
    lan = r.network("lan", prefix="10.79.0.0/24",
                    reservedAddresses=["10.79.0.0/29"])
    ssh = r.group("ssh", lan, tcp(22))
    web = r.group("web", lan)
    db = r.group("db", lan, tcp(5432, securityGroupId=web))
    front = r.instance("front", lan, ssh, web, data=BY_MAC)
    back = r.instance("back", lan, ssh, db, data=BY_MAC)
    front, back = (r.until(i, "running") for i in (front, back))
    at = [i["status"]["privateIp"] for i in (front, back)]
    tap.eq([len(things(h)["machines"]) for h in hosts], [1, 1],
           "each host has one")
    shell = Shell(r, hosts[0], at[0])
    tap.ok(shell.up() and Shell(r, hosts[1], at[1]).up(),
           "machines are reached over the bridge, from any host")
    tap.ok(shell.reaches(at[1], 5432), "and by each other, where a rule names "
           "a group whose member is on another host")
    tap.ok(r.groups(front, ssh), "it leaves the group")
    tap.ok(not shell.reaches(at[1], 5432), "and the other host knows")
    tap.ok(r.groups(front, ssh, web) and shell.reaches(at[1], 5432),
           "it enters the group again")
    hosts[1].kill()
    tap.ok(r.groups(front, ssh),
           "it leaves the group while the other host does not answer")
    hosts[1].start()
    tap.ok(wait_for(lambda: not shell.reaches(at[1], 5432), BOOT, 1),
           "which knows when it is back")
    tap.ok(r.gone(front, back) and r.end("securitygroups", db, web, ssh) and
           r.end("networks", lan), "everything is deleted")
    tap.eq([things(h) for h in hosts], 2 * [NOTHING],
           "and nothing is left on the hosts")
    r.server.stop()
    for host in hosts:
        host.stop()
    wire.stop()


def vanish(r, host, name, lan):
    """An instance whose host is killed while it is asked to launch it."""
    host.freeze()
    one = r.instance(name, lan)
    # Long enough for the question to have been sent; it matters little.
    wait_for(lambda: False, 1)
    host.kill()
    reason = wait_for(lambda: (r.read(one)["status"].get("reason") or {})
                      .get("message"), BOOT, 0.05)
    tap.ok(reason and "host h1" in reason,
           "that its host has vanished is what an instance waits for", reason)
    return one


def a_host_is_killed_in_the_middle_of_a_launch():
    host = libvirtd.Host()
    r = Region([host])
    lan = r.network("lan", prefix="10.80.0.0/24")
    one = vanish(r, host, "one", lan)
    host.start()
    tap.ok(r.until(one, "running"), "it is launched when the host is back")
    tap.eq(len(things(host)["machines"]), 1, "once")
    other = vanish(r, host, "other", lan)
    r.api.delete(f"/v1/instances/{other['id']}")
    host.start()
    tap.ok(r.gone(one, other) and r.end("networks", lan),
           "one that was deleted meanwhile is deleted, and the rest")
    wait_for(lambda: things(host) == NOTHING, BOOT, 1)
    tap.eq(things(host), NOTHING, "and nothing is left on the host")
    r.server.stop()
    host.stop()


WHY = libvirtd.missing()
if WHY:
    tap.skip("machines on hosts with a libvirt of their own", WHY)
    tap.end()
ONLY = sys.argv[2:]
DEBIAN = os.environ.get("MUSTER_DEBIAN_IMAGE")
IMAGE = DEBIAN or image()
SECTIONS = (groups_change_while_machines_run, several_hosts_over_tls,
            a_bridge_joins_machines_of_several_hosts,
            a_host_is_killed_in_the_middle_of_a_launch)
for section in (a_debian_guests_port_is_closed,) if DEBIAN else SECTIONS:
    if ONLY and section.__name__ not in ONLY:
        continue
    failed = tap.failed
    tap.section(section)
    if tap.failed > failed:
        tap.note(Region.last.server.log()[-4000:])
tap.end()
