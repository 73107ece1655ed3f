"""An organization with one of everything in it, and callers of each role."""

import uuid

from muster import Client

ROLE = {name: f"00000000-0000-5000-8000-00000000000{n}" for n, name in
        enumerate(("platform-administrator", "platform-reader",
                   "administrator", "auditor", "user", "reader"), 1)}

# In the order in which they can be made; from the end they can be deleted.
KINDS = ("organizations", "projects", "users", "serviceaccounts", "roles",
         "groups", "tokens", "quotas", "allocations")


def made(reply):
    """The object that a POST made."""
    if reply.status != 201:
        raise AssertionError(f"not made: {reply!r}")
    return reply.json


class Account:
    """A service account with a token, in a group of its own."""

    def __init__(self, admin, name, organization=None, roles=(), projects=()):
        self.admin = admin
        owner = {"organizationId": organization} if organization else {}
        self.id = made(admin.post("/v1/serviceaccounts",
                                  {"name": name, **owner}))["id"]
        body = {"name": name, "serviceAccountIds": [self.id],
                "roleIds": list(roles), **owner}
        if projects:
            body["projectIds"] = list(projects)
        self.group = made(admin.post("/v1/groups", body))["id"]
        self.token = self.new_token("first")
        self.token_id, self.secret = self.token["id"], self.token["token"]
        self.call = Client(admin.server, self.secret)

    def new_token(self, name, **more):
        return made(self.admin.post("/v1/tokens", {
            "name": name, "serviceAccountId": self.id, **more}))


class Tenant:
    """NAMES has the prefix of every name in it: two tenants may be alike."""

    def __init__(self, admin, name, names="x"):
        self.admin, self.name = admin, name
        self.ids = {}
        self.id = self.make("organizations", {"name": name})
        self.project = self.make("projects", {
            "name": f"{names}-project", "organizationId": self.id,
            "tags": {"color": "red"}})
        self.other = made(admin.post("/v1/projects", {
            "name": f"{names}-other", "organizationId": self.id}))["id"]
        self.user = self.make("users", {
            "name": f"{names}-user", "organizationId": self.id,
            "email": f"{names}@{name}.example"})
        self.make("serviceaccounts", {"name": f"{names}-account",
                                      "organizationId": self.id})
        self.make("roles", {"name": f"{names}-role", "organizationId": self.id,
                            "organization": ["projects:read"]})
        self.make("groups", {"name": f"{names}-group",
                             "organizationId": self.id,
                             "userIds": [self.user],
                             "roleIds": [self.ids["roles"]]})
        self.user_token = made(admin.post("/v1/tokens", {
            "name": f"{names}-token", "userId": self.user}))
        self.ids["tokens"] = self.user_token["id"]
        self.make("quotas", {"organizationId": self.id,
                             "limits": [{"kind": "vcpus", "limit": 100}]})
        self.object = str(uuid.uuid4())
        self.make("allocations", {
            "organizationId": self.id, "projectId": self.project,
            "objectKind": "thing", "objectId": self.object,
            "amounts": [{"kind": "vcpus", "committed": 3, "reserved": 1}]})
        self.accounts = {
            role: Account(admin, f"{names}-{role}", self.id, [ROLE[role]],
                          [self.project])
            for role in ("administrator", "user", "reader", "auditor")}

    def make(self, kind, body):
        self.ids[kind] = made(self.admin.post(f"/v1/{kind}", body))["id"]
        return self.ids[kind]

    def call(self, role="administrator"):
        return self.accounts[role].call
