#!/usr/bin/python3
"""What a guest is given lets people log in: the user data is taken as
cloud-init takes it, and a real sshd is held to it."""

import base64
import email
import getpass
import json
import os
import shutil
import socket
import subprocess
import urllib.request

from machines import World
from muster import _processes, folder, run, tap, wait_for

USER = "#cloud-config\npackages: [git]\nssh_authorized_keys: [mine]\n"


def parts(data):
    """What cloud-init makes of it: the parts that are not themselves many."""
    if data.startswith(b"#"):
        return [("text/cloud-config", data.decode())]
    message = email.message_from_bytes(data)
    return [(p.get_content_type(), p.get_payload(decode=True).decode())
            for p in message.walk() if not p.is_multipart()]


def given(w, instance):
    """The bytes that the cloud was told to give the guest."""
    machine, = w.cloud.of(instance)
    text = machine["userData"]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def managed(w, instance):
    kind, text = parts(given(w, instance))[-1]
    assert kind == "text/cloud-config" and text.startswith("#cloud-config\n")
    return json.loads(text.split("\n", 1)[1])


def composed(w):
    data = base64.b64encode(USER.encode()).decode()
    one = w.instance("alone", userData=data)
    tap.eq(given(w, one), USER.encode(), "alone it comes as it was sent")
    one = w.instance("both", userData=data, sshKey="generated")
    got = parts(given(w, one))
    tap.eq([kind for kind, _ in got], ["text/cloud-config"] * 2,
           "with a key it is one part of two")
    tap.eq(got[0][1], USER, "which is the user's own")
    tap.eq(managed(w, one)["ssh_authorized_keys"],
           [one["status"]["sshPublicKey"]], "the other has the key")
    message = ('Content-Type: multipart/mixed; boundary="x"\n'
               "MIME-Version: 1.0\n\n--x\nContent-Type: text/x-shellscript\n\n"
               "#!/bin/sh\ntrue\n--x\nContent-Type: text/cloud-config\n\n"
               "#cloud-config\n{}\n--x--\n")
    one = w.instance("nested", sshKey="generated", userData=base64.b64encode(
        message.encode()).decode())
    tap.eq([kind for kind, _ in parts(given(w, one))],
           ["text/x-shellscript", "text/cloud-config", "text/cloud-config"],
           "a message that was sent is found in the message")


class Guest:
    """A real sshd that was set up as the user data says."""

    def __init__(self, name, config):
        self.root = os.path.join(folder(), name)
        os.makedirs(self.root)
        self.keys = os.path.join(self.root, "authorized_keys")
        with open(self.keys, "w", encoding="utf-8") as file:
            file.write("\n".join(config.get("ssh_authorized_keys", [])) + "\n")
        for item in config.get("write_files", []):
            self._write(item["path"], item["content"])
        self.host = os.path.join(self.root, "host")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        self.host], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.config = os.path.join(self.root, "sshd_config")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f"Port {self.port}\nListenAddress 127.0.0.1\n"
                       f"HostKey {self.host}\nUsePAM no\nStrictModes no\n"
                       f"PidFile none\nAuthorizedKeysFile {self.keys}\n"
                       "PasswordAuthentication no\nPermitRootLogin yes\n"
                       "KbdInteractiveAuthentication no\n"
                       f"Include {self.inside('/etc/ssh/sshd_config.d')}/*\n")
        self.process = None

    def inside(self, path):
        return self.root + path

    def _write(self, path, content):
        """The guest's own files lie below ours."""
        place = self.inside(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(content.replace("/etc/ssh/", self.inside("/etc/ssh/")))

    def start(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        log = open(os.path.join(self.root, "log"), "wb")
        self.process = subprocess.Popen(
            [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-e", "-f",
             self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        _processes.append(self.process)
        if not wait_for(self._answers):
            raise AssertionError(self.log())
        return self

    def _answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def log(self):
        with open(os.path.join(self.root, "log"), encoding="utf-8",
                  errors="replace") as file:
            return file.read()

    def login(self, *identity):
        """What a command says there, or how it failed."""
        said = subprocess.run(
            ["ssh", "-F", "none", "-p", str(self.port), "-o", "BatchMode=yes",
             "-o", "StrictHostKeyChecking=no", "-o", "IdentitiesOnly=yes",
             "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentityAgent=none",
             *identity, f"{getpass.getuser()}@127.0.0.1", "echo", "here"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        return said.stdout.strip() if said.returncode == 0 else said.stderr


def new_key(name, kind="ed25519"):
    path = os.path.join(folder(), name)
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f",
                    path], check=True)
    with open(path + ".pub", encoding="utf-8") as file:
        return path, file.read().strip()


def certificate(w, instance, key, line, **more):
    reply = w.api.post(w.path(instance) + "/sshcertificate", {
        "publicKey": line, **more})
    if reply.status != 200:
        raise AssertionError(repr(reply))
    path = f"{key}-{reply.json['serial']}-cert.pub"
    with open(path, "w", encoding="utf-8") as file:
        file.write(reply.json["certificate"] + "\n")
    return reply.json, ["-i", key, "-o", f"CertificateFile={path}"]


def certificates(w):
    ca = w.make("sshcas", {"name": "ours", "projectId": w.project,
                           "spec": {"maxSeconds": 600}})
    one = w.instance("cert-1", sshCertificateAuthorityId=ca["id"])
    two = w.instance("cert-2", sshCertificateAuthorityId=ca["id"])
    guest = Guest("cert-1", managed(w, one)).start()
    for kind in ("ed25519", "ecdsa", "rsa"):
        key, line = new_key(f"key-{kind}", kind)
        tap.ok("denied" in guest.login("-i", key),
               f"{kind}: a key alone does not let anybody in", guest.log())
        said, how = certificate(w, one, key, line)
        tap.eq(guest.login(*how), "here", f"{kind}: its certificate does")
        tap.ok(f'ID {said["keyId"]}' in guest.log() or
               said["keyId"] in guest.log(),
               f"{kind}: and the guest's log says who it was", guest.log())
    _, how = certificate(w, two, key, line)
    tap.ok("denied" in guest.login(*how),
           "the certificate of another instance does not", guest.log())
    _, how = certificate(w, two, key, line, principals=[w.project])
    tap.eq(guest.login(*how), "here", "one for the whole project does")
    said, _ = certificate(w, one, key, line, seconds=60)
    tap.ok(said["validAfter"] < said["validBefore"] and
           said["principals"] == [one["id"]], "it says for how long", said)
    path = w.path(one) + "/sshcertificate"
    for name, body, pointer in (
            ("too long", {"publicKey": line, "seconds": 601}, "/seconds"),
            ("no key", {"publicKey": "x"}, "/publicKey"),
            ("another's name", {"publicKey": line, "principals": ["root"]},
             "/principals/0")):
        reply = w.api.post(path, body)
        tap.ok(reply.status == 422 and reply.json["field"] == pointer,
               f"none is signed for {name}", reply)
    trail = w.api.get(f"/v1/audit?objectId={one['id']}"
                      "&action=sshcertificate").json["items"]
    tap.ok([e for e in trail if e["result"] == "ok"],
           "what was signed is in the audit trail", trail)
    brought = w.make("sshcas", {"name": "theirs", "projectId": w.project,
                                "spec": {"publicKey": line}})
    reply = w.api.post(w.path(w.instance(
        "cert-3", sshCertificateAuthorityId=brought["id"])) +
        "/sshcertificate", {"publicKey": line})
    tap.ok(reply.status == 409 and b"not held here" in reply.body,
           "what is held elsewhere is signed elsewhere", reply)


def brought(w):
    """An authority elsewhere names the users, as is the custom."""
    ca, line = new_key("their-ca")
    authority = w.make("sshcas", {"name": "brought", "projectId": w.project,
                                  "spec": {"publicKey": line}})
    one = w.instance("brought-1", sshCertificateAuthorityId=authority["id"])
    guest = Guest("brought-1", managed(w, one)).start()
    key, _ = new_key("their-key")
    subprocess.run(["ssh-keygen", "-q", "-s", ca, "-I", "joe", "-n",
                    getpass.getuser(), key + ".pub"], check=True)
    tap.eq(guest.login("-i", key), "here",
           "a certificate of an authority elsewhere lets its user in")


def pairs(w):
    one = w.instance("pair-1", sshKey="generated")
    guest = Guest("pair-1", managed(w, one)).start()
    pair = w.api.get(w.path(one) + "/sshkey").json
    path = os.path.join(folder(), "pair")
    with open(path, "w", encoding="utf-8",
              opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(pair["privateKey"])
    tap.eq(guest.login("-i", path), "here", "the key that was made lets in")
    key, line = new_key("own")
    one = w.instance("pair-2", sshPublicKeys=[line])
    guest = Guest("pair-2", managed(w, one)).start()
    tap.eq(guest.login("-i", key), "here", "so does one that was brought")
    tap.ok("denied" in guest.login("-i", path), "and no other", guest.log())


def sealed(w):
    """What is secret is not in the files of the server."""
    one = w.instance("sealed-1", sshKey="generated")
    secret = w.api.get(w.path(one) + "/sshkey").json["privateKey"]
    w.server.stop()
    line = secret.split("\n")[3].encode()
    found = [name for at, _, names in os.walk(w.server.data)
             for name in names
             if line in open(os.path.join(at, name), "rb").read()]
    tap.eq(found, [], "a private key is not to be read from the disk")
    status, said = run("fsck", "--data", w.server.data)
    tap.ok(status == 0, "fsck finds nothing wrong", said)


def main():
    w = World()
    with urllib.request.urlopen(w.cloud.url + "/options",
                                b'{"keepsUserData": true}') as answer:
        answer.read()
    tap.section(composed, w)
    if shutil.which("ssh") and (shutil.which("sshd") or
                                os.path.exists("/usr/sbin/sshd")):
        for section in (certificates, brought, pairs):
            tap.section(section, w)
    else:
        tap.skip("people log in", "there is no OpenSSH here")
    tap.section(sealed, w)


if __name__ == "__main__":
    tap.section(main)
    tap.end()
