"""Many listeners that lose their connections at random moments, resume, and must end with exactly the host's state.

usage: python listener_model.py PORT PROJECT [--listeners N] [--seconds S] [--seed N]

The host may be killed and started again meanwhile. Prints "writing" once it writes, and what is wrong; ends with 0 if
nothing is.
"""

import argparse
import asyncio
import random
import sys
import time

import grpc
from google.cloud.firestore_v1.types import document, firestore

arguments = argparse.ArgumentParser()
arguments.add_argument("port", type=int)
arguments.add_argument("project")
arguments.add_argument("--listeners", type=int, default=200)
arguments.add_argument("--seconds", type=float, default=8)
arguments.add_argument("--seed", type=int, default=random.randrange(1_000_000))
options = arguments.parse_args()
random.seed(options.seed)
print(f"the seed is {options.seed}", flush=True)

DATABASE = f"projects/{options.project}/databases/(default)"
ROOT = f"{DATABASE}/documents"
METADATA = [("authorization", "Bearer owner"), ("google-cloud-resource-prefix", DATABASE)]
SERVICE = "/google.firestore.v1.Firestore/"
DOCUMENTS = 40
failures = []
resumed = 0
counted = 0


def fail(what):
    failures.append(what)
    if len(failures) <= 20:
        print(what, flush=True)


def pb(message):
    return message.pb(message())


def method(channel, name, request, response, kind="unary_unary"):
    request, response = request.pb(request()).__class__, response.pb(response()).__class__
    return getattr(channel, kind)(SERVICE + name, request.SerializeToString, response.FromString)


def targets():
    """Targets of every kind: the message, and the query whose result it is; None for documents by name."""
    kind = random.randrange(6)
    target = pb(firestore.Target)
    if kind == 0:
        names = random.sample(range(DOCUMENTS), 3)
        target.documents.documents.extend(f"{ROOT}/model/d{n}" for n in names)
        return target
    if kind == 1:
        # Both are written by each commit: a snapshot in which they differ is half of one.
        target.documents.documents.extend([f"{ROOT}/pair/a", f"{ROOT}/other/pair/pair/b"])
        return target
    target.query.parent = ROOT
    query = target.query.structured_query
    query.from_.add(collection_id="model")
    if kind == 3:
        query.where.field_filter.field.field_path = "n"
        query.where.field_filter.op = 3
        query.where.field_filter.value.integer_value = random.randrange(100)
    if kind == 4:
        query.order_by.add(field={"field_path": "n"}, direction=random.choice([1, 2]))
        query.limit.value = random.randrange(1, 8)
    if kind == 5:
        query.from_[0].collection_id = "pair"
        query.from_[0].all_descendants = True
    return target


class Listener:
    def __init__(self, number, channels):
        self.number, self.channels = number, channels
        self.target = targets()
        self.target.target_id = 2 * number + 2
        self.documents, self.kept, self.token = {}, {}, b""
        self.time = None
        self.until = asyncio.Event()

    def describe(self):
        return f"listener {self.number} on {str(self.target)[:120]!r}"

    async def run(self, ends):
        global resumed
        while not ends.is_set() or self.final is None or self.time is None or self.time < self.final:
            # All together come back about 200 times a second, however many they are: a host of a debug build is busy with that.
            life = random.expovariate(min(1, 200 / options.listeners)) if not ends.is_set() else None
            try:
                await asyncio.wait_for(self.listen(ends), life)
            except (asyncio.TimeoutError, grpc.RpcError):
                pass
            if not ends.is_set() or self.time is None or self.final is None or self.time < self.final:
                await asyncio.sleep(random.uniform(0, 0.2))
            # What came after the last token is what the client may have half of.
            self.documents = dict(self.kept)
            resumed += self.token != b""

    final = None

    async def listen(self, ends):
        channel = random.choice(self.channels)
        call = method(channel, "Listen", firestore.ListenRequest, firestore.ListenResponse, "stream_stream")(
            metadata=METADATA)
        try:
            request = pb(firestore.ListenRequest)
            request.database = DATABASE
            request.add_target.CopyFrom(self.target)
            if self.token:
                request.add_target.resume_token = self.token
                request.add_target.expected_count.value = len(self.documents)
            await call.write(request)
            async for response in call:
                self.receive(response)
                if ends.is_set() and self.final is not None and self.time is not None and self.time >= self.final:
                    return
        finally:
            call.cancel()

    def receive(self, response):
        global counted
        kind = response.WhichOneof("response_type")
        mine = self.target.target_id
        if kind == "document_change":
            change = response.document_change
            if mine in change.target_ids:
                self.documents[change.document.name] = change.document.fields["n"].integer_value
            elif mine in change.removed_target_ids:
                self.documents.pop(change.document.name, None)
        elif kind in ("document_delete", "document_remove"):
            gone = getattr(response, kind)
            if mine in gone.removed_target_ids:
                self.documents.pop(gone.document, None)
        elif kind == "filter":
            counted += 1
            if response.filter.count != len(self.documents):
                fail(f"{self.describe()}: the filter says {response.filter.count}, {len(self.documents)} are here")
        elif kind == "target_change":
            change = response.target_change
            if change.target_change_type == 2:
                fail(f"{self.describe()} was removed: {change.cause}")
            if change.target_change_type == 4:
                self.documents, self.token = {}, b""
            if change.resume_token and (not change.target_ids or mine in change.target_ids):
                self.token, self.kept = change.resume_token, dict(self.documents)
            if not change.target_ids and change.HasField("read_time"):
                self.time = (change.read_time.seconds, change.read_time.nanos)
                pair = [v for k, v in self.documents.items() if "/pair/" in k]
                if len(set(pair)) > 1 or len(pair) == 1:
                    fail(f"{self.describe()}: half a commit: {self.documents}")


async def commit(channels, writes):
    """Commits until it succeeds: the host may be gone."""
    request = pb(firestore.CommitRequest)
    request.database = DATABASE
    request.writes.extend(writes)
    while True:
        try:
            call = method(channels[0], "Commit", firestore.CommitRequest, firestore.CommitResponse)
            return await call(request, metadata=METADATA, timeout=20)
        except grpc.RpcError:
            await asyncio.sleep(0.1)


def write(path, number):
    message = pb(firestore.CommitRequest).writes.add()
    if number is None:
        message.delete = f"{ROOT}/{path}"
    else:
        message.update.name = f"{ROOT}/{path}"
        message.update.fields["n"].integer_value = number
    return message


def pair(number):
    return [write("pair/a", number), write("other/pair/pair/b", number)]


async def result(channels, target):
    found = {}
    if target.WhichOneof("target_type") == "documents":
        request = pb(firestore.BatchGetDocumentsRequest)
        request.database = DATABASE
        request.documents.extend(target.documents.documents)
        call = method(channels[0], "BatchGetDocuments", firestore.BatchGetDocumentsRequest,
                      firestore.BatchGetDocumentsResponse, "unary_stream")
        async for answer in call(request, metadata=METADATA):
            if answer.HasField("found"):
                found[answer.found.name] = answer.found.fields["n"].integer_value
    else:
        request = pb(firestore.RunQueryRequest)
        request.parent = target.query.parent
        request.structured_query.CopyFrom(target.query.structured_query)
        call = method(channels[0], "RunQuery", firestore.RunQueryRequest, firestore.RunQueryResponse, "unary_stream")
        async for answer in call(request, metadata=METADATA):
            if answer.HasField("document"):
                found[answer.document.name] = answer.document.fields["n"].integer_value
    return found


async def main():
    settings = [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500),
                ("grpc.use_local_subchannel_pool", 1)]
    channels = [grpc.aio.insecure_channel(f"127.0.0.1:{options.port}", options=settings) for _ in range(8)]
    await commit(channels, pair(0))
    ends = asyncio.Event()
    listeners = [Listener(number, channels) for number in range(options.listeners)]
    tasks = [asyncio.create_task(listener.run(ends)) for listener in listeners]
    print("writing", flush=True)
    end, number = time.monotonic() + options.seconds, 0
    while time.monotonic() < end:
        number += 1
        writes = [
            write(f"model/d{n}", random.choice([None, random.randrange(100)]))
            for n in random.sample(range(DOCUMENTS), random.randrange(1, 4))
        ]
        await commit(channels, writes + (pair(number) if random.random() < 0.5 else []))
        await asyncio.sleep(0.01)
    last = await commit(channels, pair(number + 1) + [write("model/d0", 1)])
    for listener in listeners:
        listener.final = (last.commit_time.seconds, last.commit_time.nanos)
    ends.set()
    await asyncio.gather(*tasks)
    for listener in listeners:
        expected = await result(channels, listener.target)
        if listener.kept != expected and listener.documents != expected:
            fail(f"{listener.describe()} ends with {listener.documents}, not {expected}")
    print(f"{number} commits, {resumed} resumed listens, {counted} filters, {len(failures)} failures")
    for channel in channels:
        await channel.close()


asyncio.run(main())
sys.exit(1 if failures else 0)
