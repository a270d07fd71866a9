"""Asks two Firestore servers the same over gRPC, and compares the answers without times, tokens and transaction ids."""
import math
import time

import grpc
from google.cloud.firestore_v1 import types
from google.protobuf.empty_pb2 import Empty

DATABASE = "projects/demo-shop/databases/(default)"
ROOT = DATABASE + "/documents"
OURS, THEIRS = 0, 1
NAMES = ("our host", "the emulator")
UNARY = [
    "GetDocument", "ListDocuments", "CreateDocument", "UpdateDocument", "DeleteDocument", "BeginTransaction", "Commit",
    "Rollback", "BatchWrite", "PartitionQuery", "ListCollectionIds",
]
STREAMING = ["BatchGetDocuments", "RunQuery", "RunAggregationQuery"]
MESSAGES = {
    "GetDocument": types.Document, "CreateDocument": types.Document, "UpdateDocument": types.Document,
    "DeleteDocument": None, "Rollback": None, "Listen": types.ListenResponse, "Write": types.WriteResponse,
}


def message(method, fields, kind="Request"):
    """The protobuf message of a request, from nested dictionaries; bytes are sent as they are."""
    if isinstance(fields, bytes):
        return fields
    if any("verify" in write for write in fields.get("writes", [])):
        fields = dict(fields, writes=[verification(write) for write in fields["writes"]])
    return getattr(types, method + kind).pb()(**fields).SerializeToString()


def verification(fields):
    """A write that may be one of `verify`, a field of the clients that the public protocol doesn't list: 5, the name."""
    if "verify" not in fields:
        return types.Write.pb()(**fields)
    write = types.Write.pb()(**{name: value for name, value in fields.items() if name != "verify"})
    name = fields["verify"].encode()
    write.MergeFromString(b"\x2a" + bytes([len(name) & 127 | 128, len(name) >> 7]) + name)
    return write


def reader(method, server):
    known = MESSAGES[method] if method in MESSAGES else getattr(types, method + "Response")
    parse = known.pb().FromString if known else Empty.FromString

    def read(data):
        try:
            return parse(data)
        except Exception as error:
            print(f"{method} of {server} answered what can't be read: {error}: {data.hex()[:2000]}", flush=True)
            raise

    return read


class Side:
    """One of the two servers."""

    def __init__(self, port, index):
        self.index = index
        self.channel = grpc.insecure_channel(
            f"127.0.0.1:{port}", options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)])
        self.metadata = [("authorization", "Bearer owner"), ("google-cloud-resource-prefix", DATABASE)]
        self.calls = {}

    def call(self, method, shape="unary_unary"):
        if method not in self.calls:
            self.calls[method] = getattr(self.channel, shape)(
                "/google.firestore.v1.Firestore/" + method, request_serializer=None, response_deserializer=reader(method, NAMES[self.index]))
        return self.calls[method]

    def ask(self, method, fields, metadata=None):
        """The messages of the answer, the status' name, and its words."""
        metadata = self.metadata if metadata is None else metadata
        answers = []
        try:
            request = message(method, fields)
            if method in STREAMING:
                for answer in self.call(method, "unary_stream")(request, metadata=metadata, timeout=60):
                    answers.append(answer)
            else:
                answers.append(self.call(method)(request, metadata=metadata, timeout=60))
            return answers, "OK", ""
        except grpc.RpcError as error:
            return answers, error.code().name, error.details() or ""


class Normaliser:
    """Makes of an answer what two servers have in common.

    Times become their ranks within one answer, so that documents of one commit, and writes that changed nothing, still
    show as such.
    """

    RANKED = {"create_time", "update_time", "commit_time"}

    def __init__(self):
        self.times = {}

    def collect(self, node):
        for field, value in node.ListFields():
            if field.message_type is None:
                continue
            if field.message_type.GetOptions().map_entry:
                for entry in value.values():
                    if hasattr(entry, "ListFields"):
                        self.collect(entry)
            elif field.name in self.RANKED:
                self.times[(value.seconds, value.nanos)] = 0
            else:
                for entry in value if field.is_repeated else [value]:
                    self.collect(entry)

    def ranks(self):
        for rank, key in enumerate(sorted(self.times)):
            self.times[key] = rank

    def value(self, node):
        kind = node.WhichOneof("value_type")
        content = getattr(node, kind) if kind else None
        if kind == "map_value":
            return {name: self.value(field) for name, field in sorted(content.fields.items())}
        if kind == "array_value":
            return [self.value(entry) for entry in content.values]
        if kind == "timestamp_value":
            now = abs(content.seconds - time.time()) < 3600
            return "the time of the write" if now else f"time {content.seconds}.{content.nanos:09}"
        if kind == "double_value":
            return f"double {'NaN' if math.isnan(content) else repr(content)}"
        if kind == "geo_point_value":
            return f"point {content.latitude!r} {content.longitude!r}"
        return f"{kind} {content!r}"

    def of(self, node):
        if node is None:
            return None
        if node.DESCRIPTOR.name == "Value":
            return self.value(node)
        result = {}
        for field, value in node.ListFields():
            if field.name in self.RANKED:
                result[field.name] = self.times[(value.seconds, value.nanos)]
            elif field.name in ("read_time", "transaction", "next_page_token"):
                result[field.name] = "some"
            # Of streams, and optional.
            elif field.name in ("done", "skipped_results"):
                continue
            elif field.message_type is None:
                result[field.name] = list(value) if field.is_repeated else value
            elif field.message_type.GetOptions().map_entry:
                result[field.name] = {name: self.of(entry) for name, entry in sorted(value.items())}
            elif field.is_repeated:
                result[field.name] = [self.of(entry) for entry in value]
            elif field.name == "status":
                # google.rpc.Status: words differ.
                result[field.name] = value.code
            else:
                result[field.name] = self.of(value)
        if node.DESCRIPTOR.full_name == "google.rpc.Status":
            return result.get("code", 0)
        return result


def normal(method, answers):
    normaliser = Normaliser()
    for answer in answers:
        if answer is not None:
            normaliser.collect(answer)
    normaliser.ranks()
    # The message that begins a transaction holds it alone, or the first result too: both are documented.
    shown = [normaliser.of(answer) for answer in answers]
    if method in STREAMING:
        begun = any("transaction" in answer for answer in shown)
        for answer in shown:
            answer.pop("transaction", None)
        shown = [answer for answer in shown if answer]
        # A time comes with results, or alone for an empty query.
        results = [answer for answer in shown if set(answer) != {"read_time"}]
        if method == "BatchGetDocuments":
            results.sort(key=repr)
        return {"transaction": begun, "has a time": any("read_time" in answer for answer in shown), "results": results}
    return shown


GROUP_BELOW = "our host answers queries of a collection group below a document"


def is_group_below(fields):
    """Whether a request is a query of a collection group whose parent is a document."""
    if isinstance(fields, bytes) or fields.get("parent", ROOT) == ROOT:
        return False
    query = fields.get("structured_query") or fields.get("structured_aggregation_query", {}).get("structured_query", {})
    return any(selector.get("all_descendants") and selector.get("collection_id") for selector in query.get("from_", []))


class Pair:
    def __init__(self, ours, theirs, prints_words=False):
        self.sides = [Side(ours, OURS), Side(theirs, THEIRS)]
        self.prints_words = prints_words
        self.asked = 0
        self.statuses = {}
        self.failures = []
        self.known = {}

    def fail(self, text):
        self.failures.append(text)
        print("FAILED " + text, flush=True)

    def ask(self, method, fields, title="", known=None, metadata=None, adapt=None):
        """Sends a request to both. `fields` may be a function of the side, for what each of them has given out itself.

        `known` says why the answers may differ. `adapt` changes both normal forms before they are compared.
        """
        self.asked += 1
        requests = [fields(side.index) if callable(fields) else fields for side in self.sides]
        if is_group_below(requests[OURS]):
            known = known or GROUP_BELOW
        both = [side.ask(method, request, metadata) for side, request in zip(self.sides, requests)]
        self.statuses[both[OURS][1]] = self.statuses.get(both[OURS][1], 0) + 1
        shown = []
        for answers, status, words in both:
            # What came before an error, a client doesn't use.
            content = normal(method, answers) if status == "OK" else None
            shown.append((status, adapt(content) if adapt and content is not None else content))
        if self.prints_words and (both[OURS][2] or both[THEIRS][2]):
            print(f"words of {method} {title}: {both[OURS][2]!r} | {both[THEIRS][2]!r}", flush=True)
        equal = shown[OURS] == shown[THEIRS]
        if both[THEIRS][1:] == ("UNKNOWN", "") or "ServerCallStreamObserver" in both[THEIRS][2]:
            known = "the emulator fails of itself"
        elif "This query requires an index" in both[THEIRS][2]:
            known = "the emulator's planner wants an index that can't exist; we need none"
        if both[OURS][1] in ("INTERNAL", "UNKNOWN"):
            self.fail(f"{method} {title}: our host answers {both[OURS][1]} {both[OURS][2]!r}, the emulator {both[THEIRS][1]} {both[THEIRS][2]!r}\n  sent {str(requests[OURS])[:1500]}")
        elif known and not equal:
            self.known[known] = self.known.get(known, 0) + 1
        elif not equal:
            self.fail(
                f"{method} {title}\n  sent {str(requests[OURS])[:1500]}\n"
                + "".join(f"  {NAMES[i]}: {shown[i][0]} {both[i][2][:300]!r} {str(shown[i][1])[:1200]}\n" for i in (0, 1)))
        return both

    def close(self):
        for side in self.sides:
            side.channel.close()
