#!/usr/bin/python3
"""Hosts that run machines: libvirt's daemons, each apart from everything else.

A Host is a folder and one process, the first of namespaces of its own for
mounts, network and processes.  Its virtlogd and libvirtd see the folder as
/run, /etc/libvirt, /var/lib/libvirt and so on, and have no way out but the
unix socket in it, and TLS on a port of the loopback address when that is asked
for.  When the first process ends, by whatever, the kernel ends all the others
with it, machines among them; so nothing is left but the folder, which goes away
with the test.

A Wire is what several hosts are plugged into: an Ethernet, each host's end of
it is its interface `up0`.

As a script it runs a command with some hosts about it:

    libvirtd.py [--hosts N] [--tls] [--wire] COMMAND [ARGUMENT...]

MUSTER_LIBVIRT_URIS has their addresses, one a line, the TLS ones when there is
TLS; MUSTER_LIBVIRT_HOSTS what `nsenter --target` takes to be on them, one a
line.  The exit status is the command's; 77 when there cannot be hosts here.
"""

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

PATIENCE = float(os.environ.get("PATIENCE", "20"))
NEEDED = ("unshare", "nsenter", "ip", "libvirtd", "virtlogd", "virsh",
          "dnsmasq", "qemu-system-x86_64", "openssl")
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
TLS_PORT = 16514  # on the host; outside it is another, free one

# Where a host's folders are seen by it.
MOUNTS = {"run": "/run", "etc": "/etc/libvirt", "lib": "/var/lib/libvirt",
          "cache": "/var/cache/libvirt", "log": "/var/log/libvirt"}


def missing():
    """Why there cannot be hosts here; None when there can."""
    if os.geteuid() != 0:
        return "only root can make namespaces"
    for program in NEEDED:
        if not shutil.which(program, path=PATH):
            return f"there is no {program}"
    try:
        pwd.getpwnam("libvirt-qemu")
    except KeyError:
        return "there is no user libvirt-qemu"
    done = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork",
                           "true"], stderr=subprocess.PIPE, check=False,
                          errors="replace")
    return done.stderr.strip() or None if done.returncode else None


# The inside: the first process of a host.


def _mount(*argv):
    subprocess.run(["mount", *argv], check=True)


def _mounts(folder):
    """What is this host's own, over what everybody sees."""
    for name, place in MOUNTS.items():
        os.makedirs(place, exist_ok=True)
        _mount("--bind", os.path.join(folder, name), place)
    # What /sys shows of the network is that of who mounts it.  Without
    # control groups, for a host that is killed would leave its own behind.
    subprocess.run(["umount", "--recursive", "/sys"], check=True)
    _mount("-t", "sysfs", "sysfs", "/sys")


def _relay(listener):
    """Between who connects outside and the host's own port for TLS."""
    def pump(a, b):
        try:
            while data := a.recv(1 << 16):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    while True:
        outer, _ = listener.accept()
        try:
            inner = socket.create_connection(("127.0.0.1", TLS_PORT))
        except OSError:
            outer.close()
            continue
        for pair in ((outer, inner), (inner, outer)):
            threading.Thread(target=pump, args=pair, daemon=True).start()


class _Inside:
    """Starts and kills daemons as it is told, by lines on a socket."""

    def __init__(self, folder, tls):
        self.folder, self.tls = folder, tls
        self.pids = {}

    def start(self, name, *argv):
        pid = os.fork()
        if not pid:
            log = os.open(os.path.join(self.folder, "log", name + ".out"),
                          os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.execvp(name, [name, *argv])
        self.pids[name] = pid

    def reap(self, *_):
        """Machines outlive the daemon, and are ours to wait for then."""
        try:
            while (pid := os.waitpid(-1, os.WNOHANG)[0]):
                self.pids = {n: p for n, p in self.pids.items() if p != pid}
        except ChildProcessError:
            pass

    def obey(self, line):
        word, *rest = line.split()
        if word == "start":
            for name in ("virtlogd", "libvirtd"):
                if name not in self.pids:
                    listen = ["--listen"] if self.tls else []
                    self.start(name, *listen if name == "libvirtd" else ())
        elif word == "kill" and rest[0] in self.pids:
            pid = self.pids[rest[0]]
            os.kill(pid, int(rest[1]))
            while rest[0] in self.pids:
                time.sleep(0.005)
        return " ".join(f"{n}={p}" for n, p in self.pids.items())

    def run(self, control):
        signal.signal(signal.SIGCHLD, self.reap)
        with control.makefile("r", encoding="ascii") as lines:
            for line in lines:
                control.sendall((self.obey(line) + "\n").encode())


def _inside(folder, listener):
    _mounts(folder)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    listener = socket.socket(fileno=int(listener)) if listener != "-" else None
    if listener:
        threading.Thread(target=_relay, args=(listener,), daemon=True).start()
    control = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    control.sendall(b"ready\n")
    _Inside(folder, listener is not None).run(control)


# The outside.


_all = []


def _clean():
    while _all:
        _all[-1].stop()


atexit.register(_clean)


def _first_of(pid):
    """The first process in the namespaces that unshare, PID, has made."""
    path = f"/proc/{pid}/task/{pid}/children"
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with open(path, encoding="ascii") as file:
            if children := file.read().split():
                return int(children[0])
        time.sleep(0.005)
    raise RuntimeError("the namespaces were not made")


class _Apart:
    """A process with namespaces of its own, which ends with its input: so also
    when whoever made it was killed."""

    def __init__(self, argv, stdin, pass_fds=()):
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child",
             "--mount-proc", *argv], stdin=stdin, stdout=subprocess.DEVNULL,
            pass_fds=pass_fds, env=dict(os.environ, PATH=PATH))
        self.pid = _first_of(self.process.pid)

    def end(self):
        """Of everything that is in them; its input has ended."""
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Wire:
    """An Ethernet between hosts; ADDRESS is what it is itself on it."""

    def __init__(self, address="192.0.2.1/24"):
        self.apart = _Apart(["cat"], subprocess.PIPE)
        _all.append(self)
        self.n = 0
        self.network = address.rsplit(".", 1)[0]
        for line in ("link set lo up", "link add wire type bridge",
                     f"address add {address} dev wire", "link set wire up"):
            self("ip", *line.split())

    def __call__(self, *argv, **how):
        """Run a command that is on the wire."""
        return on(self.apart.pid, *argv, **how)

    def plug(self, host):
        """HOST's interface up0 is on it; its address there."""
        self.n += 1
        end, address = f"host{self.n}", f"{self.network}.{self.n + 1}"
        subprocess.run(["ip", "link", "add", end, "netns", str(self.apart.pid),
                        "type", "veth", "peer", "name", "up0", "netns",
                        str(host.pid)], check=True)
        self("ip", "link", "set", end, "master", "wire", "up")
        host("ip", "address", "add", f"{address}/24", "dev", "up0")
        host("ip", "link", "set", "up0", "up")
        host("ip", "route", "add", "default", "via", f"{self.network}.1")
        return address

    def stop(self):
        if self in _all:
            _all.remove(self)
        self.apart.process.stdin.close()
        self.apart.end()


def on(pid, *argv, check=True, **how):
    """Run a command in the namespaces that the process PID is in."""
    return subprocess.run(["nsenter", "--target", str(pid), "--mount", "--net",
                           "--pid", *argv], check=check, errors="replace",
                          stdin=subprocess.DEVNULL, **how)


class Certificates:
    """An authority, and what it has signed for a server and for a client, in
    one folder that is both their `pkipath`."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        self._request("ca", "muster test authority")
        self._openssl("x509", "-req", "-in", "ca.csr", "-signkey", "cakey.pem",
                      "-out", "cacert.pem", "-days", "2", "-extfile",
                      self._extensions("ca", "basicConstraints=critical,CA:TRUE",
                                       "keyUsage=keyCertSign,cRLSign"))
        for name, usage in (("server", "serverAuth"), ("client", "clientAuth")):
            self._request(name, name)
            self._openssl(
                "x509", "-req", "-in", name + ".csr", "-CA", "cacert.pem",
                "-CAkey", "cakey.pem", "-CAcreateserial", "-days", "2",
                "-out", name + "cert.pem", "-extfile",
                self._extensions(name, "basicConstraints=critical,CA:FALSE",
                                 "keyUsage=digitalSignature,keyEncipherment",
                                 "extendedKeyUsage=" + usage,
                                 "subjectAltName=IP:127.0.0.1,DNS:localhost"))

    def _openssl(self, *argv):
        subprocess.run(["openssl", *argv], cwd=self.folder, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def _request(self, name, subject):
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                      name + "key.pem", "-subj", "/CN=" + subject, "-out",
                      name + ".csr")

    def _extensions(self, name, *lines):
        path = os.path.join(self.folder, name + ".ext")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        return path


class Host:
    """One that runs machines.  With CERTIFICATES it listens for TLS; with a
    WIRE it is plugged into it.  LIKE is a host whose probing of QEMU need not
    be done again."""

    def __init__(self, certificates=None, wire=None, like=None):
        self.folder = tempfile.mkdtemp(prefix="muster-host-")
        self.apart = None
        _all.append(self)
        self.certificates = certificates
        for name in MOUNTS:
            os.mkdir(os.path.join(self.folder, name))
        # Where libvirt says that a console is taken.
        os.mkdir(os.path.join(self.folder, "run", "lock"))
        # Machines' files are behind these, and QEMU is not root.
        for name in ("lib", "cache"):
            os.chmod(os.path.join(self.folder, name), 0o711)
        if like:
            shutil.copytree(os.path.join(like.folder, "cache"),
                            os.path.join(self.folder, "cache"),
                            dirs_exist_ok=True)
        self.port = None
        self._begin()
        self.address = wire.plug(self) if wire else None
        self.start()

    def _configure(self):
        lines = ['auth_unix_rw = "none"', 'unix_sock_rw_perms = "0700"',
                 f'host_uuid = "{uuid.uuid4()}"', "listen_tcp = 0",
                 f"listen_tls = {int(self.certificates is not None)}",
                 'log_outputs = "2:file:/var/log/libvirt/libvirtd.log"']
        if self.certificates:
            at = self.certificates.folder
            lines += ['listen_addr = "127.0.0.1"', f'tls_port = "{TLS_PORT}"',
                      'auth_tls = "none"', f'key_file = "{at}/serverkey.pem"',
                      f'cert_file = "{at}/servercert.pem"',
                      f'ca_file = "{at}/cacert.pem"']
        self._write("etc/libvirtd.conf", *lines)
        self._write("etc/qemu.conf", 'security_driver = "none"')
        self._write("etc/virtlogd.conf", 'log_outputs = "2:stderr"')
        self._pool()

    def _pool(self):
        """The storage pool that a host has when it is installed."""
        images = os.path.join(self.folder, "lib", "images")
        os.makedirs(images, exist_ok=True)
        os.chmod(images, 0o711)
        start = os.path.join(self.folder, "etc", "storage", "autostart")
        os.makedirs(start, exist_ok=True)
        self._write("etc/storage/default.xml",
                    "<pool type='dir'><name>default</name><target>",
                    "<path>/var/lib/libvirt/images</path></target></pool>")
        os.symlink("/etc/libvirt/storage/default.xml",
                   os.path.join(start, "default.xml"))

    def _write(self, name, *lines):
        with open(os.path.join(self.folder, name), "w",
                  encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")

    def _begin(self):
        self._configure()
        ours, theirs = socket.socketpair()
        fds, listener = [], None
        if self.certificates:
            listener = socket.create_server(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
            fds.append(listener.fileno())
        self.apart = _Apart([sys.executable, os.path.abspath(__file__),
                             "--inside", self.folder,
                             str(fds[0]) if listener else "-"], theirs, fds)
        theirs.close()
        if listener:
            listener.close()
        ours.settimeout(PATIENCE)
        self.control, self.answers = ours, ours.makefile(
            "r", encoding="ascii")
        self._answer()

    def _answer(self):
        line = self.answers.readline()
        if not line:
            raise RuntimeError(f"the host ended:\n{self.log()}")
        return line.strip()

    def tell(self, line):
        self.control.sendall(line.encode() + b"\n")
        return self._answer()

    @property
    def pid(self):
        return self.apart.pid

    @property
    def socket(self):
        return os.path.join(self.folder, "run", "libvirt", "libvirt-sock")

    @property
    def uri(self):
        return f"qemu:///system?socket={self.socket}"

    @property
    def tls_uri(self):
        return (f"qemu+tls://127.0.0.1:{self.port}/system?"
                f"pkipath={self.certificates.folder}&no_tty=1")

    def log(self):
        text = ""
        for name in sorted(os.listdir(os.path.join(self.folder, "log"))):
            path = os.path.join(self.folder, "log", name)
            if os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += file.read()
        return text

    def _answers(self):
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(self.socket)
            return True
        except OSError:
            return False

    def start(self):
        """Its daemons, those that are not there; until they answer."""
        self.tell("start")
        until = time.monotonic() + PATIENCE
        while not self._answers():
            if time.monotonic() > until:
                raise RuntimeError(f"libvirtd did not start:\n{self.log()}")
            time.sleep(0.01)
        return self

    def kill(self, daemon="libvirtd", signum=signal.SIGKILL):
        """The daemon alone: its machines go on."""
        self.tell(f"kill {daemon} {int(signum)}")

    def freeze(self, stopped=True):
        """Have the daemon answer nobody, without being gone; or again."""
        for pid in self.processes("libvirtd"):
            os.kill(pid, signal.SIGSTOP if stopped else signal.SIGCONT)

    def __call__(self, *argv, **how):
        """Run a command that is on the host."""
        return on(self.pid, *argv, **how)

    def virsh(self, *argv, check=True):
        """What virsh says, as it is used on the host."""
        done = subprocess.run(["virsh", "--quiet", "--connect", self.uri, *argv],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace",
                              check=False)
        if check and done.returncode:
            raise RuntimeError(f"virsh {' '.join(argv)}: {done.stdout}")
        return done.stdout.strip()

    def processes(self, name):
        """The pids, as they are here, of its processes called NAME."""
        here = os.readlink(f"/proc/{self.pid}/ns/pid")
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/pid") != here:
                    continue
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    argv0 = file.read().split(b"\0")[0].decode()
            except OSError:
                continue
            if os.path.basename(argv0) == name:
                found.append(int(pid))
        return sorted(found)

    def stop(self):
        """It and all that it runs are gone."""
        if self in _all:
            _all.remove(self)
        if self.apart:
            self.answers.close()
            self.control.close()
            self.apart.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def _main(argv):
    count, tls, wire = 1, False, None
    while argv and argv[0].startswith("--"):
        word = argv.pop(0)
        if word == "--hosts":
            count = int(argv.pop(0))
        elif word == "--tls":
            tls = True
        elif word == "--wire":
            wire = True
        else:
            sys.exit(__doc__)
    if not argv:
        sys.exit(__doc__)
    if why := missing():
        print(f"1..0 # SKIP {why}")
        sys.exit(77)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="muster-pki-")
    try:
        certificates = Certificates(folder) if tls else None
        wire = Wire() if wire else None
        hosts = [Host(certificates, wire) for _ in range(count)]
        env = {"MUSTER_LIBVIRT_URIS": "\n".join(
                   h.tls_uri if tls else h.uri for h in hosts),
               "MUSTER_LIBVIRT_HOSTS": "\n".join(str(h.pid) for h in hosts)}
        return subprocess.run(argv, env=dict(os.environ, **env),
                              check=False).returncode
    finally:
        _clean()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        _inside(*sys.argv[2:])
    else:
        sys.exit(_main(sys.argv[1:]))
