"""A real OpenID provider for the tests, and a person at its sign-in pages."""

import hashlib
import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import muster

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "oidc")


def modules():
    """The folder with the provider's modules, installed once a build."""
    with open(os.path.join(HERE, "package-lock.json"), "rb") as file:
        version = hashlib.sha256(file.read()).hexdigest()[:12]
    cache = os.path.join(os.path.dirname(muster.binary()), "oidc-modules")
    path = os.path.join(cache, version)
    if not os.path.exists(os.path.join(path, "done")):
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, name), path)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit",
                        "--no-fund"], cwd=path, check=True, timeout=240,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(path, "done"), "w", encoding="ascii"):
            pass
    shutil.copy(os.path.join(HERE, "provider.mjs"), path)
    return path


class Provider:
    """oidc-provider on a port of its own."""

    def __init__(self):
        path = modules()
        self.process = subprocess.Popen(
            ["node", os.path.join(path, "provider.mjs")], cwd=path,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        muster._processes.append(self.process)
        self.issuer = json.loads(self.process.stdout.readline())["issuer"]

    def test(self, what, body=None):
        request = urllib.request.Request(
            f"{self.issuer}/test/{what}",
            None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    def sign(self, key="current", header=None, **claims):
        """A token for ann, good for ten minutes, but for what is said; a
        claim of None is left out."""
        now = int(time.time())
        claims = {"iat": now, "exp": now + 600, **claims}
        return self.test("sign", {"key": key, "header": header or {},
                                  "claims": claims})["token"]

    def rotate(self):
        self.test("rotate", {})

    def stop(self):
        self.process.stdin.close()
        self.process.wait(muster.PATIENCE)


class Person:
    """Somebody with a browser: keeps cookies, fills in forms."""

    def __init__(self, login):
        self.login = login
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        self.at = None

    def open(self, url, form=None):
        """The page that URL leads to; one that is not there is a page too."""
        data = urllib.parse.urlencode(form).encode() if form else None
        try:
            with self.opener.open(url, data, timeout=30) as reply:
                self.at = reply.geturl()
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            self.at = error.geturl()
            return error.read().decode()

    def _form(self, page):
        action = re.search(r'<form[^>]*action="([^"]*)"', page)
        fields = {}
        for tag in re.findall(r"<(?:input|button)[^>]*>", page):
            name = re.search(r'name="([^"]*)"', tag)
            value = re.search(r'value="([^"]*)"', tag)
            if name:
                fields[name.group(1)] = value.group(1) if value else ""
        return action and urllib.parse.urljoin(self.at, action.group(1)), fields

    def agree(self, url):
        """Go through whatever is asked, as somebody who agrees."""
        page = self.open(url)
        for _ in range(8):
            action, fields = self._form(page)
            if not action:
                break
            if "login" in fields:
                fields["login"] = self.login
                fields["password"] = "x"
            fields.pop("abort", None)
            page = self.open(action, fields)
        return page


class Login:
    """`muster login` while it waits for somebody."""

    def __init__(self, home, *argv):
        self.env = {"HOME": home, "PATH": os.environ["PATH"]}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]
        self.process = subprocess.Popen(
            [muster.binary(), "login", *argv], env=self.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        muster._processes.append(self.process)
        self.text = ""
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.text += line

    def address(self, pattern):
        """The address that it says to open."""
        found = muster.wait_for(lambda: re.search(pattern, self.text)
                                or self.process.poll() is not None)
        if not found or found is True:
            raise RuntimeError(f"no address in: {self.text}")
        return found.group(1)

    def end(self):
        status = self.process.wait(60)
        self.reader.join(10)
        return status
