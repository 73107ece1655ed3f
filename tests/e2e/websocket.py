"""A WebSocket's other end: frames as RFC 6455 has them, right or wrong."""

import base64
import os
import struct
import time

from muster import PATIENCE, read_head

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
KEY = base64.b64encode(bytes(range(16))).decode()


def upgrade(target, protocol=None, headers=()):
    lines = [f"GET {target} HTTP/1.1", "Host: localhost", "Upgrade: websocket",
             "Connection: Upgrade", "Sec-WebSocket-Version: 13",
             f"Sec-WebSocket-Key: {KEY}", *headers]
    if protocol:
        lines.append(f"Sec-WebSocket-Protocol: {protocol}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def frame(kind, data=b"", masked=True):
    head = bytes([0x80 | kind])
    bit = 0x80 if masked else 0
    if len(data) < 126:
        head += bytes([bit | len(data)])
    elif len(data) < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", len(data))
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", len(data))
    if not masked:
        return head + data
    mask = os.urandom(4)
    long = (mask * (len(data) // 4 + 1))[:len(data)]
    mixed = int.from_bytes(data, "big") ^ int.from_bytes(long, "big")
    return head + mask + mixed.to_bytes(len(data), "big")


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status} {body[:300]!r}")
        self.status, self.body = status, body


class WebSocket:
    """Connected, or Refused is raised."""

    def __init__(self, server, target, protocol=None, headers=()):
        self.sock = server.connect()
        self.sock.sendall(upgrade(target, protocol, headers))
        status, self.headers, self.data = read_head(self.sock)
        if status != 101:
            length = int(self.headers.get("content-length", 0))
            while len(self.data) < length:
                more = self.sock.recv(65536)
                if not more:
                    break
                self.data += more
            self.sock.close()
            raise Refused(status, self.data)
        self.closed = None  # (code, why), once it is
        self.pings = 0

    def send(self, data, kind=BINARY, masked=True):
        self.sock.sendall(frame(kind, data, masked))

    def _need(self, n):
        while len(self.data) < n:
            more = self.sock.recv(65536)
            if not more:
                raise EOFError
            self.data += more

    def frame(self):
        """The next one: its kind and what is in it."""
        self._need(2)
        length, at = self.data[1] & 0x7f, 2
        if length == 126:
            self._need(4)
            length, at = struct.unpack(">H", self.data[2:4])[0], 4
        elif length == 127:
            self._need(10)
            length, at = struct.unpack(">Q", self.data[2:10])[0], 10
        self._need(at + length)
        kind, body = self.data[0] & 0xf, self.data[at:at + length]
        self.data = self.data[at + length:]
        return kind, body

    def read(self):
        """The bytes of the next message; b"" once it was closed."""
        while not self.closed:
            try:
                kind, body = self.frame()
            except (EOFError, ConnectionError):
                self.closed = (1006, "")
                break
            if kind == PING:
                self.pings += 1
                self.send(body, PONG)
            elif kind == CLOSE:
                code = struct.unpack(">H", body[:2])[0] if body else 1005
                self.closed = (code, body[2:].decode())
                try:
                    self.send(body[:2], CLOSE)
                except OSError:
                    pass
            elif kind in (TEXT, BINARY):
                return body
        return b""

    def until(self, text, seconds=None):
        """All that comes until TEXT is there; without it when it is closed,
        or the time is up."""
        end = time.monotonic() + (seconds or PATIENCE)
        got = b""
        while text not in got and not self.closed and \
                time.monotonic() < end:
            got += self.read()
        return got

    def until_closed(self):
        """Code and words that it was closed with."""
        while not self.closed:
            self.read()
        return self.closed

    def cut(self):
        """As if the client had died."""
        self.sock.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER
        self.sock.close()

    def close(self):
        self.sock.close()
