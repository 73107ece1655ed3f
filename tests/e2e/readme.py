#!/usr/bin/python3
"""The README's own lines, as a newcomer types them, against a real server.

Every line of its walk that begins with "$ " is run by a shell in a folder where
build/muster is the program and var the server's data, as after `make run`.  What
the README shows below a line is what must be seen; numbers and ages may differ.
A line whose output begins with "muster:" is one that is refused; whoever is
asked says yes.  The walk on this host's own machines is vm_first.py's.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import urllib.request

from muster import PATIENCE, Server, binary, folder, tap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def walks(text):
    """The commands of each block that has some, with what is shown below."""
    blocks, steps = [], []
    for line in text.split("\n") + ["end"]:
        if line.startswith("    "):
            line = line[4:]
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps:
                steps[-1][1].append(line)
        elif line and steps:
            blocks.append(steps)
            steps = []
    return blocks


def words(line):
    """What of a line is the same every time."""
    line = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", line)
    line = re.sub(r"\b\d[\d.:TZ-]*(ms|s|m|h|d)?\b", "N", line)
    return line.split()


def is_shown(line, lines):
    want = words(line)
    return line.strip() in ("", "…") or any(words(l) == want for l in lines)


def read_all(master):
    text = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # nobody is at the other end any more
            return text
        if not more:
            return text
        text += more


def on_terminal(command, home, env):
    """Status, and the lines that were seen, each as it was at some time."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    process = subprocess.Popen(["/bin/sh", "-c", command], cwd=home, env=env,
                               stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    os.write(master, b"y\n")
    text = read_all(master).decode()
    os.close(master)
    status = process.wait(3 * PATIENCE)
    # What moves the cursor begins a line anew; what colours it does not.
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return status, re.split(r"(?:\x1b\[[0-9;?]*[A-Za-z]|[\r\n])+", text)


def follow(home, env, command, shown):
    """Do that; the lines that were seen."""
    status, lines = on_terminal(command, home, env)
    refused = any(line.startswith("muster:") for line in shown)
    tap.ok((status != 0) == refused, f"{command}", f"status {status}",
           *lines)
    missing = [line for line in shown if not is_shown(line, lines)]
    if shown:
        tap.ok(not missing, "  and what the README shows is seen", missing,
               "what was seen:", *lines)
    return lines


def metrics(server):
    """What is measured is documented."""
    with urllib.request.urlopen(server.url + "/metrics") as answer:
        names = set(re.findall(r"^# TYPE (\w+)", answer.read().decode(), re.M))
    with open(os.path.join(ROOT, "docs", "operating.md"),
              encoding="utf-8") as file:
        text = file.read()
    missing = [name for name in names if f"`{name}" not in text]
    tap.ok(len(names) > 20 and not missing, "every metric is documented",
           missing)


def main():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        blocks = [block for block in walks(file.read()) if not any(
            "--region local" in command for command, _ in block)]
    home = folder()
    os.mkdir(os.path.join(home, "build"))
    os.symlink(binary(), os.path.join(home, "build", "muster"))
    server = Server({"rehearse": True}, data=os.path.join(home, "var")).start()
    env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm",
           "MUSTER_SERVER": server.url, "LANG": "C.UTF-8"}
    env.update({name: value for name, value in os.environ.items()
                if name.endswith("SAN_OPTIONS")})
    tap.ok(sum(len(block) for block in blocks) >= 8,
           "the README has a walk", blocks)
    for block in blocks:
        for command, shown in block:
            # The server has another port here.
            follow(home, env, command.replace("http://127.0.0.1:7070",
                                              server.url), shown)
    metrics(server)
    tap.eq(server.stop(), 0, "the server stops as asked")
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
