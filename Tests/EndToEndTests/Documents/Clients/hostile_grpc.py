"""Attacks with gRPC's messages and protobuf's bytes, and with targets that no one reads."""
import time

from google.cloud.firestore_v1 import types
from hostile_wire import (
    DATA, END_STREAM, PATIENCE, SERVICE, Raw, frame, prefixed, setting)

# Of a request that can't be read: INVALID_ARGUMENT, or INTERNAL, as gRPC's libraries have.
INVALID = ("grpc 3", "grpc 13")


def varint(number):
    result = b""
    while number > 127:
        result += bytes([number & 127 | 128])
        number >>= 7
    return result + bytes([number])


def field(number, content):
    """A field of bytes, a text or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


class GRPC:
    def __init__(self, host, scale, random):
        self.host, self.scale, self.random = host, scale, random
        self.name = f"{host.root}/hostile/beat".encode()
        self.get = field(1, self.name)
        self.attacks = [self.lengths, self.large_messages, self.protobuf, self.nesting, self.texts_and_times, self.random_bytes, self.unread_targets]

    def outcome(self, method, data, flags=END_STREAM, chunk=16384, patience=PATIENCE):
        raw = Raw(self.host.port)
        raw.open(1, SERVICE + method)
        for start in range(0, max(len(data), 1), chunk):
            if not raw.send(frame(DATA, flags if start + chunk >= len(data) else 0, 1, data[start:start + chunk])):
                break
        result = raw.outcome(1, patience)
        raw.close()
        return result

    def lengths(self):
        get = self.get
        for title, data, *expected in [
            ("no message", b"", "grpc 13", "grpc 3", "grpc 12"), ("half a prefix", b"\0\0\0", "grpc 13", "grpc 3"),
            ("a prefix alone", prefixed(b"", length=10), "grpc 13", "grpc 3"),
            ("half a message", prefixed(get, length=len(get) + 10), "grpc 13", "grpc 3"),
            ("the largest length", prefixed(get, length=0xFFFFFFFF), "grpc 3", "grpc 13"),
            ("a compressed message without an encoding", prefixed(get, flag=1), "grpc 12", "grpc 13"),
            ("a flag of 2", prefixed(get, flag=2), "grpc 12", "grpc 13"), ("a flag of 255", prefixed(get, flag=255), "grpc 12", "grpc 13"),
            ("two messages", prefixed(get) * 2, "grpc 12", "grpc 13", "grpc 3"), ("2,000 messages", prefixed(get) * 2000, "grpc 12", "grpc 13", "grpc 3"),
            ("2,000 empty messages", prefixed(b"") * 2000, "grpc 12", "grpc 13", "grpc 3"),
            ("a byte after the message", prefixed(get) + b"\0", "grpc 12", "grpc 13", "grpc 3"),
        ]:
            self.host.expect(title, self.outcome("GetDocument", data), *expected)
        self.host.expect("a message in frames of one byte", self.outcome("GetDocument", prefixed(get), chunk=1), "grpc 0")

    def large_messages(self):
        """Of 11 MiB and more, one after the other and many at once."""
        value = field(17, b"x" * (11 << 20))
        large = field(1, self.host.database.encode()) + field(2, field(1, field(1, self.name) + field(2, field(1, b"f") + field(2, value))))
        self.host.expect("a message of 11 MiB", self.outcome("Commit", prefixed(large)), "grpc 3", "reset*", "closed")
        allowed = field(1, self.host.database.encode()) + field(2, field(1, field(1, self.name) + field(2, field(1, b"f") + field(2, field(17, b"x" * (10 << 20))))))
        self.host.expect("a document of 10 MiB", self.outcome("Commit", prefixed(allowed)), "grpc 3", "grpc 8")
        raws = []
        for _ in range(6 * self.scale):
            raw = Raw(self.host.port)
            raw.socket.settimeout(1)
            for stream in range(1, 9, 2):
                raw.open(stream, SERVICE + "Commit")
                # All but the end of it; the host's windows say how much.
                raw.send(frame(DATA, 0, stream, prefixed(b"", length=10 << 20)))
                for _ in range(30):
                    raw.send(frame(DATA, 0, stream, bytes(16384)))
            raws.append(raw)
        self.host.expect("beside many large messages", self.outcome("GetDocument", prefixed(self.get)), "grpc 0", "grpc 8")
        for raw in raws:
            raw.close()
        raw = Raw(self.host.port)
        raw.open(1, SERVICE + "Listen")
        raw.message(1, field(1, self.host.database.encode()) + field(99, b"x" * (2 << 20)))
        self.host.expect("a message of Listen of 2 MiB", raw.outcome(1), "grpc 8", "grpc 3", "reset*")
        raw.close()

    def protobuf(self):
        name, get = self.name, self.get
        for title, data, *expected in [
            ("an unknown field", get + field(999, b"x"), "grpc 0"), ("unknown numbers", get + b"\xf8\x3f\x07\xfd\x3f1234\xf9\x3f12345678", "grpc 0"),
            ("an unknown group", get + b"\xfb\x3f\x08\x01\xfc\x3f", "grpc 0"), ("a field twice", field(1, b"x") + get, "grpc 0"),
            ("a number for the name", b"\x08\x05", *INVALID), ("8 bytes for the name", b"\x0912345678", *INVALID), ("4 bytes for the name", b"\x0d1234", *INVALID),
            ("a message for a number", get + field(2, b"\xff\xff\xff\xff\xff\xff\xff\xff"), *INVALID),
            ("a length beyond the message", b"\x0a\x7f" + name[:10], *INVALID), ("a length of 2^63", b"\x0a" + b"\xff" * 8 + b"\x7f", *INVALID),
            ("a length of 2^64-1", b"\x0a" + b"\xff" * 9 + b"\x01x", *INVALID), ("an endless number", get + b"\xf8\x3f" + b"\xff" * 11, *INVALID),
            ("field 0", get + b"\x02\x00", *INVALID), ("wire type 6", get + b"\xfe\x3f", *INVALID), ("wire type 7", get + b"\xff\x3f", *INVALID),
            ("the end of no group", get + b"\xfc\x3f", *INVALID), ("a group without an end", get + b"\xfb\x3f", *INVALID),
        ]:
            self.host.expect(title, self.outcome("GetDocument", prefixed(data)), *expected)
        # A million fields that aren't known.
        self.host.expect("unknown fields alone", self.outcome("GetDocument", prefixed(get + b"\xf8\x3f\x00" * 1_000_000)), "grpc 0", "grpc 8")
        # Many small ones that are: an update mask of a million paths, a map of as many fields as fit.
        write = field(1, field(1, self.name)) + field(3, field(1, b"a") * 1_000_000)
        self.host.expect("a mask of 1,000,000 paths", self.outcome("Commit", prefixed(field(1, self.host.database.encode()) + field(2, write))), "grpc 3", "grpc 8", "grpc 0")
        fields = b"".join(field(2, field(1, b"%d" % number) + field(2, b"\x58\x00")) for number in range(100_000))
        self.host.expect("a document of 100,000 fields", self.outcome("Commit", prefixed(
            field(1, self.host.database.encode()) + field(2, field(1, field(1, self.name + b"f") + fields)))), "grpc 3", "grpc 8")
        writes = field(2, field(2, self.name + b"none")) * 50_000
        self.host.expect("50,000 deletions", self.outcome("Commit", prefixed(field(1, self.host.database.encode()) + writes)), "grpc 0", "grpc 3", "grpc 8")
        names = field(2, self.name) * 50_000
        self.host.expect("50,000 names", self.outcome("BatchGetDocuments", prefixed(field(1, self.host.database.encode()) + names)), "grpc 0", "grpc 3", "grpc 8")

    def nest(self, depth, wrap, inner):
        for _ in range(depth):
            inner = wrap(inner)
        return inner

    def nesting(self):
        """Values, filters and groups within each other."""
        for depth in (50, 99, 101, 1000, 10_000):
            maps = self.nest(depth, lambda inner: field(6, field(1, field(1, b"k") + field(2, inner))), b"\x58\x00")
            arrays = self.nest(depth, lambda inner: field(9, field(1, inner)), b"\x58\x00")
            filters = self.nest(depth, lambda inner: field(1, b"\x08\x01" + field(2, inner)), field(3, b"\x10\x03" + field(2, field(2, b"a"))))
            database = field(1, self.host.database.encode())
            for title, value in [("maps", maps), ("lists", arrays)]:
                write = field(2, field(1, field(1, self.name + b"deep") + field(2, field(1, b"f") + field(2, value))))
                self.host.expect(f"{depth} {title}", self.outcome("Commit", prefixed(database + write)), *INVALID)
            query = field(2, field(2, field(2, b"hostile")) + field(3, filters))
            # A filter of one filter in another is that filter, until protobuf's own bound of 100.
            self.host.expect(f"{depth} filters", self.outcome("RunQuery", prefixed(field(1, self.host.root.encode()) + query)), "grpc 0", *INVALID)
            raw = Raw(self.host.port)
            raw.open(1, SERVICE + "Listen")
            raw.message(1, database + field(2, field(2, field(1, self.host.root.encode()) + query) + b"\x28\x05"))
            end = raw.outcome(1, patience=1)
            self.host.expect(f"{depth} filters of a target", end, "nothing", *INVALID)
            raw.close()
            groups = b"\xfb\x3f" * depth + b"\xfc\x3f" * depth
            self.host.expect(f"{depth} groups", self.outcome("GetDocument", prefixed(self.get + groups)), "grpc 0", *INVALID)
            self.host.expect(f"{depth} groups without an end", self.outcome("GetDocument", prefixed(self.get + b"\xfb\x3f" * depth)), *INVALID)
        # Lengths of hundreds of bytes each: 10,000 deep needs megabytes in some encodings.
        self.host.expect("a million groups", self.outcome("GetDocument", prefixed(self.get + b"\xfb\x3f" * 1_000_000)), *INVALID)

    def commit(self, value=None, name=None, precondition=b"", key=b"f"):
        fields = field(2, field(1, key) + field(2, value)) if value is not None else b""
        write = field(1, field(1, name or self.name + b"v") + fields) + precondition
        return self.outcome("Commit", prefixed(field(1, self.host.database.encode()) + field(2, write)))

    def texts_and_times(self):
        for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"abc\x80"):
            self.host.expect(f"a text of {bad!r}", self.commit(field(17, bad)), *INVALID)
            self.host.expect(f"a field named {bad!r}", self.commit(b"\x58\x00", key=bad), *INVALID)
            self.host.expect(f"a document named {bad!r}", self.commit(name=self.name + bad), *INVALID)
            self.host.expect(f"a reference to {bad!r}", self.commit(field(5, self.name + bad)), *INVALID)
            self.host.expect(f"a get of {bad!r}", self.outcome("GetDocument", prefixed(field(1, self.name + bad))), *INVALID)
        for text in ("\0", "\u202e", "\ufffe", "\U0010ffff", "a\0b", "../" * 5, "%2F", "é" * 700):
            self.host.expect(f"a text of {text!r}", self.commit(field(17, text.encode())), "grpc 0")
            self.host.expect(f"a document named {text!r}", self.commit(name=self.name + text.encode()), "grpc 0", *INVALID)
        negative = b"\xff" * 9 + b"\x01"
        for title, time_ in [
            ("2^63-1 seconds", b"\x08" + b"\xff" * 8 + b"\x7f"), ("-2^63 seconds", b"\x08" + b"\x80" * 9 + b"\x01"), ("-1 nanoseconds", b"\x10" + negative),
            ("10^9 nanoseconds", b"\x10\x80\x94\xeb\xdc\x03"), ("2^31-1 nanoseconds", b"\x10\xff\xff\xff\xff\x07"), ("the year 10000", b"\x08\x80\xdc\xae\x9b\xb0\x07"),
        ]:
            self.host.expect(f"a time of {title}", self.commit(field(10, time_)), *INVALID)
            self.host.expect(f"a precondition of {title}", self.commit(precondition=field(4, field(2, time_))), "grpc 9", "grpc 5", *INVALID)
            self.host.expect(f"a read at {title}", self.outcome("GetDocument", prefixed(self.get + field(5, time_))), "grpc 9", *INVALID)

    def random_bytes(self):
        """Messages that were changed in some bytes, and what isn't one."""
        commit = types.CommitRequest.pb()(database=self.host.database, writes=[{"update": {
            "name": f"{self.host.root}/hostile/random", "fields": {"a": {"map_value": {"fields": {"b": {"array_value": {"values": [
                {"integer_value": 1}, {"double_value": 0.5}, {"timestamp_value": {"seconds": 5}}, {"string_value": "é"}]}}}}}}},
            "update_mask": {"field_paths": ["a.b"]}, "update_transforms": [{"field_path": "t", "increment": {"integer_value": 1}}]}]).SerializeToString()
        query = types.RunQueryRequest.pb()(parent=self.host.root, structured_query={
            "from_": [{"collection_id": "hostile"}], "where": {"field_filter": {"field": {"field_path": "n"}, "op": "GREATER_THAN", "value": {"integer_value": 0}}},
            "order_by": [{"field": {"field_path": "n"}}], "start_at": {"values": [{"integer_value": 1}]}, "limit": {"value": 3}}).SerializeToString()
        listen = types.ListenRequest.pb()(database=self.host.database, add_target={"target_id": 3, "query": types.RunQueryRequest.pb().FromString(query) and {
            "parent": self.host.root, "structured_query": {"from_": [{"collection_id": "hostile"}]}}}).SerializeToString()
        raw = Raw(self.host.port)
        stream = 1
        for _ in range(400 * self.scale):
            method, message = self.random.choice([("Commit", commit), ("RunQuery", query), ("Listen", listen), ("Write", listen), ("GetDocument", self.get), ("Listen", b"")])
            changed = bytearray(message)
            for _ in range(self.random.randint(1, 4)):
                kind = self.random.randrange(3)
                place = self.random.randrange(len(changed) + 1)
                if kind == 0 and changed:
                    changed[place % len(changed)] = self.random.randrange(256)
                elif kind == 1:
                    changed[place:place] = self.random.randbytes(self.random.randint(1, 5))
                else:
                    del changed[place:place + self.random.randint(1, 5)]
            raw.call(stream, method, bytes(changed))
            # Listen may go on; the client ends it.
            result = raw.outcome(stream, patience=0.02 if method == "Listen" else PATIENCE)
            if method == "Listen" and result == "nothing":
                raw.send(frame(3, 0, stream, bytes(4)))
            elif result in ("closed", "nothing", "grpc 2", "grpc 13") or result.startswith("goaway"):
                self.host.fail(f"{method} of {bytes(changed).hex()}: {result}")
                raw.close()
                raw, stream = Raw(self.host.port), -1
            stream += 2
        raw.close()

    def unread_targets(self):
        """Thousands of targets on streams whose clients read nothing, while what they listen to changes."""
        database = self.host.database
        raws = []
        for connection in range(4 * self.scale):
            raw = Raw(self.host.port, setting(4, 0))
            raw.socket.settimeout(2)
            for stream in range(1, 21, 2):
                raw.open(stream, SERVICE + "Listen")
                for target in range(1, 101):
                    query = {"parent": self.host.root, "structured_query": {
                        "from_": [{"collection_id": "hostile"}], "where": {"field_filter": {
                            "field": {"field_path": "n"}, "op": "GREATER_THAN", "value": {"integer_value": target}}}}}
                    raw.send(frame(DATA, 0, stream, prefixed(types.ListenRequest.pb()(
                        database=database, add_target={"target_id": target, "query": query}).SerializeToString())))
            raws.append(raw)
        # The client that lives beside it writes what they listen to.
        time.sleep(2)
        self.host.expect("beside targets that no one reads", self.outcome("GetDocument", prefixed(self.get)), "grpc 0")
        # The same target again and again, and removals of what isn't there.
        raw = Raw(self.host.port, setting(4, 0))
        raw.open(1, SERVICE + "Listen")
        raw.socket.settimeout(2)
        add = prefixed(types.ListenRequest.pb()(database=database, add_target={"target_id": 1, "documents": {"documents": [self.name.decode()]}}).SerializeToString())
        remove = prefixed(types.ListenRequest.pb()(database=database, remove_target=77).SerializeToString())
        for _ in range(50 * self.scale):
            if not raw.send(frame(DATA, 0, 1, (add + remove) * 50)):
                break
        time.sleep(1)
        self.host.expect("beside a target that is added again and again", self.outcome("GetDocument", prefixed(self.get)), "grpc 0")
        raw.close()
        for raw in raws:
            raw.close()
