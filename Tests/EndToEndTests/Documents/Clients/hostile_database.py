"""Attacks on the database port: WebSockets (RFC 6455) and their frames, long polling, REST and streams."""
import base64
import json
import os
import socket
import struct
import threading

from hostile_http1 import Plain
from hostile_wire import PATIENCE

TEXT, BINARY, CONTINUED, CLOSE, PING = 1, 2, 0, 8, 9


class Client(Plain):
    """A WebSocket that sends frames as they are."""

    def __init__(self, port, namespace, patience=PATIENCE):
        super().__init__(port, patience)
        self.send(f"GET /.ws?v=5&ns={namespace} HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                  f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n")
        while b"\r\n\r\n" not in self.buffer:
            if not self.more():
                raise OSError("no upgrade")
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]

    def frame(self, payload, opcode=TEXT, final=True, masked=True, reserved=0, length=None):
        size = len(payload) if length is None else length
        head = bytes([(0x80 if final else 0) | reserved | opcode])
        mask = 0x80 if masked else 0
        if size < 126:
            head += bytes([mask | size])
        elif size < 65536:
            head += bytes([mask | 126]) + struct.pack(">H", size)
        else:
            head += bytes([mask | 127]) + struct.pack(">Q", size)
        # A mask of zeros changes nothing.
        return self.send(head + (b"\0\0\0\0" if masked else b"") + payload)

    def ask(self, number, action, body):
        return self.frame(json.dumps({"t": "d", "d": {"r": number, "a": action, "b": body}}).encode())

    def ends(self):
        """Whether the host ends the connection, or says that it will."""
        while True:
            while len(self.buffer) >= 2:
                size, start = self.buffer[1], 2
                if size > 125:
                    start += 2 if size == 126 else 8
                    size = int.from_bytes(self.buffer[2:start], "big")
                if len(self.buffer) < start + size:
                    break
                if self.buffer[0] & 15 == CLOSE:
                    return True
                self.buffer = self.buffer[start + size:]
            data = self.more()
            if data is None:
                return False
            if not data:
                return True


class Database:
    def __init__(self, host, port, scale, random):
        self.host, self.port, self.scale, self.random = host, port, scale, random
        self.namespace = "hostile"
        # Open to all, so that the attacks get far.
        status, _ = self.rest("PUT", "/.settings/rules.json", b'{"rules": {".read": true, ".write": true}}')
        host.expect("rules", status, "200")
        self.attacks = [
            self.frames, self.pieces, self.nesting, self.flood, self.unread, self.listens, self.disconnects, self.upgrades,
            self.polls, self.bodies, self.streams, self.tokens,
        ]

    def client(self):
        return Client(self.port, self.namespace)

    def rest(self, method, path, body=b"", headers=""):
        plain = Plain(self.port)
        plain.send(f"{method} {path}?ns={self.namespace} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\n"
                   f"Content-Length: {len(body)}\r\n{headers}\r\n".encode() + body)
        answer = plain.response()
        plain.close()
        return answer

    def together(self, count, body):
        threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def ended(self, what, client):
        if not client.ends():
            self.host.fail(f"{what}: the connection goes on")
        client.close()

    # Frames

    def frames(self):
        """What no WebSocket may send."""
        wrong = [
            dict(payload=b"{}", masked=False), dict(payload=b"{}", opcode=3), dict(payload=b"{}", reserved=0x40),
            dict(payload=b"x" * 126, opcode=PING), dict(payload=b"x", opcode=PING, final=False),
            dict(payload=b"x", opcode=CONTINUED), dict(payload=b"\xed\xa0\x80"), dict(payload=b"{}", opcode=BINARY),
            dict(payload=b"", length=1 << 62), dict(payload=b"", length=(1 << 64) - 1), dict(payload=b"not json"),
        ]
        for parts in wrong:
            client = self.client()
            client.frame(**parts)
            self.ended(f"a frame {parts}", client)
        for _ in range(20 * self.scale):
            client = self.client()
            client.send(self.random.randbytes(self.random.randrange(2, 5000)))
            try:
                client.socket.shutdown(socket.SHUT_WR)
            except OSError:
                # The host was faster.
                pass
            self.ended("random bytes", client)

    def pieces(self):
        """Messages in pieces that never end, and fragments that don't."""
        for count in (b"1000000", b"99999999999999999999", b"0", b"-1"):
            client = self.client()
            client.frame(count)
            for _ in range(2000):
                if not client.frame(b"x" * 16384):
                    break
            else:
                # What isn't a number of pieces may be a keepalive, and what follows isn't JSON.
                self.ended(f"{count} pieces", client)
                continue
            client.close()
        client = self.client()
        client.frame(b"x", final=False)
        while client.frame(b"x" * 65536, opcode=CONTINUED, final=False):
            pass
        client.close()
        quiet = [self.client() for _ in range(50 * self.scale)]
        for one in quiet:
            one.frame(b"500")
            one.frame(b"x" * 16384)
        for one in quiet:
            one.close()

    def nesting(self):
        for text in (b"[" * 1_000_000, b'{"a":' * 200_000, b'{"t":"d","d":' + b"[" * 500_000):
            client = self.client()
            client.frame(text)
            self.ended("nesting", client)
        value = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
        status, _ = self.rest("PUT", "/deep.json", value)
        self.host.expect("a deep body", status, "400")

    # Requests

    def flood(self):
        """Requests without end, whose answers aren't read."""
        self.rest("PUT", "/large.json", json.dumps("x" * 200_000).encode())

        def one(number):
            client = self.client()
            client.socket.settimeout(5)
            for number in range(20_000 * self.scale):
                if not client.ask(number, "g", {"p": "/large"}):
                    break
            client.close()

        self.together(8, one)

    def unread(self):
        """Listeners that read nothing of what they are sent, beside a writer."""
        clients = [self.client() for _ in range(100 * self.scale)]
        for client in clients:
            client.ask(1, "q", {"p": "/hot", "h": ""})
        value = json.dumps("y" * 100_000)
        for number in range(120):
            status, _ = self.rest("PUT", "/hot.json", f'{{"n":{number},"v":{value}}}'.encode())
            self.host.expect("a write beside listeners that don't read", status, "200")
        for client in clients:
            client.close()

    def listens(self):
        def one(_):
            client = self.client()
            client.socket.settimeout(20)
            for number in range(11_000):
                query = {"p": f"/l/{number}", "h": "", "q": {"l": 1 + number % 7, "vf": "l"}, "t": number}
                if not client.ask(number, "q", query):
                    break
                if number % 200 == 0:
                    client.socket.setblocking(False)
                    client.more()
                    client.socket.settimeout(20)
            client.close()

        self.together(4 * self.scale, one)

    def disconnects(self):
        """As many registrations as there may be, of clients that leave at once."""
        def one(number):
            client = self.client()
            for index in range(1_200):
                if not client.ask(index, "o", {"p": f"/gone/{number}/{index}", "d": "x" * 100}):
                    break
            client.socket.settimeout(2)
            client.more()
            client.close()

        self.together(20 * self.scale, one)

    # Connections

    def upgrades(self):
        """Half requests, and upgrades that are none."""
        halves = []
        for number in range(300 * self.scale):
            plain = Plain(self.port)
            plain.send(f"GET /.ws?v=5&ns=hostile HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nX-{number}: ".encode())
            halves.append(plain)
        for head in ("GET /.ws?v=5 HTTP/1.1\r\nHost: localhost\r\n", "GET /.ws?v=4&ns=a HTTP/1.1\r\nHost: localhost\r\n",
                     "GET /.ws?v=5&ns=../x HTTP/1.1\r\nHost: localhost\r\n", "POST /.ws?v=5&ns=a HTTP/1.1\r\nHost: localhost\r\n"):
            plain = Plain(self.port, 20)
            plain.send(head + "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: 0\r\n\r\n")
            plain.response()
            plain.close()
        for plain in halves:
            plain.close()

    def polls(self):
        """Sessions of long polling that are left, and requests to those of others."""
        for _ in range(500 * self.scale):
            plain = Plain(self.port, 30)
            plain.send("GET /.lp?start=t&ser=1&cb=1&v=5&ns=hostile HTTP/1.1\r\nHost: localhost\r\n\r\n")
            status, _ = plain.response()
            self.host.expect("a session", status, "200", "429", "503")
            plain.close()
        for query in ("id=1&pw=x&ser=1&ns=hostile", "id=99999999999999999999&pw=&ser=-1&ns=hostile", "id=1&pw=x&ser=1&seg0=0&ts0=9&d0=!!&ns=hostile",
                      "disconn=t&id=1&pw=x", "start=t&ser=x&cb=<script>&v=5&ns=hostile"):
            plain = Plain(self.port, 30)
            plain.send(f"GET /.lp?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n")
            plain.response()
            plain.close()

    def bodies(self):
        """Large values that are never complete."""
        left = []
        for number in range(30 * self.scale):
            plain = Plain(self.port)
            plain.send(f"PUT /b/{number}.json?ns=hostile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\n"
                       "Content-Length: 200000000\r\n\r\n{\"a\":\"".encode() + b"z" * 3_000_000)
            left.append(plain)
        for plain in left:
            plain.close()
        for body in (b'{"a":1', b"", b"nul", b'{"a/b":1}', b'{"a":1}}', b"[" * 100, b'"\xff"', b'{"a":1e999}'):
            status, _ = self.rest("PUT", "/bad.json", body)
            self.host.expect(f"the body {body}", status, "400")

    def streams(self):
        """Event streams that are left, and such that aren't read."""
        for _ in range(300 * self.scale):
            plain = Plain(self.port)
            plain.send("GET /s.json?ns=hostile HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer owner\r\n\r\n")
            if self.random.random() < 0.5:
                plain.more()
            plain.close()
        unread = [Plain(self.port) for _ in range(50 * self.scale)]
        for plain in unread:
            plain.send("GET /hot.json?ns=hostile HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nAuthorization: Bearer owner\r\n\r\n")
        for number in range(100):
            self.rest("PUT", "/hot.json", json.dumps("w" * 100_000 + str(number)).encode())
        for plain in unread:
            plain.close()

    def tokens(self):
        client = self.client()
        for number in range(2_000 * self.scale):
            if not client.ask(number, "auth", {"cred": f"{number}." + "x" * 2_000 + ".y"}):
                break
            if number % 50 == 0:
                client.more()
        client.close()

    # The well-behaved client

    def beat(self, number):
        status, _ = self.rest("PUT", "/beat.json", str(number).encode())
        found = self.rest("GET", "/beat.json")
        if status != "200" or found != ("200", str(number).encode()):
            self.host.fail(f"during {self.host.attack}, {number} was set with {status}, then {found} was read")
