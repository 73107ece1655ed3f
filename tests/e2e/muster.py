"""What the end-to-end tests share: TAP, servers, requests, watches, schemas.

A test is a script: argv[1] is the muster binary, TAP goes to stdout, the exit
status is not 0 when something failed.  Servers listen on a free port of the
loopback address, keep their data in a folder that goes away with the test, and
are ended by their process id, whatever happens.
"""

import atexit
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.parse

import jsonschema

# Sanitizers and busy machines make things slower; nothing is proved by haste.
PATIENCE = float(os.environ.get("PATIENCE", "20"))


class Tap:
    """Counts and prints; a section that raises is one failure, and the next
    section goes on."""

    def __init__(self):
        self.n = self.failed = 0

    def ok(self, good, text, *notes):
        self.n += 1
        text = text.replace("#", "\\#")
        print(f"{'ok' if good else 'not ok'} {self.n} - {text}", flush=True)
        if not good:
            self.failed += 1
            for note in notes:
                self.note(note)
        return bool(good)

    def eq(self, got, want, text):
        return self.ok(got == want, text, f"got  {got!r}", f"want {want!r}")

    def skip(self, text, why):
        self.n += 1
        print(f"ok {self.n} - {text} # SKIP {why}", flush=True)

    def note(self, text):
        for line in str(text).splitlines() or [""]:
            print("# " + line, flush=True)

    def section(self, function, *args):
        began = time.monotonic()
        try:
            function(*args)
        except Exception:  # noqa: it is told, and counted
            self.ok(False, f"{function.__name__} went to its end",
                    traceback.format_exc())
        took = time.monotonic() - began
        if took > 2:
            self.note(f"{function.__name__}: {took:.1f} s")

    def end(self):
        print(f"1..{self.n}", flush=True)
        if self.failed:
            self.note(f"{self.failed} of {self.n} failed")
        sys.exit(1 if self.failed or not self.n else 0)


tap = Tap()

_folders = []
_processes = []


def _clean():
    for process in _processes:
        if process.poll() is None:
            process.kill()
            process.wait()
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


atexit.register(_clean)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def folder():
    """A new folder that goes away with the test."""
    path = tempfile.mkdtemp(prefix="muster-e2e-")
    _folders.append(path)
    return path


def made_certificate(name="localhost"):
    """The files of one that signs itself, and of its key."""
    home = folder()
    cert, key = os.path.join(home, "cert.pem"), os.path.join(home, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", f"/CN={name}", "-addext",
                    f"subjectAltName=DNS:{name},IP:127.0.0.1", "-keyout", key,
                    "-out", cert], check=True, stderr=subprocess.DEVNULL)
    return cert, key


def binary():
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} MUSTER")
    return os.path.abspath(sys.argv[1])


def is_sanitized():
    """Whether the binary has a sanitizer in it, which takes memory and time."""
    with open(binary(), "rb") as file:
        return re.search(rb"__[at]san_", file.read()) is not None


def wait_for(condition, seconds=None, every=0.01):
    """CONDITION's first true value; what it last was when the time is up."""
    until = time.monotonic() + (seconds or PATIENCE)
    while True:
        value = condition()
        if value or time.monotonic() > until:
            return value
        time.sleep(every)


def run(*argv, timeout=60, env=None):
    """A command that ends by itself: its status and all it said."""
    done = subprocess.run([binary(), *argv], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=timeout, errors="replace",
                          env=dict(os.environ, **(env or {})), check=False)
    return done.returncode, done.stdout


class Server:
    """`muster serve` on DATA.  CONFIG is a dict, written as the YAML that JSON
    is; BLOCKS is the most a file may grow to, in units of ulimit -f."""

    def __init__(self, config=None, data=None, env=None, blocks=None):
        self.home = folder()
        self.data = data or os.path.join(self.home, "data")
        self.config = config
        self.env = env or {}
        self.blocks = blocks
        self.process = None
        self.host, self.port = "127.0.0.1", None
        self.log_path = os.path.join(self.home, "log")
        self.log_from = 0
        self.tls = bool(config and config.get("tls"))

    def argv(self):
        argv = [binary(), "serve", "--data", self.data,
                "--listen", "127.0.0.1:0"]
        if self.config is not None:
            path = os.path.join(self.home, "muster.yaml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.config, file)
            argv += ["--config", path]
        if self.blocks is not None:
            argv = ["/bin/sh", "-c", f'ulimit -f {self.blocks}; exec "$0" "$@"',
                    *argv]
        return argv

    def launch(self):
        """Start it, and do not wait for it."""
        self.port = None
        with open(self.log_path, "ab") as log:
            self.log_from = log.tell()
            self.process = subprocess.Popen(
                self.argv(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.home, env=dict(os.environ, **self.env))
        _processes.append(self.process)
        return self

    def listening(self):
        """Its port once it has said so."""
        with open(self.log_path, "rb") as log:
            log.seek(self.log_from)
            found = re.search(rb'listening on https?://[^ ]*:(\d+)["\n]',
                              log.read())
        if found:
            self.port = int(found.group(1))
        return self.port

    def start(self):
        self.launch()
        if not wait_for(lambda: self.listening() or self.process.poll()
                        is not None, every=0.003) or not self.port:
            raise RuntimeError(f"the server did not start:\n{self.log()}")
        return self

    def stop(self, timeout=None):
        """SIGTERM; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout or PATIENCE)
        _processes.remove(self.process)
        return status

    def kill9(self):
        self.process.kill()
        self.process.wait()
        if self.process in _processes:
            _processes.remove(self.process)

    def restart(self):
        if self.process and self.process.poll() is None:
            self.stop()
        return self.start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def token(self):
        with open(os.path.join(self.data, "admin.token"),
                  encoding="ascii") as file:
            return file.read().strip()

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, timeout=None):
        s = socket.create_connection((self.host, self.port),
                                     timeout or PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.create_default_context(cafile=self.config["tls"]
                                                 ["certificate"])
            s = context.wrap_socket(s, server_hostname="localhost")
        return s


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __getitem__(self, name):
        """A header, by whatever case; None when there is none."""
        return self.headers.get(name) or self.headers.get(name.lower())

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"


class Client:
    """Requests over one kept connection.  With a contract (OpenApi), whatever
    is asked and answered is held against it."""

    def __init__(self, server, token=None, contract=None):
        self.server = server
        self.contract = contract
        self.token = server.token if token is None else token
        self.connection = None

    def _connect(self):
        self.connection = http.client.HTTPConnection(
            self.server.host, self.server.port, timeout=PATIENCE)
        self.connection.sock = self.server.connect()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def __call__(self, method, target, body=None, headers=None, raw=None):
        """BODY is sent as JSON; RAW as it is.  A header of None is left out."""
        sent = {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            raw = json.dumps(body).encode()
        if raw is not None:
            sent["Content-Type"] = "application/json"
            if method == "PATCH":
                sent["Content-Type"] = "application/merge-patch+json"
        sent.update(headers or {})
        sent = {k: v for k, v in sent.items() if v is not None}
        try:
            reply = self._send(method, target, raw, sent)
        except (http.client.RemoteDisconnected, BrokenPipeError,
                ConnectionResetError):
            # A kept connection that the server ended meanwhile.
            self.close()
            reply = self._send(method, target, raw, sent)
        if self.contract:
            self.contract.check(method, target, sent, raw, reply)
        return reply

    def _send(self, method, target, raw, headers):
        if not self.connection:
            self._connect()
        self.connection.request(method, target, raw, headers)
        got = self.connection.getresponse()
        reply = Reply(got.status, got.headers, got.read())
        if got.will_close:
            self.close()
        return reply

    def get(self, target, **headers):
        return self("GET", target, headers=headers)

    def post(self, target, body, headers=None):
        return self("POST", target, body, headers)

    def put(self, target, body, headers=None):
        return self("PUT", target, body, headers)

    def patch(self, target, body, headers=None):
        return self("PATCH", target, body, headers)

    def delete(self, target, headers=None):
        return self("DELETE", target, headers=headers)


class Event:
    def __init__(self, id, name, data):
        self.id, self.name, self.data = id, name, data

    @property
    def json(self):
        return json.loads(self.data)

    def __repr__(self):
        return f"{self.name}({self.id}) {self.data[:200]!r}"


class Decoder:
    """Bytes of a chunked event stream in, events out; what is not whole yet is
    kept back, as a client must."""

    def __init__(self):
        self.raw = self.text = b""
        self.ended = False

    def feed(self, data):
        self.raw += data
        while not self.ended:
            line, found, rest = self.raw.partition(b"\r\n")
            if not found:
                break
            size = int(line, 16)
            if len(rest) < size + 2:
                break
            self.text += rest[:size]
            self.raw = rest[size + 2:]
            self.ended = size == 0
        *whole, self.text = self.text.split(b"\n\n")
        for block in whole:
            event = self._event(block)
            if event:
                yield event

    @staticmethod
    def _event(block):
        fields = {}
        for line in block.decode().split("\n"):
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
        if "data" not in fields:
            return None
        return Event(int(fields["id"]) if "id" in fields else None,
                     fields.get("event", "message"), fields["data"])


def request_bytes(method, target, token=None, headers=None, body=b"",
                  host="localhost"):
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read_head(sock):
    """Status, headers in lower case, and what came behind them."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = sock.recv(65536)
        if not more:
            raise ConnectionError(f"the connection ended in the head: {data!r}")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return int(lines[0].split(" ")[1]), headers, rest


def read_reply(sock):
    """A whole reply with a Content-Length, or up to the end."""
    status, headers, body = read_head(sock)
    length = headers.get("content-length")
    while length is None or len(body) < int(length):
        more = sock.recv(65536)
        if not more:
            if length is None:
                break
            raise ConnectionError("the connection ended in the body")
        body += more
    return Reply(status, headers, body)


class Watch:
    """A watch on TARGET; a refusal is its reply, else `reply` is None."""

    def __init__(self, server, target, last=None, token=None):
        headers = {"Accept": "text/event-stream"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.sock = server.connect()
        self.sock.sendall(request_bytes("GET", target, token or server.token,
                                        headers))
        self.status, self.headers, rest = read_head(self.sock)
        self.reply = None
        self.decoder = Decoder()
        self.waiting = []
        self.ended = False
        if self.status != 200:
            length = int(self.headers.get("content-length", "0"))
            while len(rest) < length:
                rest += self.sock.recv(65536)
            self.reply = Reply(self.status, self.headers, rest)
            return
        self.waiting += self.decoder.feed(rest)

    def next(self, seconds=None):
        """The next event; None when the stream ended or the time is up."""
        until = time.monotonic() + (seconds or PATIENCE)
        while not self.waiting:
            left = until - time.monotonic()
            if self.ended or left <= 0:
                return None
            if not self._pending() and not select.select(
                    [self.sock], [], [], left)[0]:
                return None
            data = self.sock.recv(1 << 16)
            self.waiting += self.decoder.feed(data)
            self.ended = not data or self.decoder.ended
        return self.waiting.pop(0)

    def _pending(self):
        return isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()

    def until(self, name, seconds=None):
        """Events up to and with the first one called NAME."""
        events = []
        while True:
            event = self.next(seconds)
            if event is None:
                raise AssertionError(f"no event {name}; had {events!r}")
            events.append(event)
            if event.name == name:
                return events

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


class OpenApi:
    """An OpenAPI 3.1 document: whether it is one, and whether requests and
    replies are as it says."""

    def __init__(self, document):
        self.document = document
        self.problems = []
        self.checked = 0
        self.used = set()
        self.validators = {}
        self.formats = jsonschema.FormatChecker(formats=["uuid"])
        self.formats.checks("date-time")(
            lambda text: not isinstance(text, str) or TIME.match(text))

    # Whether it is a document.

    def structure(self):
        """What is wrong with the document itself."""
        wrong = []
        document = self.document
        if not re.match(r"^3\.1\.\d+$", document.get("openapi", "")):
            wrong.append("openapi is not 3.1")
        for word in ("title", "version"):
            if not isinstance(document.get("info", {}).get(word), str):
                wrong.append(f"info.{word} is missing")
        if not document.get("paths"):
            wrong.append("there are no paths")
        names = set(document.get("components", {}).get("securitySchemes", {}))
        for path, item in document.get("paths", {}).items():
            wrong += self._path(path, item, names)
        for name, schema in document["components"]["schemas"].items():
            wrong += self._schema(f"schema {name}", schema)
        for ref in self._refs(document):
            try:
                self.resolve(ref)
            except (KeyError, ValueError):
                wrong.append(f"{ref} leads nowhere")
        ids = [operation.get("operationId")
               for item in document["paths"].values()
               for operation in item.values()]
        if None in ids or len(set(ids)) != len(ids):
            wrong.append("operationIds are missing or not unique")
        return wrong

    def _path(self, path, item, schemes):
        wrong = []
        if not path.startswith("/"):
            wrong.append(f"{path} does not begin with a slash")
        for method, operation in item.items():
            at = f"{method} {path}"
            if method not in METHODS:
                wrong.append(f"{at}: not a method")
                continue
            holes = set(re.findall(r"{(\w+)}", path))
            declared = set()
            seen = set()
            for p in operation.get("parameters", []):
                key = (p.get("name"), p.get("in"))
                if key in seen or key[1] not in ("query", "header", "path"):
                    wrong.append(f"{at}: parameter {key}")
                seen.add(key)
                if p["in"] == "path":
                    declared.add(p["name"])
                    if p.get("required") is not True:
                        wrong.append(f"{at}: {key} must be required")
                wrong += self._schema(f"{at} {key}", p.get("schema"))
            if holes != declared:
                wrong.append(f"{at}: {holes} and {declared} differ")
            if not operation.get("responses"):
                wrong.append(f"{at}: no responses")
            for status, answer in operation.get("responses", {}).items():
                if not re.match(r"^([1-5](\d\d|XX)|default)$", status):
                    wrong.append(f"{at}: status {status}")
                if not isinstance(answer.get("description"), str):
                    wrong.append(f"{at} {status}: no description")
                wrong += self._contents(f"{at} {status}", answer)
                for name, header in answer.get("headers", {}).items():
                    wrong += self._schema(f"{at} {status} {name}",
                                          header.get("schema"))
            wrong += self._contents(at, operation.get("requestBody", {}))
            for need in operation.get("security", []):
                if not set(need) <= schemes:
                    wrong.append(f"{at}: security {need}")
        return wrong

    def _contents(self, at, holder):
        wrong = []
        for media, content in holder.get("content", {}).items():
            if "/" not in media:
                wrong.append(f"{at}: {media} is not a media type")
            if "schema" in content:
                wrong += self._schema(f"{at} {media}", content["schema"])
        return wrong

    @staticmethod
    def _schema(at, schema):
        if not isinstance(schema, dict):
            return [f"{at}: no schema"]
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            return [f"{at}: {error.message}"]
        return []

    def _refs(self, node):
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            for value in node.values():
                yield from self._refs(value)
        elif isinstance(node, list):
            for value in node:
                yield from self._refs(value)

    def resolve(self, ref):
        if not ref.startswith("#/"):
            raise ValueError(ref)
        node = self.document
        for step in ref[2:].split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")]
        return node

    # Whether what is said on the wire is as it says.

    def violations(self, schema, value):
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator(
                dict(schema, components=self.document["components"]),
                format_checker=self.formats)
        return [f"{error.json_path}: {error.message}"
                for error in self.validators[key].iter_errors(value)]

    def find(self, path):
        for template in self.document["paths"]:
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, path):
                return template
        return None

    def check(self, method, target, headers, raw, reply):
        self.checked += 1
        parts = urllib.parse.urlsplit(target)
        template = self.find(parts.path)
        item = self.document["paths"].get(template, {})
        operation = item.get("get" if method == "HEAD" else method.lower())
        wrong = []
        if operation is None:
            if reply.status not in (204, 400, 404, 405):
                wrong.append(f"{reply.status} from what is not documented")
            if reply.status >= 400:
                wrong += self._problem(reply, method)
        else:
            self.used.add((method, template, reply.status))
            if reply.status < 400:
                wrong += self._request(operation, parts.query, headers, raw)
            wrong += self._reply(operation, method, reply)
        for one in wrong:
            self.problems.append(f"{method} {target} {reply.status}: {one}")

    def _request(self, operation, query, headers, raw):
        wrong = []
        known = {(p["name"].lower(), p["in"]): p
                 for p in operation.get("parameters", [])}
        words = {}
        for name, value in urllib.parse.parse_qsl(query, True):
            words.setdefault(name, []).append(value)
        for name, values in words.items():
            if (name.lower(), "query") not in known:
                wrong.append(f"the query word {name} is not documented")
                continue
            schema = known[name.lower(), "query"]["schema"]
            wrong += [f"query {name}: {v}" for v in
                      self.violations(schema, self._value(schema, values))]
        plain = ("authorization", "content-type", "accept", "x-request-id",
                 "accept-encoding", "user-agent", "connection", "origin")
        for name in headers:
            if name.lower() not in plain and \
                    (name.lower(), "header") not in known:
                wrong.append(f"the header {name} is not documented")
        body = operation.get("requestBody")
        if raw and not body:
            wrong.append("a body that is not documented was taken")
        if raw and body:
            media = headers["Content-Type"].split(";")[0].strip().lower()
            content = body["content"].get(media)
            if content is None:
                wrong.append(f"{media} is not documented")
            else:
                wrong += [f"request {v}" for v in self.violations(
                    content["schema"], json.loads(raw))]
        return wrong

    @staticmethod
    def _value(schema, values):
        if schema.get("type") == "array":
            return values
        if schema.get("type") == "integer":
            return int(values[0]) if values[0].isdigit() else values[0]
        if schema.get("type") == "boolean":
            return {"true": True, "false": False}.get(values[0], values[0])
        return values[0]

    def _reply(self, operation, method, reply):
        answers = operation["responses"]
        answer = answers.get(str(reply.status))
        if answer is None and reply.status < 400:
            return [f"the status {reply.status} is not documented"]
        if answer is None:
            answer = answers.get("default")
        if answer is None:
            return [f"the status {reply.status} is not documented"]
        wrong = [f"the header {name} is missing"
                 for name, header in answer.get("headers", {}).items()
                 if header.get("required") and name not in reply.headers]
        content = answer.get("content", {})
        if method == "HEAD":
            return wrong + (["HEAD has a body"] if reply.body else [])
        if not reply.body:
            if content:
                wrong.append("a body is documented, and there is none")
            return wrong
        media = (reply["Content-Type"] or "").split(";")[0]
        if media not in content:
            return wrong + [f"{media} is not documented for {reply.status}"]
        schema = content[media].get("schema")
        if media.endswith("json"):
            if schema is None:
                return wrong + [f"{media} has no schema"]
            wrong += [f"reply {v}" for v in
                      self.violations(schema, reply.json)]
        if media == "application/problem+json":
            wrong += self._problem(reply, method)
        return wrong

    def _problem(self, reply, method):
        if method == "HEAD":
            return ["HEAD has a body"] if reply.body else []
        if reply["Content-Type"] != "application/problem+json":
            return [f"a problem came as {reply['Content-Type']}"]
        wrong = [f"problem {v}" for v in self.violations(
            {"$ref": "#/components/schemas/Problem"}, reply.json)]
        if reply.json.get("status") != reply.status:
            wrong.append("a problem's status is another one")
        return wrong
