#!/usr/bin/python3
"""Signing in at a real OpenID provider, and every token that is refused."""

import json
import os
import subprocess
import sys
import time
import urllib.parse

import yaml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from muster import Client, Server, binary, folder, tap, wait_for  # noqa: E402
from oidc_rig import Login, Person, Provider  # noqa: E402

READER = "00000000-0000-5000-8000-000000000006"
ADMINISTRATOR = "00000000-0000-5000-8000-000000000003"


class World:
    """A provider, a server that trusts it, and an organization."""

    def __init__(self):
        self.provider = Provider()
        self.server = Server({"oidc": [{
            "name": "corp", "issuer": self.provider.issuer,
            "clientId": "muster",
            "scopes": "openid email groups offline_access"}, {
            "name": "partner", "issuer": "http://127.0.0.1:9/partner",
            "audience": "muster", "organizations": ["other"]}],
            "limits": {"headBytes": 65536}}).start()
        self.admin = Client(self.server)
        self.acme = self.make("organizations", name="acme")
        self.other = self.make("organizations", name="other")
        self.ann = self.make("users", name="ann", organizationId=self.acme,
                             email="ann@example.org")
        self.sam = self.make("users", name="sam", organizationId=self.acme,
                             email="sam@example.org", state="suspended")
        self.make("groups", name="admins", organizationId=self.acme,
                  userIds=[self.ann], roleIds=[ADMINISTRATOR])

    def make(self, noun, **fields):
        reply = self.admin.post(f"/v1/{noun}", fields)
        if reply.status != 201:
            raise RuntimeError(f"{noun}: {reply!r}")
        return reply.json["id"]

    def ask(self, token, target="/v1/whoami", headers=None):
        client = Client(self.server, token=token)
        try:
            return client("GET", target, headers=headers)
        finally:
            client.close()


def refused(world, name, token, words, status=401):
    reply = world.ask(token)
    detail = reply.json.get("detail", "")
    tap.ok(reply.status == status and words in detail, name, reply)
    tap.ok(token not in detail and token not in world.server.log(),
           f"{name}: and the token is not repeated")


def tells_where_to_sign_in(world):
    reply = Client(world.server)("GET", "/v1/login",
                                 headers={"Authorization": None})
    tap.eq(reply.status, 200, "where to sign in is public")
    tap.eq(reply.json, {"issuers": [{
        "name": "corp", "issuer": world.provider.issuer, "clientId": "muster",
        "audience": "muster",
        "scopes": "openid email groups offline_access"}]},
        "and names the issuers that have a client")


def first_token_binds(world):
    reply = world.ask(world.provider.sign(
        sub="ann", email="ann@example.org", email_verified=True))
    tap.eq(reply.status, 200, "a signed token is taken")
    tap.eq(reply.json["id"], world.ann, "as the user with its verified email")
    tap.eq(reply.json["name"], "user:ann@example.org", "by that name")
    user = world.admin.get(f"/v1/users/{world.ann}").json
    tap.eq((user.get("issuer"), user.get("subject")),
           (world.provider.issuer, "ann"),
           "who is bound to issuer and subject")
    reply = world.ask(world.provider.sign(sub="ann"))
    tap.eq(reply.status, 200, "and then known without an email")
    reply = world.ask(world.provider.sign(
        sub="imposter", email="ann@example.org", email_verified=True))
    tap.eq(reply.status, 401, "another subject with her email is not her")
    for kind in ("ES256", "EdDSA"):
        reply = world.ask(world.provider.sign(kind, sub="ann"))
        tap.eq(reply.status, 200, f"{kind} is taken")


def unverified_email(world):
    world.make("users", name="bob", organizationId=world.acme,
               email="bob@example.org")
    refused(world, "an email that is not verified counts for nothing",
            world.provider.sign(sub="bob", email="bob@example.org",
                                email_verified=False), "not verified")


def strangers(world):
    refused(world, "somebody whom nobody knows is refused",
            world.provider.sign(sub="mallory", email="m@example.org",
                                email_verified=True), "nobody here is known")


def expired(world):
    now = int(time.time())
    refused(world, "an expired token is refused",
            world.provider.sign(exp=now - 61), "it has expired")


def never_expires(world):
    refused(world, "a token without an end is refused",
            world.provider.sign(exp=None), "it never expires")


def not_yet(world):
    refused(world, "a token that is not valid yet is refused",
            world.provider.sign(nbf=int(time.time()) + 120), "not valid yet")


def wrong_audience(world):
    refused(world, "a token for somebody else is refused",
            world.provider.sign(aud="another"), "another audience")


def wrong_issuer(world):
    refused(world, "a token that claims another issuer is refused",
            world.provider.sign(iss="https://evil.example"),
            "its issuer is not one of those")


def forged(world):
    refused(world, "a token signed with another key is refused",
            world.provider.sign("foreign"), "its signature is wrong")


def tampered(world):
    head, body, signature = world.provider.sign().split(".")
    other = world.provider.sign(sub="root").split(".")[1]
    refused(world, "a token with other claims put in is refused",
            f"{head}.{other}.{signature}", "its signature is wrong")
    flipped = ("B" if signature[0] != "B" else "C") + signature[1:]
    refused(world, "a token with another signature is refused",
            f"{head}.{body}.{flipped}", "its signature is wrong")


def hmac(world):
    refused(world, "the public key as a shared secret is refused",
            world.provider.sign("hmac"), "none of RS256, ES256 and EdDSA")


def none(world):
    token = world.provider.sign("none")
    refused(world, "alg none is refused", token, "three parts")
    refused(world, "alg none with a signature is refused", token + "AAAA",
            "none of RS256, ES256 and EdDSA")


def swapped(world):
    kid = world.provider.test("keys")["kid"]
    refused(world, "ES256 under the name of an RSA key is refused",
            world.provider.sign("ES256", {"kid": kid}),
            "not the one that its key is for")


def critical(world):
    token = world.provider.sign()
    head = token.split(".", 1)[1]
    refused(world, "critical extensions are refused",
            "eyJhbGciOiJSUzI1NiIsImNyaXQiOlsieCJdfQ." + head,
            "critical extensions")


def too_large(world):
    refused(world, "a token of more than its ceiling is refused",
            "a." + "b" * 16384 + ".c", "larger than 16 KiB")


def groups(world):
    project = world.make("projects", name="web", organizationId=world.acme)
    reply = world.ask(world.provider.sign(
        sub="eve", email="eve@example.org", email_verified=True,
        groups=["ops"]))
    tap.eq(reply.status, 401, "a group that nobody names admits nobody")
    group = world.make("groups", name="ops", organizationId=world.acme,
                       externalGroups=["corp/ops"], roleIds=[READER],
                       projectIds=[project])
    token = world.provider.sign(sub="eve", email="eve@example.org",
                                email_verified=True, groups=["dev", "ops"])
    reply = world.ask(token)
    tap.eq(reply.status, 200, "somebody in a group that is named is admitted")
    tap.eq(reply.json["name"], "external:corp/eve@example.org", "by name")
    tap.ok(all(g.get("organizationId") == world.acme
               for g in reply.json["grants"]), "into its organization", reply)
    reply = world.ask(token, f"/v1/projects/{project}")
    tap.eq(reply.status, 200, "and may do what the group may")
    reply = world.admin.patch(f"/v1/groups/{group}",
                              {"externalGroups": ["ops"]})
    tap.eq(reply.status, 422, "a group must say whose it means")
    for wrong in ("partner/ops", "corp/ops2"):
        world.admin.patch(f"/v1/groups/{group}", {"externalGroups": [wrong]})
        tap.eq(world.ask(token).status, 401, f"but not by the name {wrong}")
    world.admin.patch(f"/v1/groups/{group}", {"externalGroups": ["corp/ops"]})


def suspended(world):
    token = world.provider.sign(sub="sam", email="sam@example.org",
                                email_verified=True, groups=["ops"])
    refused(world, "a suspended user is refused, even by their groups", token,
            "the user is suspended")
    good = world.provider.sign(sub="ann")
    tap.eq(world.ask(good).status, 200, "a user who is active is not")
    world.admin.patch(f"/v1/users/{world.ann}", {"state": "suspended"})
    refused(world, "suspending works on tokens that were good", good,
            "the user is suspended")
    world.admin.patch(f"/v1/users/{world.ann}", {"state": "active"})
    tap.eq(world.ask(good).status, 200, "and can be undone")


def several_organizations(world):
    second = world.make("users", name="ann", organizationId=world.other,
                        email="ann@example.org")
    world.make("groups", name="admins", organizationId=world.other,
               userIds=[second], roleIds=[ADMINISTRATOR])
    reply = world.ask(world.provider.sign(
        sub="ann", email="ann@example.org", email_verified=True))
    places = {g.get("organizationId") for g in reply.json["grants"]}
    tap.eq(places, {world.acme, world.other},
           "one person has the rights of their users in all organizations")
    world.admin.delete(f"/v1/users/{second}")


def rotation(world):
    before = world.provider.sign(sub="ann")
    tap.eq(world.ask(before).status, 200, "a token of the old key is taken")
    # Keys are asked for at most every five seconds.
    time.sleep(5.1)
    world.provider.rotate()
    token = world.provider.sign(sub="ann")
    tap.eq(world.ask(token).status, 200, "new keys are fetched when needed")
    refused(world, "what the old key signed is refused from then on",
            before, "does not publish")
    asked = world.provider.test("keys")["asked"]
    for i in range(20):
        world.ask(world.provider.sign("old", sub=f"x{i}"))
    more = world.provider.test("keys")["asked"] - asked
    tap.ok(more <= 1, "unknown keys do not make it ask again and again", more)


def provider_down(world):
    token = world.provider.sign(sub="ann")
    time.sleep(5.1)
    world.provider.test("fail", {"fail": True})
    world.ask(world.provider.sign("old", sub="ann"))
    tap.eq(world.ask(token).status, 200,
           "the last good keys stay while the provider fails")
    fresh = Server({"oidc": [{
        "name": "corp", "issuer": world.provider.issuer,
        "clientId": "muster"}]}).start()
    reply = Client(fresh, token=token)("GET", "/v1/whoami")
    tap.eq(reply.status, 503, "without any keys yet, one is told to wait")
    tap.ok(reply["Retry-After"], "and for how long", reply.headers)
    reply = Client(fresh)("GET", "/v1/whoami")
    tap.eq(reply.status, 200, "while stored tokens go on working")
    world.provider.test("fail", {"fail": False})
    reply = wait_for(lambda: Client(fresh, token=token)(
        "GET", "/v1/whoami").status == 401, every=0.5)
    tap.ok(reply, "and once it is back, keys are fetched")
    fresh.stop()


def cli(home, *argv, **more):
    env = {"HOME": home, "PATH": os.environ["PATH"]}
    env.update({k: v for k, v in os.environ.items() if k.endswith("_OPTIONS")})
    return subprocess.run([binary(), *argv], env=env, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **more)


def settings(home, change=None):
    path = os.path.join(home, ".config", "muster", "config.yaml")
    tap.eq(os.stat(path).st_mode & 0o777, 0o600, "the settings are private")
    with open(path, encoding="utf-8") as file:
        text = yaml.safe_load(file)
    if change:
        change(text["contexts"][0])
        with open(path, "w", encoding="utf-8") as file:
            yaml.safe_dump(text, file)
    return text["contexts"][0]


def who(home):
    done = cli(home, "whoami", "-o", "json")
    return json.loads(done.stdout)["name"] if done.returncode == 0 else \
        done.stderr


def device_flow(world):
    home = folder()
    login = Login(home, world.server.url, "--issuer", "corp")
    address = login.address(r"or open (http\S+?)\.?\n")
    Person("ann").agree(address)
    tap.eq(login.end(), 0, "signing in by a code ends well")
    tap.ok("Signed in to" in login.text and "user:ann@example.org"
           in login.text, "and says as whom", login.text)
    tap.eq(who(home), "user:ann@example.org", "and commands are that person's")
    done = cli(home, "whoami")
    tap.ok(done.stdout.startswith("user:ann@example.org") and
           "PERMISSIONS" in done.stdout and world.acme in done.stdout,
           "whoami shows a table", done.stdout, done.stderr)
    return home


def renewal(world, home):
    old = settings(home)
    tap.ok(old.get("refreshToken"), "there is a way to renew it", list(old))
    settings(home, lambda c: c.update(expiresAt="2020-01-01T00:00:00.000Z"))
    tap.eq(who(home), "user:ann@example.org", "an expired token is renewed")
    new = settings(home)
    tap.ok(new["token"] != old["token"] and
           new["expiresAt"] > "2021", "and the new one is kept")
    settings(home, lambda c: c.update(expiresAt="2020-01-01T00:00:00.000Z"))
    many = [subprocess.Popen([binary(), "whoami", "-o", "name"],
                             env={"HOME": home, "PATH": os.environ["PATH"]},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True) for _ in range(4)]
    said = [p.communicate(timeout=60)[0].strip() for p in many]
    tap.eq(set(said), {"user:ann@example.org"},
           "several commands at once renew it once")


def logout(world, home):
    context = settings(home)
    done = cli(home, "logout")
    tap.eq(done.returncode, 0, "signing out ends well")
    kept = settings(home)
    tap.ok("token" not in kept and "refreshToken" not in kept,
           "and nothing is left of it", kept)
    tap.ok("not signed in" in who(home).lower() or
           "token" in who(home).lower(), "nobody is signed in then")
    body = urllib.parse.urlencode({
        "grant_type": "refresh_token", "client_id": "muster",
        "refresh_token": context["refreshToken"]})
    page = Person("ann").open(world.provider.issuer + "/token",
                              dict(urllib.parse.parse_qsl(body)))
    tap.ok("invalid_grant" in page, "the provider has ended the session", page)


def browser_flow(world):
    home = folder()
    login = Login(home, world.server.url, "--issuer", "corp", "--browser")
    address = login.address(r"(http\S+/auth\?\S+)\n")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)
    tap.eq(query["code_challenge_method"], ["S256"], "PKCE is used")
    redirect = query["redirect_uri"][0]
    page = Person("x").open(redirect + "?code=stolen&state=guessed")
    tap.ok("Not here" in page, "an answer that was not asked for is nothing",
           page)
    page = Person("ann").agree(address)
    tap.ok("signed in" in page, "the browser is told", page)
    tap.eq(login.end(), 0, "signing in by a browser ends well")
    tap.eq(who(home), "user:ann@example.org", "as that person")


def refused_at_login(world):
    home = folder()
    login = Login(home, world.server.url, "--issuer", "corp")
    address = login.address(r"or open (http\S+?)\.?\n")
    Person("bob").agree(address)
    tap.ok(login.end() == 4 and "not verified" in login.text,
           "somebody without an account here is told why", login.text)
    done = cli(home, "login", world.server.url, "--issuer", "nowhere")
    tap.ok(done.returncode != 0 and "it has corp" in done.stderr,
           "an issuer that is not there: those that are", done.stderr)


def acting(world):
    home = folder()
    path = os.path.join(world.server.data, "admin.token")
    cli(home, "login", world.server.url, "--token-file", path)
    done = cli(home, "whoami", "--as", world.ann, "-o", "json")
    tap.ok(done.returncode == 0 and
           json.loads(done.stdout).get("actingFor", {}).get("id") == world.ann,
           "--as acts for somebody", done.stdout, done.stderr)


def main():
    world = World()
    for part in (tells_where_to_sign_in, first_token_binds, unverified_email,
                 strangers, expired, never_expires, not_yet, wrong_audience,
                 wrong_issuer, forged, tampered, hmac, none, swapped, critical,
                 too_large, groups, suspended, several_organizations):
        tap.section(part, world)
    homes = []
    tap.section(lambda: homes.append(device_flow(world)))
    if homes:
        tap.section(renewal, world, homes[0])
        tap.section(logout, world, homes[0])
    for part in (browser_flow, refused_at_login, acting, rotation,
                 provider_down):
        tap.section(part, world)
    tap.eq(world.server.stop(), 0, "the server stops as asked")
    world.provider.stop()
    tap.end()


main()
