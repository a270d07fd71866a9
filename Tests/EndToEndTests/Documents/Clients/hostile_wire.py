"""Raw connections of HTTP/2 and HTTP/1, and what is known of the host's process meanwhile."""
import os
import socket
import struct
import threading
import time

import grpc
from google.cloud.firestore_v1 import types
from hpack import Decoder, Encoder

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, PRIORITIZED, ACK = 1, 4, 8, 32, 1
# Ends what hangs; on a busy machine, a large request takes a minute.
PATIENCE = 120
SERVICE = "/google.firestore.v1.Firestore/"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def setting(identifier, value):
    return struct.pack(">HI", identifier, value)


def prefixed(message, flag=0, length=None):
    return bytes([flag]) + struct.pack(">I", len(message) if length is None else length) + message


class Raw:
    """A connection that sends what it is told to."""

    def __init__(self, port, settings=b"", preface=PREFACE, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.encoder, self.decoder = Encoder(), Decoder()
        self.buffer = b""
        self.header_block = b""
        if preface:
            self.send(preface + frame(SETTINGS, payload=settings))

    def send(self, data):
        """Whether all was sent: the host may have closed the connection, or doesn't read."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def request(self, path, token=None, **extra):
        """Of a client without a token, as the hostile ones are: development is open to them."""
        headers = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"),
                   ("content-type", "application/grpc"), ("te", "trailers")]
        if token:
            headers.append(("authorization", "Bearer " + token))
        return headers + [(name.replace("_", "-"), value) for name, value in extra.items()]

    def open(self, stream, path, flags=0, **extra):
        return self.send(frame(HEADERS, END_HEADERS | flags, stream, self.encoder.encode(self.request(path, **extra))))

    def call(self, stream, method, message, **extra):
        """A whole request of one message."""
        self.open(stream, SERVICE + method, **extra)
        return self.message(stream, message, END_STREAM)

    def message(self, stream, message, flags=0):
        data = prefixed(message)
        for start in range(0, len(data), 16384):
            part = data[start:start + 16384]
            if not self.send(frame(DATA, flags if start + 16384 >= len(data) else 0, stream, part)):
                return False
        return True

    def frames(self, patience=PATIENCE):
        """What comes, until the connection ends; then `None` if it did, or nothing more if time is over."""
        end = time.monotonic() + patience
        while True:
            while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
                left = end - time.monotonic()
                if left <= 0:
                    return
                self.socket.settimeout(left)
                try:
                    data = self.socket.recv(65536)
                except socket.timeout:
                    return
                except OSError:
                    data = b""
                if not data:
                    yield None
                    return
                self.buffer += data
            length = int.from_bytes(self.buffer[:3], "big")
            kind, flags = self.buffer[3], self.buffer[4]
            stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
            payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
            yield kind, flags, stream, payload

    def outcome(self, stream=None, patience=PATIENCE):
        """How the connection, or a stream, ends: `closed`, `goaway N`, `reset N`, `grpc N`, `http N` or `nothing`.

        A connection that ends with GOAWAY counts as that."""
        goaway = None
        for item in self.frames(patience):
            if item is None:
                return goaway or "closed"
            kind, flags, of, payload = item
            if kind == GOAWAY:
                code = int.from_bytes(payload[4:8], "big")
                if code or stream is None:
                    goaway = f"goaway {code}"
            elif kind == RST_STREAM and (stream is None or of == stream):
                return f"reset {int.from_bytes(payload, 'big')}"
            elif kind in (HEADERS, CONTINUATION):
                self.header_block = payload if kind == HEADERS else self.header_block + payload
                if not flags & END_HEADERS:
                    continue
                headers = dict(self.decoder.decode(self.header_block))
                if stream is None or of == stream:
                    if "grpc-status" in headers:
                        return "grpc " + headers["grpc-status"]
                    if headers.get(":status") != "200":
                        return "http " + headers.get(":status", "")
            elif kind == PING and not flags & ACK:
                self.send(frame(PING, ACK, 0, payload))
            elif kind == DATA and payload:
                self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload)))
                          + (b"" if flags & END_STREAM else frame(WINDOW_UPDATE, 0, of, struct.pack(">I", len(payload)))))
        return goaway or "nothing"

    def close(self):
        self.socket.close()


class Host:
    """The host's process, its well-behaved client, and the bounds that attacks must not break."""

    # Resident memory: what all attacks together may add, at any time, and what may be left of it at the end.
    MAX_GROWTH = 256 << 20
    MAX_LEFT = 160 << 20
    # Of one processor, once an attack is over.
    MAX_IDLE_SHARE = 0.4
    # Files that the storage opens once more readers are needed, and then keeps.
    MAX_FILES = 40

    def __init__(self, port, project, pid):
        self.port, self.project, self.pid = port, project, pid
        self.root = f"projects/{project}/databases/(default)/documents"
        self.database = f"projects/{project}/databases/(default)"
        self.failures = 0
        # What beats besides.
        self.others = []
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}")
        self.metadata = [("authorization", "Bearer owner")]
        self.stopped = threading.Event()
        self.beats, self.slowest, self.attack = 0, 0.0, "the beginning"
        self.born = self.stat()[19] if pid else None
        self.beat()
        self.start = self.memory()
        self.peak = self.start
        self.descriptors, self.files = self.count_descriptors(), self.count_descriptors(of_files=True)
        threading.Thread(target=self.live, daemon=True).start()

    def fail(self, text):
        self.failures += 1
        print("FAILED " + text, flush=True)

    def expect(self, what, came, *expected):
        """`expected` are whole outcomes, or beginnings that end with a star."""
        if not any(came == one or one.endswith("*") and came.startswith(one[:-1]) for one in expected):
            self.fail(f"{what}: {came} came, {' or '.join(expected)} was expected")

    # The process

    def stat(self):
        with open(f"/proc/{self.pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()

    def memory(self):
        if not self.pid:
            return 0
        with open(f"/proc/{self.pid}/status") as file:
            return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) << 10

    def count_descriptors(self, of_files=False):
        """Sockets and the like, or files."""
        count = 0
        for number in os.listdir(f"/proc/{self.pid}/fd") if self.pid else []:
            try:
                count += os.readlink(f"/proc/{self.pid}/fd/{number}").startswith("/") == of_files
            except OSError:
                continue
        return count

    def share(self, seconds):
        """Of one processor, used within some time."""
        before = sum(map(int, self.stat()[11:13]))
        time.sleep(seconds)
        return (sum(map(int, self.stat()[11:13])) - before) / os.sysconf("SC_CLK_TCK") / seconds

    # The well-behaved client

    def call(self, method, request, answer, channel=None):
        return (channel or self.channel).unary_unary(
            SERVICE + method, request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer)(request, metadata=self.metadata, timeout=PATIENCE)

    def beat(self):
        """A commit and a get of what it wrote."""
        self.beats += 1
        name = f"{self.root}/hostile/beat"
        self.call("Commit", types.CommitRequest.pb()(database=self.database, writes=[
            {"update": {"name": name, "fields": {"n": {"integer_value": self.beats}}}}]), types.CommitResponse.pb().FromString)
        found = self.call("GetDocument", types.GetDocumentRequest.pb()(name=name), types.Document.pb().FromString)
        if found.fields["n"].integer_value != self.beats:
            self.fail(f"{found.fields['n'].integer_value} was read, {self.beats} was written")
        for other in self.others:
            other(self.beats)

    def live(self):
        while not self.stopped.wait(0.1):
            began = time.monotonic()
            try:
                self.beat()
            except grpc.RpcError as error:
                self.fail(f"during {self.attack}, a well-behaved client's call: {error.code().name} {error.details()}")
            self.slowest = max(self.slowest, time.monotonic() - began)
            try:
                self.peak = max(self.peak, self.memory())
            except OSError:
                self.fail(f"during {self.attack}, the host has ended")
                return

    # After an attack

    def recovers(self):
        """Whether the process runs, calm, within its bounds, and serves a new client."""
        if self.pid:
            try:
                if self.stat()[19] != self.born:
                    self.fail(f"after {self.attack}, another process has the host's id")
            except OSError:
                self.fail(f"after {self.attack}, the host has ended")
                return False
            end = time.monotonic() + PATIENCE
            # What a client has sent may be on its way to the disk when the client leaves.
            while ((self.count_descriptors() > self.descriptors + 4
                    or self.count_descriptors(of_files=True) > self.files + self.MAX_FILES) and time.monotonic() < end):
                time.sleep(0.2)
            if self.count_descriptors() > self.descriptors + 4:
                self.fail(f"after {self.attack}, there are {self.count_descriptors()} descriptors, {self.descriptors} before")
            if self.count_descriptors(of_files=True) > self.files + self.MAX_FILES:
                self.fail(f"after {self.attack}, {self.count_descriptors(of_files=True)} files are open, {self.files} before")
            shares = []
            while not shares or shares[-1] > self.MAX_IDLE_SHARE and len(shares) < 15:
                shares.append(self.share(0.5))
            if shares[-1] > self.MAX_IDLE_SHARE:
                self.fail(f"after {self.attack}, the host still uses {shares[-1]:.0%} of a processor")
            if self.peak - self.start > self.MAX_GROWTH:
                self.fail(f"during {self.attack}, the host's memory has grown by {(self.peak - self.start) >> 20} MiB")
                self.start = self.peak - self.MAX_GROWTH
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}", options=[("grpc.use_local_subchannel_pool", 1)])
        try:
            self.call("GetDocument", types.GetDocumentRequest.pb()(name=f"{self.root}/hostile/beat"),
                      types.Document.pb().FromString, channel)
        except grpc.RpcError as error:
            self.fail(f"after {self.attack}, a new client's call: {error.code().name} {error.details()}")
        channel.close()
        return True
