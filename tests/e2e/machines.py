"""What the tests of machines share: a simulated cloud in a process of its own,
which outlives the server, and a tenant with a network in a region of it."""

import json
import os
import re
import subprocess
import time
import urllib.request

from muster import (PATIENCE, Client, Server, _processes, binary, folder,
                    wait_for)
from tenant import made

# What passes by itself: nobody may be left in one of these for ever.
TRANSIENT = ("pending", "stopping", "terminating", "unknown")

# How long a call to the cloud is waited for: after a restart one that was under
# way is believed to have come to nothing only then.
CALL_MS = 10000


# The cloud's own words for what a machine does, and ours.
WORDS = {"active": "running", "rebooting": "running", "halted": "stopped",
         "building": "pending", "booting": "pending", "error": "failed"}


class Cloud:
    """`muster simcloud`: what there really is, whatever the server believes."""

    def __init__(self, **options):
        self.data = os.path.join(folder(), "cloud")
        self.log_path = self.data + ".log"
        self.options = options
        self.env = {}
        self.process = None
        self.port = 0

    def start(self):
        with open(self.log_path, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(
                [binary(), "simcloud", "--data", self.data, "--listen",
                 f"127.0.0.1:{self.port}", "--options",
                 json.dumps(self.options)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=dict(os.environ, **self.env))
        _processes.append(self.process)
        found = wait_for(lambda: self._listening(begin) or
                         self.process.poll() is not None and "ended")
        if found in (None, "ended"):
            raise RuntimeError(f"simcloud did not start:\n{self.log()}")
        self.port = int(found)
        return self

    def _listening(self, begin):
        with open(self.log_path, "rb") as log:
            log.seek(begin)
            found = re.search(rb"listening on http://127\.0\.0\.1:(\d+)",
                              log.read())
        return found and found.group(1)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, headers={
            "Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)

    def set(self, **options):
        """Behave otherwise from now on."""
        self.ask("/options", options)

    def truth(self):
        return self.ask("/truth")

    def machines(self):
        """Those that are there, by their id; what is gone is not."""
        return {m["id"]: m for m in self.truth()["machines"]
                if m["state"] != "deleted"}

    def of(self, instance):
        """The machines that carry the tag of INSTANCE's server."""
        server = instance["status"]["serverId"]
        return [m for m in self.machines().values()
                if m.get("tags", {}).get("muster/server") == server]

    def kill9(self):
        self.process.kill()
        self.process.wait()
        _processes.remove(self.process)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)
        _processes.remove(self.process)


class World:
    """A server, a cloud (what it is like, or itself), and a project with a
    network in it."""

    def __init__(self, cloud=None, config=None, spec=None, server=None):
        self.cloud = cloud if isinstance(cloud, Cloud) else \
            Cloud(**(cloud or {}))
        self.cloud.start()
        self.server = (server or Server(config)).start()
        self.api = Client(self.server)
        self.region = self.make("regions", {"name": "sim", "spec": {
            "provider": "sim", "options": {"endpoint": self.cloud.url,
                                           "timeoutMs": CALL_MS},
            **(spec or {})}})["id"]
        self.ready("regions", self.region)
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

    def catalogue(self, noun):
        items = self.api.get(f"/v1/{noun}?regionId={self.region}"
                             "&limit=1000").json["items"]
        return {item["name"]: item["id"] for item in items}

    def make(self, noun, body):
        return made(self.api.post(f"/v1/{noun}", body))

    def new_network(self, name, project=None):
        self.networks += 1
        id = self.make("networks", {
            "name": name, "projectId": project or self.project,
            "regionId": self.region, "spec": {
                "prefix": f"10.{self.networks}.0.0/16"}})["id"]
        self.ready("networks", id)
        return id

    def faults(self, *faults):
        """What goes wrong on the way to the cloud; returns when that is in
        force."""
        reply = self.api.patch(f"/v1/regions/{self.region}", {"spec": {
            "options": {"endpoint": self.cloud.url, "timeoutMs": CALL_MS,
                        "faults": faults}}})
        if reply.status != 200:
            raise AssertionError(f"faults: {reply!r}")
        generation = reply.json["generation"]
        if not wait_for(lambda: self.get("regions", self.region)["status"].get(
                "observedGeneration") == generation):
            raise AssertionError(self.get("regions", self.region))

    def get(self, noun, id):
        return self.api.get(f"/v1/{noun}/{id}").json

    def ready(self, noun, id):
        got = wait_for(lambda: self.get(noun, id)["status"]["state"] ==
                       "ready")
        if not got:
            raise AssertionError(f"not ready: {self.get(noun, id)}")

    def body(self, name, flavor="small", image="debian-12", network=None,
             **spec):
        return {"name": name, "networkId": network or self.network,
                "spec": {"flavorId": self.flavors[flavor],
                         "imageId": self.images[image], **spec}}

    def ask(self, name, **more):
        """Ask for an instance; the answer."""
        return self.api.post("/v1/instances", self.body(name, **more))

    def instance(self, name, state="running", **more):
        """An instance that came to be in STATE."""
        one = made(self.ask(name, **more))
        return self.until(one, state) if state else one

    def path(self, instance):
        return f"/v1/instances/{instance['id']}"

    def read(self, instance):
        """As it is now; None when it is gone."""
        reply = self.api.get(self.path(instance))
        return reply.json if reply.status == 200 else None

    def until(self, instance, what, seconds=None):
        """Read it until it has that state, or until WHAT says so of it."""
        test = what if callable(what) else \
            lambda i: i and i["status"]["state"] == what and \
            not i["status"].get("change")
        found = []

        def look():
            found[:] = [self.read(instance)]
            return test(found[0])
        if not wait_for(look, seconds or 2 * PATIENCE, 0.02):
            raise AssertionError(f"{instance['name']} never was {what}:"
                                 f" {json.dumps(found[0])}")
        return found[0]

    def gone(self, instance, seconds=None):
        """Until it is no more; how it last was otherwise."""
        return wait_for(lambda: self.read(instance) is None,
                        seconds or 2 * PATIENCE, 0.02)

    def events(self, instance):
        reply = self.api.get(f"{self.path(instance)}/events?limit=1000")
        return reply.json["items"]

    def reasons(self, instance):
        return [event["reason"] for event in self.events(instance)]

    def usage(self, noun="projects", id=None):
        items = self.api.get(f"/v1/{noun}/{id or self.project}/usage").json
        return {item["kind"]: item["used"] for item in items["items"]}

    def all(self, noun, words=""):
        items, after = [], ""
        while True:
            page = self.api.get(f"/v1/{noun}?limit=1000{words}{after}").json
            items += page["items"]
            if "next" not in page:
                return items
            after = "&after=" + page["next"]

    def settled(self, seconds):
        """Wait until nothing is under way; what still is."""
        until = time.monotonic() + seconds
        while True:
            busy = [i for i in self.all("instances") if is_busy(i)]
            if not busy or time.monotonic() > until:
                return busy
            time.sleep(0.1)


def is_busy(instance):
    status = instance["status"]
    return ("deletedAt" in instance or "change" in status or
            status["state"] in TRANSIENT or
            status.get("observedGeneration") != instance["generation"] or
            status["state"] != wanted(instance))


def wanted(instance):
    return "running" if instance["spec"]["power"] == "on" else "stopped"
