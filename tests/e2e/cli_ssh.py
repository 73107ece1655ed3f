#!/usr/bin/python3
"""`muster ssh` against a stand-in for the server: what OpenSSH is run with, what
it is not run with, and a real login."""
import getpass
import glob
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli_rig import MUSTER, Client, check, done, folder, has  # noqa: E402
from cli_stub import TOKEN, merge  # noqa: E402
from cli_machines_stub import Machines, MachinesHandler  # noqa: E402

HOST_KEY = "ssh-ed25519 " + "A" * 68

# Stands where ssh would: tells what it was given, and lives as long as told.
FAKE = """#!/usr/bin/python3
import json, os, sys, time
argv = sys.argv[1:]
files = {}
for word in argv:
    path = word.split("=", 1)[-1]
    if path.startswith("/") and os.path.isfile(path):
        files[path] = [oct(os.stat(path).st_mode & 0o777), open(path).read()]
        for more in (path + ".pub",):
            if os.path.isfile(more):
                files[more] = ["", open(more).read()]
json.dump({"argv": argv, "files": files}, open(os.environ["FAKE_OUT"], "w"))
if os.environ.get("FAKE_WAITS"):
    print("waiting", flush=True)
    time.sleep(60)
sys.exit(int(os.environ.get("FAKE_STATUS", "0")))
"""


class Signing(MachinesHandler):
    def verb(self, kind, ident, verb, words, body):
        stub = self.stub
        if verb == "sshcertificate":
            stub.signed.append(body)
            if not stub.authority:
                self.fail(409, "conflict", "its key is not held here")
                return
            self.reply(200, {"certificate": stub.sign(body["publicKey"],
                                                      ident),
                             "validBefore": "2036-01-01T00:00:00.000Z"})
        elif verb == "sshkey":
            self.reply(200, {"privateKey": "PRIVATE\n"})
        else:
            super().verb(kind, ident, verb, words, body)


class World(Machines):
    """With an instance that can be logged in to."""

    handler = Signing

    def __init__(self):
        super().__init__()
        self.home = folder()
        self.authority = os.path.join(self.home, "ca")
        self.signed = []
        keygen("-f", self.authority)
        image = self.named("images", "debian-12")
        self.put("images", merge(image, {"spec": {"user": "debian"}}))
        self.one = self.make(
            "instances", name="web-1", networkId=self.net["id"],
            projectId=self.project["id"], organizationId=self.org["id"],
            regionId=self.region["id"],
            spec={"imageId": image["id"], "sshCertificateAuthorityId": "x"},
            status={"state": "running", "sshHostKey": HOST_KEY,
                    "privateIp": "10.0.0.5"})

    def sign(self, key, principal):
        path = os.path.join(self.home, "to-sign.pub")
        with open(path, "w", encoding="ascii") as file:
            file.write(key + "\n")
        subprocess.run(["ssh-keygen", "-q", "-s", self.authority, "-I", "ann",
                        "-n", principal, "-V", "-1m:+5m", path], check=True)
        with open(path.replace(".pub", "-cert.pub"),
                  encoding="ascii") as file:
            return file.read().strip()

    def set(self, **patch):
        """Another version of the instance."""
        self.one = self.put("instances", merge(self.one, patch))


def keygen(*argv):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", *argv],
                   check=True)


class Ssh(Client):
    """Runs `muster ssh` with a stand-in for ssh."""

    def __init__(self, world):
        super().__init__(world.url, TOKEN)
        self.bin, self.run_dir = folder(), folder()
        self.out = os.path.join(self.bin, "out")
        path = os.path.join(self.bin, "ssh")
        with open(path, "w", encoding="ascii") as file:
            file.write(FAKE)
        os.chmod(path, 0o755)
        self.env.update(PATH=self.bin + ":" + os.environ["PATH"],
                        XDG_RUNTIME_DIR=self.run_dir, FAKE_OUT=self.out)

    def ssh(self, text, *argv, status=0, **env):
        """What ssh was given: None when it was not run."""
        if os.path.exists(self.out):
            os.unlink(self.out)
        self.last = self.expect(status, text, "ssh", *argv, **env)
        if os.listdir(self.run_dir):
            check(False, "nothing is left behind", os.listdir(self.run_dir))
        if not os.path.exists(self.out):
            return None
        with open(self.out, encoding="utf-8") as file:
            return json.load(file)

    def refuses(self, text, word, *argv, status):
        got = self.ssh(text, *argv, status=status)
        check(got is None and word in self.last.stderr,
              "and says why, and runs nothing", got, self.last.stderr)


def options(argv):
    """The words after each -o, and what follows "--"."""
    at = argv.index("--")
    found = [argv[i + 1] for i in range(at) if argv[i] == "-o"]
    return dict(o.split("=", 1) for o in found), argv[at + 1:]


def after(argv, letter):
    return argv[argv.index(letter) + 1]


def certificates(w, c):
    got = c.ssh("a login", "web-1")
    argv, files = got["argv"], got["files"]
    opts, rest = options(argv)
    check(rest == ["10.0.0.5"] and after(argv, "-p") == "22" and
          after(argv, "-l") == "debian",
          "goes to its address, as the image's user", argv)
    check(opts["StrictHostKeyChecking"] == "yes" and
          opts["GlobalKnownHostsFile"] == "/dev/null" and
          opts["HostKeyAlias"] == "muster-" + w.one["id"] and
          files[opts["UserKnownHostsFile"]][1] ==
          "muster-%s %s\n" % (w.one["id"], HOST_KEY),
          "with the host key that it was given", opts, files)
    key, cert = after(argv, "-i"), opts["CertificateFile"]
    check(files[key][0] == "0o600" and
          files[key][1].startswith("-----BEGIN OPENSSH PRIVATE KEY"),
          "with a key for us alone", files[key][0])
    check(files[cert][1].startswith("ssh-ed25519-cert-v01@openssh.com ") and
          opts["IdentitiesOnly"] == "yes" and
          opts["PreferredAuthentications"] == "publickey",
          "with a certificate for it, and in no other way")
    check(w.signed[-1]["publicKey"] == files[key + ".pub"][1].strip() and
          w.signed[-1]["seconds"] == 300,
          "of five minutes", w.signed[-1])
    c.ssh("another login", "web-1")
    check(w.signed[-1]["publicKey"] != w.signed[-2]["publicKey"],
          "has another key")
    check(stat.S_IMODE(os.stat(c.run_dir).st_mode) and
          key.startswith(c.run_dir + "/muster-ssh-"),
          "where the system keeps what is of this session", key)


def words(w, c):
    for text, argv, want in (
            ("a command", ["web-1", "uname", "-a"], ["uname", "-a"]),
            ("one after a mark", ["web-1", "--", "-x", "--"], ["-x", "--"]),
            ("one that looks like ours", ["web-1", "ls", "--help"],
             ["ls", "--help"]),
            ("one with quotes", ["web-1", "echo", "$HOME '\" ;"],
             ["echo", "$HOME '\" ;"]),
            ("options behind the name", ["web-1", "--user", "root", "id"],
             ["id"]),
            ("and before", ["--user", "root", "web-1", "id"], ["id"])):
        got = c.ssh(text, *argv)
        check(options(got["argv"])[1][1:] == want, "is passed on", got)
        if "--user" in argv:
            check(after(got["argv"], "-l") == "root", "as somebody else")
    got = c.ssh("options of ssh", "web-1", "-t", "--ssh-option",
                "LocalForward=1:localhost:2", "--ssh-option",
                "StrictHostKeyChecking=no")
    argv = got["argv"]
    check("-t" in argv and "LocalForward=1:localhost:2" in argv and
          argv.index("StrictHostKeyChecking=yes") <
          argv.index("StrictHostKeyChecking=no"),
          "are passed on, behind ours", argv)
    c.ssh("what it exits with", "web-1", status=42, FAKE_STATUS="42")
    r = c.run("ssh", "web-1", "--help")
    check(r.returncode == 0 and "Log in to an instance" in r.stdout,
          "help is still help")


def places(w, c):
    for text, status, want in (
            ("a public address", {"publicIp": "203.0.113.7"},
             ("203.0.113.7", "22")),
            ("a published port", {"ports": [
                {"guest": 80, "address": "127.0.0.1", "port": 1080,
                 "protocol": "tcp"},
                {"guest": 22, "address": "127.0.0.9", "port": 2022,
                 "protocol": "udp"},
                {"guest": 22, "address": "127.0.0.1", "port": 2222,
                 "protocol": "tcp"}]}, ("127.0.0.1", "2222")),
            ("a port on every address", {"ports": [
                {"guest": 22, "address": "0.0.0.0", "port": 2223}]},
             ("127.0.0.1", "2223")),
            ("IPv6 alone", {"ports": None, "publicIp": None,
                            "privateIp": None, "privateIp6": "fd00::5"},
             ("fd00::5", "22"))):
        w.set(status=status)
        argv = c.ssh(text, "web-1")["argv"]
        check((options(argv)[1][0], after(argv, "-p")) == want,
              "is where it goes", argv)
    w.set(status={"privateIp6": None})
    c.refuses("without an address", "no address", "web-1", status=5)
    w.set(status={"privateIp": "10.0.0.5", "state": "stopped"})
    c.refuses("one that is stopped", "it is stopped", "web-1", status=5)
    w.set(status={"state": "running"})


def keys(w, c):
    w.set(spec={"sshKey": "generated"})
    w.authority, ca = None, w.authority
    got = c.ssh("one whose authority signs elsewhere", "web-1")
    argv, files = got["argv"], got["files"]
    check(files[after(argv, "-i")] == ["0o600", "PRIVATE\n"] and
          "CertificateFile" not in options(argv)[0],
          "is reached with the key that was made for it", got)
    w.set(spec={"sshKey": None})
    c.refuses("without that", "not held here", "web-1", status=5)
    w.authority = ca
    w.set(spec={"sshCertificateAuthorityId": None})
    c.refuses("one that trusts nobody", "trusts no certificates", "web-1",
              status=5)
    w.set(spec={"sshPublicKeys": ["ssh-ed25519 AAAA ann"]})
    argv = c.ssh("one that was given keys", "web-1")["argv"]
    check("-i" not in argv, "is reached with one's own", argv)
    argv = c.ssh("a key that is named", "web-1", "-i", "/a b/key")["argv"]
    check(after(argv, "-i") == "/a b/key", "is used", argv)
    w.set(spec={"sshPublicKeys": None, "sshCertificateAuthorityId": "x"})


def unknown(w, c):
    w.set(status={"sshHostKey": None})
    c.refuses("one whose host key is not known", "--accept-host-key", "web-1",
              status=1)
    argv = c.ssh("unless it is accepted", "web-1", "--accept-host-key")["argv"]
    opts = options(argv)[0]
    check(opts["StrictHostKeyChecking"] == "accept-new" and
          "UserKnownHostsFile" not in opts and
          opts["HostKeyAlias"] == "muster-" + w.one["id"],
          "the first time", opts)
    w.set(status={"sshHostKey": HOST_KEY})
    image = w.named("images", "debian-12")
    w.put("images", merge(image, {"spec": {"user": None}}))
    c.refuses("an image that does not say who logs in", "--user", "web-1",
              status=2)
    w.put("images", merge(image, {"spec": {"user": "debian"}}))
    c.refuses("one that is not there", "nobody", "nobody", status=3)
    c.ssh("no name at all", status=2)
    r = c.run("ssh", "web-1", PATH=folder())
    check(r.returncode == 1 and "OpenSSH" in r.stderr,
          "without OpenSSH it says so", r)


def booting(w, c):
    """It is waited for, and then is where it says that it is then."""
    def begin(after):
        w.set(status={"state": "running",
                      "readiness": {"state": "waiting"}})
        w.requests.clear()

        def change():
            # Once somebody watches.
            while not any(r[3].get("Accept") == "text/event-stream"
                          for r in list(w.requests)):
                time.sleep(0.01)
            w.set(status=after)
        w.later(change)

    begin({"readiness": {"state": "ready"}, "publicIp": "203.0.113.8"})
    argv = c.ssh("one that boots", "web-1")["argv"]
    check(options(argv)[1] == ["203.0.113.8"] and "boots" in c.last.stderr,
          "is waited for, and that is said", argv, c.last.stderr)
    begin({"readiness": {"state": "unready"}, "publicIp": "203.0.113.9"})
    argv = c.ssh("one that does not get up", "web-1")["argv"]
    check(options(argv)[1] == ["203.0.113.9"], "is tried all the same", argv)
    begin({"state": "stopped", "readiness": None, "publicIp": None})
    c.refuses("one that is stopped meanwhile", "it is stopped", "web-1",
              status=5)
    w.set(status={"state": "running", "readiness": {"state": "waiting"}})
    c.refuses("one that takes too long", "in time", "web-1", "--timeout",
              "2s", status=6)
    c.ssh("a configuration for one that boots", "web-1", "--print-config")
    check("boots" not in c.last.stderr, "is there at once", c.last.stderr)
    w.set(status={"readiness": None})


def nobody_there_yet(w, c):
    """A published port drops who comes while nobody in the guest listens."""
    taken = []

    def serve(listener):
        for n in range(3):
            s, _ = listener.accept()
            taken.append(n)
            if n == 2:
                s.sendall(b"SSH-2.0-here\r\n")
            else:
                # With a reset, as QEMU has it.
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             struct.pack("ii", 1, 0))
            s.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        w.set(status={"ports": [{"guest": 22, "address": "127.0.0.1",
                                 "port": port, "protocol": "tcp"}]})
        argv = c.ssh("a port behind which nobody is yet", "web-1")["argv"]
    check(taken == [0, 1, 2] and after(argv, "-p") == str(port),
          "is knocked at until somebody answers", taken, argv)
    argv = c.ssh("one that nobody takes connections at", "web-1")["argv"]
    check(after(argv, "-p") == str(port), "is left to ssh to tell", argv)
    w.set(status={"ports": None})


def hostile(w, c):
    """A server that wants something run."""
    bad = "-oProxyCommand=touch /tmp/x"
    for text, patch in (
            ("address", {"status": {"privateIp": bad}}),
            ("published address", {"status": {"ports": [
                {"guest": 22, "address": bad, "port": 1}]}}),
            ("address with a line break", {"status": {
                "privateIp": "10.0.0.5\nProxyCommand x"}})):
        was = w.one
        w.set(**patch)
        c.refuses("an %s that is none" % text, "", "web-1", status=1)
        w.one = w.put("instances", dict(was))
    for key in ("ssh-ed25519 AAAA\n* ssh-rsa BBBB", "@cert-authority *",
                "ssh-ed25519", "", "a b\tc"):
        w.set(status={"sshHostKey": key})
        c.refuses("the host key %r" % key, "not known", "web-1", status=1)
    w.set(status={"sshHostKey": HOST_KEY})
    image = w.named("images", "debian-12")
    for user in (bad, "a b", "a\nb", "%h"):
        w.put("images", merge(image, {"spec": {"user": user}}))
        c.refuses("the user %r" % user, "no user's name", "web-1", status=2)
    w.put("images", merge(image, {"spec": {"user": "debian"}}))


def configuration(w, c):
    got = c.ssh("a configuration", "web-1", "--print-config")
    text = c.last.stdout
    kept = os.path.join(c.home, ".config", "muster", "ssh", w.one["id"])
    check(got is None and has(
        text, "Host web-1\n", "HostName 10.0.0.5\n", "Port 22\n",
        "User debian\n", "StrictHostKeyChecking yes\n", kept + "/key",
        "good until 2036"), "is printed", text)
    check(sorted(os.listdir(kept)) == ["key", "key-cert.pub", "key.pub",
                                       "known_hosts"] and
          stat.S_IMODE(os.stat(kept).st_mode) == 0o700 and
          "seconds" not in w.signed[-1],
          "its files stay, for us alone", os.listdir(kept))
    path = os.path.join(c.home, "config")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    r = subprocess.run(["/usr/bin/ssh", "-G", "-F", path, "web-1"],
                       stdout=subprocess.PIPE, text=True, check=False)
    check(has(r.stdout, "hostname 10.0.0.5\n", "user debian\n",
              "hostkeyalias muster-" + w.one["id"],
              "certificatefile %s/key-cert.pub\n" % kept),
          "and ssh reads it as it is meant", r.stdout)
    c.ssh("again", "web-1", "--print-config")


def waits(w, c):
    early = []

    def wait_for_one():
        """Until somebody waits: the stand-in streams its instances."""
        while not any("event-stream" in r[3].get("Accept", "") and
                      r[1].startswith("/v1/instances")
                      for r in list(w.requests)):
            time.sleep(0.01)

    def come_up():
        wait_for_one()
        w.happen(w.one, "running", "it runs")
        w.set(status={"state": "running", "privateIp": "10.0.0.5",
                      "readiness": {"state": "waiting",
                                    "message": "nobody answers"}})
        time.sleep(0.2)
        early.append(os.path.exists(c.out))
        w.happen(w.one, "ready", "its guest is up")
        w.set(status={"readiness": {"state": "ready"}})

    w.set(status={"state": "pending", "privateIp": None, "publicIp": None})
    w.requests.clear()
    thread = threading.Thread(target=come_up, daemon=True)
    thread.start()
    got = c.ssh("one that is on its way", "web-1", "id")
    thread.join()
    check(early == [False] and options(got["argv"])[1] ==
          ["10.0.0.5", "id"], "is waited for, until its guest is up",
          early, got)
    check(has(c.last.stderr, "It boots", "it runs",
              "its guest is up") and not c.last.stdout,
          "and how it goes is told", c.last)
    w.set(status={"readiness": {
        "state": "unready", "message": "its SSH\x1b does not answer"}})
    got = c.ssh("one that does not answer any more", "web-1")
    check(got and has(c.last.stderr, "not up: its SSH", "all the same") and
          "\x1b" not in c.last.stderr,
          "is tried all the same, and that is said", c.last)
    w.set(status={"readiness": None, "state": "pending", "reason": {
        "waitsFor": "specChange", "message": "sold out"}})
    c.refuses("one that never gets there", "sold out", "web-1", status=1)
    w.set(status={"state": "running", "reason": None})


def signals(w, c):
    process = subprocess.Popen(
        [MUSTER, "ssh", "web-1"], env={**c.env, "FAKE_WAITS": "1"},
        stdout=subprocess.PIPE)
    process.stdout.readline()
    check(os.listdir(c.run_dir), "while it runs there are files")
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    check(process.poll() is None, "Ctrl-C is for ssh to heed")
    process.send_signal(signal.SIGTERM)
    check(process.wait(20) == 128 + signal.SIGTERM and
          not os.listdir(c.run_dir), "when it is ended so is ssh, and the "
          "files go")
    process.stdout.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def real(w):
    """OpenSSH's own server in place of a guest."""
    home, port, user = folder(), free_port(), getpass.getuser()
    host = os.path.join(home, "host")
    keygen("-f", host)
    os.makedirs("/run/sshd", exist_ok=True)
    with open(os.path.join(home, "principals"), "w",
              encoding="ascii") as file:
        file.write(w.one["id"] + "\n")
    with open(os.path.join(home, "conf"), "w", encoding="ascii") as file:
        file.write(f"""Port {port}
ListenAddress 127.0.0.1
HostKey {host}
TrustedUserCAKeys {w.authority}.pub
AuthorizedPrincipalsFile {home}/principals
AuthorizedKeysFile none
PasswordAuthentication no
UsePAM no
PermitRootLogin prohibit-password
StrictModes no
PidFile none
""")
    with open(os.path.join(home, "log"), "wb") as log:
        server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f",
                                   os.path.join(home, "conf")],
                                  stderr=log)
    try:
        with open(host + ".pub", encoding="ascii") as file:
            key = file.read().strip()
        w.set(status={"sshHostKey": key, "ports": [
            {"guest": 22, "address": "127.0.0.1", "port": port,
             "protocol": "tcp"}]})
        c = Client(w.url, TOKEN)
        for _ in range(200):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        try:
            r = c.expect(7, "a real login", "ssh", "web-1", "--user", user,
                         "--ssh-option", "LogLevel=VERBOSE", "--", "echo",
                         "hello from $0;", "cat;", "exit", "7",
                         input="and back")
            said = r.stdout
        except subprocess.TimeoutExpired as late:
            said = str(late.stderr)
        with open(os.path.join(home, "log"), encoding="utf-8") as log:
            check("hello from" in said and "and back" in said,
                  "answers", said, log.read())
        w.set(status={"sshHostKey": HOST_KEY})
        r = c.expect(255, "somebody else in its place", "ssh", "web-1",
                     "--user", user, "true")
        check("verification failed" in r.stderr, "is found out", r.stderr)
        check(not glob.glob(c.home + "/.ssh/known_hosts"),
              "and nothing is remembered")
    finally:
        server.terminate()
        server.wait()


def main():
    w = World()
    c = Ssh(w)
    for part in (certificates, words, places, keys, unknown, booting, waits,
                 nobody_there_yet, hostile, configuration, signals):
        part(w, c)
    if os.path.exists("/usr/sbin/sshd") and os.geteuid() == 0:
        real(w)
    else:
        check(True, "a real login # SKIP needs sshd and root")
    w.close()
    return done()


if __name__ == "__main__":
    sys.exit(main())
