"""A stand-in for the server, for testing the client's side of the API.

It keeps documents in memory and can be told to misbehave: lose connections,
refuse, end streams, forget revisions.  What it was asked is kept in `requests`.
"""
import json
import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "stub-token"


class Stub:
    @property
    def handler(self):
        return Handler

    def __init__(self):
        self.lock = threading.Condition()
        self.objects = {"organizations": {}, "projects": {}}
        self.keys = {}
        self.revision = 1
        self.log = []
        self.requests = []
        self.lose = 0          # POSTs carried out whose reply is lost
        self.refuse = []       # (status, body) for the next requests
        self.page = 2          # most items a page
        self.cut = False       # end streams after their events
        self.forgotten = 0     # revisions up to this are gone
        self.whoami = True
        handler = type("Handler", (self.handler,), {"stub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    def close(self):
        self.server.shutdown()

    def put(self, kind, doc):
        with self.lock:
            self.revision += 1
            doc["revision"] = self.revision
            self.objects[kind][doc["id"]] = doc
            self.log.append((self.revision, kind, "put", dict(doc)))
            self.lock.notify_all()
            return doc

    def make(self, kind, **doc):
        doc.setdefault("id", str(uuid.uuid4()))
        doc.setdefault("createdAt", time.strftime(
            "%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 200)))
        return self.put(kind, doc)

    def drop(self, kind, ident):
        with self.lock:
            self.revision += 1
            del self.objects[kind][ident]
            self.log.append((self.revision, kind, "delete",
                             {"id": ident, "revision": self.revision}))
            self.lock.notify_all()


def merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


def matches(doc, words):
    return all(doc.get(word) == value for word, value in words.items())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=None, kind="application/json"):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        self.send_header("X-Request-Id", "req-7")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def fail(self, status, code, detail, **more):
        self.reply(status, {"type": "urn:muster:problem:" + code,
                            "title": code, "status": status, "code": code,
                            "detail": detail, **more},
                   "application/problem+json")

    def handle_any(self):
        stub = self.stub
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qsl(url.query)
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length) if length else b""
        body = json.loads(text) if text else None
        stub.requests.append((self.command, self.path, body,
                              dict(self.headers)))
        if stub.refuse:
            status, problem = stub.refuse.pop(0)
            self.reply(status, problem, "application/problem+json")
            return
        if url.path == "/v1/version":
            self.reply(200, {"version": "9.9.9"})
            return
        if self.headers.get("Authorization") != "Bearer " + TOKEN:
            self.fail(401, "unauthenticated", "no token that we know")
            return
        if url.path == "/v1/whoami" and stub.whoami:
            self.reply(200, {"name": "admin"})
            return
        parts = url.path.split("/")[2:]
        if not parts or parts[0] not in stub.objects:
            self.fail(404, "not_found", "there is nothing here")
            return
        self.noun(parts, dict(query), query, body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def noun(self, parts, words, query, body):
        stub, kind = self.stub, parts[0]
        if len(parts) == 3:
            self.verb(kind, parts[1], parts[2], words, body)
            return
        if len(parts) == 1 and self.command == "GET":
            if self.headers.get("Accept") == "text/event-stream":
                try:
                    self.stream(kind, words)
                except OSError:
                    pass       # the client has had enough
            else:
                self.list(kind, words, query)
            return
        if self.command == "POST":
            self.create(kind, words, body)
            return
        old = stub.objects[kind].get(parts[1])
        if not old:
            self.fail(404, "not_found", "there is no such thing")
            return
        match = self.headers.get("If-Match")
        if match and match != '"%d"' % old["revision"]:
            self.fail(412, "precondition_failed", "it has changed")
            return
        if self.command == "GET":
            self.get(kind, old, words)
        elif self.command != "DELETE" and self.refused(kind, old, words, body):
            return
        elif words.get("plan"):
            self.reply(200, {"plan": {"action": "update", "loses": ["x"]},
                             "object": old})
        elif self.command == "DELETE":
            self.remove(kind, old)
        else:
            new = merge(old if self.command == "PATCH" else
                        {"id": old["id"]}, body)
            self.reply(200, stub.put(kind, new))

    def remove(self, kind, old):
        self.stub.drop(kind, old["id"])
        self.reply(204)

    def verb(self, kind, ident, verb, words, body):
        self.fail(404, "not_found", "there is nothing here")

    def refused(self, kind, old, words, body):
        return False

    def get(self, kind, old, words):
        stub = self.stub
        if "wait" not in words:
            self.reply(200, old)
            return
        end = time.time() + int(words["timeoutMs"]) / 1000
        with stub.lock:
            while old["id"] in stub.objects[kind] and time.time() < end:
                stub.lock.wait(0.05)
        if old["id"] in stub.objects[kind]:
            self.reply(200, old)
        else:
            self.reply(204)

    def list(self, kind, words, query):
        items = sorted(self.stub.objects[kind].values(),
                       key=lambda d: d["id"])
        for word, value in query:
            if word == "tag":
                key, _, want = value.partition("=")
                items = [d for d in items
                         if d.get("tags", {}).get(key) == want]
            elif word not in ("limit", "after"):
                items = [d for d in items if d.get(word) == value]
        items = [d for d in items if d["id"] > words.get("after", "")]
        page = items[:min(self.stub.page, int(words.get("limit", 100)))]
        reply = {"items": page, "revision": self.stub.revision}
        if len(items) > len(page):
            reply["next"] = page[-1]["id"]
        self.reply(200, reply)

    def create(self, kind, words, body):
        stub = self.stub
        key = self.headers.get("Idempotency-Key")
        if not (body or {}).get("name", "").islower():
            self.fail(422, "invalid", "2 fields are not valid", violations=[
                {"pointer": "/name", "message": "must be lower case"},
                {"pointer": "/organizationId/x", "message": "is \x1b[31mbad"},
            ])
            return
        if words.get("plan"):
            self.reply(200, {"plan": {"action": "create"}, "object": body})
            return
        if key not in stub.keys:
            stub.keys[key] = self.made(kind, body)
        if stub.lose:
            stub.lose -= 1
            self.close_connection = True
            self.connection.close()
            return
        self.reply(201, stub.keys[key])

    def made(self, kind, body):
        return self.stub.make(kind, **body)

    def event(self, name, data, ident=None):
        text = ": heartbeat\n\nevent: %s\ndata: %s\n" % (name,
                                                         json.dumps(data))
        if ident:
            text += "id: %d\n" % ident
        self.wfile.write((text + "\n").encode())
        self.wfile.flush()

    def stream(self, kind, words):
        stub = self.stub
        after = int(self.headers.get("Last-Event-ID") or 0)
        if after and after < stub.forgotten:
            self.fail(410, "gone", "that revision is no longer kept")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        with stub.lock:
            if not after:
                for doc in list(stub.objects[kind].values()):
                    if matches(doc, words):
                        self.event("put", doc)
                after = stub.revision
                self.event("ready", {"revision": after}, after)
            while not stub.cut:
                for revision, of, what, doc in list(stub.log):
                    if revision > after and of == kind:
                        after = revision
                        if what == "delete" or matches(doc, words):
                            self.event(what, doc, revision)
                stub.lock.wait(0.1)
