"""Attacks with HTTP/2's frames (RFC 9113) and its headers (RFC 7541)."""
import struct
import time

from google.cloud.firestore_v1 import types
from hostile_wire import (
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PREFACE, PRIORITY, PUSH_PROMISE,
    RST_STREAM, SERVICE, SETTINGS, WINDOW_UPDATE, Raw, frame, prefixed, setting)

# Ends of the connection. Codes aren't compared: a server may send another, or none.
ENDS = ("goaway*", "closed")
# Ends of a stream that is malformed: either it or the connection.
REFUSED = ENDS + ("reset*", "http 4*", "grpc 3", "grpc 12", "grpc 13")


class HTTP2:
    def __init__(self, host, scale, random):
        self.host, self.scale, self.random = host, scale, random
        self.get = types.GetDocumentRequest.pb()(name=f"{host.root}/hostile/beat").SerializeToString()
        self.attacks = [
            self.malformed_frames, self.malformed_headers, self.header_bombs, self.rapid_resets, self.floods,
            self.closed_windows, self.unfinished, self.many_streams, self.slow_starts,
        ]

    def raw(self, *settings, **options):
        return Raw(self.host.port, b"".join(setting(*one) for one in settings), **options)

    def malformed_frames(self):
        big = struct.pack(">I", 0x7FFFFFFF)
        block = Raw(self.host.port).encoder.encode([(":method", "POST"), (":scheme", "http"), (":path", SERVICE + "GetDocument"),
                                                    (":authority", "x"), ("content-type", "application/grpc")])
        headers = frame(HEADERS, END_HEADERS, 1, block)
        for title, data, *expected in [
            ("SETTINGS of 5 bytes", frame(SETTINGS, payload=b"12345")),
            ("SETTINGS ACK with a payload", frame(SETTINGS, ACK, payload=setting(1, 1))),
            ("SETTINGS on a stream", frame(SETTINGS, 0, 1)),
            ("SETTINGS with a window that is too large", frame(SETTINGS, payload=setting(4, 1 << 31))),
            ("SETTINGS with frames that are too small", frame(SETTINGS, payload=setting(5, 100))),
            ("SETTINGS with a push that is neither", frame(SETTINGS, payload=setting(2, 7))),
            ("PING of 7 bytes", frame(PING, payload=b"1234567")), ("PING on a stream", frame(PING, 0, 1, b"12345678")),
            ("WINDOW_UPDATE of 3 bytes", frame(WINDOW_UPDATE, payload=b"123")),
            ("WINDOW_UPDATE of 0", frame(WINDOW_UPDATE, payload=bytes(4))),
            ("WINDOW_UPDATE beyond the largest window", frame(WINDOW_UPDATE, payload=big) * 2),
            ("WINDOW_UPDATE of a stream beyond the largest window", headers + frame(WINDOW_UPDATE, 0, 1, big) * 2, *REFUSED),
            ("WINDOW_UPDATE of 0 on a stream", headers + frame(WINDOW_UPDATE, 0, 1, bytes(4)), *REFUSED),
            ("WINDOW_UPDATE on an idle stream", frame(WINDOW_UPDATE, 0, 9, struct.pack(">I", 1))),
            ("DATA on stream 0", frame(DATA, 0, 0, b"x")), ("DATA on an idle stream", frame(DATA, 0, 5, b"x")),
            ("DATA after the end of its stream", frame(HEADERS, END_HEADERS | END_STREAM, 1, block) + frame(DATA, 0, 1, b"x"), *REFUSED),
            ("DATA with padding longer than it", headers + frame(DATA, PADDED, 1, b"\xff1234")),
            ("DATA that is padded without a length", headers + frame(DATA, PADDED, 1, b"")),
            ("HEADERS with padding longer than it", frame(HEADERS, END_HEADERS | PADDED, 1, b"\xff" + block)),
            ("HEADERS on stream 0", frame(HEADERS, END_HEADERS, 0, block)),
            ("HEADERS on an even stream", frame(HEADERS, END_HEADERS, 2, block)),
            ("HEADERS on an earlier stream", frame(HEADERS, END_HEADERS, 5, block) + frame(HEADERS, END_HEADERS, 3, block)),
            ("HEADERS that depend on themselves", frame(HEADERS, END_HEADERS | 32, 1, struct.pack(">IB", 1, 0) + block), *REFUSED),
            ("HEADERS too short for their priority", frame(HEADERS, END_HEADERS | 32, 1, b"\0\0")),
            ("HEADERS interrupted by DATA", frame(HEADERS, 0, 1, block) + frame(DATA, 0, 1, b"x")),
            ("HEADERS interrupted by PING", frame(HEADERS, 0, 1, block) + frame(PING, payload=bytes(8))),
            ("HEADERS continued on another stream", frame(HEADERS, 0, 1, block) + frame(CONTINUATION, END_HEADERS, 3, b"")),
            ("CONTINUATION alone", frame(CONTINUATION, END_HEADERS, 1, block)),
            ("a frame of 16,385 bytes", headers + frame(DATA, 0, 1, bytes(16385)), *REFUSED),
            ("a frame of 16 MiB", frame(DATA, 0, 1, b"", length=(1 << 24) - 1)),
            ("PRIORITY of 4 bytes", frame(PRIORITY, 0, 1, b"1234"), *REFUSED),
            ("PRIORITY on stream 0", frame(PRIORITY, 0, 0, b"12345")),
            ("RST_STREAM of an idle stream", frame(RST_STREAM, 0, 7, bytes(4))),
            ("RST_STREAM of stream 0", frame(RST_STREAM, 0, 0, bytes(4))), ("RST_STREAM of 3 bytes", headers + frame(RST_STREAM, 0, 1, b"123")),
            ("GOAWAY on a stream", frame(GOAWAY, 0, 1, bytes(8))), ("GOAWAY of 4 bytes", frame(GOAWAY, payload=bytes(4))),
            ("PUSH_PROMISE of a client", headers + frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2) + block)),
            ("an index beyond the table", frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\x7f")),
            ("index 0", frame(HEADERS, END_HEADERS, 1, b"\x80")),
            ("a number that never ends", frame(HEADERS, END_HEADERS, 1, b"\xff" + b"\xff" * 40)),
            ("a table that is too large", frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\xff\xff\x03" + block)),
            ("a text longer than its block", frame(HEADERS, END_HEADERS, 1, b"\x00\x7f\xff\x7fab")),
            ("Huffman's end of text", frame(HEADERS, END_HEADERS, 1, block + b"\x00\x84\xff\xff\xff\xff\x00")),
            ("random bytes", self.random.randbytes(4000)),
            ("a preface that is wrong at its end", None),
        ]:
            raw = self.raw() if data is not None else Raw(self.host.port, preface=PREFACE[:-4] + b"XX\r\n")
            raw.send(data or b"")
            # What never ends otherwise would be a frame that isn't whole: the client closes.
            if title in ("random bytes", "a frame of 16 MiB"):
                raw.socket.shutdown(1)
            self.host.expect(title, raw.outcome(), *(expected or ENDS))
            raw.close()
        raw = self.raw()
        raw.send(frame(200, 255, 0, b"anything") + frame(201, 0, 77, b"") + frame(SETTINGS, payload=setting(99, 1)))
        raw.call(1, "GetDocument", self.get)
        self.host.expect("frames and settings of unknown types", raw.outcome(1), "grpc 0")
        raw.close()

    def malformed_headers(self):
        good = self.raw().request(SERVICE + "GetDocument")

        def without(name):
            return [header for header in good if header[0] != name]

        for title, headers, *expected in [
            ("no :path", without(":path")), ("no :method", without(":method")), ("no :scheme", without(":scheme")),
            ("an empty :path", without(":path") + [(":path", "")]), ("two :path", good[:3] + [good[2]] + good[3:]),
            ("a pseudo header after others", good[1:] + good[:1]), ("an unknown pseudo header", [(":x", "y")] + good),
            (":status in a request", [(":status", "200")] + good), ("an upper case name", good + [("X-Y", "z")]),
            ("connection", good + [("connection", "close")]), ("transfer-encoding", good + [("transfer-encoding", "chunked")]),
            ("te: gzip", without("te") + [("te", "gzip")]), ("an empty name", good + [("", "z")]),
            ("a name with a space", good + [("a b", "z")]), ("a value with a line's end", good + [("x", "a\r\nb: c")]),
            ("a value with a NUL", good + [("x", "a\0b")]), ("content-length of more", good + [("content-length", "9999")]),
            ("content-length of less", good + [("content-length", "1")]), ("two content-lengths", good + [("content-length", "1"), ("content-length", "2")]),
            ("content-length that is no number", good + [("content-length", "x")]),
        ]:
            raw = self.raw()
            raw.send(frame(HEADERS, END_HEADERS, 1, raw.encoder.encode(headers)) + frame(DATA, END_STREAM, 1, prefixed(self.get)))
            self.host.expect("a request with " + title, raw.outcome(), *REFUSED)
            raw.close()
        for title, headers, *expected in [
            ("text/html", without("content-type") + [("content-type", "text/html")], "http 404"),
            ("no content type", without("content-type"), "http 404"), ("GET", [(":method", "GET")] + good[1:], "http 4*"),
            ("CONNECT", [(":method", "CONNECT"), (":authority", "x")], *REFUSED),
            ("application/grpc+json", without("content-type") + [("content-type", "application/grpc+json")], "http 415", "grpc 12", "grpc 13", "grpc 3"),
            ("another service", self.raw().request("/x.Y/Z"), "grpc 12"), ("another method", self.raw().request(SERVICE + "Nothing"), "grpc 12"),
            ("a path without a slash", self.raw().request("GetDocument"), *REFUSED), ("*", self.raw().request("*"), *REFUSED),
            ("a path of 8 KiB", self.raw().request("/" + "x" * 8192), *REFUSED),
            ("a timeout that is none", self.raw().request(SERVICE + "GetDocument", grpc_timeout="soon"), "grpc 0", "grpc 3", "grpc 13"),
            ("a timeout of 0", self.raw().request(SERVICE + "GetDocument", grpc_timeout="0m"), "grpc 4", "grpc 0"),
            ("a timeout beyond all", self.raw().request(SERVICE + "GetDocument", grpc_timeout="99999999H"), "grpc 0"),
            ("a token that is none", self.raw().request(SERVICE + "GetDocument", token="\x01.\x02.\x03"), "grpc 16", *REFUSED),
        ]:
            raw = self.raw()
            raw.send(frame(HEADERS, END_HEADERS, 1, raw.encoder.encode(headers)) + frame(DATA, END_STREAM, 1, prefixed(self.get)))
            self.host.expect("a request with " + title, raw.outcome(1), *expected)
            raw.close()

    def header_bombs(self):
        raw = self.raw()
        raw.open(1, SERVICE + "GetDocument", END_STREAM, x="y" * 16000)
        self.host.expect("headers of 16 KB", raw.outcome(1), *REFUSED)
        for count in (8, 200):
            raw = self.raw()
            block = raw.encoder.encode(raw.request(SERVICE + "GetDocument"))
            raw.send(frame(HEADERS, 0, 1, block))
            for _ in range(count):
                # Literals that aren't kept: 16 KB of them in each frame.
                if not raw.send(frame(CONTINUATION, 0, 1, (b"\x00\x01x\x7f\x80\x01" + b"y" * 255) * 62)):
                    break
            raw.send(frame(CONTINUATION, END_HEADERS, 1, b""))
            self.host.expect(f"{count * 16} KB of headers in {count} frames", raw.outcome(), *REFUSED)
            raw.close()
        # One header of 4,000 bytes in the table, and then thousands of references to it of one byte each.
        raw = self.raw()
        block = raw.encoder.encode(raw.request(SERVICE + "GetDocument")) + b"\x40\x01b\x7f" + b"\xa1\x1e" + b"z" * 4000
        raw.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, block + b"\xbe" * 12000))
        self.host.expect("48 MB of headers in 16 KB", raw.outcome(), *REFUSED)
        raw.close()
        for title, part in [("empty CONTINUATIONs", b""), ("CONTINUATIONs of a byte", b"\x82")]:
            raw = self.raw()
            raw.send(frame(HEADERS, 0, 1, b""))
            for _ in range(200 * self.scale):
                if not raw.send(frame(CONTINUATION, 0, 1, part) * 100):
                    break
            self.host.expect(f"{20000 * self.scale} {title}", raw.outcome(), *REFUSED)
            raw.close()
        # Tables of many connections.
        raws = [self.raw() for _ in range(50)]
        for raw in raws:
            raw.open(1, SERVICE + "GetDocument", **{f"x{number}": "v" * 40 for number in range(60)})
        for raw in raws:
            raw.close()

    def rapid_resets(self):
        # A client that ends all of its streams at once is no attack.
        raw = self.raw()
        # Without this, 100 streams are allowed.
        raw.send(frame(SETTINGS, ACK))
        streams = range(1, 1201, 2)
        for frames in (
            [frame(HEADERS, END_HEADERS, one, raw.encoder.encode(raw.request(SERVICE + "Listen"))) for one in streams],
            [frame(RST_STREAM, 0, one, struct.pack(">I", 8)) for one in streams],
        ):
            raw.send(b"".join(frames))
        raw.call(1201, "GetDocument", self.get)
        self.host.expect("after the end of 600 streams at once", raw.outcome(1201), "grpc 0")
        raw.close()
        raw = self.raw()
        stream, sent = 1, 0
        for _ in range(100 * self.scale):
            data = b""
            for _ in range(100):
                data += frame(HEADERS, END_HEADERS, stream, raw.encoder.encode(raw.request(SERVICE + "Listen")))
                data += frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
                stream += 2
            if not raw.send(data):
                break
            sent += 100
        # Either the client is sent away, or it is served.
        raw.call(stream, "GetDocument", self.get)
        self.host.expect(f"after {sent} rapid resets", raw.outcome(stream), "grpc 0", *ENDS)
        raw.close()
        # With whole requests that take the host some work.
        raw = self.raw()
        query = types.RunQueryRequest.pb()(parent=self.host.root, structured_query={
            "from_": [{"collection_id": "hostile"}]}).SerializeToString()
        stream = 1
        for _ in range(20 * self.scale):
            data = b""
            for _ in range(50):
                data += frame(HEADERS, END_HEADERS, stream, raw.encoder.encode(raw.request(SERVICE + "RunQuery")))
                data += frame(DATA, END_STREAM, stream, prefixed(query)) + frame(RST_STREAM, 0, stream, struct.pack(">I", 8))
                stream += 2
            if not raw.send(data):
                break
        raw.call(stream, "GetDocument", self.get)
        self.host.expect("after rapid resets of queries", raw.outcome(stream), "grpc 0", *ENDS)
        raw.close()

    def floods(self):
        """Of frames that are answered or cost something, by clients that don't read what is answered."""
        update = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1))
        for title, part in [
            ("SETTINGS", frame(SETTINGS, payload=setting(4, 65535))), ("PING", frame(PING, payload=b"12345678")),
            ("empty DATA", frame(DATA, 0, 1, b"")), ("padded DATA", frame(DATA, PADDED, 1, b"\x04" + bytes(4))),
            ("WINDOW_UPDATE", update), ("PRIORITY", frame(PRIORITY, 0, 1, struct.pack(">IB", 3, 1))),
            ("frames of unknown types", frame(99, 0, 0, b"x")), ("resets of one stream", frame(RST_STREAM, 0, 1, bytes(4))),
            ("SETTINGS of many values", frame(SETTINGS, payload=setting(4, 65535) * 200)),
        ]:
            raw = self.raw()
            raw.open(1, SERVICE + "Listen")
            # The send fails, or waits, once the host reads no more.
            raw.socket.settimeout(3)
            for _ in range(100 * self.scale):
                if not raw.send(part * 300):
                    break
            raw.close()
            self.host.expect(f"after a flood of {title}", self.answers(), "grpc 0")

    def answers(self):
        raw = self.raw()
        raw.call(1, "GetDocument", self.get)
        result = raw.outcome(1)
        raw.close()
        return result

    def fill(self):
        """About 8 MiB of documents."""
        for number in range(8):
            writes = [{"update": {"name": f"{self.host.root}/hostile-large/d{number}-{part}", "fields": {
                "t": {"string_value": "x" * 50_000}}}} for part in range(20)]
            self.host.call("Commit", types.CommitRequest.pb()(database=self.host.database, writes=writes), types.CommitResponse.pb().FromString)

    def closed_windows(self):
        """Clients that ask for much and never let it be sent."""
        self.fill()
        query = {"parent": self.host.root, "structured_query": {"from_": [{"collection_id": "hostile-large"}]}}
        run = types.RunQueryRequest.pb()(**query).SerializeToString()
        listen = types.ListenRequest.pb()(database=self.host.database, add_target={"target_id": 1, "query": query}).SerializeToString()
        raws = []
        for number in range(10 * self.scale):
            # SETTINGS_INITIAL_WINDOW_SIZE of 0, or of some bytes.
            raw = self.raw((4, self.random.choice([0, 0, 1, 1000])))
            for stream in range(1, 9, 2):
                raw.call(stream, "RunQuery", run)
            for stream in range(9, 17, 2):
                raw.open(stream, SERVICE + "Listen")
                raw.message(stream, listen)
            raws.append(raw)
        for number in range(10):
            self.host.call("Commit", types.CommitRequest.pb()(database=self.host.database, writes=[
                {"update": {"name": f"{self.host.root}/hostile-large/n{number}", "fields": {"t": {"string_value": "y" * 50_000}}}}]),
                types.CommitResponse.pb().FromString)
            time.sleep(0.1)
        # A byte at a time.
        for raw in raws:
            for stream in range(1, 9, 2):
                raw.send(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1)) * 20)
        self.host.expect("beside closed windows", self.answers(), "grpc 0")
        for raw in raws:
            raw.close()
        # The largest window, and then a smaller one: windows become negative.
        raw = self.raw((4, 65535))
        raw.call(1, "RunQuery", run)
        for value in (0, 65535, 1, 0x7FFFFFFF, 0):
            raw.send(frame(SETTINGS, payload=setting(4, value)))
        raw.send(frame(SETTINGS, payload=setting(4, 1 << 20)) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 25)))
        self.host.expect("a window that was opened and closed", raw.outcome(1), "grpc 0", "grpc 8")
        raw.close()

    def unfinished(self):
        """Requests that never end: headers alone, half a length, half a message, messages without an end."""
        raws = []
        for number in range(15 * self.scale):
            raw = self.raw()
            for stream in range(1, 161, 8):
                for offset, (method, data) in enumerate([
                    ("GetDocument", b""), ("Commit", b"\0\0\0"), ("Commit", prefixed(b"x" * 10, length=1 << 20)),
                    ("Write", prefixed(types.WriteRequest.pb()(database=self.host.database).SerializeToString())),
                ]):
                    raw.open(stream + 2 * offset, SERVICE + method)
                    if data:
                        raw.send(frame(DATA, 0, stream + 2 * offset, data))
            raws.append(raw)
        self.host.expect("beside unfinished requests", self.answers(), "grpc 0")
        for raw in raws[::2]:
            # Half closed: the host sees that the client sends no more.
            raw.socket.shutdown(1)
        for raw in raws:
            raw.close()

    def many_streams(self):
        raw = self.raw()
        opened = 0
        for stream in range(1, 6001, 2):
            if not raw.open(stream, SERVICE + "Listen"):
                break
            opened += 1
        # 100 may be open at a time. Those beyond it are refused, or the connection is ended.
        self.host.expect(f"{opened} streams at once", raw.outcome(), "reset 7", "grpc 8", "goaway*", "closed")
        raw.close()
        raw = self.raw()
        for stream in range(1, 2001 * self.scale, 2):
            raw.call(stream, "GetDocument", self.get)
            if raw.outcome(stream) != "grpc 0":
                self.host.fail(f"the {stream // 2 + 1}th call of a connection failed")
                break
        raw.send(frame(HEADERS, END_HEADERS, 0x7FFFFFFF, raw.encoder.encode(raw.request(SERVICE + "GetDocument")))
                 + frame(DATA, END_STREAM, 0x7FFFFFFF, prefixed(self.get)))
        self.host.expect("the largest stream id", raw.outcome(0x7FFFFFFF), "grpc 0")
        raw.close()

    def slow_starts(self):
        """Connections that say nothing, a part of the preface, a part of a frame; and many of them."""
        raws = []
        for start in [b"", b"P", b"PRI * HTTP", PREFACE, PREFACE + b"\0\0", b"GET / HT", b"POST /v1 HTTP/1.1\r\nHost: x\r\nX: "]:
            raws += [Raw(self.host.port, preface=None) for _ in range(25 * self.scale)]
            for raw in raws[-25 * self.scale:]:
                raw.send(start)
        self.host.expect("beside slow connections", self.answers(), "grpc 0")
        for byte in PREFACE + frame(SETTINGS):
            for raw in raws[:20]:
                raw.send(bytes([byte]))
        self.host.expect("beside slow connections", self.answers(), "grpc 0")
        for raw in raws:
            raw.close()
