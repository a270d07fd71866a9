"""Random Listen and Write streams over two servers at once, with the same writes to both.

At each step's end a marker is written, which a target of each stream shows: a snapshot that has it has all writes before.
Our host's snapshot is compared there and then with what queries answer, and every snapshot before it with what queries
answer at its time; the emulator's has some time to become so, because it sends each target by itself.

Known of the emulator: it ignores `once`; after most changes of a query, and on resuming, it sends the whole result again;
some of its snapshots have half a commit; a stream of it that breaks ends the round.
"""
import queue
import threading
import time

import grpc
from google.cloud.firestore_v1 import types
from side_pair import DATABASE, NAMES, OURS, ROOT, THEIRS, message, normal
from side_requests import integer, mapped

BREAKS = "the emulator's Listen streams break on a busy machine: bytes that are no message, or nothing more"
LOSES = "the emulator's Listen misses changes on a busy machine that its RunQuery and our host have"
MARKER = 9999
PATIENCE = 60
NO_CHANGE, ADD, REMOVE, CURRENT, RESET = range(5)


class Target:
    def __init__(self, request, once=False):
        self.request, self.once = request, once
        self.documents = {}
        # What it had at its token: what came since counts once the next token does.
        self.kept = {}
        self.token = b""
        self.is_added = self.is_current = self.is_removed = False
        self.cause = 0


class Listener:
    """A client of Listen that keeps its targets' documents as the SDKs do."""

    def __init__(self, side, pair):
        self.side, self.pair = side, pair
        self.targets = {}
        # The global snapshots: their times, and the documents of each target that was complete.
        self.snapshots = []
        # The names of documents that were reported as deleted, and the times.
        self.deletions = []
        self.news = threading.Condition()
        self.call = None
        self.status = None

    def connect(self):
        self.requests = queue.Queue()
        self.status = None
        self.call = self.side.call("Listen", "stream_stream")(iter(self.requests.get, None), metadata=self.side.metadata)
        threading.Thread(target=self.read, args=(self.call,), daemon=True).start()
        for id, target in self.targets.items():
            if target.is_removed:
                continue
            if not target.is_current:
                target.kept, target.token = {}, b""
            target.documents = dict(target.kept)
            target.is_added = target.is_current = False
            self.send_add(id)

    def disconnect(self):
        """Ends the stream; nothing that it still sends is received."""
        with self.news:
            call, self.call = self.call, None
        call.cancel()
        self.requests.put(None)

    def send(self, **fields):
        self.requests.put(types.ListenRequest.pb()(database=DATABASE, **fields).SerializeToString())

    def send_add(self, id):
        target = self.targets[id]
        fields = dict(target.request, target_id=id)
        if target.token:
            fields["resume_token"] = target.token
            fields["expected_count"] = {"value": len(target.documents)}
        if target.once:
            fields["once"] = True
        self.send(add_target=fields)

    def add(self, id, request, once=False):
        with self.news:
            self.targets[id] = Target(request, once)
        self.send_add(id)

    def remove(self, id):
        self.send(remove_target=id)

    def read(self, call):
        try:
            for response in call:
                with self.news:
                    if self.call is not call:
                        return
                    self.receive(response)
                    self.news.notify_all()
            status = "OK"
        except grpc.RpcError as error:
            status = f"{error.code().name} {error.details()}"
        with self.news:
            if self.call is call:
                self.status = status
                self.news.notify_all()

    def wrong(self, text):
        self.pair.fail(f"{NAMES[self.side.index]}'s Listen: {text}")

    def receive(self, response):
        kind = response.WhichOneof("response_type")
        if kind == "target_change":
            self.change(response.target_change)
        elif kind == "document_change":
            change = response.document_change
            self.place(change.target_ids, change.document.name, change.document)
            self.place(change.removed_target_ids, change.document.name, None)
            if set(change.target_ids) & set(change.removed_target_ids):
                self.wrong("one message both adds a document to a target and removes it")
        elif kind in ("document_delete", "document_remove"):
            change = getattr(response, kind)
            self.place(change.removed_target_ids, change.document, None)
            if kind == "document_delete":
                self.deletions.append((change.document, (change.read_time.seconds, change.read_time.nanos)))
        elif kind == "filter":
            target = self.targets.get(response.filter.target_id)
            if target and response.filter.count != len(target.documents):
                self.wrong(f"the filter counts {response.filter.count} documents, there are {len(target.documents)}")

    def place(self, ids, name, document):
        for id in ids:
            target = self.targets.get(id)
            if target is None or not target.is_added:
                self.wrong(f"a document of target {id}, which isn't there")
            elif document is not None:
                target.documents[name] = document
            else:
                target.documents.pop(name, None)

    def change(self, change):
        kind, ids = change.target_change_type, list(change.target_ids)
        for id in ids:
            if id not in self.targets and kind != REMOVE:
                self.wrong(f"a change of target {id}, which isn't there")
        targets = [self.targets[id] for id in ids or self.targets if id in self.targets]
        for target in targets:
            if change.resume_token and (target.is_current or kind == CURRENT):
                target.token, target.kept = change.resume_token, dict(target.documents)
            if kind == ADD:
                target.is_added = True
            elif kind == REMOVE:
                target.is_removed, target.is_added, target.cause = True, False, change.cause.code
            elif kind == CURRENT:
                target.is_current = True
            elif kind == RESET:
                target.documents, target.is_current = {}, False
        if kind == NO_CHANGE and not ids and change.HasField("read_time"):
            at = (change.read_time.seconds, change.read_time.nanos)
            if self.snapshots and self.snapshots[-1][0] > at and self.side.index == OURS:
                self.wrong(f"a snapshot of {at} after one of {self.snapshots[-1][0]}")
            self.snapshots.append((at, {
                id: (target.request, dict(target.documents)) for id, target in self.targets.items()
                if target.is_current and not target.is_removed}))

    def wait(self, condition, what):
        with self.news:
            if self.news.wait_for(lambda: self.status is not None or condition(), PATIENCE) and self.status is None:
                return True
            if self.side.index == THEIRS:
                self.pair.known[BREAKS] = self.pair.known.get(BREAKS, 0) + 1
                return False
            self.wrong(f"{what}: {'nothing came for ' + str(PATIENCE) + ' s' if self.status is None else self.status}")
            return False

    def shows(self, step):
        """Whether the last snapshot has the marker of a step."""
        for _, targets in reversed(self.snapshots[-1:]):
            documents = list(targets.get(MARKER, (None, {}))[1].values())
            return bool(documents) and documents[0].fields["step"].integer_value == step
        return False


class RandomStreams:
    def __init__(self, pair, random, collection):
        self.pair, self.random, self.collection = pair, random, collection
        self.listeners = [Listener(side, pair) for side in pair.sides]
        self.next_target = 1
        self.open = {}
        self.value = 0
        self.steps = 0
        self.checked = 0
        self.half = [0, 0]

    # What is written

    def path(self):
        base = f"{ROOT}/{self.collection}/d{self.random.randrange(9)}"
        return f"{base}/{self.collection}g/x{self.random.randrange(3)}" if self.random.random() < 0.3 else base

    def writes(self):
        self.value += 1
        if self.random.random() < 0.4:
            # One number in two documents, or three: no snapshot may have it in one alone.
            names = [f"{ROOT}/{self.collection}/p0", f"{ROOT}/{self.collection}/p1",
                     f"{ROOT}/{self.collection}/d1/{self.collection}g/p2"]
            return [{"update": {"name": name, "fields": {
                "n": integer(self.value), "k": integer(self.random.randrange(3)), "pair": {"boolean_value": True}}}}
                for name in names]
        writes = {}
        for _ in range(self.random.randint(1, 3)):
            name = self.path()
            fields = {"n": integer(self.random.randrange(20)), "k": integer(self.random.randrange(3)),
                      "l": {"array_value": {"values": [integer(self.random.randrange(3))]}},
                      "m": mapped(x=integer(self.value))}
            kind = self.random.randrange(10)
            if kind < 2:
                writes[name] = {"delete": name}
            elif kind < 5:
                writes[name] = {"update": {"name": name}, "update_mask": {"field_paths": []},
                                "update_transforms": [{"field_path": "n", "increment": integer(1)}]}
            elif kind == 5:
                # A write that may change nothing.
                writes[name] = {"update": {"name": name, "fields": {"k": integer(1)}}, "update_mask": {"field_paths": ["k"]}}
            else:
                writes[name] = {"update": {"name": name, "fields": fields}}
        return list(writes.values())

    def burst(self, count):
        for _ in range(count):
            self.pair.ask("Commit", {"database": DATABASE, "writes": self.writes()}, "beside a listener")

    # What is listened to

    def request(self):
        collection = {"collection_id": self.collection}
        group = {"collection_id": self.collection + "g", "all_descendants": True}
        number = self.random.randrange(3)

        def by(field, direction="ASCENDING"):
            return {"field": {"field_path": field}, "direction": direction}

        def where(op, field, value):
            return {"field_filter": {"field": {"field_path": field}, "op": op, "value": value}}

        limit = {"value": self.random.randint(1, 4)}
        query = self.random.choice([
            {"from_": [collection]},
            {"from_": [collection], "where": where("EQUAL", "k", integer(number))},
            {"from_": [collection], "where": where("GREATER_THAN", "n", integer(number * 4)), "order_by": [by("n")]},
            {"from_": [collection], "order_by": [by("n"), by("__name__")], "limit": limit},
            # As SDKs send limitToLast.
            {"from_": [collection], "order_by": [by("n", "DESCENDING"), by("__name__", "DESCENDING")], "limit": limit},
            {"from_": [collection], "where": where("LESS_THAN", "n", integer(12)), "order_by": [by("n", "DESCENDING")], "limit": limit},
            {"from_": [collection], "where": where("ARRAY_CONTAINS", "l", integer(number))},
            {"from_": [collection], "where": where("IN", "k", {"array_value": {"values": [integer(0), integer(number)]}})},
            {"from_": [collection], "where": {"composite_filter": {"op": "OR", "filters": [
                where("EQUAL", "k", integer(number)), where("EQUAL", "n", integer(7))]}}},
            {"from_": [collection], "order_by": [by("n")], "start_at": {"values": [integer(3)], "before": True},
             "end_at": {"values": [integer(15)], "before": False}},
            {"from_": [group]},
            {"from_": [group], "where": where("EQUAL", "k", integer(number))},
            {"from_": [group], "order_by": [by("n")], "limit": limit},
            None, None,
        ])
        if query is None:
            return {"documents": {"documents": sorted({self.path() for _ in range(self.random.randint(1, 4))})}}
        return {"query": {"parent": ROOT, "structured_query": query}}

    def add(self):
        once = self.random.random() < 0.15
        self.open[self.next_target] = request = self.request()
        for listener in self.listeners:
            listener.add(self.next_target, request, once)
        self.next_target += 1

    def remove(self):
        if self.open:
            id = self.random.choice(sorted(self.open))
            del self.open[id]
            for listener in self.listeners:
                listener.remove(id)

    def resume(self):
        for listener in self.listeners:
            listener.disconnect()
        # Some time passes unseen, or a longer one.
        self.burst(self.random.choice([0, 1, 5, 25]))
        for listener in self.listeners:
            listener.connect()

    # What is expected

    def expected(self, side, request, at=None):
        selector = {"read_time": {"seconds": at[0], "nanos": at[1]}} if at else {}
        if "query" in request:
            answers, status, words = side.ask("RunQuery", {**request["query"], **selector})
            found = {answer.document.name: answer.document for answer in answers if answer.document.name}
        else:
            answers, status, words = side.ask("BatchGetDocuments", {"database": DATABASE, **request["documents"], **selector})
            found = {answer.found.name: answer.found for answer in answers if answer.found.name}
        if status != "OK":
            self.pair.fail(f"{NAMES[side.index]}: {request} at {at}: {status} {words}")
        return found

    def differs(self, ours, expected):
        """What is wrong in words; nil if nothing is."""
        if ours == expected:
            return None
        def short(name):
            return name.removeprefix(ROOT + "/")

        missing = [short(name) for name in expected if name not in ours]
        extra = [short(name) for name in ours if name not in expected]
        other = [short(name) for name in ours if name in expected and ours[name] != expected[name]]
        return f"missing {missing}, too much {extra}, stale {other}"

    @staticmethod
    def normal(documents):
        return normal("RunQuery", [
            types.RunQueryResponse.pb()(document=document) for _, document in sorted(documents.items())])

    def halves(self, documents):
        """Whether some of a commit's documents are there, and another has another number."""
        # Reading a field that isn't there would add it.
        pairs = {document.fields["n"].integer_value for document in documents.values() if "pair" in document.fields}
        return len(pairs) > 1

    def check(self, step):
        for listener in self.listeners:
            marker = {"update": {"name": f"{ROOT}/{self.collection}m/marker", "fields": {"step": integer(step)}}}
            listener.side.ask("Commit", {"database": DATABASE, "writes": [marker]})
        results = []
        for listener in self.listeners:
            index = listener.side.index
            if not listener.wait(lambda: listener.shows(step), f"the marker of step {step}"):
                return False
            complete = [id for id in self.open if not listener.targets[id].once]
            if not listener.wait(
                    lambda: all(listener.targets[id].is_current or listener.targets[id].is_removed for id in complete),
                    f"all targets of step {step} are current"):
                return False
            if index == THEIRS:
                self.settle(listener)
            with listener.news:
                snapshots, listener.snapshots = listener.snapshots, listener.snapshots[-1:]
                deletions, listener.deletions = listener.deletions, []
                shown = {id: dict(listener.targets[id].documents) for id in complete}
            for id in complete:
                expected = self.expected(listener.side, self.open[id])
                problem = self.differs(shown[id], expected)
                if problem and index == THEIRS and self.normal(expected) == results[OURS][id]:
                    self.pair.known[LOSES] = self.pair.known.get(LOSES, 0) + 1
                    shown[id] = expected
                elif problem:
                    self.pair.fail(f"{NAMES[index]}, step {step}, target {id} {self.open[id]}: {problem}")
            for _, targets in snapshots:
                for request, documents in targets.values():
                    # Only a target of all documents has all of a commit's.
                    if "where" in str(request) or "limit" in str(request) or "documents" in request or "start_at" in str(request):
                        continue
                    self.half[index] += self.halves(documents)
            if index == OURS:
                self.check_past(listener, snapshots)
                self.check_deletions(listener, deletions)
            results.append({id: self.normal(documents) for id, documents in shown.items()})
        if results[OURS] != results[THEIRS]:
            for id in results[OURS]:
                if results[OURS][id] != results[THEIRS][id]:
                    self.pair.fail(f"step {step}, target {id} {self.open[id]}: {results[OURS][id]} | {results[THEIRS][id]}")
        self.end_once(step)
        return True

    def settle(self, listener):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with listener.news:
                shown = {id: dict(listener.targets[id].documents) for id in self.open}
            if not any(self.differs(shown[id], self.expected(listener.side, request)) for id, request in self.open.items()):
                return
            time.sleep(0.1)

    def check_past(self, listener, snapshots):
        """Each snapshot is the state of its time."""
        for at, targets in snapshots[-12:]:
            for id, (request, documents) in targets.items():
                self.checked += 1
                problem = self.differs(documents, self.expected(listener.side, request, at))
                if problem:
                    self.pair.fail(f"our host's snapshot of {at}, target {id} {request}: {problem}")

    def check_deletions(self, listener, deletions):
        """SDKs ignore a document that isn't newer than its deletion."""
        for name, at in deletions[-12:]:
            self.checked += 1
            if self.expected(listener.side, {"documents": {"documents": [name]}}, at):
                self.pair.fail(f"our host reports {name} as deleted at {at}, when it exists")

    def end_once(self, step):
        """Our host removes such targets itself; from the emulator's stream they are removed."""
        for id in [id for id in self.open if self.listeners[OURS].targets[id].once]:
            ours = self.listeners[OURS]
            if ours.wait(lambda: ours.targets[id].is_removed, f"the end of target {id}, which is once"):
                if ours.targets[id].cause:
                    self.pair.fail(f"target {id}, which is once, ends with {ours.targets[id].cause}")
            del self.open[id]
            self.listeners[THEIRS].remove(id)

    def round(self, steps):
        self.burst(6)
        for listener in self.listeners:
            listener.connect()
            listener.add(MARKER, {"documents": {"documents": [f"{ROOT}/{self.collection}m/marker"]}})
        for step in range(1, steps + 1):
            for _ in range(self.random.randint(1, 5)):
                action = self.random.choice([self.add, self.add, self.remove, self.burst, self.burst, self.burst, self.resume])
                action(self.random.randint(1, 4)) if action == self.burst else action()
            if not self.check(step):
                break
        for listener in self.listeners:
            listener.disconnect()
        if self.half[OURS]:
            self.pair.fail(f"{self.half[OURS]} snapshots of our host have half a commit")


# The emulator's Listen checks less than its RunQuery, or something else.
OTHERWISE = "the emulator's Listen answers otherwise than its RunQuery, which our host agrees with"
KNOWN_TARGETS = {
    **dict.fromkeys([
        "two array contains", "two array contains any", "names in of numbers", "a name that is no reference", "names contain", "a null name",
        "a cursor by the name without order"], OTHERWISE),
    **dict.fromkeys(["two from", "a negative limit", "a negative offset", "nothing"], "the emulator fails with UNKNOWN"),
    "no documents": "a target of no documents tells nothing; our host refuses it",
    "no query": "the emulator takes no query for all documents",
    "no from": "the emulator takes no collections for all",
    "no collection's name": "our host has no queries of a document's own collections alone",
}


class InvalidTargets:
    """Targets that are refused, on a stream that goes on."""

    def __init__(self, pair, collection):
        self.pair, self.collection = pair, collection

    def ends(self, request, known):
        """What each side says to a target, and that the stream goes on."""
        outcomes = []
        for side in self.pair.sides:
            listener = Listener(side, self.pair)
            listener.connect()
            listener.add(5, request)
            target = listener.targets[5]
            if known and side.index == THEIRS:
                listener.disconnect()
                outcomes.append(known)
            elif listener.wait(lambda: target.is_current or target.is_removed, f"an answer to {str(request)[:300]}"):
                outcomes.append(f"removed with code {target.cause}" if target.is_removed else f"current with {len(target.documents)} documents")
                # The stream goes on.
                listener.add(7, {"documents": {"documents": [ROOT + "/i/a"]}})
                listener.wait(lambda: listener.targets[7].is_current, f"another target after {str(request)[:300]}")
                listener.disconnect()
            else:
                outcomes.append("ended")
                listener.disconnect()
        return outcomes

    def round(self, requests):
        for title, request in requests:
            known = KNOWN_TARGETS.get(title)
            outcomes = self.ends(request, known)
            self.pair.asked += 1
            if known:
                self.pair.known[known] = self.pair.known.get(known, 0) + 1
            elif outcomes[OURS] != outcomes[THEIRS]:
                self.pair.fail(f"Listen to {title} ({str(request)[:300]}): our host {outcomes[OURS]}, the emulator {outcomes[THEIRS]}")


class WriteStreams:
    """The same random writes through a Write stream of both."""

    def __init__(self, pair, random, requests):
        self.pair, self.random, self.requests = pair, random, requests

    def run(self, side, messages):
        waiting = queue.Queue()
        answers = []
        call = side.call("Write", "stream_stream")(iter(waiting.get, None), metadata=side.metadata, timeout=60)
        waiting.put(message("Write", {"database": DATABASE}))
        try:
            first = next(call)
            answers.append(("begins", bool(first.stream_id), bool(first.stream_token)))
            for fields in messages:
                waiting.put(message("Write", dict(fields, stream_token=first.stream_token)))
            waiting.put(None)
            for answer in call:
                answers.append(normal("Write", [answer]))
            status = "OK"
        except grpc.RpcError as error:
            status = error.code().name
            waiting.put(None)
        except StopIteration:
            status = "OK without an answer"
        for answer in answers:
            if isinstance(answer, list):
                answer[0].pop("stream_token", None)
        return answers, status

    def round(self):
        count = self.random.randint(1, 5)
        made = [[self.requests.write(odd) for odd in range(self.random.randint(1, 2))] for _ in range(count)]
        if self.random.random() < 0.2:
            made.append([lambda side: {"update": {"name": ROOT + "/w/none"}, "current_document": {"exists": True}}])
        results = [self.run(side, [{"writes": [write(side.index) for write in writes]} for writes in made])
                   for side in self.pair.sides]
        self.pair.asked += 1
        if results[OURS] != results[THEIRS]:
            self.pair.fail(f"Write stream\n  sent {[[write(0) for write in writes] for writes in made]}\n"
                           f"  our host: {results[OURS]}\n  the emulator: {results[THEIRS]}")
