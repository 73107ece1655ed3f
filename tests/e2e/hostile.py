#!/usr/bin/python3
"""Requests that mean no good, by table: each row says what may be answered.

After each the server must still answer a good one, and after all of them
nothing has changed: no revision, no descriptor, hardly any memory, and no
status of 500 or more was ever given.
"""

import json
import re
import select
import socket
import threading
import time

from muster import PATIENCE, Client, Server, is_sanitized, tap, wait_for

ORGS, PROJECTS = "/v1/organizations", "/v1/projects"
CLOSED = "closed"
REQUEST_SECONDS = 1

rows = []


def row(label, data, *statuses, slow=False, more=None):
    """DATA is sent as it is, with TOKEN and /ID put in.  One of
    STATUSES must come back; CLOSED is no answer at all.  MORE looks at the
    bytes that came back."""
    rows.append((label, data, statuses, slow, more))


def http(method, target, body=b"", headers=b"", version=b"HTTP/1.1"):
    """A request that is good but for what it is given."""
    if isinstance(target, str):
        target = target.encode("latin-1")
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return (b"%s %s %s\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
            % (method, target, version) + length + headers + b"\r\n" + body)


JSON = b"Content-Type: application/json\r\n"
MERGE = b"Content-Type: application/merge-patch+json\r\n"


def post(label, body, *statuses, target=ORGS):
    row(f"POST {label}", http(b"POST", target, body, JSON), *statuses)


def short(value):
    text = json.dumps(value) if not isinstance(value, (bytes, str)) else \
        repr(value)
    return text if len(text) < 30 else text[:20] + f"…({len(text)})"


# Fields of the wrong type, and of the right one with the wrong content.

def field_rows():
    nested = 1
    for _ in range(20):
        nested = {"x": [nested]}
    wrong = {
        "name": [True, 0, -1, 1.5, 1e300, [], {}, ["a"], {"a": "b"}, nested,
                 None, "", " ", "a b", "A", "-a", "a-", "a_b", "a.b", "é",
                 "a" * 64, "a" * 100000, "a\u0000b", "a\nb", "\u202ea", "😀",
                 "../x", "%2e", "a/b", "<b>", "'; --", "a\r\nX-Injected: 1"],
        "description": [True, 0, 1.5, [], {}, nested, "x" * 513, "é" * 257,
                        "a\u0000", "a\u001b[31m", "\u0085", "\u007f",
                        "a\tb", "x" * 900000],
        "tags": [True, 0, "", "a=b", [], [["a", "b"]], nested,
                 {"": "x"}, {"a": 1}, {"a": None, "b c": "d"}, {"a": True},
                 {"a": []}, {"a": {}}, {"a": "x" * 257}, {"a" * 129: "x"},
                 {"a": "b\u0000"}, {"-a": "b"}, {"ä": "b"}, {"a\u0000": "b"},
                 {f"k{i}": "v" for i in range(51)},
                 {f"k{i}": "v" for i in range(20000)},
                 {"muster/server": "x"}, {"muster/": "x"}],
    }
    for name in ("id", "revision", "generation", "createdAt", "createdBy",
                 "updatedAt", "updatedBy", "deletedAt"):
        wrong[name] = [True, [], {}, "x", -1, nested]
    for name in ("kind", "spec", "status", "__proto__", "constructor", "Name",
                 "name ", "organizationId", "", "a" * 70000, "\u0000", "a/b~c"):
        wrong[name] = ["x", nested]
    for name, values in wrong.items():
        for value in values:
            body = {"name": "hostile"}
            body[name] = value
            raw = json.dumps(body).encode()
            text = f"{short(name)}: {short(value)}"
            # An escaped NUL is no text that we could keep: refused as it is
            # read, before anybody asks for a field.
            want = 400 if "\\u0000" in raw.decode() else 422
            row(f"POST {text}", http(b"POST", ORGS, raw, JSON), want)
    for value in (True, 0, [], {}, None, "", "x", "0" * 36,
                  "00000000-0000-7000-8000-000000000000",
                  "00000000-0000-7000-8000-00000000000G", "a" * 5000,
                  "../organizations", nested):
        body = json.dumps({"name": "p", "organizationId": value}).encode()
        row(f"POST organizationId: {short(value)}",
            http(b"POST", PROJECTS, body, JSON), 422)
    for name, value in (("name", None), ("name", 5), ("name", {}),
                        ("tags", 5), ("tags", {"a": 5}), ("tags", []),
                        ("description", {}), ("nonsense", 1), ("id", "x"),
                        ("createdAt", "x"), ("revision", "x"),
                        ("tags", {"muster/x": "y"}), ("name", "a" * 64)):
        raw = json.dumps({name: value}).encode()
        row(f"PATCH {name}: {short(value)}",
            http(b"PATCH", f"{ORGS}/ID", raw, MERGE), 422)
    for name, value in (("revision", 1), ("revision", -5),
                        ("revision", 1 << 62)):
        raw = json.dumps({name: value}).encode()
        row(f"PATCH {name}: {value}",
            http(b"PATCH", f"{ORGS}/ID", raw, MERGE), 412)
    for body in (b"{}", b'{"name":5}', b'{"name":"ok","x":1}',
                 b'{"name":"ok","tags":[]}'):
        row(f"PUT {body!r}", http(b"PUT", f"{ORGS}/ID", body, JSON), 422)
    for body in (b"[]", b'"x"', b"1", b"null", b"true"):
        row(f"PUT {body!r}", http(b"PUT", f"{ORGS}/ID", body, JSON), 422)
        row(f"PATCH {body!r}", http(b"PATCH", f"{ORGS}/ID", body, MERGE), 400)
        post(f"a body {body!r}", body, 422)


# JSON that is none, or too much.

def json_rows():
    for n in (10, 100, 1000):
        post(f"{n} arrays", b"[" * n + b"]" * n, 422)
        post(f"{n} objects deep", b'{"name":' * n + b"1" + b"}" * n, 422)
        row(f"PATCH {n} objects deep in tags",
            http(b"PATCH", f"{ORGS}/ID", b'{"tags":' + b'{"a":' * n + b"1" +
                 b"}" * n + b"}", MERGE), 422)
        post(f"{n} arrays that never close", b"[" * n, 400)
    for n in (3000, 10000, 100000):
        post(f"{n} arrays", b"[" * n + b"]" * n, 400)
        post(f"{n} objects deep", b'{"a":' * n + b"1" + b"}" * n, 400)
        post(f"{n} objects deep that never close", b'{"a":' * n, 400)
        row(f"PATCH {n} deep", http(b"PATCH", f"{ORGS}/ID", b'{"a":' * n +
                                    b"null" + b"}" * n, MERGE), 400)
    post("1 MiB of brackets", b"[" * 1000000, 400)
    for label, body in (
            ("numbers", b"[" + b"1," * 500000 + b"1]"),
            ("empty arrays", b"[" + b"[]," * 330000 + b"1]"),
            ("empty objects", b"[" + b"{}," * 330000 + b"1]"),
            ("empty strings", b"[" + b'"",' * 330000 + b"1]"),
            ("members", b"{" + b",".join(b'"%x":0' % i
                                         for i in range(100000)) + b"}"),
            ("long keys", b"{" + b",".join(b'"%s%d":0' % (b"k" * 5000, i)
                                           for i in range(200)) + b"}")):
        post(f"1 MiB of {label}", body, 422 if label == "long keys" else 413)
    for text in (b"1e309", b"-1e400", b"9" * 400, b"9" * 100000, b"1e99999",
                 b"123456789012345678901234567890", b"-9223372036854775809",
                 b"9223372036854775808"):
        post(f"the number {short(text)}",
             b'{"name":"n","description":' + text + b"}", 400)
    for text in (b"01", b"+1", b".5", b"1.", b"0x10", b"1e", b"--1", b"NaN",
                 b"Infinity", b"-Infinity", b"1_000", b"TRUE", b"None",
                 b"undefined", b"'x'", b"", b"\x00", b"\"", b'"\\"', b'"\\x41"',
                 b'"\\u12"', b'"\\u{41}"', b'"a\nb"', b'"a\tb"', b'"\x00"',
                 b'"\x1f"', b"[1,]", b"{,}", b"[1 2]", b'{"a"}', b'{"a":}',
                 b'{a:1}', b"{1:1}", b"/*c*/1", b"1//c", b"#c\n1"):
        post(f"the value {short(text)}", b'{"name":"n","description":' + text +
             b"}", 400)
    for label, body in (
            ("nothing", b" "), ("blanks", b" \r\n\t" * 100),
            ("no end", b'{"name":"x"'), ("no end of a string", b'{"name":"x'),
            ("an end too many", b'{"name":"x"}}'),
            ("two documents", b'{"name":"x"}{"name":"y"}'),
            ("text behind", b'{"name":"x"} x'),
            ("a comma behind", b'{"name":"x"},'),
            ("a NUL behind", b'{"name":"x"}\x00'),
            ("a NUL before", b'\x00{"name":"x"}'),
            ("a BOM", b'\xef\xbb\xbf{"name":"x"}'),
            ("UTF-16", '{"name":"x"}'.encode("utf-16")),
            ("UTF-32", '{"name":"x"}'.encode("utf-32")),
            ("XML", b"<?xml version='1.0'?><name>x</name>"),
            ("a form", b"name=x"), ("YAML", b"name: x"),
            ("the same key twice", b'{"name":"x","name":"y"}'),
            ("the same key, escaped", b'{"name":"x","n\\u0061me":"y"}'),
            ("the same key far inside",
             b'{"name":"x","tags":{"a":"1","a":"2"}}'),
            ("a zip", b"PK\x03\x04" + bytes(100)),
            ("gzip", b"\x1f\x8b\x08" + bytes(100)),
            ("all bytes", bytes(range(256)))):
        post(label, body, 400)
    for label, bad in (
            ("a lone continuation", b"\x80"), ("0xFF", b"\xff"),
            ("0xFE", b"\xfe"), ("an overlong slash", b"\xc0\xaf"),
            ("an overlong NUL", b"\xc0\x80"), ("a longer one", b"\xe0\x80\xaf"),
            ("the longest", b"\xf0\x80\x80\xaf"),
            ("a surrogate", b"\xed\xa0\x80"),
            ("a pair of surrogates", b"\xed\xa0\x80\xed\xb0\x80"),
            ("above U+10FFFF", b"\xf4\x90\x80\x80"), ("0xF5", b"\xf5\x80\x80"),
            ("one cut short", b"\xe2\x82"), ("two bytes of four", b"\xf0\x9f"),
            ("Latin-1", "é".encode("latin-1"))):
        post(f"{label} in a value", b'{"name":"x","description":"a' + bad +
             b'"}', 400)
        post(f"{label} in a key", b'{"name":"x","a' + bad + b'":1}', 400)
        row(f"PATCH {label} in a tag",
            http(b"PATCH", f"{ORGS}/ID", b'{"tags":{"a":"' + bad + b'"}}',
                 MERGE), 400)
    for bad in (b"\\ud800", b"\\udc00", b"\\ud800\\ud800", b"\\udc00\\ud800",
                b"\\ud800x", b"\\uD83D", b"\\u0000", b"x\\u0000y"):
        post(f"{bad!r} in a value",
             b'{"name":"x","description":"' + bad + b'"}', 400)
        post(f"{bad!r} in a key", b'{"name":"x","' + bad + b'":1}', 400)


def media_rows():
    body = b'{"name":"hostile"}'
    for kind in (b"", b"Content-Type:\r\n", b"Content-Type: \r\n",
                 b"Content-Type: text/plain\r\n", b"Content-Type: json\r\n",
                 b"Content-Type: application/jsonp\r\n",
                 b"Content-Type: application/json+x\r\n",
                 b"Content-Type: application/\r\n", b"Content-Type: /\r\n",
                 b"Content-Type: *\r\n", b"Content-Type: */*\r\n",
                 b"Content-Type: application/*\r\n",
                 b"Content-Type: multipart/form-data; boundary=x\r\n",
                 b"Content-Type: application/x-www-form-urlencoded\r\n",
                 b"Content-Type: application/problem+json\r\n",
                 b"Content-Type: ;application/json\r\n",
                 b"Content-Type: " + b"x" * 4000 + b"\r\n"):
        row(f"Content-Type {kind[13:50]!r}", http(b"POST", ORGS, body, kind),
            415)
    row("two Content-Types, the first one wrong",
        http(b"POST", ORGS, body, b"Content-Type: text/plain\r\n" + JSON), 415)
    for coding in (b"gzip", b"br", b"gzip, identity", b"x" * 2000, b"\xff"):
        row(f"Content-Encoding: {short(coding)}",
            http(b"POST", ORGS, body, JSON + b"Content-Encoding: " + coding +
                 b"\r\n"), 415)


# Where a request ends.

def framing_rows():
    body = b'{"name":"hostile"}'
    n = len(body)

    def framed(label, headers, *statuses, body=body, version=b"HTTP/1.1"):
        row(label, http(b"POST", ORGS, b"", JSON + headers, version) + body,
            *statuses)

    length = b"Content-Length: %d\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"
    framed("two lengths that differ", length % n + length % 5, 400)
    framed("two lengths that differ, the other way", length % 5 + length % n,
           400)
    framed("two lengths that agree", length % n * 2, 400)
    framed("a list of lengths", b"Content-Length: 18, 18\r\n", 400)
    for text in (b"-1", b"+18", b"0x12", b"18x", b"x", b"", b" ", b"1 8",
                 b"1e1", b"18.0", b"\t", b"18;", b"'18'"):
        framed(f"Content-Length: {text!r}", b"Content-Length: " + text +
               b"\r\n", 400)
    for text in (b"9223372036854775807", b"18446744073709551615",
                 b"1048577", b"4294967296", b"99999999999999999999999999",
                 b"18446744073709551616", b"18446744073709551634"):
        framed(f"Content-Length: {text!r}", b"Content-Length: " + text +
               b"\r\n", 413)
    framed("a length and chunks", length % n + chunked, 400)
    framed("chunks and a length", chunked + length % n, 400)
    for text in (b"identity", b"gzip", b"chunked, chunked", b"gzip, chunked",
                 b"chunked, gzip", b"chunked;q=1", b"xchunked", b"chunkedx",
                 b"\"chunked\"", b"chunked ,", b", chunked", b"",
                 b"chunked\x0b", b"\x00chunked", b"chun\rked"):
        framed(f"Transfer-Encoding: {text!r}", b"Transfer-Encoding: " + text +
               b"\r\n", 400, body=b"12\r\n" + body + b"\r\n0\r\n\r\n")
    framed("Transfer-Encoding twice", chunked * 2, 400,
           body=b"12\r\n" + body + b"\r\n0\r\n\r\n")
    framed("Transfer-Encoding, folded", b"Transfer-Encoding:\r\n chunked\r\n",
           400, body=b"12\r\n" + body + b"\r\n0\r\n\r\n")
    framed("a blank before the colon", b"Transfer-Encoding : chunked\r\n", 400,
           body=b"12\r\n" + body + b"\r\n0\r\n\r\n")
    framed("chunks in HTTP/1.0", chunked, 400, version=b"HTTP/1.0",
           body=b"12\r\n" + body + b"\r\n0\r\n\r\n")
    for size, status in (
            (b"x", 400), (b"-1", 400), (b"+12", 400), (b"0x12", 400),
            (b"", 400), (b" ", 400), (b"g", 400), (b"12 12", 400),
            (b"\x00", 400), (b"10000000000000000", 413), (b"1" * 100, 413),
            (b"fffffffffffffffffffffffff", 413),
            (b"ffffffffffffffff", 408)):  # and the rest never comes
        framed(f"a chunk of {size[:30]!r}", chunked, status,
               body=size + b"\r\n" + body + b"\r\n0\r\n\r\n")
    framed("a chunk without its line end", chunked, 400,
           body=b"12\r\n" + body + b"0\r\n\r\n")
    framed("a chunk longer than it says", chunked, 400,
           body=b"5\r\n" + body + b"\r\n0\r\n\r\n")
    framed("a chunk of too much", chunked, 413, CLOSED,
           body=b"110000\r\n" + b"x" * 0x110000 + b"\r\n0\r\n\r\n")
    framed("very many tiny chunks", chunked, 413, CLOSED,
           body=b"1\r\nx\r\n" * 1100000 + b"0\r\n\r\n")
    framed("extensions of a chunk", chunked, 400, body=b"12;a=b;c=\"d\"\r\n" +
           body[:-2] + b"x}\r\n0\r\n\r\n")
    framed("an endless extension", chunked, 408,
           body=b"12;" + b"a" * 100000 + b"\r\n" + body + b"\r\n0\r\n\r\n")
    framed("trailers", chunked, 422, body=b"2\r\n{}\r\n0\r\n"
           b"Content-Length: 5\r\nX-Injected: 1\r\n\r\n")
    framed("endless trailers", chunked, 431, CLOSED,
           body=b"2\r\n{}\r\n0\r\n" + b"X-A: b\r\n" * 20000 + b"\r\n")
    row("GET with a body", http(b"GET", ORGS, b"x", JSON), 400)
    row("DELETE with a body", http(b"DELETE", f"{ORGS}/ID", b"x", JSON), 400)
    row("GET with an empty chunked body", http(b"GET", ORGS, b"", chunked) +
        b"0\r\n\r\n", 200)
    for expect in (b"nonsense", b"100", b"100-continue, x", b"200-ok"):
        row(f"Expect: {expect!r}", http(b"POST", ORGS, body, JSON +
                                        b"Expect: " + expect + b"\r\n"), 417)
    row("Expect for too much", http(
        b"POST", ORGS, b"", JSON + b"Expect: 100-continue\r\n"
        b"Content-Length: 99999999\r\n"), 413)
    for upgrade in (b"h2c", b"websocket", b"TLS/1.0", b"x" * 3000, b""):
        row(f"Upgrade: {short(upgrade)}", http(
            b"GET", ORGS, b"", b"Connection: Upgrade\r\nUpgrade: " + upgrade +
            b"\r\nSec-WebSocket-Key: x\r\nHTTP2-Settings: AAA\r\n"), 200)


# The head.

def head_rows():
    token = b"Authorization: Bearer TOKEN\r\n"

    def head(label, data, *statuses):
        row(label, data, *statuses)

    for label, line in (
            ("HTTP/0.9", b"GET /healthz\r\n"),
            ("no version", b"GET /healthz \r\n"),
            ("nothing but blanks", b"   \r\n"),
            ("one word", b"GET\r\n"), ("words", b"hello there world\r\n"),
            ("four words", b"GET /healthz x HTTP/1.1\r\n"),
            ("a tab", b"GET\t/healthz\tHTTP/1.1\r\n"),
            ("two blanks", b"GET  /healthz HTTP/1.1\r\n"),
            ("two blanks behind", b"GET /healthz  HTTP/1.1\r\n"),
            ("a blank before", b" GET /healthz HTTP/1.1\r\n"),
            ("a NUL in the method", b"GE\x00T /healthz HTTP/1.1\r\n"),
            ("a NUL in the target", b"GET /heal\x00thz HTTP/1.1\r\n"),
            ("a NUL in the version", b"GET /healthz HTTP/1.1\x00\r\n"),
            ("a CR in the target", b"GET /heal\rthz HTTP/1.1\r\n"),
            ("a bare LF", b"GET /healthz HTTP/1.1\n"),
            ("bytes of Latin-1", b"GET /h\xe9althz HTTP/1.1\r\n"),
            ("HTTP/1", b"GET /healthz HTTP/1\r\n"),
            ("HTTP/1.", b"GET /healthz HTTP/1.\r\n"),
            ("HTTP/1.1x", b"GET /healthz HTTP/1.1x\r\n"),
            ("HTTP/11.1", b"GET /healthz HTTP/11.1\r\n"),
            ("HTTP/-1.1", b"GET /healthz HTTP/-1.1\r\n"),
            ("http/1.1", b"GET /healthz http/1.1\r\n"),
            ("HTTPS/1.1", b"GET /healthz HTTPS/1.1\r\n"),
            ("ICY", b"GET /healthz ICY/1.1\r\n")):
        head(f"a first line of {label}", line + b"Host: x\r\n\r\n", 400,
             CLOSED)
    for version in (b"2.0", b"9.9", b"0.1"):
        head(f"HTTP/{version.decode()}", b"GET /healthz HTTP/" + version +
             b"\r\nHost: x\r\n\r\n", 505)
    head("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)
    head("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" +
         bytes(range(256)) * 2, 400, CLOSED)
    head("an SSH hello", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", 400, CLOSED)
    head("a PROXY line", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET /healthz"
         b" HTTP/1.1\r\nHost: x\r\n\r\n", 400, CLOSED)
    head("noise", bytes((i * 167 + 13) % 256 for i in range(4000)) +
         b"\r\n\r\n", 400, 431, CLOSED)
    head("zeros", bytes(4000) + b"\r\n\r\n", 400, 431, CLOSED)
    head("line ends only", b"\r\n" * 3000, 400, CLOSED)
    head("no Host", b"GET /healthz HTTP/1.1\r\n\r\n", 400)
    head("two Hosts", b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
         400)
    head("two Hosts that agree",
         b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400)
    for label, line in (
            ("without a colon", b"Nonsense\r\n"),
            ("without a name", b": x\r\n"), ("of a colon", b":\r\n"),
            ("with a blank in its name", b"A B: c\r\n"),
            ("with a blank before the colon", b"A : b\r\n"),
            ("that is folded", b"A: b\r\n c\r\n"),
            ("that is folded by a tab", b"A: b\r\n\tc\r\n"),
            ("with a NUL", b"A: b\x00c\r\n"),
            ("with a NUL in its name", b"A\x00: b\r\n"),
            ("with a bare CR", b"A: b\rX-Injected: 1\r\n"),
            ("with a bare LF", b"A: b\nX-Injected: 1\r\n"),
            ("with an escape", b"A: \x1b[31m\r\n"),
            ("with DEL", b"A: \x7f\r\n"), ("with a bell", b"A: \x07\r\n"),
            ("named in UTF-8", "Ä: b\r\n".encode()),
            ("named with brackets", b"A(b): c\r\n"),
            ("named with a quote", b"\"A\": c\r\n"),
            ("that begins with a blank", b" A: b\r\n"),
            ("that begins with a tab", b"\tA: b\r\n")):
        head(f"a header {label}", http(b"GET", ORGS, b"", line), 400)
    head("a header in Latin-1", http(b"GET", ORGS, b"", b"A: \xe9\xff\r\n"),
         200)
    head("a header of 11,000 bytes", http(b"GET", ORGS, b"", b"A: " +
                                          b"x" * 11000 + b"\r\n"), 200)
    for size in (20000, 100000, 3000000):
        head(f"a header of {size} bytes", http(
            b"GET", ORGS, b"", b"A: " + b"x" * size + b"\r\n"), 431, CLOSED)
        head(f"a header's name of {size} bytes", http(
            b"GET", ORGS, b"", b"x" * size + b": a\r\n"), 431, CLOSED)
    for count in (2000, 50000):
        head(f"{count} headers", http(b"GET", ORGS, b"", b"".join(
            b"X-%d: a\r\n" % i for i in range(count))), 431, CLOSED)
        head(f"{count} times the same header", http(
            b"GET", ORGS, b"", b"Accept: application/json\r\n" * count), 431,
            CLOSED)
    head("100 cookies", http(b"GET", ORGS, b"", b"Cookie: a=b\r\n" * 100), 200)
    head("a cookie of rubbish", http(b"GET", ORGS, b"",
                                     b"Cookie: =;;\"=,=;\xff\r\n"), 200)
    for value in (b"Bearer", b"Bearer ", b"Bearer TOKENx", b"Basic TOKEN",
                  b"TOKEN", b"Bearer TOKEN TOKEN", b"Bearer TOKEN,",
                  b"bearer\tTOKEN", b"Bearer " + b"x" * 8000, b"Negotiate",
                  b"Digest username=\"admin\"", b"Bearer \xff\xfe"):
        head(f"Authorization: {value[:30]!r}", b"GET " + ORGS.encode() +
             b" HTTP/1.1\r\nHost: x\r\nAuthorization: " + value + b"\r\n\r\n",
             401)
    head("two tokens, the first one wrong",
         b"GET " + ORGS.encode() + b" HTTP/1.1\r\nHost: x\r\n"
         b"Authorization: Bearer x\r\n" + token + b"\r\n", 401)
    for range_ in (b"bytes=0-1", b"bytes=-1", b"bytes=0-0,1-1,2-2" * 50,
                   b"x"):
        head(f"Range: {short(range_)}", http(b"GET", ORGS, b"",
                                             b"Range: " + range_ + b"\r\n"),
             200)


def target_rows():
    for target, status in (
            ("/v1/organizations/%2e%2e/projects", 400),
            ("/v1/organizations/%2E%2E%2Fprojects", 400),
            ("/v1/organizations/..", 400), ("/v1/./organizations", 400),
            ("/../../etc/passwd", 400), ("/v1/../healthz", 400),
            ("/v1/organizations/..%2f..%2f", 400), ("//etc/passwd", 400),
            ("/v1/organizations%2fID", 400), ("/v1%2Forganizations", 400),
            ("/v1/organizations/%00", 400), ("/v1/organizations/a%00b", 400),
            ("/v1/organizations/ID%00", 400), ("/v1/organizations/ID%0a", 400),
            ("/v1/organizations/ID%0d%0aX-Injected:1", 400),
            ("/v1/organizations/ID;a=b", 404), ("/v1/organizations;x", 404),
            ("/v1/organizations\\ID", 400), ("/v1\\organizations", 400),
            ("/v1/organizations/%5c", 404), ("/v1/organizations/ID/", 400),
            ("/v1/organizations//ID", 400), ("/v1//organizations", 400),
            ("//v1/organizations", 400), ("/V1/ORGANIZATIONS", 404),
            ("/v1/%6frganizations", 200), ("/v1/organizations/IDx", 404),
            ("/v1/organizations/%", 400), ("/v1/organizations/%4", 400),
            ("/v1/organizations/%zz", 400), ("/v1/organizations/%u0041", 400),
            ("/v1/organizations/%c0%ae", 400), ("/v1/organizations/%ff", 400),
            ("/v1/organizations/%ed%a0%80", 400),
            ("/v1/organizations/%e2%80%ae", 404),
            ("/v1/organizations/%f0%9f%98%80", 404),
            ("/v1/organizations/<script>", 400),
            ("/v1/organizations/\"", 400), ("/v1/organizations/{id}", 400),
            ("/v1/{noun}", 400), ("/v1/%7Bnoun%7D", 404),
            ("/v1/organizations/|", 400), ("/v1/organizations/^", 400),
            ("/v1/organizations/`", 400), ("/v1/organizations/[a]", 400),
            ("/v1/organizations#x", 400), ("/v1/organizations?#", 400),
            ("*", 400), ("healthz", 400), ("", 400), ("?", 400),
            ("http://localhost/healthz", 400), ("http://evil/healthz", 400),
            ("localhost:80", 400), ("/" + "a/" * 40 + "a", 400),
            ("/" + "a/" * 2000 + "a", 400), ("/" + "a" * 3000, 404),
            ("/v1/organizations/" + "a" * 4000, 404),
            ("/v1/organizations/" + "%61" * 1000, 404),
            ("/v1/organizations/" + "%61" * 2000, 400),
            ("/v1/organizations?" + "a=b&" * 40 + "a=b", 400),
            ("/v1/organizations?" + "tag=a=b&" * 200 + "tag=a=b", 400),
            ("/v1/organizations?" + "a&" * 1000, 400),
            ("/v1/organizations?" + "&" * 3000, 400),
            ("/v1/organizations?" + "&" * 100, 400),
            ("/v1/organizations?" + "=" * 100, 400),
            ("/v1/organizations?limit", 400), ("/v1/organizations?limit=", 400),
            ("/v1/organizations?limit=99999999999999999999", 400),
            ("/v1/organizations?limit=-1", 400),
            ("/v1/organizations?limit=1%00", 400),
            ("/v1/organizations?limit=%31", 200),
            ("/v1/organizations?limit=1e2", 400),
            ("/v1/organizations?LIMIT=1", 400),
            ("/v1/organizations?limit[]=1", 400),
            ("/v1/organizations?limit%5B%5D=1", 400),
            ("/v1/organizations?limit=1;after=2", 400),
            ("/v1/organizations?after=1-%27%20or%201=1", 200),
            ("/v1/organizations?after=%00", 400),
            ("/v1/organizations?after=1-" + "a" * 3000, 200),
            ("/v1/organizations?name=%27%20or%201%3D1--", 200),
            ("/v1/organizations?name=" + "a" * 3000, 200),
            ("/v1/organizations?tag=%3D", 200),
            ("/v1/organizations?tag=a", 400),
            ("/v1/organizations?tag=" + "a" * 3000 + "=b", 200),
            ("/v1/organizations?name=%ff", 400),
            ("/v1/organizations?name=%0d%0aX-Injected:%201", 400),
            ("/v1/organizations?at=18446744073709551615", 400),
            ("/v1/organizations?at=9223372036854775807", 400),
            ("/v1/organizations/ID?wait=%00", 400),
            ("/v1/organizations/ID?wait=changed&timeoutMs=1e9", 400),
            ("/v1/organizations/ID?timeoutMs=99999999999999999999", 400),
            ("/v1/organizations/ID?x", 400),
            ("/v1/whoami?token=TOKEN", 400), ("/healthz?x=1", 400),
            ("/.git/config", 404), ("/admin.token", 404),
            ("/cgi-bin/test", 404), ("/v1/tokenz", 404),
            ("/v1/tokens/ID", 404), ("/v1/token", 404)):
        row(f"GET {target[:50]!r}", http(b"GET", target), status)
    for n in (16000, 70000, 1000000):
        row(f"a target of {n} bytes", http(b"GET", "/" + "a" * n), 414, CLOSED)
        row(f"a query of {n} bytes", http(b"GET", ORGS + "?name=" + "a" * n),
            414, CLOSED)


def method_rows():
    for method, status in (
            (b"get", 405), (b"Get", 405), (b"GETT", 405), (b"G", 405),
            (b"TRACE", 405), (b"TRACK", 405), (b"CONNECT", 405),
            (b"PROPFIND", 405), (b"LOCK", 405), (b"PURGE", 405),
            (b"DEBUG", 405), (b"PRI", 405), (b"M-SEARCH", 405),
            (b"!#$%&'*+-.^_`|~", 405), (b"A" * 2000, 405),
            (b"GET,POST", 400), (b"G(E)T", 400), (b"G\"ET", 400),
            (b"G\xc3\xa4T", 400), (b"G/T", 400), (b"<GET>", 400)):
        row(f"the method {method[:20]!r}", http(method, ORGS), status)
    row("CONNECT to a host", b"CONNECT evil:443 HTTP/1.1\r\nHost: evil:443"
        b"\r\n\r\n", 400)
    row("OPTIONS *", http(b"OPTIONS", "*"), 400)
    row("X-HTTP-Method-Override", http(
        b"GET", f"{ORGS}/ID", b"", b"X-HTTP-Method-Override: DELETE\r\n"), 200)
    row("_method", http(b"GET", f"{ORGS}/ID?_method=DELETE"), 400)
    row("POST with nothing", http(b"POST", ORGS, b"", JSON), 400)
    row("PUT with nothing", http(b"PUT", f"{ORGS}/ID", b"", JSON), 400)
    row("PATCH with nothing", http(b"PATCH", f"{ORGS}/ID", b"", MERGE), 400)
    for method in (b"PUT", b"PATCH", b"DELETE"):
        row(f"{method.decode()} of them all", http(
            method, ORGS, b"{}" if method != b"DELETE" else b"", JSON), 405)
    row("DELETE with another's tag", http(b"DELETE", f"{ORGS}/ID", b"",
                                          b"If-Match: \"1\"\r\n"), 412)


def echo_rows():
    """What we may say again must not become a header, or a line of the log."""
    def clean(data):
        head = data.split(b"\r\n\r\n")[0].lower()
        return b"\nx-injected" not in head and b"\x1b" not in data

    for header in (b"X-Request-Id", b"Idempotency-Key", b"If-Match",
                   b"If-None-Match", b"Last-Event-ID", b"Accept", b"Origin",
                   b"Content-Type", b"User-Agent", b"Forwarded",
                   b"X-Forwarded-For", b"Traceparent"):
        # If-Match is said again in the answer.
        want = {b"Accept": 406, b"If-Match": 412}.get(header, 200)
        method, body, kind = (b"PATCH", b"{}", MERGE) \
            if header == b"If-Match" else (b"GET", b"", b"")
        for label, value in (
                ("a line end", b"a\r\nX-Injected: 1"),
                ("escaped line ends", b"a%0d%0aX-Injected: 1"),
                ("quotes", b"\"a\\\" X-Injected: 1"),
                ("8,000 bytes", b"x" * 8000),
                ("UTF-8", "é😀\u202e".encode()),
                ("no UTF-8", b"\xff\xfe\x80"),
                ("a format", b"%s%n%x %99999d"),
                ("markup", b"<script>alert(1)</script>")):
            row(f"{header.decode()}: {label}",
                http(method, f"{ORGS}/ID", body, kind + header + b": " +
                     value + b"\r\n"), want, more=clean)
    for value in (b"x" * 256, b"", b"\x01", b"a\x00b"):
        row(f"Idempotency-Key: {short(value)}", http(
            b"POST", ORGS, b'{"name":"hostile"}',
            JSON + b"Idempotency-Key: " + value + b"\r\n"), 400)
    for value in (b"x", b"-1", b"1e3", b"0x1", b"1 1", b"1,1", b"\xff",
                  b"x" * 5000):
        row(f"a watch from {short(value)}", http(
            b"GET", ORGS, b"", b"Accept: text/event-stream\r\nLast-Event-ID: "
            + value + b"\r\n"), 400)
    for value in (b"99999999999999999999999", b"9223372036854775808",
                  b"18446744073709551615", b"18446744073709551616"):
        row(f"a watch from {value.decode()}", http(
            b"GET", ORGS, b"", b"Accept: text/event-stream\r\nLast-Event-ID: "
            + value + b"\r\n"), 410)


def pipeline_rows():
    good = http(b"GET", f"{ORGS}/ID")
    for label, behind in (
            ("noise", b"\x00\xff\x17" * 100), ("a broken line", b"GET /\r\n"),
            ("half a request", b"POST /v1/organizations HTTP/1.1\r\nHo"),
            ("line ends", b"\r\n\r\n\r\n"), ("zeros", bytes(5000)),
            ("JSON", b'{"name":"hostile"}'),
            ("a request without a token",
             b"DELETE /v1/organizations/ID HTTP/1.1\r\nHost: x\r\n\r\n"),
            ("200 more", good * 200)):
        row(f"a good request, then {label}", good + behind, 200)
    row("a length that hides a request", http(
        b"POST", ORGS, b"", JSON + b"Content-Length: 2\r\n") +
        b"{}DELETE /v1/organizations/ID HTTP/1.1\r\nHost: x\r\n"
        b"Authorization: Bearer TOKEN\r\nIf-Match: \"1\"\r\n\r\n", 422)
    row("a refused head that hides a request", http(
        b"POST", ORGS, b"", JSON + b"Content-Length: 60\r\n"
        b"Transfer-Encoding: chunked\r\n") + b"0\r\n\r\nDELETE "
        b"/v1/organizations/ID HTTP/1.1\r\nHost: x\r\n"
        b"Authorization: Bearer TOKEN\r\n\r\n", 400)


def slow_rows():
    """Half of something, and then nothing."""
    whole = http(b"POST", ORGS, b'{"name":"hostile"}', JSON)
    for label, data in (
            ("nothing", b""), ("a byte", b"G"), ("a line end", b"\r\n"),
            ("half a line", b"GET /heal"), ("half a head", whole[:60]),
            ("a head without its end", whole.split(b"\r\n\r\n")[0]),
            ("a head and no body", whole[:-18]), ("half a body", whole[:-5]),
            ("a chunk's size", http(b"POST", ORGS, b"", JSON +
                                    b"Transfer-Encoding: chunked\r\n") +
             b"12\r\n"),
            ("half a chunk", http(b"POST", ORGS, b"", JSON +
                                  b"Transfer-Encoding: chunked\r\n") +
             b"12\r\n{\"na"),
            ("no last chunk", http(b"POST", ORGS, b"", JSON +
                                   b"Transfer-Encoding: chunked\r\n") +
             b"2\r\n{}\r\n"),
            ("a promise of a body", http(
                b"POST", ORGS, b"", JSON + b"Expect: 100-continue\r\n"
                b"Content-Length: 18\r\n"))):
        # Without a whole first line there may be nobody to answer.
        row(f"{label}, then silence", data, 408 if len(data) > 20 else CLOSED,
            slow=True)
    row("byte by byte", whole, 408, slow="drip")
    row("cut short in the head", whole[:60], CLOSED, slow="cut")
    row("cut short in the body", whole[:-5], CLOSED, slow="cut")
    row("reset in the body", whole[:-5], CLOSED, slow="reset")
    row("half closed in the body", whole[:-5], CLOSED, 400, slow="half")


class Hostile:
    def __init__(self, server):
        self.server = server
        self.api = Client(server)
        self.org = self.api.post(ORGS, {"name": "target"}).json
        self.bad = []
        self.statuses = {}
        self.library = self.doubled = 0

    def fill(self, data):
        return data.replace(b"TOKEN", self.server.token.encode()) \
            .replace(b"/ID", b"/" + self.org["id"].encode())

    def exchange(self, data, slow):
        """What came back; sends and reads at once, as either may end it."""
        s = self.server.connect()
        back, left = b"", data
        until = time.monotonic() + PATIENCE
        s.setblocking(False)
        if slow in ("cut", "reset", "half"):
            s.setblocking(True)
            s.sendall(data)
            if slow == "reset":
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                             b"\1\0\0\0\0\0\0\0")
            if slow != "half":
                s.close()
                return b""
            s.shutdown(socket.SHUT_WR)
            left = b""
        while time.monotonic() < until and not self.whole(back):
            piece = left[:1] if slow == "drip" else left[:1 << 18]
            can = select.select([s], [s] if piece else [], [], 0.5)
            try:
                if can[1]:
                    left = left[s.send(piece):]
                if can[0]:
                    got = s.recv(1 << 16)
                    if not got:
                        break
                    back += got
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                if not left:
                    break
                left = b""  # it may have said why
            if slow == "drip":
                time.sleep(0.02)
        else:
            if not self.whole(back):
                self.bad.append("no answer and no end")
        s.close()
        return back

    @staticmethod
    def whole(back):
        """One reply is all here."""
        head, found, body = back.partition(b"\r\n\r\n")
        if not found:
            return False
        if head.startswith(b"HTTP/1.1 100"):
            return Hostile.whole(body)
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        return not length or len(body) >= int(length.group(1))

    def check(self, label, data, statuses, slow, more):
        back = self.exchange(self.fill(data), slow)
        if back.startswith(b"HTTP/1.1 100"):
            back = back.partition(b"\r\n\r\n")[2]
        found = re.match(rb"HTTP/1\.[01] (\d\d\d) ", back)
        status = int(found.group(1)) if found else CLOSED
        self.statuses[status] = self.statuses.get(status, 0) + 1
        wrong = []
        if status not in statuses or (not found and back):
            wrong.append(f"{status} and not {statuses}: {back[:300]!r}")
        if status != CLOSED and status >= 400:
            wrong += self.problem(back, status)
        if more and not more(back):
            wrong.append(f"unclean: {back[:300]!r}")
        return wrong

    def problem(self, back, status):
        """What we refuse we refuse in our own words."""
        head, _, body = back.partition(b"\r\n\r\n")
        if b"<html>" in body and b"\r\nConnection: close" in head and \
                status in (400, 413, 414, 431, 505):
            self.library += 1  # libmicrohttpd could not make sense of it
            self.doubled += b"\r\n\r\nHTTP/1.1 " in back
            return []
        if b"application/problem+json" not in head:
            return [f"not a problem: {back[:300]!r}"]
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if length:  # the next answer may have come along
            body = body[:int(length.group(1))]
        try:
            problem = json.loads(body)
        except ValueError:
            return [f"not JSON: {body!r}"]
        if problem["status"] != status:
            return [f"another status: {body!r}"]
        return []

    def alive(self):
        """It serves; on a slow machine perhaps once it has caught up."""
        try:
            reply = wait_for(lambda: (r := self.api.get("/v1/whoami")).status
                             != 503 and r)
            return [] if reply and reply.status == 200 else [f"then: {reply}"]
        except OSError as error:
            return [f"then the server was gone: {error!r}"]

    def run(self, rows):
        for label, data, statuses, slow, more in rows:
            wrong = self.check(label, data, statuses, slow, more)
            wrong += self.alive()
            tap.ok(not wrong, label, *wrong)
            if self.server.process.poll() is not None:
                tap.note(self.server.log()[-4000:])
                raise RuntimeError("the server is gone")

    def run_slow(self, rows):
        """All at once: they take their time."""
        results = {}

        def one(row):
            began = time.monotonic()
            wrong = self.check(*row)
            took = time.monotonic() - began
            if took > REQUEST_SECONDS + 5:
                wrong.append(f"it took {took:.1f} s")
            results[row[0]] = wrong

        threads = [threading.Thread(target=one, args=(r,)) for r in rows]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            for text in self.alive():
                tap.ok(False, "it answers meanwhile", text)
            time.sleep(0.05)
        for r in rows:
            wrong = results.get(r[0], ["it raised"])
            tap.ok(not wrong, r[0], *wrong)


def main():
    for function in (field_rows, json_rows, media_rows, framing_rows,
                     head_rows, target_rows, method_rows, echo_rows,
                     pipeline_rows, slow_rows):
        function()
    server = Server({"limits": {"requestSeconds": REQUEST_SECONDS,
                                "idleSeconds": 30},
                     "log": {"level": "debug"}}).start()
    hostile = Hostile(server)
    quick = [r for r in rows if not r[3]]
    # What a first of everything costs is not what is looked for.
    hostile.run(quick[:40])
    for _ in range(3):
        hostile.check(*[r for r in rows if "MiB of members" in r[0]][0])
    before = hostile.api.get(ORGS).json
    rss, descriptors = server.rss_kib(), server.descriptors()
    hostile.run(quick[40:])
    hostile.run_slow([r for r in rows if r[3]])
    hostile.api.close()
    wait_until = time.monotonic() + PATIENCE
    while server.descriptors() > descriptors and \
            time.monotonic() < wait_until:
        time.sleep(0.05)
    tap.ok(server.descriptors() <= descriptors,
           "no descriptor was left behind", server.descriptors(), descriptors)
    tap.eq(hostile.api.get(ORGS).json, before, "nothing has changed")
    grown = server.rss_kib() - rss
    tap.ok(grown < (400 << 10 if is_sanitized() else 24 << 10),
           "memory did not grow much", f"{grown} KiB from {rss} KiB")
    tap.ok(not any(s != CLOSED and s >= 500 and s != 505
                   for s in hostile.statuses),
           "none of it was taken for our fault", hostile.statuses)
    tap.eq(server.stop(), 0, "it stops cleanly after all that")
    log = server.log()
    found = [line for line in log.splitlines()
             if re.search("Sanitizer|runtime error|assert|panic| error ",
                          line) or not re.match(r"\d{4}-", line)]
    tap.ok(not found, "the log has lines of its own only, and no crash",
           *found[:10])
    tap.note(f"{len(rows)} rows; {grown} KiB more; {hostile.statuses}")
    tap.note(f"{hostile.library} answered by libmicrohttpd in its own words,"
             f" {hostile.doubled} of them with the head sent twice")


if __name__ == "__main__":
    tap.section(main)
    tap.end()
