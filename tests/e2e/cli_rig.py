"""What the tests of the client share: running it, and TAP."""
import atexit
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

MUSTER = os.path.abspath(sys.argv[1])
count = failed = 0


def check(ok, text, *why):
    global count, failed
    count += 1
    print("%s %d - %s" % ("ok" if ok else "not ok", count, text))
    if not ok:
        failed += 1
        for line in why:
            for part in str(line).splitlines():
                print("#   " + part)
    sys.stdout.flush()


def folder():
    """A new one, gone at the end."""
    path = tempfile.mkdtemp(prefix="muster-cli-")
    atexit.register(shutil.rmtree, path, True)
    return path


class Client:
    def __init__(self, server, token=None):
        self.home = folder()
        self.env = {"HOME": self.home, "PATH": os.environ["PATH"],
                    "TERM": "xterm"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        if server:
            self.env["MUSTER_SERVER"] = server
        if token:
            self.env["MUSTER_TOKEN"] = token

    def run(self, *args, input="", **env):
        return subprocess.run([MUSTER, *args], input=input, text=True,
                              env={**self.env, **env}, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def expect(self, status, text, *args, **more):
        result = self.run(*args, **more)
        check(result.returncode == status, text,
              "muster " + " ".join(args),
              "status %d, not %d" % (result.returncode, status),
              result.stdout, result.stderr)
        return result

    @property
    def config(self):
        return os.path.join(self.home, ".config", "muster", "config.yaml")


def done():
    """The plan, and what to exit with."""
    print("1..%d" % count)
    return failed != 0


def has(text, *parts):
    return all(part in text for part in parts)


def read_until(process, lines, most):
    """That many lines, or what came within a time."""
    fd, text = process.stdout.fileno(), b""
    end = time.time() + most
    while time.time() < end and text.count(b"\n") < lines:
        if select.select([fd], [], [], 0.1)[0]:
            text += os.read(fd, 65536)
    return text.decode().splitlines()
