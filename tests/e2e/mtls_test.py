#!/usr/bin/python3
"""Client certificates that stand for service accounts."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from muster import Client, Server, folder, run, tap  # noqa: E402

ADMINISTRATOR = "00000000-0000-5000-8000-000000000003"


class Authority:
    """Signs certificates; they lie in PATH."""

    def __init__(self, path, name):
        self.path, self.name = path, name
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                  self.at(name, "key"), "-out", self.at(name, "pem"),
                  "-subj", f"/CN={name}", "-days", "2")

    def at(self, name, suffix):
        return os.path.join(self.path, f"{name}.{suffix}")

    @staticmethod
    def _run(*argv):
        subprocess.run(["openssl", *argv], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sign(self, name, subject, extension="extendedKeyUsage=clientAuth"):
        self._run("req", "-newkey", "ec", "-pkeyopt",
                  "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                  self.at(name, "key"), "-out", self.at(name, "csr"),
                  "-subj", subject)
        with open(self.at(name, "ext"), "w", encoding="ascii") as file:
            file.write(extension + "\n")
        self._run("x509", "-req", "-in", self.at(name, "csr"), "-CA",
                  self.at(self.name, "pem"), "-CAkey",
                  self.at(self.name, "key"), "-CAcreateserial", "-days", "2",
                  "-extfile", self.at(name, "ext"), "-out",
                  self.at(name, "pem"))
        return self.at(name, "pem"), self.at(name, "key")


class TlsServer(Server):
    """Knows its own certificate by its authority."""

    def __init__(self, config, authority):
        super().__init__(config)
        self.authority = authority

    def connect(self, timeout=None, mine=None):
        context = ssl.create_default_context(
            cafile=self.authority.at("ca", "pem"))
        if mine:
            context.load_cert_chain(*mine)
        return context.wrap_socket(
            socket.create_connection((self.host, self.port), timeout or 20),
            server_hostname="localhost")


def ask(server, mine, headers=None):
    """Status and answer of whoami, shown this certificate; None when the
    connection is refused."""
    connection = http.client.HTTPConnection(server.host, server.port)
    try:
        connection.sock = server.connect(mine=mine)
        connection.request("GET", "/v1/whoami", headers=headers or {})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    except (ssl.SSLError, ConnectionError, http.client.HTTPException):
        return None, None
    finally:
        connection.close()


def start(ca):
    cert, key = ca.sign("server", "/CN=localhost",
                        "subjectAltName=DNS:localhost")
    server = TlsServer({
        "tls": {"certificate": cert, "key": key,
                "clientCa": ca.at("ca", "pem")},
        "mtls": [
            {"commonName": "backup", "serviceAccount": "acme/backup"},
            {"subject": "CN=ci,O=Acme", "serviceAccount": "acme/ci"},
            {"commonName": "gone", "serviceAccount": "acme/gone"},
            {"commonName": "admin", "serviceAccount": "admin"},
        ]}, ca)
    return server.start()


def populate(server):
    admin = Client(server)
    acme = admin.post("/v1/organizations", {"name": "acme"}).json["id"]
    ids = {}
    for name in ("backup", "ci"):
        ids[name] = admin.post("/v1/serviceaccounts", {
            "name": name, "organizationId": acme}).json["id"]
    admin.post("/v1/groups", {
        "name": "programs", "organizationId": acme,
        "serviceAccountIds": [ids["backup"]], "roleIds": [ADMINISTRATOR]})
    return admin, acme, ids


def certificates(server, ca, acme, ids):
    status, who = ask(server, ca.sign("backup", "/O=Any/CN=backup"))
    tap.eq((status, who and who["name"]), (200, "serviceaccount:backup"),
           "a certificate stands for its service account, by common name")
    tap.eq(who["id"], ids["backup"], "the one of that organization")
    tap.ok(all(g["organizationId"] == acme for g in who["grants"])
           and who["grants"], "with its rights", who)
    status, who = ask(server, ca.sign("ci", "/O=Acme/CN=ci"))
    tap.eq((status, who and who["name"]), (200, "serviceaccount:ci"),
           "or by its whole subject")
    status, who = ask(server, ca.sign("ci2", "/O=Other/CN=ci"))
    tap.eq(status, 401, "which must be that, whole")
    status, who = ask(server, ca.sign("admin", "/CN=admin"))
    tap.eq((status, who and who["name"]), (200, "serviceaccount:admin"),
           "a name alone is the platform's")


def refusals(server, ca, ids):
    status, who = ask(server, ca.sign("unknown", "/CN=unknown"))
    tap.ok(status == 401 and "CN=unknown" in who["detail"],
           "a certificate that stands for nobody is told so", who)
    status, who = ask(server, ca.sign("gone", "/CN=gone"))
    tap.ok(status == 401 and "not there" in who["detail"],
           "and one whose service account is not there", who)
    status, who = ask(server, ca.sign("two", "/CN=other/CN=backup"))
    tap.eq(status, 401, "two common names are none")
    status, who = ask(server, ca.sign("trick", "/O=x,CN=backup/CN=y"))
    tap.eq(status, 401, "a name inside of another part is none")
    status, who = ask(server, None)
    tap.eq(status, 401, "without a certificate a token is needed")
    other = Authority(folder(), "ca")
    status, who = ask(server, other.sign("backup", "/CN=backup"))
    tap.eq(status, None, "a certificate of another authority is refused")
    status, who = ask(server, ca.sign("purpose", "/CN=backup",
                                      "extendedKeyUsage=serverAuth"))
    tap.eq(status, None, "and one that is not for clients")
    mine = ca.sign("backup", "/CN=backup")
    status, who = ask(server, mine, {
        "Authorization": f"Bearer {server.token}"})
    tap.eq((status, who and who["name"]), (200, "serviceaccount:admin"),
           "a token comes before a certificate")
    status, who = ask(server, mine, {"Authorization": "Bearer muster_no"})
    tap.eq(status, 401, "even a wrong one")


def deletion(server, ca, admin, ids):
    mine = ca.sign("backup", "/CN=backup")
    tap.eq(ask(server, mine)[0], 200, "it is good")
    admin.delete(f"/v1/serviceaccounts/{ids['backup']}")
    tap.eq(ask(server, mine)[0], 401, "until its service account is deleted")


def configuration():
    path = os.path.join(folder(), "muster.yaml")
    for text, words in (
            ("mtls: [{commonName: x, serviceAccount: y}]", "clientCa"),
            ("oidc: [{name: x, issuer: 'http://id.example.org', audience: y}]",
             "https"),
            ("oidc: [{name: x, issuer: 'https://id.example.org'}]",
             "audience"),
            ("oidc: [{issuer: 'https://id.example.org'}]", "/oidc/0/name")):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        status, said = run("serve", "--config", path, "--check")
        tap.ok(status != 0 and words in said, f"refused: {text}", said)


def main():
    ca = Authority(folder(), "ca")
    server = start(ca)
    admin, acme, ids = populate(server)
    tap.section(certificates, server, ca, acme, ids)
    tap.section(refusals, server, ca, ids)
    tap.section(deletion, server, ca, admin, ids)
    tap.section(configuration)
    tap.eq(server.stop(), 0, "the server stops as asked")
    tap.end()


main()
