#!/usr/bin/python3
"""`muster console`: a machine's line in a terminal, which is as it was after,
however that ended."""

import os
import select
import signal
import subprocess
import termios
import time

from consoles import World
from muster import PATIENCE, binary, folder, made_certificate, tap, wait_for
from tenant import made
from websocket import WebSocket

CHECKED = termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN


class Terminal:
    """One with a program in it."""

    def __init__(self, env, *argv):
        self.master, self.slave = os.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [binary(), *argv], stdin=self.slave, stdout=self.slave,
            stderr=self.slave, env=env, start_new_session=True)
        self.seen = b""

    def until(self, text):
        """Whether that is shown."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 65536)
            elif self.process.poll() is not None:
                break
        return text in self.seen

    def type(self, keys):
        os.write(self.master, keys)

    def is_raw(self):
        return not termios.tcgetattr(self.slave)[3] & CHECKED

    def ends(self, status, text):
        """It ends with STATUS, and the terminal is as it was."""
        try:
            got = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            got = None
        while select.select([self.master], [], [], 0.05)[0]:
            self.seen += os.read(self.master, 65536)
        after = termios.tcgetattr(self.slave)
        tap.ok(got == status and after == self.before, text, f"status {got}",
               self.before, after, self.seen.decode(errors="replace"))
        os.close(self.master)
        os.close(self.slave)


def environment(w, call):
    return {"HOME": folder(), "PATH": os.environ["PATH"], "TERM": "xterm",
            "MUSTER_SERVER": w.server.url, "MUSTER_TOKEN": call.token,
            **{k: v for k, v in os.environ.items() if "SAN_OPTIONS" in k}}


def run(env, *argv, data=b""):
    return subprocess.run([binary(), *argv], input=data, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=2 * PATIENCE, check=False)


def opened(env, *argv):
    """One that is connected, and in which somebody can type."""
    t = Terminal(env, "console", *argv)
    tap.ok(t.until(b"login: ") and wait_for(t.is_raw),
           "a console is open, and all keys are the machine's", t.seen)
    return t


def typed(w, env):
    t = opened(env, "web-1")
    tap.ok(b"Ctrl-] ends it" in t.seen, "how it ends is said before", t.seen)
    t.type(b"ls\r")
    tap.ok(t.until(b"ls\r"), "what is typed is echoed by the machine")
    t.type(b"\x03\x1a\x1c\x11")
    tap.ok(t.until(b"\x03\x1a\x1c\x11"), "Ctrl-C and the like are its own")
    t.type(b"\x1d")
    t.ends(0, "Ctrl-] ends it")
    tap.ok(b"Detached" in t.seen, "and says so", t.seen)
    t = opened(env, "web-1", "--escape", "^a")
    t.type(b"\x1d.")
    tap.ok(t.until(b"\x1d."), "with another key that one is the machine's")
    t.type(b"x\x01y")
    t.ends(0, "and the other one ends it")
    tap.ok(wait_for(lambda: not w.relayed()), "all are let go of")


def other_ends(w, env):
    t = opened(env, "web-1")
    t.type(b"logout\r")
    t.ends(0, "it ends when the machine closes it")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT,
                   signal.SIGQUIT):
        t = opened(env, "web-1")
        t.process.send_signal(number)
        t.ends(-signal.SIGINT, f"it ends when it is told to by {number.name}")
    t = opened(env, "web-1")
    t.process.send_signal(signal.SIGTSTP)
    tap.ok(wait_for(lambda: termios.tcgetattr(t.slave) == t.before),
           "while it is stopped the terminal is as it was")
    t.process.send_signal(signal.SIGCONT)
    tap.ok(wait_for(t.is_raw), "and is the machine's when it goes on")
    t.type(b"again\r")
    tap.ok(t.until(b"again\r"), "which it does")
    t.type(b"\x1d")
    t.ends(0, "to its end")
    one = w.running("gone-1")
    t = opened(env, "gone-1")
    w.call.delete(w.path(one))
    tap.ok(wait_for(lambda: t.process.poll() is not None),
           "it ends with the instance")
    t.ends(t.process.poll(), "however that is told")


def scripts(w, env):
    r = run(env, "console", "web-1", data=b"hello\rlogout\r")
    tap.ok(r.returncode == 0 and b"login: hello\rlogout\r" in r.stdout,
           "a script types, and hears until the end", r)
    big = b"".join(b"%07d" % i for i in range(100000)) + b"\r"
    r = run(env, "console", "web-1", data=big + b"logout\r")
    tap.ok(big in r.stdout, "however much", len(r.stdout), r.stderr)
    r = subprocess.Popen([binary(), "console", "web-1"], env=env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    got = b""
    while b"login: " not in got:
        got += os.read(r.stdout.fileno(), 4096)
    tap.ok(r.poll() is None, "without input it follows")
    r.send_signal(signal.SIGINT)
    tap.eq(r.wait(PATIENCE), -signal.SIGINT, "until Ctrl-C")
    r.stdout.close()
    r.stderr.close()


def addresses(w, env):
    r = run(env, "console", "web-1", "--vnc")
    url = r.stdout.decode().strip()
    tap.ok(r.returncode == 0 and url.startswith("ws://"),
           "a screen has an address", r)
    s = WebSocket(w.server, url[url.index("/v1/"):], "binary")
    tap.ok(b"RFB" in s.until(b"\n"), "that noVNC can use")
    s.close()
    r = run(env, "instance", "console", "web-1")
    tap.ok(r.returncode == 0 and r.stdout.startswith(b"ws://") and
           b"Good once" in r.stderr, "so has the serial line", r)
    region = w.new_region("own", options={"consoleUrl": True})["id"]
    w.ready(f"/v1/regions/{region}")
    net = made(w.network("own", "10.9.0.0/24", region=region))["id"]
    w.running("own-1", net, region)
    r = run(env, "console", "own-1")
    tap.ok(r.returncode == 1 and b"wss://console.sim.invalid/" in r.stderr,
           "the provider's own is told", r)


def refusals(w, env):
    for status, words, argv in (
            (2, b"is no key", ["web-1", "--escape", "x"]),
            (2, b"", []), (2, b"", ["web-1", "web-2"]),
            (3, b"nobody", ["nobody"])):
        r = run(env, "console", *argv)
        tap.ok(r.returncode == status and words in r.stderr,
               f"console {' '.join(argv)} is refused", r)
    reader = environment(w, w.a.call("reader"))
    r = run(reader, "console", "web-1")
    tap.ok(r.returncode == 4 and b"instances:console" in r.stderr,
           "who may only read has no console", r)
    one = w.running("off-1")
    w.call.post(w.path(one) + "/stop", None)
    w.call.get(f"{w.path(one)}?wait=stopped&timeoutMs=10000")
    r = run(env, "console", "off-1")
    tap.ok(r.returncode == 5, "nor has a machine that is off", r)
    r = run({**env, "MUSTER_SERVER": "http://127.0.0.1:1"}, "console",
            "web-1")
    tap.eq(r.returncode, 6, "nor one whose server is not there")


def stops(w, env):
    t = opened(env, "web-1")
    w.server.stop()
    t.ends(7, "it ends when the server does")
    tap.ok(b"the server is stopping" in t.seen, "and says why", t.seen)


def secured():
    cert, key = made_certificate()
    w = World(tls={"certificate": cert, "key": key})
    env = {**environment(w, w.call), "MUSTER_CA_FILE": cert}
    w.server.host = "localhost"
    env["MUSTER_SERVER"] = w.server.url
    r = run(env, "console", "web-1", data=b"over TLS\rlogout\r")
    tap.ok(r.returncode == 0 and b"over TLS\r" in r.stdout,
           "with TLS it is the same", r)
    r = run(env, "instance", "console", "web-1")
    tap.ok(r.stdout.startswith(b"wss://"), "and the address says so", r)
    del env["MUSTER_CA_FILE"]
    r = run(env, "console", "web-1")
    tap.eq(r.returncode, 6, "nobody is trusted who should not be")
    w.server.stop()


def main():
    w = World(limits={"consolesPerCaller": 64})
    env = environment(w, w.call)
    for section in (typed, other_ends, scripts, addresses, refusals, stops):
        tap.section(section, w, env)
    tap.section(secured)


if __name__ == "__main__":
    tap.section(main)
    tap.end()
