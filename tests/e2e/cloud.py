"""A simulated region with two tenants in it, and words for what is refused.

Nothing here waits for the region: what the API itself says holds before its
provider was ever reached."""

from muster import Client, Server, tap, wait_for
from tenant import ROLE, Account, made

KEY = ("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1xVZ3yQd3Ic4sJ1fS0mJm2m5rPp2"
       "cXo1bqkq0h3Q7a")


def refused(text, reply, status=422, pointer=None, word=None):
    """REPLY is a problem: that status, about that field, with that word."""
    body = reply.json if reply.body else {}
    pointers = [v["pointer"] for v in body.get("violations", [])]
    pointers += [body["field"]] if "field" in body else []
    good = reply.status == status and \
        (pointer is None or any(p == pointer or p.startswith(pointer + "/")
                                for p in pointers)) and \
        (word is None or word in reply.body.decode())
    tap.ok(good, text, f"wanted {status} at {pointer} with {word}", reply)


def taken(text, reply, *statuses):
    """REPLY is an object; that object."""
    tap.ok(reply.status in (statuses or (200, 201, 202)), text, reply)
    return reply.json


class Tenant:
    """An organization with a project and, by role, who may do what in it."""

    def __init__(self, admin, name):
        self.name = name
        self.id = made(admin.post("/v1/organizations", {"name": name}))["id"]
        self.project = made(admin.post("/v1/projects", {
            "name": "web", "organizationId": self.id}))["id"]
        self.other = made(admin.post("/v1/projects", {
            "name": "other", "organizationId": self.id}))["id"]
        self.accounts = {
            role: Account(admin, f"{name}-{role}", self.id, [ROLE[role]],
                          [self.project])
            for role in ("administrator", "user", "reader", "auditor")}

    def call(self, role="user"):
        return self.accounts[role].call


class Cloud:
    def __init__(self, options=None, config=None):
        self.server = Server(config).start()
        self.admin = Client(self.server)
        self.a = Tenant(self.admin, "acme")
        self.b = Tenant(self.admin, "bolt")
        self.region = self.new_region("sim", options=options or {})["id"]

    def new_region(self, name, only=(), options=None):
        spec = {"provider": "sim", "options": options or {}}
        if only:
            spec["organizationIds"] = list(only)
        return made(self.admin.post("/v1/regions", {"name": name,
                                                    "spec": spec}))

    def network(self, name, prefix="10.0.0.0/24", call=None, project=None,
                region=None, **spec):
        """The reply to asking for one, in A's project unless told."""
        return (call or self.a.call()).post("/v1/networks", {
            "name": name, "projectId": project or self.a.project,
            "regionId": region or self.region,
            "spec": {"prefix": prefix, **spec}})

    def usage(self, project, kind):
        items = self.admin.get(f"/v1/projects/{project}/usage").json["items"]
        return next(i["used"] for i in items if i["kind"] == kind)

    def ready(self, path):
        """Whether it comes to be ready; false where nobody sees to that."""
        return wait_for(lambda: self.admin.get(path).json["status"]["state"]
                        == "ready", 3)
