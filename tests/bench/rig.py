"""What the benchmarks share: programs on a core of their own, and the table.

The server has one core to itself and the load another; server and floor take
turns, and each figure is the median of its rounds, since the machine may be
busy.
"""

import glob
import mmap
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, LOAD_CPU = CPUS[0], CPUS[-1]


def pinned(*cpus, nice=0):
    def before_exec():
        os.sched_setaffinity(0, cpus)
        os.nice(nice)
    return before_exec


def median(numbers):
    return statistics.median(list(numbers))


def warm(size=1 << 30):
    """Use so much memory, and give it back.  A host may take from a virtual
    machine what is free in it, and the first use of a page then takes ten times
    as long: server and floor are not to pay for that, or not by turns."""
    mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS |
              mmap.MAP_POPULATE).close()


def cpu_ns(pid):
    """Nanoseconds on a CPU so far: the first thread's, the others'."""
    first = others = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            ns = int(file.read().split()[0])
        if path.split("/")[4] == str(pid):
            first += ns
        else:
            others += ns
    return first, others


class Program:
    """A program that serves until it is stopped; on the server's core, unless
    told on which."""

    def __init__(self, args, said, log, cpus=(SERVER_CPU,)):
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            preexec_fn=pinned(*cpus))
        for line in self.process.stdout:
            log.append(line)
            found = re.search(said, line)
            if found:
                break
        else:
            sys.exit(f"bench: {args[0]} did not start: {''.join(log)}")
        self.ready_s = time.monotonic() - self.began
        # What nobody reads would make it wait, once the pipe is full.
        self.rest = threading.Thread(target=self.process.stdout.read,
                                     daemon=True)
        self.rest.start()
        self.port = int(found.group(1))
        self.token = "none"

    def cpu(self):
        return cpu_ns(self.process.pid)

    def rss(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Server(Program):
    def __init__(self, bench, data, config="", cpus=(SERVER_CPU,)):
        self.data = os.path.join(bench.folder, data)
        path = self.data + ".yaml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"data: {self.data}\nlisten: 127.0.0.1:0\n{config}")
        super().__init__([bench.program("muster"), "serve", "--config", path],
                         r"listening on https?://127\.0\.0\.1:(\d+)", [], cpus)
        with open(self.data + "/admin.token", encoding="ascii") as file:
            self.token = file.read().strip()

    def metrics(self):
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self.port}/metrics") as answer:
            text = answer.read().decode()
        return {name: float(value) for name, value in
                re.findall(r"^(\S+) ([\d.]+)$", text, re.M)}


class Bench:
    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.running = []
        self.serial = 0

    def program(self, name):
        return os.path.join(self.build, name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, make, *args):
        started = make(*args)
        self.running.append(started)
        return started

    def load(self, server, *args, tls=False):
        """Run the load; its numbers, with the CPU time that SERVER took for
        a request, in microseconds."""
        before = server.cpu()
        done = subprocess.run(
            [self.program("bench_load"), "-p", str(server.port), "-t",
             server.token, *(["-k"] if tls else []), *args],
            stdout=subprocess.PIPE, text=True, check=True,
            preexec_fn=pinned(LOAD_CPU))
        got = {key: float(value) for key, value in
               re.findall(r"(\w+)=([\d.]+)", done.stdout)}
        after = server.cpu()
        got["loop_us"], got["writer_us"] = (
            (b - a) / 1000 / got["done"] for a, b in zip(before, after))
        got["cpu_us"] = got["loop_us"] + got["writer_us"]
        return got

    def create(self, server, conns, count, *more, seconds=3):
        self.serial += 1
        warm()
        return self.load(server, "-c", str(conns), "-n", str(count), "-s",
                         str(seconds), *more, "create", self.path("orgs"),
                         f"{'abcdefghijklmnopqrstuvwxyz'[self.serial]}")

    def get(self, server, paths, tls=False, conns=64, seconds=1):
        return self.load(server, "-c", str(conns), "-s", str(seconds), "get",
                         self.path(paths), tls=tls)

    def http_floor(self, size, *more):
        return self.start(Program, [self.program("bench_http_floor"),
                                    str(size), *more],
                          r"127\.0\.0\.1:(\d+)", [])

    def sqlite_floor(self, size, group, count, *more, seconds=3):
        path = self.path("floor.db")
        warm()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [self.program("bench_sqlite_floor"), path, str(size), str(group),
             str(count), str(seconds), *more], stdout=subprocess.PIPE,
            text=True, check=True, preexec_fn=pinned(SERVER_CPU))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        for name in glob.glob(path + "*"):
            os.remove(name)
        numbers = dict(re.findall(r"(\w+)=([\d.]+)", done.stdout))
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime -
               before.ru_stime)
        return {"rate": float(numbers["rate"]),
                "cpu_us": cpu * 1e6 / float(numbers["done"])}


def table_head():
    print(f"{'':42}{'measured':>12}{'floor':>12}{'ratio':>8}{'target':>9}")


def row(name, measured, floor="", ratio=None, target="", note=""):
    print(f"{name:42}{measured:>12}{floor:>12}"
          f"{'' if ratio is None else f'{ratio:.2f}':>8}{target:>9}"
          f"{'  ' + note if note else ''}", flush=True)


def per_second(number):
    return f"{number:,.0f}/s"


def ms(microseconds):
    return f"{microseconds / 1000:.2f} ms"
